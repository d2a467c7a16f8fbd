//! What every long-running Mainstay process has: the metric catalogue.
//!
//! The crate holds no policy and reads nothing of the fleet. A process collects its values and hands them over.

pub mod metrics;
