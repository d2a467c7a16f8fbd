//! The definition of a service level objective, checked once when it is made. Everything else in this crate may rely on
//! its limits.

use mainstay_model::{Ppm, Span};

use crate::catalogue::Indicator;

/// Placeholder in a query for the window of the rule, as in `[$window]`.
pub const WINDOW: &str = "$window";

/// Most bytes of a query, of a name and of the other texts.
pub const QUERY_BYTES_MAX: usize = 2_048;
const NAME_BYTES_MAX: usize = 63;
const TEXT_BYTES_MAX: usize = 253;
/// Most labels that narrow an indicator of the catalogue.
pub const MATCHERS_MAX: usize = 8;

/// Objectives outside these limits have no useful error budget.
const OBJECTIVE_MIN: Ppm = Ppm(500_000);
const OBJECTIVE_MAX: Ppm = Ppm(999_990);
const DAYS_MIN: u16 = 7;
const DAYS_MAX: u16 = 90;
const DAY_SECONDS: u32 = 86_400;

/// A service level objective within its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slo {
    name: String,
    objective: Ppm,
    window_days: u16,
    sli: Sli,
    volume: Option<u64>,
    owner: String,
    severity: Severity,
    runbook_url: String,
}

/// Fields of an objective before they are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Name of the objective, also part of its rule group.
    pub name: String,
    /// Share of events that must be good.
    pub objective: Ppm,
    /// Length of the rolling window, in days.
    pub window_days: u16,
    /// How good and all events are counted.
    pub sli: Sli,
    /// Expected events a day, or the expected total of a level. Without it nothing pages.
    pub volume: Option<u64>,
    /// Team that is paged, as a label of every alert.
    pub owner: String,
    /// Most urgent alert that the objective may raise.
    pub severity: Severity,
    /// Address of the runbook, as an annotation of every alert.
    pub runbook_url: String,
}

/// Service level indicator: how good and all events are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sli {
    /// Two PromQL queries that count good and all events within `$window`.
    Events {
        /// Number of good events.
        good: String,
        /// Number of all events.
        total: String,
    },
    /// An indicator of the catalogue.
    Catalogue {
        /// Which indicator.
        indicator: Indicator,
        /// Labels that its series must have, with their values.
        matchers: Vec<(String, String)>,
    },
}

/// The most urgent alert of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It can wait for working hours.
    Ticket,
    /// It wakes the on-call engineer.
    Page,
}

/// A definition that is outside its limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// A text has the wrong length or characters.
    #[error("{field} must have 1 to {bytes_max} bytes, {alphabet}")]
    Text {
        /// Field with the text.
        field: &'static str,
        /// Most bytes.
        bytes_max: usize,
        /// Characters that it may have.
        alphabet: &'static str,
    },
    /// The objective leaves no error budget, or too large a one.
    #[error("the objective must be 500,000 to 999,990 ppm, not {0}")]
    Objective(u32),
    /// The window is too short or too long.
    #[error("the window must be 7 to 90 days, not {0}")]
    WindowDays(u16),
    /// A query without a window cannot be evaluated over several of them.
    #[error("the query {0} must contain [$window]")]
    NoWindow(&'static str),
    /// Too many labels narrow the indicator.
    #[error("{0} labels; at most 8 are taken")]
    Matchers(usize),
    /// An expected volume of zero is no expectation.
    #[error("the expected volume must be 1 to 1,000,000,000,000, not {0}")]
    Volume(u64),
}

// === impl Slo ===

impl Slo {
    /// Checks a definition.
    ///
    /// # Errors
    /// Returns every limit that the definition violates.
    pub fn new(definition: Definition) -> Result<Self, Vec<DefinitionError>> {
        let mut errors = Vec::new();
        let Definition { name, objective, window_days, sli, volume, owner, severity, runbook_url } = definition;
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        text(&mut errors, "name", &name, NAME_BYTES_MAX, "lower-case letters, digits and hyphens", is_name);
        text(&mut errors, "owner", &owner, TEXT_BYTES_MAX, PRINTABLE, is_printable);
        text(&mut errors, "runbook_url", &runbook_url, TEXT_BYTES_MAX, PRINTABLE, is_printable);
        if !(OBJECTIVE_MIN..=OBJECTIVE_MAX).contains(&objective) {
            errors.push(DefinitionError::Objective(objective.0));
        }
        if !(DAYS_MIN..=DAYS_MAX).contains(&window_days) {
            errors.push(DefinitionError::WindowDays(window_days));
        }
        if let Some(volume) = volume.filter(|volume| !(1..=1_000_000_000_000).contains(volume)) {
            errors.push(DefinitionError::Volume(volume));
        }
        match &sli {
            Sli::Events { good, total } => {
                for (field, query) in [("good", good), ("total", total)] {
                    text(&mut errors, field, query, QUERY_BYTES_MAX, PRINTABLE, is_printable);
                    if !query.contains("[$window]") {
                        errors.push(DefinitionError::NoWindow(field));
                    }
                }
            }
            Sli::Catalogue { indicator, matchers } => {
                if matchers.len() > MATCHERS_MAX {
                    errors.push(DefinitionError::Matchers(matchers.len()));
                }
                let is_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                for (label, value) in matchers {
                    text(&mut errors, "label", label, NAME_BYTES_MAX, "letters, digits and underscores", is_label);
                    text(&mut errors, "label value", value, TEXT_BYTES_MAX, PRINTABLE, is_printable);
                }
                if let Some(metric) = indicator.metric() {
                    let is_metric = |byte: u8| is_label(byte) || byte == b':';
                    text(&mut errors, "metric", metric, TEXT_BYTES_MAX, "letters, digits, _ and :", is_metric);
                }
                if let Some(bound) = indicator.bound() {
                    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
                    text(&mut errors, "bound", bound, NAME_BYTES_MAX, "digits and a point", is_number);
                }
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self { name, objective, window_days, sli, volume, owner, severity, runbook_url })
    }

    /// Name of the objective.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Share of events that must be good.
    #[must_use]
    pub fn objective(&self) -> Ppm {
        self.objective
    }

    /// Share of events that may be bad; never zero.
    #[must_use]
    pub fn budget(&self) -> Ppm {
        Ppm(Ppm::ONE.0 - self.objective.0)
    }

    /// Length of the rolling window.
    #[must_use]
    pub fn window(&self) -> Span {
        Span::seconds(u32::from(self.window_days) * DAY_SECONDS)
    }

    /// How good and all events are counted.
    #[must_use]
    pub fn sli(&self) -> &Sli {
        &self.sli
    }

    /// Whether the indicator counts events or compares levels.
    #[must_use]
    pub fn counting(&self) -> Counting {
        match &self.sli {
            Sli::Events { .. } => Counting::Events,
            Sli::Catalogue { indicator, .. } => indicator.counting(),
        }
    }

    /// Expected events a day, or the expected total of a level.
    #[must_use]
    pub fn volume(&self) -> Option<u64> {
        self.volume
    }

    /// Team that receives the alerts.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Most urgent alert that the objective may raise.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Address of the runbook.
    #[must_use]
    pub fn runbook_url(&self) -> &str {
        &self.runbook_url
    }
}

/// What the numbers of an indicator count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Separate events, which fail independently while the service is healthy.
    Events,
    /// A level such as the number of GPUs, averaged over the window. A page needs at least this much of it to be bad.
    Level {
        /// Least average level that may page.
        bad_min: u64,
    },
}

impl Severity {
    /// Value of the label `severity`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::Page => "page",
        }
    }
}

const PRINTABLE: &str = "printable ASCII";

fn is_printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

fn text(
    errors: &mut Vec<DefinitionError>,
    field: &'static str,
    value: &str,
    bytes_max: usize,
    alphabet: &'static str,
    takes: impl Fn(u8) -> bool,
) {
    if value.is_empty() || value.len() > bytes_max || !value.bytes().all(takes) {
        errors.push(DefinitionError::Text { field, bytes_max, alphabet });
    }
}
