//! Reads the two tables. Every name must be there once, with numbers that make sense; what is missing or wrong is said
//! with its row, because a figure that quietly stays at zero would look like a result.

use super::{FailureModel, Parameter, ParameterValue, Rates, Scale};
use crate::FaultClass;

/// The most faults of one class that a unit may have a day, whatever it is scaled by: bounds the length of a run.
const RATE_MAX: f64 = 1.0;

/// What a rate is per.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// One GPU.
    Gpu,
    /// One network adapter.
    Nic,
    /// One link between an adapter and its leaf.
    Link,
    /// One node.
    Node,
    /// One new node, once.
    NodeOnce,
    /// One leaf switch.
    Leaf,
    /// One rack.
    Rack,
}

impl Unit {
    /// The unit of a rate in words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Gpu => "per GPU and day",
            Self::Nic => "per adapter and day",
            Self::Link => "per link and day",
            Self::Node => "per node and day",
            Self::NodeOnce => "per new node",
            Self::Leaf => "per leaf and day",
            Self::Rack => "per rack and day",
        }
    }

    fn of(word: &str) -> Option<Self> {
        match word {
            "gpu" => Some(Self::Gpu),
            "nic" => Some(Self::Nic),
            "link" => Some(Self::Link),
            "node" => Some(Self::Node),
            "node-once" => Some(Self::NodeOnce),
            "leaf" => Some(Self::Leaf),
            "rack" => Some(Self::Rack),
            _ => None,
        }
    }
}

/// The rows of a table of so many columns.
fn rows<const COLUMNS: usize>(text: &str) -> Result<Vec<[&str; COLUMNS]>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            <[&str; COLUMNS]>::try_from(cells)
                .map_err(|cells| format!("{} columns instead of {COLUMNS}: {line}", cells.len()))
        })
        .collect()
}

/// The unit of a parameter, as its table has it.
pub(super) fn unit_of(parameters_text: &'static str, name: &str) -> Option<&'static str> {
    let rows = rows::<7>(parameters_text).unwrap_or_default();
    rows.into_iter().find(|[word, ..]| *word == name).map(|[_, _, unit, ..]| unit)
}

/// A number that is one, and not below zero.
fn number(name: &str, cell: &str) -> Result<f64, String> {
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        Ok(_) | Err(_) => Err(format!("{name}: {cell} is no number from zero up")),
    }
}

/// A list in the order of `ALL`, of which nothing is missing.
fn complete<T, const N: usize>(found: [Option<T>; N], words: [&str; N]) -> Result<[T; N], String> {
    let missing = found.iter().zip(words).find(|(slot, _)| slot.is_none());
    if let Some((_, word)) = missing {
        return Err(format!("{word} is missing"));
    }
    let all: Vec<T> = found.into_iter().flatten().collect();
    <[T; N]>::try_from(all).map_err(|all| format!("{} instead of {N}", all.len()))
}

/// The model that the tables tell, with these rates.
pub(super) fn read(rates_text: &str, parameters_text: &str, rates: Rates) -> Result<FailureModel, String> {
    let parameters = read_parameters(parameters_text)?;
    let mut figures = [None; FaultClass::ALL.len()];
    let mut units = [None; FaultClass::ALL.len()];
    for [word, unit, low, base, high, source, confidence] in rows::<7>(rates_text)? {
        let class = FaultClass::of(word).ok_or_else(|| format!("no class is called {word}"))?;
        let unit = Unit::of(unit).ok_or_else(|| format!("{word}: no unit is called {unit}"))?;
        let (low, base, high) = (number(word, low)?, number(word, base)?, number(word, high)?);
        if !(low <= base && base <= high && high <= RATE_MAX) {
            return Err(format!("{word}: low, base and high do not rise"));
        }
        if source.is_empty() || confidence.is_empty() {
            return Err(format!("{word}: a figure without a source"));
        }
        let value = match rates {
            Rates::Low => low,
            Rates::Base | Rates::Stress => base,
            Rates::High => high,
        };
        let figure = ParameterValue { value, min: 0.0, max: RATE_MAX, measure: Scale::Plain };
        if figures[class as usize].replace(figure).is_some() {
            return Err(format!("{word} is there twice"));
        }
        units[class as usize] = Some(unit);
    }
    let words = FaultClass::ALL.map(FaultClass::word);
    let mut model = FailureModel { rates: complete(figures, words)?, units: complete(units, words)?, parameters };
    if rates == Rates::Stress {
        model.scale_rates(model.get(Parameter::StopRateStress) / model.get(Parameter::StopRateBase));
    }
    Ok(model)
}

fn read_parameters(text: &str) -> Result<[ParameterValue; Parameter::ALL.len()], String> {
    let mut figures = [None; Parameter::ALL.len()];
    for [word, value, unit, min, max, source, confidence] in rows::<7>(text)? {
        let parameter = Parameter::of(word).ok_or_else(|| format!("no parameter is called {word}"))?;
        let (value, min, max) = (number(word, value)?, number(word, min)?, number(word, max)?);
        if !(min..=max).contains(&value) {
            return Err(format!("{word}: {value} is not between {min} and {max}"));
        }
        if unit == "share" && max > 1.0 {
            return Err(format!("{word}: a share of more than 1"));
        }
        if source.is_empty() || confidence.is_empty() {
            return Err(format!("{word}: a figure without a source"));
        }
        let measure = if unit == "ln-minutes" { Scale::Logarithm } else { Scale::Plain };
        if figures[parameter as usize].replace(ParameterValue { value, min, max, measure }).is_some() {
            return Err(format!("{word} is there twice"));
        }
    }
    complete(figures, Parameter::ALL.map(Parameter::word))
}
