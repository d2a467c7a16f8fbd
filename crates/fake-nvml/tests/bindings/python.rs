//! NVIDIA's binding in an interpreter of its own. A machine without Python fails these tests; they are never skipped.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use fake_nvml::FakeNode;
use serde_json::Value;

/// A reader under way.
pub(crate) struct Python {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The interpreter that has the binding, made first where this machine has none.
fn interpreter() -> anyhow::Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/python/venv");
    let made =
        Command::new(script).arg("nvidia-ml-py").stderr(Stdio::inherit()).output().context("tools/python/venv")?;
    ensure!(made.status.success(), "there is no Python with nvidia-ml-py; tools/python/venv says why above");
    Ok(Path::new(String::from_utf8(made.stdout)?.trim()).join("bin/python"))
}

impl Python {
    pub(crate) fn start(node: &FakeNode, order: &Value) -> anyhow::Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read.py");
        let mut command = Command::new(interpreter()?);
        command.arg(script).arg(order.to_string()).envs(node.environment());
        // No state by variable: the library that the linker found knows where it is.
        command.env_remove(fake_nvml::STATE_VARIABLE);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().context("stdout")?);
        let input = child.stdin.take();
        Ok(Self { child, input, output })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it prints.
    pub(crate) fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    /// Lets it go on, and answers what it says last.
    pub(crate) fn end(mut self) -> anyhow::Result<Value> {
        if let Some(mut input) = self.input.take() {
            // One that does not wait for it may have ended.
            let _ = input.write_all(b"\n");
        }
        let mut last = Value::Null;
        for line in self.output.by_ref().lines() {
            last = serde_json::from_str(&line?)?;
        }
        ensure!(self.child.wait()?.success(), "the Python reader failed; it says why above");
        Ok(last)
    }

    /// As `kill -9` does.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs it from beginning to end.
pub(crate) fn ask(node: &FakeNode, order: &Value) -> anyhow::Result<Value> {
    Python::start(node, order)?.end()
}
