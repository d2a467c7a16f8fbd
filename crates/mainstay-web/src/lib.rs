//! HTTP server of the demo and of `mainstay ui`: API calls, an event stream and the web UI.
//!
//! Calls that read are answered from one immutable [`snapshot`]. Calls that change something go through
//! [`published::Hub`] to the task that owns the fleet. [`render`] builds the parts of a snapshot from the engine. This
//! crate makes no decisions, reads no cluster and parses no arguments: its callers own the fleet.

pub mod access;
mod actions;
mod assets;
pub mod error;
mod guard;
mod metrics;
pub mod published;
mod queries;
pub mod render;
mod server;
pub mod snapshot;
mod stream;

pub use assets::{WebUi, web_ui};
pub use server::{ServerState, serve};
