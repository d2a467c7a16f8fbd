//! Service level objectives (SLOs): error budgets, burn-rate alerts, and the guards that keep those alerts honest. Pure
//! arithmetic on integers; it queries no metrics store and writes no file.
//!
//! - [`slo`]: the definition of an objective, and its limits.
//! - [`catalogue`]: indicators that need no PromQL of the user.
//! - [`burn`]: the windows and thresholds of the alerts, with the least number of bad events that may page.
//! - [`detection`]: the time until an outage pages, and what makes an objective impossible to alert on in time.
//! - [`rules`]: the recording and alert rules of an objective; [`render`] prints them for Prometheus.
//! - [`budget`]: the error budget left, the incidents that consumed it, and the fact that it is spent.
//! - [`poisson`]: the distribution behind the low-count guard.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

pub mod budget;
pub mod burn;
pub mod catalogue;
pub mod detection;
pub mod poisson;
pub mod render;
pub mod rules;
pub mod slo;

#[cfg(test)]
mod tests;
