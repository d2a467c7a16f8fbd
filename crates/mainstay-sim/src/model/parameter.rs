//! The names of the parameters. Their values are in `tables/parameters.tsv`; that both hold the same names is a test.

/// One parameter of the failure model. A name that does not exist cannot be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// Stops of jobs per 1,000 node-days in a quiet fleet.
    StopRateLow,
    /// The same in the fleet that the base rates are from.
    StopRateBase,
    /// The same in a fleet with more trouble.
    StopRateHigh,
    /// The same in the worst that was published.
    StopRateStress,
    /// How alike nodes are: the shape of the Gamma of their multipliers.
    NodeMultiplierShape,
    /// Nodes that fail again and again.
    LemonShare,
    /// How much more often they do.
    LemonMultiplier,
    /// The shape of the Weibull between faults of one node; below one they cluster.
    TimeBetweenFailuresShape,
    /// Failures with another on the same node within a day.
    Relapse1Day,
    /// The same within 7 days.
    Relapse7Days,
    /// The same within 30 days.
    Relapse30Days,
    /// Faults that a neighbour's follows within minutes.
    BurstShare,
    /// Hands-on repair: the mean of its logarithm.
    RepairLnMinutesMu,
    /// Hands-on repair: the deviation of its logarithm.
    RepairLnMinutesSigma,
    /// Minutes to repair something of the network.
    RepairNetworkMedian,
    /// Minutes to repair something of the building.
    RepairFacilitiesMedian,
    /// GPU hard faults that need a part.
    RmaShare,
    /// Days until a part comes, at least.
    RmaDaysMin,
    /// Days until a part comes, at most.
    RmaDaysMax,
    /// Hard faults that say so.
    SensorHardRecall,
    /// Seconds until they do, at most.
    SensorHardDelayMax,
    /// Seconds between polls, which find the others.
    SensorPollInterval,
    /// Alarms of a statistical detector that are right.
    SensorStatisticalPrecision,
    /// What such a detector finds.
    SensorStatisticalRecall,
    /// Stops by software that look like hardware.
    SoftwareBlamedOnHardware,
    /// The chance that a day of wrong results is noticed.
    SilentCorruptionDetectedPerDay,
    /// Minutes that a passing slowness lasts.
    FailSlowLnMinutesMedian,
    /// Slowness that does not pass.
    FailSlowPermanentShare,
    /// How slow, at least.
    FailSlowFactorMin,
    /// How slow, at most.
    FailSlowFactorMax,
    /// Nodes that are new when a run begins.
    NewNodesShare,
    /// Days within which a new node shows that it was never right.
    DeliveryDefectDays,
    /// The deviation of the logarithm of a passing slowness.
    FailSlowLnMinutesSigma,
    /// People who repair.
    RepairCrewsPer1000Nodes,
    /// GPU time that jobs ask for, of all there is.
    JobFleetShare,
    /// The deviation of the logarithm of a job's run time.
    JobLnSecondsSigma,
    /// Minutes between the saves that a job makes by itself.
    JobCheckpointMinutes,
    /// Seconds that a save takes when it is asked for.
    JobSaveSeconds,
    /// Seconds until a job that starts makes progress.
    JobStartSeconds,
    /// Jobs that save when they are asked.
    JobSavesOnRequestShare,
    /// Jobs that save when they are told to stop.
    JobSavesOnStopShare,
    /// Seconds that a job hangs before it gives up, at most.
    JobHangSecondsMax,
    /// Hours until a person sees what no rule took out.
    PeopleNoticeHours,
    /// Repairs that end in an error.
    RungFails,
    /// Broken nodes that a suite finds.
    QualificationRecall,
    /// Sound nodes that fail a suite.
    QualificationFalseFail,
}

impl Parameter {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 46] = [
        Self::StopRateLow,
        Self::StopRateBase,
        Self::StopRateHigh,
        Self::StopRateStress,
        Self::NodeMultiplierShape,
        Self::LemonShare,
        Self::LemonMultiplier,
        Self::TimeBetweenFailuresShape,
        Self::Relapse1Day,
        Self::Relapse7Days,
        Self::Relapse30Days,
        Self::BurstShare,
        Self::RepairLnMinutesMu,
        Self::RepairLnMinutesSigma,
        Self::RepairNetworkMedian,
        Self::RepairFacilitiesMedian,
        Self::RmaShare,
        Self::RmaDaysMin,
        Self::RmaDaysMax,
        Self::SensorHardRecall,
        Self::SensorHardDelayMax,
        Self::SensorPollInterval,
        Self::SensorStatisticalPrecision,
        Self::SensorStatisticalRecall,
        Self::SoftwareBlamedOnHardware,
        Self::SilentCorruptionDetectedPerDay,
        Self::FailSlowLnMinutesMedian,
        Self::FailSlowPermanentShare,
        Self::FailSlowFactorMin,
        Self::FailSlowFactorMax,
        Self::NewNodesShare,
        Self::DeliveryDefectDays,
        Self::FailSlowLnMinutesSigma,
        Self::RepairCrewsPer1000Nodes,
        Self::JobFleetShare,
        Self::JobLnSecondsSigma,
        Self::JobCheckpointMinutes,
        Self::JobSaveSeconds,
        Self::JobStartSeconds,
        Self::JobSavesOnRequestShare,
        Self::JobSavesOnStopShare,
        Self::JobHangSecondsMax,
        Self::PeopleNoticeHours,
        Self::RungFails,
        Self::QualificationRecall,
        Self::QualificationFalseFail,
    ];

    /// The word, the same in tables, options and results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::StopRateLow => "stop_rate_low",
            Self::StopRateBase => "stop_rate_base",
            Self::StopRateHigh => "stop_rate_high",
            Self::StopRateStress => "stop_rate_stress",
            Self::NodeMultiplierShape => "node_multiplier_shape",
            Self::LemonShare => "lemon_share",
            Self::LemonMultiplier => "lemon_multiplier",
            Self::TimeBetweenFailuresShape => "time_between_failures_shape",
            Self::Relapse1Day => "relapse_1_day",
            Self::Relapse7Days => "relapse_7_days",
            Self::Relapse30Days => "relapse_30_days",
            Self::BurstShare => "burst_share",
            Self::RepairLnMinutesMu => "repair_ln_minutes_mu",
            Self::RepairLnMinutesSigma => "repair_ln_minutes_sigma",
            Self::RepairNetworkMedian => "repair_network_median",
            Self::RepairFacilitiesMedian => "repair_facilities_median",
            Self::RmaShare => "rma_share",
            Self::RmaDaysMin => "rma_days_min",
            Self::RmaDaysMax => "rma_days_max",
            Self::SensorHardRecall => "sensor_hard_recall",
            Self::SensorHardDelayMax => "sensor_hard_delay_max",
            Self::SensorPollInterval => "sensor_poll_interval",
            Self::SensorStatisticalPrecision => "sensor_statistical_precision",
            Self::SensorStatisticalRecall => "sensor_statistical_recall",
            Self::SoftwareBlamedOnHardware => "software_blamed_on_hardware",
            Self::SilentCorruptionDetectedPerDay => "silent_corruption_detected_per_day",
            Self::FailSlowLnMinutesMedian => "fail_slow_ln_minutes_median",
            Self::FailSlowPermanentShare => "fail_slow_permanent_share",
            Self::FailSlowFactorMin => "fail_slow_factor_min",
            Self::FailSlowFactorMax => "fail_slow_factor_max",
            Self::NewNodesShare => "new_nodes_share",
            Self::DeliveryDefectDays => "delivery_defect_days",
            Self::FailSlowLnMinutesSigma => "fail_slow_ln_minutes_sigma",
            Self::RepairCrewsPer1000Nodes => "repair_crews_per_1000_nodes",
            Self::JobFleetShare => "job_fleet_share",
            Self::JobLnSecondsSigma => "job_ln_seconds_sigma",
            Self::JobCheckpointMinutes => "job_checkpoint_minutes",
            Self::JobSaveSeconds => "job_save_seconds",
            Self::JobStartSeconds => "job_start_seconds",
            Self::JobSavesOnRequestShare => "job_saves_on_request_share",
            Self::JobSavesOnStopShare => "job_saves_on_stop_share",
            Self::JobHangSecondsMax => "job_hang_seconds_max",
            Self::PeopleNoticeHours => "people_notice_hours",
            Self::RungFails => "rung_fails",
            Self::QualificationRecall => "qualification_recall",
            Self::QualificationFalseFail => "qualification_false_fail",
        }
    }

    /// The meaning of the parameter, for `mainstay sim settings`.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::StopRateLow | Self::StopRateBase | Self::StopRateHigh | Self::StopRateStress => {
                "Published rate of job stops, for comparison only"
            }
            Self::NodeMultiplierShape => "Gamma shape of the fault rates of nodes; higher is more alike",
            Self::LemonShare => "Share of nodes that are lemons",
            Self::LemonMultiplier => "Fault rate of a lemon, relative to other nodes",
            Self::TimeBetweenFailuresShape => "Weibull shape of the time between faults of a node",
            Self::Relapse1Day => "Share of faults with another on the same node within 1 day",
            Self::Relapse7Days => "Share of faults with another on the same node within 7 days",
            Self::Relapse30Days => "Share of faults with another on the same node within 30 days",
            Self::BurstShare => "Share of faults followed by one on a neighbour within minutes",
            Self::RepairLnMinutesMu => "Hands-on repair time, mean of the logarithm",
            Self::RepairLnMinutesSigma => "Hands-on repair time, deviation of the logarithm",
            Self::RepairNetworkMedian => "Median repair time of a network fault",
            Self::RepairFacilitiesMedian => "Median repair time of a building fault",
            Self::RmaShare => "Share of GPU hard faults that need a new part",
            Self::RmaDaysMin => "Shortest delivery time of a part",
            Self::RmaDaysMax => "Longest delivery time of a part",
            Self::SensorHardRecall => "Share of hard faults that a sensor reports",
            Self::SensorHardDelayMax => "Longest delay of a sensor report of a hard fault",
            Self::SensorPollInterval => "Interval of polls, which find the other hard faults",
            Self::SensorStatisticalPrecision => "Precision of the statistical detector",
            Self::SensorStatisticalRecall => "Recall of the statistical detector",
            Self::SoftwareBlamedOnHardware => "Share of software stops that look like hardware faults",
            Self::SilentCorruptionDetectedPerDay => "Probability per day that wrong results are noticed",
            Self::FailSlowLnMinutesMedian => "Median duration of a temporary slowdown",
            Self::FailSlowPermanentShare => "Share of slowdowns that are permanent",
            Self::FailSlowFactorMin => "Smallest slowdown factor",
            Self::FailSlowFactorMax => "Largest slowdown factor",
            Self::NewNodesShare => "Share of nodes that are new at the start",
            Self::DeliveryDefectDays => "Time within which a delivery defect shows",
            Self::FailSlowLnMinutesSigma => "Duration of a temporary slowdown, deviation of the logarithm",
            Self::RepairCrewsPer1000Nodes => "Repair crews per 1,000 nodes",
            Self::JobFleetShare => "Share of GPU time that jobs request",
            Self::JobLnSecondsSigma => "Job run time, deviation of the logarithm",
            Self::JobCheckpointMinutes => "Interval of a job's own checkpoints",
            Self::JobSaveSeconds => "Duration of a checkpoint on request",
            Self::JobStartSeconds => "Time from job start to first progress",
            Self::JobSavesOnRequestShare => "Share of jobs that checkpoint on request",
            Self::JobSavesOnStopShare => "Share of jobs that checkpoint when stopped",
            Self::JobHangSecondsMax => "Longest hang of a job before it fails",
            Self::PeopleNoticeHours => "Time until an operator notices a fault that no rule found",
            Self::RungFails => "Share of repair steps that fail",
            Self::QualificationRecall => "Share of faulty nodes that fail the test suite",
            Self::QualificationFalseFail => "Share of healthy nodes that fail the test suite",
        }
    }

    /// The parameter of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parameter| parameter.word() == word)
    }
}
