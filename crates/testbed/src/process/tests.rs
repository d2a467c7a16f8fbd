use super::*;

/// A directory of this test process alone.
pub(crate) fn scratch(name: &str) -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("mainstay-unit-{}-{name}", std::process::id()));
    std::fs::create_dir_all(dir.join("logs")).unwrap();
    dir
}

fn sleeper(dir: &Path, script: &str) -> Process {
    let args = ["-c".to_owned(), script.to_owned()];
    launch("sleeper", Path::new("/bin/sh"), &args, &[], dir).unwrap()
}

async fn wait_for_record(dir: &Path) -> Vec<(Process, String)> {
    for _ in 0..500 {
        let record = recorded(dir);
        if !record.is_empty() {
            return record;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    panic!("nothing on record within 10 s");
}

#[test]
fn a_stat_line_is_read_whatever_the_process_calls_itself() {
    let line =
        "42 (odd) name (x)) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 8192 100 18446744073709551615";
    let expected = Stat { comm: "odd) name (x)".to_owned(), state: 'S', parent: 7, started_ticks: 987_654 };
    assert_eq!(parse_stat(line), Some(expected));
    assert_eq!(parse_stat("42 (cut short) S 7"), None);
}

#[test]
fn resident_memory_is_read_in_bytes() {
    assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t    1234 kB\nRssAnon:\t 1 kB\n"), Some(1234 * 1024));
    assert_eq!(resident_bytes("Name:\tkthreadd\n"), None);
    assert!(Process::current().unwrap().resident_bytes() > 1024 * 1024);
}

#[tokio::test]
async fn a_launched_process_is_on_record_leads_its_session_and_ends_however_stubborn() {
    let dir = scratch("launch");
    let process = sleeper(&dir, "trap '' TERM HUP INT; while :; do sleep 1; done");
    assert_eq!(wait_for_record(&dir).await, vec![(process, "sleeper".to_owned())]);
    let session = rustix::process::getsid(Pid::from_raw(process.pid)).unwrap();
    assert_eq!(session.as_raw_pid(), process.pid);
    assert!(process.alive());
    end(&[process]).await.unwrap();
    assert!(!process.alive());
    assert!(!Path::new(&format!("/proc/{}", process.pid)).exists(), "a zombie stayed");
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_recycled_pid_is_neither_alive_nor_signalled() {
    let dir = scratch("recycled");
    let process = sleeper(&dir, "exec sleep 60");
    let stranger = Process { started_ticks: process.started_ticks + 1, ..process };
    assert!(!stranger.alive());
    stranger.signal(Signal::KILL);
    tokio::time::sleep(LOOK_EVERY).await;
    assert!(process.alive(), "a process that is not ours was killed");
    end_now(&[process]);
    assert!(!process.alive());
    std::fs::remove_dir_all(dir).unwrap();
}
