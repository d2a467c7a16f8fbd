//! The failure model: published failure rates and repair times from `tables/`. Every parameter can be changed for a
//! parameter sweep. `fault_schedule.rs` draws faults from it.

mod parameter;
mod table;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub use parameter::Parameter;
pub(crate) use table::Unit;

use crate::FaultClass;

/// The name under which all rates are scaled at once.
pub const ALL_RATES: &str = "all-rates";

/// Which rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rates {
    /// Of a quiet fleet.
    Low,
    /// Of the fleet that most of the figures come from.
    Base,
    /// Of a fleet with more trouble.
    High,
    /// Every base rate, scaled to the worst fleet that was published.
    Stress,
}

impl Rates {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Low, Self::Base, Self::High, Self::Stress];

    /// The word, the same in options and results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Base => "base",
            Self::High => "high",
            Self::Stress => "stress",
        }
    }

    /// The rates of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rates| rates.word() == word)
    }
}

/// Why a figure was not changed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BadSetting {
    /// There is no such figure.
    #[error("the failure model has no parameter {0}")]
    Unknown(String),
    /// It is there to compare with; changing it would change nothing.
    #[error("{0} is a published reference value and cannot be changed")]
    Fixed(String),
    /// All rates at once have no common value.
    #[error("{ALL_RATES} can be scaled but not set, because the rates differ")]
    NoOneValue,
    /// It cannot be that.
    #[error("{name} = {value} is out of range; allowed: {min} to {max}")]
    OutOfRange {
        /// Which figure.
        name: String,
        /// What was asked for.
        value: f64,
        /// The least it may be.
        min: f64,
        /// The most it may be.
        max: f64,
    },
    /// A factor is a number above zero.
    #[error("{0} is not a factor; use a number above zero")]
    NoFactor(f64),
}

/// Value of a rate or a parameter, with its range.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ParameterValue {
    value: f64,
    min: f64,
    max: f64,
    measure: Scale,
}

/// How a factor changes a value of the failure model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Multiplies it.
    Plain,
    /// Multiplies what it is the logarithm of.
    Logarithm,
}

/// What breaks, how often and how.
#[derive(Debug, Clone, PartialEq)]
pub struct FailureModel {
    rates: [ParameterValue; FaultClass::ALL.len()],
    units: [Unit; FaultClass::ALL.len()],
    parameters: [ParameterValue; Parameter::ALL.len()],
}

// === impl ParameterValue ===

impl ParameterValue {
    fn is_fixed(self) -> bool {
        self.min >= self.max
    }

    fn scale(&mut self, factor: f64) {
        let scaled = match self.measure {
            Scale::Plain => self.value * factor,
            Scale::Logarithm => self.value + libm::log(factor),
        };
        self.value = scaled.clamp(self.min, self.max);
    }
}

// === impl FailureModel ===

impl FailureModel {
    /// The published figures, with these rates.
    #[must_use]
    pub fn built_in(rates: Rates) -> Self {
        let read = table::read(include_str!("../tables/rates.tsv"), include_str!("../tables/parameters.tsv"), rates);
        match read {
            Ok(model) => model,
            Err(problem) => unreachable!("the built-in tables are sound (a test reads them): {problem}"),
        }
    }

    /// Faults of this class per unit and day; for `Unit::NodeOnce`, per new node.
    #[must_use]
    pub const fn rate_per_day(&self, class: FaultClass) -> f64 {
        self.rates[class as usize].value
    }

    /// What the rate of a class is per.
    #[must_use]
    pub const fn unit(&self, class: FaultClass) -> Unit {
        self.units[class as usize]
    }

    /// The value of a parameter.
    #[must_use]
    pub const fn get(&self, parameter: Parameter) -> f64 {
        self.parameters[parameter as usize].value
    }

    /// Sets a figure by its name: a parameter's, or that of a class for its rate.
    ///
    /// # Errors
    /// When there is no such figure, or it cannot be that.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), BadSetting> {
        if name == ALL_RATES {
            return Err(BadSetting::NoOneValue);
        }
        let figure = self.figure(name)?;
        if !(figure.min..=figure.max).contains(&value) {
            return Err(BadSetting::OutOfRange { name: name.to_owned(), value, min: figure.min, max: figure.max });
        }
        figure.value = value;
        Ok(())
    }

    /// Scales a figure by its name, or `all-rates`. What would leave its range stops at the end of it: three times a
    /// share of 0.5 is 1. Of a logarithm, what it is the logarithm of is scaled.
    ///
    /// # Errors
    /// When there is no such figure, or the factor is none.
    pub fn scale(&mut self, name: &str, factor: f64) -> Result<(), BadSetting> {
        if !(factor > 0.0 && factor.is_finite()) {
            return Err(BadSetting::NoFactor(factor));
        }
        if name == ALL_RATES {
            self.scale_rates(factor);
        } else {
            self.figure(name)?.scale(factor);
        }
        Ok(())
    }

    /// Everything that can be scaled: all rates at once, each rate, each parameter.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let parameters =
            Parameter::ALL.into_iter().filter(|&parameter| !self.parameters[parameter as usize].is_fixed());
        let classes = FaultClass::ALL.into_iter().map(FaultClass::word);
        std::iter::once(ALL_RATES).chain(classes).chain(parameters.map(Parameter::word))
    }

    /// The unit of a parameter, in the words of its table.
    pub(crate) fn parameter_unit(parameter: Parameter) -> &'static str {
        table::unit_of(include_str!("../tables/parameters.tsv"), parameter.word()).unwrap_or_default()
    }

    fn scale_rates(&mut self, factor: f64) {
        for rate in &mut self.rates {
            rate.scale(factor);
        }
    }

    fn figure(&mut self, name: &str) -> Result<&mut ParameterValue, BadSetting> {
        let figure = match (FaultClass::of(name), Parameter::of(name)) {
            (Some(class), _) => &mut self.rates[class as usize],
            (None, Some(parameter)) => &mut self.parameters[parameter as usize],
            (None, None) => return Err(BadSetting::Unknown(name.to_owned())),
        };
        if figure.is_fixed() { Err(BadSetting::Fixed(name.to_owned())) } else { Ok(figure) }
    }
}
