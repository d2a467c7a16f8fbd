//! The shared executor: it carries out granted effects through a [`Backend`], such as Kubernetes or Slurm. It decides nothing. It
//! refuses whatever is no longer as the decision expected.
//!
//! Modules in the order of an effect: `executor` queues it, `rates` limits how fast effects start, `sequence` reads the stored grant
//! and the target again and sends one request, and `guards` compares what was read with what the effect expects. `barrier` keeps a
//! new leader from acting too early.

mod backend;
mod barrier;
mod executor;
mod guards;
mod rates;
mod sequence;

pub use backend::{Backend, Failure, FreshTarget, Leadership, Reply, StoredIntent, TargetState};
pub use barrier::BarrierStep;
pub use executor::{Executor, Finished, IN_FLIGHT_MAX, Offer, QUEUE_MAX};
pub use rates::{RateLimits, RateScope};
