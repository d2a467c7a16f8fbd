//! A virtual fleet with the production brain: the same engine, virtual time, and a world that breaks by published rates.
//!
//! A run is a function of its [`Options`] and of nothing else: chance comes from the seed, by purpose and by part, so
//! that a change in one corner leaves the others as they were, and logarithms come from a library of our own choice, so
//! that every machine gives the same bytes. The world speaks to the brain as the real one does (kernel lines, counters,
//! objects that arrive late) and never reads the catalogue that judges them.

mod accounting;
mod class;
mod compare;
mod event_log;
mod false_alarms;
mod fault_injection;
mod fault_schedule;
mod fleet;
mod history;
mod injected_fault;
mod job;
mod live;
mod machine;
mod model;
mod occurrence;
mod options;
mod outcome;
mod property;
mod rng;
mod run;
mod signature;
mod training;
mod world;

pub use class::FaultClass;
pub use compare::{
    COMPARISON_FORMAT, Comparison, Direction, Estimate, Measure, MeasureComparison, PAIRS_MAX, PAIRS_MIN, Unit,
    Verdict, compare,
};
pub use event_log::{
    Attempt, AttemptEnd, Checkpoint as JobCheckpoint, DecisionKind, DecisionLine, Interruption, JobLog, LogLine,
    StageChange,
};
pub use false_alarms::{FalseAlarmResult, run_false_alarms};
pub use fault_injection::{
    CALM_WITHIN, MinimalRun, NODES as STORM_NODES, STORM, SeedResult, SeedRun, shrink, timeline,
};
pub use fault_schedule::{FleetShape, ScheduledFault, fault_schedule, is_lemon, multiplier};
pub use history::{History, KernelLogLine, NodeLocation, TrueFault, TrueTicket};
pub use live::{
    AccountingView, DemoScript, GpuReadings, Injection, InjectionResult, JobState, JobView, LIVE_GPUS_MIN, LiveFleet,
    LiveOptions, NodeView, Step,
};
pub use model::{ALL_RATES, BadSetting as BadFigure, FailureModel, Parameter, Rates};
pub use occurrence::{InjectionKind, Situation, occurrences};
pub use options::{
    CheckpointPolicy, DAYS_MAX, DrainTool, GPUS_MAX, GPUS_MIN, GPUS_PER_NODE, JOBS_MAX, Options, Policies, Setting,
    SettingKind, settings,
};
pub use outcome::{
    BudgetUse, Cause, ClassOutcome, DurationSummary, EngineCounters, FORMAT, JobTotals, Lemons, Loss, Outcome,
    Quarantines, Run, Series,
};
pub use property::{PropertyViolation, wait_within};
pub use run::{Progress, history, run};
pub use training::{Training, TrainingOutcome};
