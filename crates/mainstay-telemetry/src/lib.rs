//! What every long-running Mainstay process has: the metric catalogue, an HTTP listener, logs and shutdown signals.
//!
//! The crate holds no policy and reads nothing of the fleet. A process collects its values and hands them over.

pub mod listener;
pub mod logs;
pub mod metrics;
pub mod shutdown;
