//! A machine for `bundle`: folders in place of sysfs, a kernel log, a store that a daemon kept, and tools that are scripts.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use fake_kernel::{Files, Line};
use mainstay_agent::store::Store;
use mainstay_model::BootId;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub(crate) type TestResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

pub(crate) struct Machine {
    folder: tempfile::TempDir,
    log: Files,
}

impl Machine {
    pub(crate) fn new() -> TestResult<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["tools", "sys", "out", "marks"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let store = Store::new(BootId::parse(boot.trim())?);
        fs::write(folder.path().join("state.json"), serde_json::to_vec(&store.kept())?)?;
        let log = Files::serve(1 << 16)?;
        let line = "NVRM: Xid (PCI:0000:1b:00): 79, pid=9, name=secret\nsecret, GPU has fallen off the bus.";
        log.write(Line::text(line));
        Ok(Self { folder, log })
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// A tool that is a script; `$MARKS` is a folder of the test.
    pub(crate) fn tool(&self, name: &str, script: &str) -> TestResult {
        let path = self.folder.path().join("tools").join(name);
        let marks = self.folder.path().join("marks");
        fs::write(&path, format!("#!/bin/sh\nMARKS={}\n{script}\n", marks.display()))?;
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
    }

    pub(crate) fn without(&self, name: &str) -> TestResult {
        Ok(fs::remove_file(self.folder.path().join("tools").join(name))?)
    }

    pub(crate) fn adapter(&self, name: &str, interface: &str) -> TestResult {
        let net = self.folder.path().join("sys/class/infiniband").join(name).join("device/net");
        Ok(fs::create_dir_all(net.join(interface))?)
    }

    pub(crate) fn command(&self, options: &[&str]) -> Command {
        let at = |name: &str| self.folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay-agent"));
        command.args(["bundle", "-o", "json"]).args(["--disable", "pcie,infiniband"]);
        command.arg("--tools").arg(at("tools")).arg("--out").arg(at("out")).arg("--sys").arg(at("sys"));
        command.arg("--root").arg(at("root")).arg("--state").arg(at("state.json"));
        if !options.contains(&"--kmsg") {
            command.arg("--kmsg").arg(self.log.log_path());
        }
        command.args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn bundle(&self, options: &[&str]) -> TestResult<(i32, Value)> {
        read(&self.command(options).output()?)
    }

    /// Runs it, and ends it by SIGTERM once a tool has left this mark.
    pub(crate) fn bundle_stopped_at(&self, mark: &str) -> TestResult<(i32, Value)> {
        let child = self.command(&[]).spawn()?;
        let (mark, begun) = (self.folder.path().join("marks").join(mark), Instant::now());
        while !mark.exists() {
            assert!(begun.elapsed() < Duration::from_secs(30), "no tool came to {}", mark.display());
            std::thread::park_timeout(Duration::from_millis(10));
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id())?).ok_or("no pid")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let asked = Instant::now();
        let output = child.wait_with_output()?;
        assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
        read(&output)
    }

    /// What is in the archive, with its sums checked.
    pub(crate) fn unpack(&self, said: &Value) -> TestResult<BTreeMap<String, String>> {
        let path = said["path"].as_str().ok_or("no path")?;
        let archive = fs::read(path)?;
        assert_eq!(said["sha256"].as_str(), Some(hex(&archive).as_str()));
        assert_eq!(fs::metadata(path)?.permissions().mode() & 0o777, 0o600);
        let mut entries = BTreeMap::new();
        let mut names = Vec::new();
        let mut tar = tar::Archive::new(zstd::Decoder::new(&archive[..])?);
        for entry in tar.entries()? {
            let mut entry = entry?;
            let name = entry.path()?.file_name().ok_or("no name")?.to_string_lossy().into_owned();
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            names.push(name.clone());
            entries.insert(name, text);
        }
        assert_eq!(names.last().map(String::as_str), Some("SHA256SUMS"));
        let sums: BTreeMap<&str, &str> = entries["SHA256SUMS"]
            .lines()
            .filter_map(|line| line.split_once("  "))
            .map(|(sum, name)| (name, sum))
            .collect();
        for (name, text) in entries.iter().filter(|(name, _)| *name != "SHA256SUMS") {
            assert_eq!(sums.get(name.as_str()).copied(), Some(hex(text.as_bytes()).as_str()), "{name}");
        }
        let listed = said["entries"].as_array().ok_or("no entries")?.iter().filter(|entry| entry["bytes"] != 0).count();
        assert_eq!((sums.len(), entries.len()), (listed + 1, listed + 2));
        Ok(entries)
    }

    /// Processes that a tool started and that are still there.
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

pub(crate) fn entry<'a>(said: &'a Value, name: &str) -> &'a Value {
    let found = said["entries"].as_array().and_then(|entries| entries.iter().find(|entry| entry["name"] == name));
    found.unwrap_or(&Value::Null)
}

fn read(output: &Output) -> TestResult<(i32, Value)> {
    let complaint = String::from_utf8_lossy(&output.stderr);
    let said = serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {complaint}"))?;
    Ok((output.status.code().unwrap_or(-1), said))
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
