//! A virtual fleet with the production brain: the same engine, virtual time, and a world that breaks by published rates.
//!
//! A run is a function of its [`Options`] and of nothing else: chance comes from the seed, by purpose and by part, so
//! that a change in one corner leaves the others as they were, and logarithms come from a library of our own choice, so
//! that every machine gives the same bytes. The world speaks to the brain as the real one does (kernel lines, counters,
//! objects that arrive late) and never reads the catalogue that judges them.

mod books;
mod chance;
mod chronicle;
mod class;
mod compare;
mod fleet;
mod history;
mod job;
mod live;
mod machine;
mod mad_sensor;
mod model;
mod onset;
mod options;
mod outcome;
mod promise;
mod run;
mod storm;
mod trouble;
mod voice;
mod world;

pub use chronicle::{
    Attempt, Checkpoint as JobCheckpoint, DecisionKind, DecisionLine, Ended, Interruption, JobLog, LogLine, Move,
};
pub use class::FaultClass;
pub use compare::{
    Better, COMPARISON_FORMAT, Compared, Comparison, Estimate, Measure, NotComparable, PAIRS_MAX, PAIRS_MIN, Unit,
    Verdict, compare, figure,
};
pub use history::{History, Placed, Printed, TrueFault, TrueTicket, history};
pub use live::{
    BooksView, Gauge, Injected, Injection, JobState, JobView, LIVE_GPUS_MIN, Live, LiveOptions, NodeView, Step, Story,
};
pub use mad_sensor::{Madness, mad_sensor};
pub use model::{ALL_RATES, BadSetting as BadFigure, FailureModel, Parameter, Rates};
pub use onset::{Onset, Shape, is_lemon, multiplier, onsets};
pub use options::{
    BadSetting, Checkpoint, DAYS_MAX, GPUS_MAX, GPUS_MIN, GPUS_PER_NODE, JOBS_MAX, Options, Policies, Setting,
    SettingKind, settings,
};
pub use outcome::{
    Brain, BudgetUse, Cause, ClassOutcome, FORMAT, Lemons, Loss, Outcome, Quarantines, Run, Series, Times, Work,
};
pub use promise::{Broken, wait_within};
pub use run::{Progress, run};
pub use storm::{CALM_WITHIN, NODES as STORM_NODES, STORM, Shrunk, Storm, Weathered, shrink, story};
