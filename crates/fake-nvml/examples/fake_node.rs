//! Writes a fake GPU node to a directory, for a real agent on a machine without GPUs: eight healthy H100s, and on request an XID.
//!
//! ```text
//! cargo run -p fake-nvml --example fake_node -- DIR            # create the node
//! cargo run -p fake-nvml --example fake_node -- DIR GPU XID    # report this XID for this GPU now
//! ```
//!
//! The agent reads it with `--nvml DIR/nvml/libnvidia-ml.so.1 --sys DIR/sys --root DIR/root`. There is no kernel log.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use fake_nvml::{Effect, FakeNode, Profile, STATE_NAME, State};

/// The agent opens NVML only while the driver's module is loaded, and closes it when these disappear.
const DIRECTORIES: [&str; 3] =
    ["sys/bus/pci/devices", "sys/module/nvidia/holders/nvidia_uvm", "root/run/nvidia-persistenced"];

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [directory] => create(Path::new(directory)),
        [directory, gpu, xid] => report(Path::new(directory), gpu.parse()?, xid.parse()?),
        _ => bail!("usage: fake_node DIR [GPU XID]"),
    }
}

fn create(directory: &Path) -> Result<()> {
    for part in DIRECTORIES {
        fs::create_dir_all(directory.join(part))?;
    }
    fs::write(directory.join("root/run/nvidia-persistenced/nvidia-persistenced.pid"), "4242\n")?;
    FakeNode::create_with(&directory.join("nvml"), &Profile::H100.state(), &library()?)?;
    Ok(())
}

fn report(directory: &Path, gpu: u32, xid: u64) -> Result<()> {
    let path = directory.join("nvml").join(STATE_NAME);
    let mut state: State = serde_json::from_slice(&fs::read(&path)?)?;
    let now_ms = state.now_ms();
    state.fault(gpu, now_ms, Effect::xid(xid));
    state.check()?;
    // Renamed into place, so that the library reads the old state or the new one.
    let draft = path.with_extension("draft");
    fs::write(&draft, serde_json::to_vec(&state)?)?;
    fs::rename(&draft, &path)?;
    Ok(())
}

/// The library that cargo built with this example: `deps` is next to `examples`.
fn library() -> Result<PathBuf> {
    let program = env::current_exe()?;
    let target = program.parent().and_then(Path::parent).context("this program is in no target directory")?;
    Ok(target.join("deps/libfake_nvml.so"))
}
