//! Two bindings that know nothing of each other, and nothing of this crate, read a fake node: nvml-wrapper from crates.io
//! and NVIDIA's nvidia-ml-py from PyPI. What they read must be the same, and what the script says, faults included.

mod agreement;
mod events;
mod faults;
mod hang;
mod holders;
mod python;
mod raw;
mod reading;
mod strict;

use fake_nvml::{FakeNode, State};
use nvml_wrapper::Nvml;
use tempfile::TempDir;

/// A node in a folder that goes with it.
struct Fixture {
    node: FakeNode,
    _folder: TempDir,
}

impl Fixture {
    fn new(state: &State) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        Ok(Self { node: FakeNode::create(folder.path(), state)?, _folder: folder })
    }

    fn nvml(&self) -> anyhow::Result<Nvml> {
        Ok(Nvml::builder().lib_path(self.node.library().as_os_str()).init()?)
    }
}
