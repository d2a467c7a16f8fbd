//! A program under test: started by a test, its lines read with a limit, and killed when the test drops it.
//! The calls block their thread. The program's standard error is part of the error where a line does not come.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::wait::SOON;

/// Lines of output that are kept for a test which does not read them. With more, the program has to wait.
const UNREAD_LINES_MAX: usize = 10_000;
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A running program, killed when this value is dropped.
#[derive(Debug)]
pub struct TestProcess {
    child: Child,
    lines: Receiver<String>,
    errors: NamedTempFile,
}

/// Runs a program without standard input to its end, and kills it at the limit.
pub async fn run_to_end(command: Command, limit: Duration) -> Result<Output> {
    let mut command = tokio::process::Command::from(command);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(limit, command.output()).await;
    let output = output.with_context(|| format!("{:?} does not end within {limit:?}", command.as_std()))?;
    output.with_context(|| format!("cannot start {:?}", command.as_std()))
}

impl TestProcess {
    /// Starts a program without standard input.
    pub fn start(command: &mut Command) -> Result<Self> {
        let errors = NamedTempFile::new()?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors.reopen()?);
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let output = BufReader::new(child.stdout.take().context("no standard output")?);
        let (sender, lines) = sync_channel(UNREAD_LINES_MAX);
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Ok(Self { child, lines, errors })
    }

    /// Process id of the program.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of standard output, which must be JSON.
    pub fn next_json(&self) -> Result<Value> {
        self.line_by(Instant::now() + SOON)
    }

    /// The next line of which this is true. Lines before it are dropped.
    pub fn wait_for(&self, is: impl Fn(&Value) -> bool) -> Result<Value> {
        let give_up_at = Instant::now() + SOON;
        loop {
            let line = self.line_by(give_up_at)?;
            if is(&line) {
                return Ok(line);
            }
        }
    }

    fn line_by(&self, give_up_at: Instant) -> Result<Value> {
        let line = self.lines.recv_timeout(give_up_at.saturating_duration_since(Instant::now()));
        let line = line.map_err(|error| anyhow!("no line, {error}: {}", self.standard_error()))?;
        serde_json::from_str(&line).with_context(|| format!("{line:?}"))
    }

    /// The text of a field in the next line, such as the address in the first line of a server.
    pub fn next_text(&self, field: &str) -> Result<String> {
        let line = self.next_json()?;
        line[field].as_str().map(ToOwned::to_owned).with_context(|| format!("no {field} in {line}"))
    }

    /// Every line that was not read yet, after the program has ended or was killed.
    pub fn remaining_lines(&mut self) -> Vec<String> {
        self.kill();
        self.lines.iter().collect()
    }

    /// Standard error of the program so far.
    pub fn standard_error(&self) -> String {
        std::fs::read_to_string(self.errors.path()).unwrap_or_else(|error| error.to_string())
    }

    /// Ends the program as Ctrl-C does.
    pub fn interrupt(&mut self) -> Result<ExitStatus> {
        self.end(Signal::INT)
    }

    /// Ends the program as an init system does.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        self.end(Signal::TERM)
    }

    fn end(&mut self, signal: Signal) -> Result<ExitStatus> {
        kill_process(Pid::from_child(&self.child), signal)?;
        let give_up_at = Instant::now() + SOON;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(Instant::now() < give_up_at, "{signal:?} does not end it: {}", self.standard_error());
            std::thread::park_timeout(LOOK_EVERY);
        }
    }

    fn kill(&mut self) {
        // It may have ended by itself, and that is what was wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> TestProcess {
        TestProcess::start(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn lines_are_read_one_by_one_and_a_program_that_ends_explains_itself() {
        let mut program =
            shell(r#"echo '{"listen":"127.0.0.1:1"}'; echo 1; echo 2; echo last; echo broken >&2; exit 3"#);
        assert_eq!(program.next_text("listen").unwrap(), "127.0.0.1:1");
        assert_eq!(program.wait_for(|line| *line == 2).unwrap(), 2);
        assert!(program.next_json().unwrap_err().to_string().contains("last"));
        assert!(program.next_json().unwrap_err().to_string().ends_with(": broken\n"));
        assert_eq!(program.remaining_lines(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_killed_at_the_limit() {
        let output = run_to_end(Command::new("true"), SOON).await.unwrap();
        assert!(output.status.success());
        let mut endless = Command::new("sleep");
        endless.arg("1000");
        let late = run_to_end(endless, Duration::from_millis(100)).await.unwrap_err().to_string();
        assert!(late.contains("does not end within 100ms"), "{late}");
    }

    #[test]
    fn a_signal_ends_a_program_and_a_dropped_one_is_killed() {
        let mut program = shell("trap 'exit 7' INT; echo 1; while :; do sleep 0.05; done");
        program.next_json().unwrap();
        assert_eq!(program.interrupt().unwrap().code(), Some(7));

        let program = shell("exec sleep 1000");
        let path = format!("/proc/{}", program.id());
        assert!(std::path::Path::new(&path).exists());
        drop(program);
        assert!(!std::path::Path::new(&path).exists());
    }
}
