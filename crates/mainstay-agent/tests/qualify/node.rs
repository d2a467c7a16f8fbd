//! A node for `qualify`: a driver that is a folder, programs that are scripts, suites of the test's own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) type TestResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

pub(crate) struct Node {
    folder: tempfile::TempDir,
}

/// One test of a suite, as text; figures must have an `x`.
pub(crate) fn test(program: &str, seconds: u64, limits: &str, parser: &str) -> String {
    let threshold =
        if parser == "figures" { "threshold = [{ figure = \"x\", products = [\"*\"], at_least = 1 }]" } else { "" };
    format!(
        "[[test]]\nname = \"{program}\"\nprogram = \"{program}\"\narguments = []\ntime_limit_seconds = {seconds}\nlimits = {{ {limits} }}\nparser = {{ kind = \"{parser}\" }}\n{threshold}\n"
    )
}

impl Node {
    pub(crate) fn new() -> TestResult<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["tools", "marks", "scratch", "suites", "proc/sys/kernel/random", "proc/driver/nvidia/gpus"] {
            fs::create_dir_all(folder.path().join(name))?;
        }
        fs::write(folder.path().join("proc/sys/kernel/random/boot_id"), "5f1c-1\n")?;
        Ok(Self { folder })
    }

    /// A driver that lists so many GPUs of a model.
    pub(crate) fn driver(&self, model: &str, gpus: u8) -> TestResult {
        for gpu in 0..gpus {
            let folder = self.folder.path().join(format!("proc/driver/nvidia/gpus/0000:{gpu:02x}:00.0"));
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("information"), format!("Model: \t\t {model}\nIRQ:   \t\t 1\n"))?;
        }
        Ok(())
    }

    /// A program that is a script; `$MARKS` is a folder of the test.
    pub(crate) fn tool(&self, name: &str, script: &str) -> TestResult {
        let (path, marks) = (self.folder.path().join("tools").join(name), self.folder.path().join("marks"));
        fs::write(&path, format!("#!/bin/sh\nMARKS={}\n{script}\n", marks.display()))?;
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
    }

    /// A program that prints a text, after some checks, and ends with `$code`.
    pub(crate) fn says(&self, name: &str, text: &str, checks: &str) -> TestResult {
        let path = self.folder.path().join(format!("{name}.said"));
        fs::write(&path, text)?;
        self.tool(name, &format!("code=0\n{checks}\ncat {}\nexit $code", path.display()))
    }

    pub(crate) fn suite(&self, name: &str, tests: &[String]) -> TestResult {
        let text = format!("name = \"{name}\"\nabout = \"of a test\"\n{}", tests.concat());
        Ok(fs::write(self.folder.path().join(format!("suites/{name}.toml")), text)?)
    }

    pub(crate) fn command(&self, suite: &str, options: &[&str]) -> Command {
        let at = |name: &str| self.folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay-agent"));
        command.args(["qualify", "--suite", suite, "-o", "json"]).args(options);
        command.arg("--suites").arg(at("suites")).arg("--tools").arg(at("tools")).arg("--scratch").arg(at("scratch"));
        command.arg("--proc").arg(at("proc")).arg("--sys").arg(at("sys")).arg("--root").arg(at("root"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn qualify(&self, suite: &str, options: &[&str]) -> TestResult<(i32, Value)> {
        read(&self.command(suite, options).output()?)
    }

    /// Ends it by SIGTERM once a test has left this mark.
    pub(crate) fn qualify_stopped_at(&self, suite: &str, mark: &str) -> TestResult<(i32, Value)> {
        let child = self.begun(suite, mark)?;
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id())?).ok_or("no pid")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let asked = Instant::now();
        let output = child.wait_with_output()?;
        assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
        read(&output)
    }

    /// Kills it once a test has left this mark.
    pub(crate) fn killed_at(&self, suite: &str, mark: &str) -> TestResult {
        let mut child = self.begun(suite, mark)?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    fn begun(&self, suite: &str, mark: &str) -> TestResult<Child> {
        let child = self.command(suite, &[]).spawn()?;
        let (mark, begun) = (self.folder.path().join("marks").join(mark), Instant::now());
        while !mark.exists() {
            assert!(begun.elapsed() < Duration::from_secs(30), "no test came to {}", mark.display());
            std::thread::park_timeout(Duration::from_millis(10));
        }
        Ok(child)
    }

    pub(crate) fn scratch_is_empty(&self) -> TestResult<bool> {
        Ok(fs::read_dir(self.folder.path().join("scratch"))?.next().is_none())
    }

    /// Processes that a test started and that are still there.
    pub(crate) fn marked_processes(&self) -> TestResult<Vec<String>> {
        let pids = fs::read_to_string(self.folder.path().join("marks/pids"))?;
        assert!(pids.lines().count() >= 2, "{pids}");
        let alive = |pid: &&str| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // A zombie that nobody has reaped yet is gone.
            stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
        };
        Ok(pids.lines().filter(alive).map(str::to_owned).collect())
    }
}

fn read(output: &Output) -> TestResult<(i32, Value)> {
    let complaint = String::from_utf8_lossy(&output.stderr);
    let said = serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {complaint}"))?;
    Ok((output.status.code().unwrap_or(-1), said))
}
