//! The agent for aarch64, the processor of GB200 nodes. It is cross-compiled, and an emulator runs `scan` with a fake NVML of the
//! same processor; its output must equal that of the native agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fake_kernel::{Files, Line};
use fake_nvml::{FakeNode, Profile};
use serde_json::Value;
use tempfile::TempDir;
use xtask::exit::Exit;
use xtask::{command, dist};

use super::program;
use super::sysfs::Sysfs;
use crate::prove::{Context, Measurement};

const TARGET: &str = "aarch64-unknown-linux-gnu";
/// Debian's cross compiler, and where its loader and C library are.
const LINKER: &str = "aarch64-linux-gnu-gcc";
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";
const EMULATOR: &str = "qemu-aarch64";
/// A cold build on two busy cores.
const BUILD_LIMIT: Duration = Duration::from_mins(15);
/// A scan ends within nine seconds whatever hangs; the emulator starts slowly.
const SCAN_LIMIT: Duration = Duration::from_mins(1);
const LOG_BYTES: usize = 1 << 16;
/// A compute tray has four.
const GPUS: usize = 4;

pub(super) async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let (agent, library) = build(context).await?;
    let here = program::build(context).await?;
    let (files, sysfs, folder) = (Files::serve(LOG_BYTES)?, Sysfs::new(None)?, TempDir::new()?);
    files.write(Line::text("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."));
    std::fs::create_dir_all(sysfs.path().join("module/nvidia/holders/nvidia_uvm"))?;
    std::fs::create_dir_all(folder.path().join("root"))?;
    let state = Profile::Gb200Tray.state();
    let theirs = FakeNode::create_with(&folder.path().join("aarch64"), &state, &library)?;
    let ours = FakeNode::create(&folder.path().join("here"), &state)?;
    let scan = |node: &FakeNode| -> Vec<OsString> {
        let mut args = vec!["scan".into(), "-o".into(), "json".into()];
        args.extend(program::reads(&files.log_path(), sysfs.path()).into_iter().take(4));
        args.extend(["--nvml".into(), node.library().into_os_string()]);
        args.extend(["--root".into(), folder.path().join("root").into_os_string()]);
        args
    };
    let mut emulated = command::program(EMULATOR, &context.workspace.root);
    emulated.args(["-L", LIBRARIES]).arg(&agent).args(scan(&theirs));
    let mut native = command::program(&here, &context.workspace.root);
    native.args(scan(&ours));
    let (emulated, native) = (said(&mut emulated).await?, said(&mut native).await?);
    let gpus = emulated["gpus"].as_array().map_or(0, Vec::len);
    ensure!(gpus == GPUS, "{gpus} GPUs are seen: {emulated}");
    ensure!(counted(&emulated) == ["\"79\" x1"], "the kernel log was not read: {emulated}");
    ensure!(counted(&emulated) == counted(&native), "evidence differs: {emulated} and {native} here");
    for part in ["health", "bootId", "versions", "states", "counters", "unseen"] {
        ensure!(emulated[part] == native[part], "{part} differs: {} and {} here", emulated[part], native[part]);
    }
    let bytes = std::fs::metadata(&agent)?.len();
    let detail = format!("{gpus} GPUs and an XID seen under {EMULATOR}, all as in the scan of the native agent");
    Ok(Measurement { value: i64::try_from(bytes / 1024)?, detail })
}

/// Builds the agent and the fake NVML, and answers where they are.
async fn build(context: &Context) -> anyhow::Result<(PathBuf, PathBuf)> {
    let root = &context.workspace.root;
    dist::add_target(root, TARGET).await?;
    let mut cargo = command::cargo(root);
    cargo.args(["build", "--quiet", "--release", "--package", "mainstay-agent", "--package", "fake-nvml"]);
    cargo.args(["--target", TARGET]).env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
    let built = command::holds(&mut cargo, BUILD_LIMIT).await?;
    ensure!(built == Exit::Holds, "the agent cannot be built for {TARGET}; is Debian's {LINKER} there?");
    let folder: &Path = &context.workspace.target_dir.join(TARGET).join("release");
    Ok((folder.join("mainstay-agent"), folder.join("libfake_nvml.so")))
}

/// Evidence without its timestamps, which each scan computes from the clock of the log.
fn counted(scan: &Value) -> Vec<String> {
    let evidence = scan["evidence"].as_array().into_iter().flatten();
    evidence.map(|piece| format!("{} x{}", piece["key"]["code"], piece["count"])).collect()
}

/// The output of a scan. The exit code is ignored: it depends on the health of the node.
async fn said(scan: &mut tokio::process::Command) -> anyhow::Result<Value> {
    scan.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let output = tokio::time::timeout(SCAN_LIMIT, scan.output()).await.context("a scan does not end")?;
    let output = output.context("cannot start a scan; is Debian's qemu-user there?")?;
    let words = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).with_context(|| format!("{}: {words}", output.status))
}
