//! The log through a path, as a program sees the device. They need root and `/dev/fuse`, and say so without.

use std::time::{Duration, Instant};

use super::Files;
use crate::Line;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;

fn open(files: &Files, more: OFlags) -> OwnedFd {
    rustix::fs::open(files.log_path(), OFlags::RDONLY | OFlags::CLOEXEC | more, Mode::empty()).unwrap()
}

fn read(fd: &OwnedFd) -> Result<String, Errno> {
    let mut buffer = [0; 8192];
    let bytes = rustix::io::read(fd, &mut buffer)?;
    Ok(String::from_utf8(buffer[..bytes].to_vec()).unwrap())
}

fn ready(fd: &OwnedFd, wait: Duration) -> PollFlags {
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::try_from(wait).unwrap())).unwrap();
    fds[0].revents()
}

#[test]
fn a_path_behaves_as_the_device() {
    let files = Files::serve(20).unwrap();
    let log = open(&files, OFlags::NONBLOCK);
    assert_eq!(read(&log), Err(Errno::AGAIN));
    assert_eq!(ready(&log, Duration::ZERO), PollFlags::empty());
    files.write(Line::text("a"));
    files.write(Line::text("b"));
    assert!(ready(&log, Duration::ZERO).contains(PollFlags::IN));
    assert_eq!(read(&log).unwrap(), "4,0,0,-;a\n");
    assert_eq!(read(&log).unwrap(), "4,1,0,-;b\n");
    assert_eq!(read(&log), Err(Errno::AGAIN));
    for number in 0..5 {
        files.write(Line::text(&format!("line {number} more")));
    }
    assert!(ready(&log, Duration::ZERO).contains(PollFlags::IN | PollFlags::ERR));
    assert_eq!(read(&log), Err(Errno::PIPE));
    assert_eq!(read(&log).unwrap(), "4,6,0,-;line 4 more\n");
    files.clear();
    files.write(Line::text("new"));
    let another = open(&files, OFlags::NONBLOCK);
    assert_eq!(rustix::fs::seek(&another, SeekFrom::Data(0)), Ok(0));
    assert_eq!(read(&another).unwrap(), "4,7,0,-;new\n");
    rustix::fs::seek(&another, SeekFrom::Start(0)).unwrap();
    assert_eq!(read(&another).unwrap(), "4,6,0,-;line 4 more\n");
    rustix::fs::seek(&another, SeekFrom::End(0)).unwrap();
    assert_eq!(read(&another), Err(Errno::AGAIN));
    let mut short = [0; 4];
    assert_eq!(rustix::io::read(&log, &mut short), Err(Errno::INVAL));
    assert_eq!(read(&log), Err(Errno::AGAIN), "what did not fit is passed over");
}

#[test]
fn a_poll_and_a_blocking_read_end_when_a_line_comes() {
    let files = Files::serve(1_000).unwrap();
    let (polls, reads) = (open(&files, OFlags::NONBLOCK), open(&files, OFlags::empty()));
    std::thread::scope(|scope| {
        let polling = scope.spawn(|| ready(&polls, Duration::from_secs(10)));
        let reading = scope.spawn(|| read(&reads));
        // Long enough that both wait in the kernel; if not, the test is only weaker.
        std::thread::park_timeout(Duration::from_millis(200));
        let start = Instant::now();
        files.write(Line::text("now"));
        assert!(polling.join().unwrap().contains(PollFlags::IN));
        assert_eq!(reading.join().unwrap().unwrap(), "4,0,0,-;now\n");
        assert!(start.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn a_read_can_be_made_to_hang_and_a_killed_reader_goes() {
    let files = Files::serve(1_000).unwrap();
    files.set_text("7\n");
    assert_eq!(std::fs::read_to_string(files.text_path()).unwrap(), "7\n");
    files.hang();
    let mut cat = std::process::Command::new("cat").arg(files.text_path()).spawn().unwrap();
    let begun = Instant::now();
    while files.hanging() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "cat does not read");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert_eq!(cat.try_wait().unwrap(), None);
    cat.kill().unwrap();
    cat.wait().unwrap();
    assert_eq!(files.hanging(), 0);
}
