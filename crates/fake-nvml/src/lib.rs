//! A `libnvidia-ml.so.1` for machines without a GPU: NVML's own C ABI over a node that a file describes.
//!
//! The crate is two things. Built as a shared library it is what programs load in place of NVIDIA's: unmodified
//! nvml-wrapper and NVIDIA's Python binding read the same values from it (`tests/`). Used as a Rust crate it is the hand
//! behind the scenes: [`Profile`] gives a healthy node, [`State`] holds it with a script of [`Fault`]s on one clock, and
//! [`FakeNode`] writes it where the library reads it and plays the operator who unloads a driver or resets a GPU.
//!
//! The story in order: [`state`] is the file, `moment` says what the script comes to now, `live` is the gate that every call
//! goes through (hangs and errors first), `abi` are the functions. `holders` knows which processes have the driver open,
//! because the driver does: an unload that an agent blocks must be seen to be blocked. Nothing here is shipped.
//!
//! What it does not know of a real GPU, and how the file looks, is in `docs/contribute/fake-nvml.md`.

pub mod profile;
pub mod state;

mod abi;
mod events;
mod fields;
mod files;
mod handle;
mod holders;
mod node;
mod problem;
mod return_codes;
mod session;
mod snapshot;
mod symbols;
mod watch;

pub use files::{STATE_NAME, STATE_VARIABLE};
pub use holders::Holder;
pub use node::{FakeNode, LIBRARY_NAME, built_library};
pub use problem::Problem;
pub use profile::Profile;
pub use snapshot::Snapshot;
pub use state::{Effect, Fault, FaultId, Growth, HangMode, State};
pub use symbols::all as symbols;
