//! What can go wrong on the side that writes the script.

use std::io;
use std::path::PathBuf;

use crate::holders::Holder;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A file.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The state file is no state.
    #[error("the state file is no state: {0}")]
    Json(#[from] serde_json::Error),
    /// The state is out of bounds.
    #[error("the state is out of bounds: {0}")]
    Invalid(String),
    /// Somebody holds what should go.
    #[error("in use: {}", .by.iter().map(|holder| format!("pid {}", holder.pid)).collect::<Vec<_>>().join(", "))]
    InUse {
        /// Who.
        by: Vec<Holder>,
    },
    /// There is no such GPU.
    #[error("there is no GPU {0}")]
    NoGpu(u32),
    /// The GPU cannot be cut into instances.
    #[error("GPU {0} has no MIG")]
    NoMig(u32),
    /// Another process has had the node's lock for too long.
    #[error("the node's lock is held by another process")]
    Locked,
    /// The library was not built beside the running program.
    #[error("libfake_nvml.so is not beside {}: build it with `cargo build -p fake-nvml`", .0.display())]
    NoLibrary(PathBuf),
}

impl Problem {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::File { path, error }
    }
}
