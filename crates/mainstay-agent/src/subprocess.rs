//! Runs other programs, each in its own process group, with resource limits, a time limit and an output limit. When
//! it is over, nothing of the group is left. A program gets SIGTERM before SIGKILL, because a tool that is killed
//! inside a driver call may leave a GPU unusable.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::output::NOT_STARTED;
use crate::rlimits::{self, Limits};
use crate::shutdown::ShutdownSignal;

/// Between being asked to end and being made to.
pub const ASKED: Duration = Duration::from_secs(2);

/// Who is still there after this, having been killed, hangs in the kernel and is left there.
pub const KILLED: Duration = Duration::from_secs(1);

/// How long `run` may take beyond the time that it is given.
pub const ENDING: Duration = Duration::from_secs(3);

/// One read of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// A program to run, with its arguments, folder, resource limits and time limit.
#[derive(Debug, Clone)]
pub struct Invocation<'a> {
    /// This program, which sets the limits and becomes the other.
    pub launcher: &'a Path,
    /// The other.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it runs, and where it may put what it needs for a while.
    pub folder: &'a Path,
    /// Where it finds further programs.
    pub search_path: OsString,
    /// What it may use.
    pub limits: Limits,
    /// How long it may run.
    pub time: Duration,
}

/// Which of its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// What it was asked for.
    Output,
    /// What it complains about.
    Error,
}

/// Whether the receiver accepts more output; the program is ended when it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// It is.
    More,
    /// It is not: the program is ended.
    Full,
}

/// How a program ended: exit code, signal, exceeded limit, shutdown, or a failure to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitStatus {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which we did not send.
    Signalled(i32),
    /// It was not done in its time, and was ended.
    OutOfTime,
    /// It said more than there was room for, and was ended.
    TooMuch,
    /// Somebody wanted everything to stop.
    Stopped,
    /// It was killed and did not end: it hangs in the kernel.
    Unending,
    /// It could not be started, or what it said not be kept.
    Failed(String),
}

/// Exit status and duration of a program, and whether it left a process behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    /// How it ended.
    pub ended: ExitStatus,
    /// After how long.
    pub took: Duration,
    /// Whether something that it started left its group, and still has its output.
    pub left_behind: bool,
}

/// Where it is on its way to the end.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Running,
    Asked(Instant),
    Killed(Instant),
}

/// A started program with its process group, output pipes and termination phase.
struct RunningProcess<'a> {
    group: Pid,
    child: Child,
    /// Readable once the program itself is gone; none after that.
    gone: Option<OwnedFd>,
    output: Option<ChildStdout>,
    error: Option<ChildStderr>,
    stop: &'a ShutdownSignal,
    phase: Phase,
    /// Why it was ended, if it was.
    why: Option<ExitStatus>,
}

/// Runs a program and hands over what it says.
pub fn run(
    job: &Invocation<'_>,
    stop: &ShutdownSignal,
    mut take: impl FnMut(Stream, &[u8]) -> io::Result<Capacity>,
) -> RunResult {
    let begun = Instant::now();
    let failed = |error: io::Error| RunResult {
        ended: ExitStatus::Failed(format!("{}: {error}", job.program.display())),
        took: begun.elapsed(),
        left_behind: false,
    };
    let mut running = match RunningProcess::start(job, stop) {
        Ok(running) => running,
        Err(error) => return failed(error),
    };
    let mut buffer = vec![0; CHUNK_BYTES];
    while let Some(wait) = running.wait(begun + job.time) {
        if let Err(error) = running.step(wait, &mut buffer, &mut take) {
            running.end(ExitStatus::Failed(error.to_string()));
        }
    }
    running.over(begun)
}

// === impl Running ===

impl<'a> RunningProcess<'a> {
    fn start(job: &Invocation<'_>, stop: &'a ShutdownSignal) -> io::Result<Self> {
        let mut child = Command::new(job.launcher)
            .arg(rlimits::WORD)
            .args(job.limits.options())
            .arg("--")
            .arg(&job.program)
            .args(&job.arguments)
            .current_dir(job.folder)
            .env("PATH", &job.search_path)
            .env("TMPDIR", job.folder)
            // Parsers and vendors expect the words of no language in particular.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("a process without a number"))?;
        let (output, error) = (child.stdout.take(), child.stderr.take());
        let mut running = Self { group, child, gone: None, output, error, stop, phase: Phase::Running, why: None };
        match pidfd_open(group, PidfdFlags::empty()) {
            Ok(gone) => running.gone = Some(gone),
            Err(errno) => {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = running.child.wait();
                return Err(errno.into());
            }
        }
        Ok(running)
    }

    /// How long to wait for something to happen; none when it is over. Moments that have come are acted upon.
    fn wait(&mut self, end_at: Instant) -> Option<Duration> {
        let silent = self.output.is_none() && self.error.is_none();
        if self.gone.is_none() && silent {
            return None;
        }
        let now = Instant::now();
        let due = match self.phase {
            Phase::Running => end_at,
            Phase::Asked(at) => at + ASKED,
            Phase::Killed(at) => at + KILLED,
        };
        if now < due {
            return Some(due - now);
        }
        match self.phase {
            Phase::Running => self.end(ExitStatus::OutOfTime),
            Phase::Asked(_) => {
                let _ = kill_process_group(self.group, Signal::KILL);
                self.phase = Phase::Killed(now);
            }
            Phase::Killed(_) => return None,
        }
        Some(Duration::ZERO)
    }

    /// Asks the whole group to end. The number stays the group's as long as the program is not reaped, also when it is gone.
    fn end(&mut self, why: ExitStatus) {
        if let Phase::Running = self.phase {
            self.why = Some(why);
            self.ask();
        }
    }

    fn ask(&mut self) {
        let _ = kill_process_group(self.group, Signal::TERM);
        self.phase = Phase::Asked(Instant::now());
    }

    fn step(
        &mut self,
        wait: Duration,
        buffer: &mut [u8],
        take: &mut impl FnMut(Stream, &[u8]) -> io::Result<Capacity>,
    ) -> io::Result<()> {
        let [gone, output, error, stop] = self.ready(wait)?;
        if output {
            self.hear(Stream::Output, buffer, take)?;
        }
        if error {
            self.hear(Stream::Error, buffer, take)?;
        }
        if gone {
            self.gone = None;
            if let Phase::Running = self.phase {
                self.ask();
            }
        }
        if stop {
            self.end(ExitStatus::Stopped);
        }
        Ok(())
    }

    /// What happened, in the order: it is gone, there is output, there are complaints, somebody wants to stop.
    fn ready(&self, wait: Duration) -> io::Result<[bool; 4]> {
        // Who was asked to end is not asked again.
        let running = matches!(self.phase, Phase::Running);
        let fds: [Option<BorrowedFd<'_>>; 4] = [
            self.gone.as_ref().map(|fd| fd.as_fd()),
            self.output.as_ref().map(|pipe| pipe.as_fd()),
            self.error.as_ref().map(|pipe| pipe.as_fd()),
            running.then(|| self.stop.as_fd()),
        ];
        let mut polled: Vec<PollFd<'_>> =
            fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let timeout = Timespec::try_from(wait).map_err(io::Error::other)?;
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut happened = polled.iter().map(|fd| !fd.revents().is_empty());
        Ok(fds.map(|fd| fd.is_some() && happened.next().unwrap_or(false)))
    }

    fn hear(
        &mut self,
        stream: Stream,
        buffer: &mut [u8],
        take: &mut impl FnMut(Stream, &[u8]) -> io::Result<Capacity>,
    ) -> io::Result<()> {
        let read = match stream {
            Stream::Output => self.output.as_mut().map(|pipe| pipe.read(buffer)),
            Stream::Error => self.error.as_mut().map(|pipe| pipe.read(buffer)),
        };
        match read {
            Some(Ok(0)) | None => match stream {
                Stream::Output => self.output = None,
                Stream::Error => self.error = None,
            },
            Some(Ok(bytes)) => {
                // Once it has to end for a reason of ours, nobody listens any more, but the pipe must not fill up.
                if self.why.is_none() && take(stream, buffer.get(..bytes).unwrap_or_default())? == Capacity::Full {
                    match self.phase {
                        Phase::Running => self.end(ExitStatus::TooMuch),
                        Phase::Asked(_) | Phase::Killed(_) => self.why = Some(ExitStatus::TooMuch),
                    }
                }
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Some(Err(error)) => return Err(error),
        }
        Ok(())
    }

    /// Kills what is left of the group and reaps the program, if it is gone.
    fn over(mut self, begun: Instant) -> RunResult {
        let _ = kill_process_group(self.group, Signal::KILL);
        let left_behind = self.gone.is_none() && (self.output.is_some() || self.error.is_some());
        let status = if self.gone.is_none() { self.child.wait().ok() } else { self.child.try_wait().ok().flatten() };
        let ended = match (self.why, status) {
            (_, None) => ExitStatus::Unending,
            (Some(why), Some(_)) => why,
            (None, Some(status)) => match (status.code(), status.signal()) {
                // What is no end of the program's own must not be taken for one, even if it might be.
                (Some(code), _) if code == i32::from(NOT_STARTED) => {
                    ExitStatus::Failed("it could not be started under its limits".to_owned())
                }
                (Some(code), _) => ExitStatus::Exited(code),
                (None, signal) => ExitStatus::Signalled(signal.unwrap_or(0)),
            },
        };
        RunResult { ended, took: begun.elapsed(), left_behind }
    }
}
