//! One setting, `name=value` or `name=x3`: a policy of the operator, or a number of the failure model. A wrong name gets
//! the nearest known names.

use mainstay_model::{Mode, Ppm, Span};
use mainstay_text::Problem;

use super::{CheckpointPolicy, DrainTool, Options, Policies};
use crate::FaultClass;
use crate::model::ALL_RATES;

/// The most nodes of a rack that a budget may name.
const RACK_OUT_MAX: u32 = 1_000;
/// The longest timer of a drain tool.
const DRAIN_MINUTES_MAX: u32 = 1_440;
/// The smallest and the largest factor of a sweep.
const FACTORS: std::ops::RangeInclusive<f64> = 0.001..=1_000.0;
/// What a value of the failure model looks like.
const FACTOR: &str = "allowed: a number, or x and a factor from 0.001 to 1000.";
/// The longest setting that is looked at.
const SETTING_CHARS_MAX: usize = 100;
/// How many names a hint gives.
const NEAREST: usize = 3;

/// The policies: name, possible values, and meaning.
pub(super) const POLICIES: [(&str, &str, &str); 5] = [
    ("checkpoint", "wait, ask or at-once", "Drain: use the cost model, ask jobs to save, or stop jobs at once"),
    ("drain-tool", "none, wait, or minutes, 0 to 1440", "Tool that acts in place of Mainstay: when it stops jobs"),
    ("mode", "observe, propose or act", "Mode of the cell"),
    ("rack-out-max", "nodes, 0 to 1000", "Disruption budget of a rack"),
    ("fleet-out-max", "0% to 100%, at most 4 decimals", "Disruption budget of the fleet"),
];

impl Options {
    /// Sets `name=value`, or multiplies with `name=x3`. [`POLICIES`] are those of the operator; every other name is
    /// one of the failure model.
    ///
    /// # Errors
    ///
    /// A name that nobody knows or that was set before, or a value that it cannot have.
    pub fn set(&mut self, setting: &str) -> Result<(), Problem> {
        let shown: String =
            setting.chars().take(SETTING_CHARS_MAX).filter(|character| !character.is_control()).collect();
        let Some((name, value)) = setting.split_once('=').filter(|_| shown == setting) else {
            return Err(Problem {
                what: format!("invalid setting: {shown:?}"),
                detail: format!("a setting is name=value or name=x3, at most {SETTING_CHARS_MAX} characters."),
                hint: "examples: checkpoint=at-once, link-flap=x3; `mainstay sim settings` lists all".into(),
            });
        };
        let (name, value) = (name.trim(), value.trim());
        if self.said.contains(name) {
            return Err(Problem {
                what: format!("{name} is set twice"),
                detail: "a run has one value for each setting.".into(),
                hint: format!("remove one of the two {name} settings"),
            });
        }
        let told = match POLICIES.iter().find(|(policy, _, _)| *policy == name) {
            Some((_, values, _)) => self.set_policy(name, value).ok_or_else(|| Problem {
                what: format!("invalid value for {name}: {value:?}"),
                detail: format!("allowed: {values}."),
                hint: format!("omit it for the default, {}", format_policy(&Policies::default(), name)),
            })?,
            None => self.set_model(name, value)?,
        };
        if self.policies.drain_tool.is_some() && self.policies.mode != Mode::Observe {
            return Err(Problem {
                what: "drain-tool is set and Mainstay does not observe".into(),
                detail: "Mainstay and the tool would act on the same nodes.".into(),
                hint: "put mode=observe before drain-tool".into(),
            });
        }
        self.said.insert(name.to_owned());
        if let Some(told) = told {
            self.settings.insert(name.to_owned(), told);
        }
        Ok(())
    }

    /// Answers how an outcome tells it, or nothing where it is the default.
    fn set_policy(&mut self, name: &str, value: &str) -> Option<Option<String>> {
        match name {
            "checkpoint" => self.policies.checkpoint = checkpoint(value)?,
            "drain-tool" => self.policies.drain_tool = drain_tool(value)?,
            "mode" => self.policies.mode = mode(value)?,
            "rack-out-max" => {
                self.policies.rack_nodes_out_max = value.parse().ok().filter(|nodes| *nodes <= RACK_OUT_MAX)?;
            }
            "fleet-out-max" => self.policies.fleet_out_max = percent(value)?,
            _ => return None,
        }
        let told = format_policy(&self.policies, name);
        Some((told != format_policy(&Policies::default(), name)).then_some(told))
    }

    fn set_model(&mut self, name: &str, value: &str) -> Result<Option<String>, Problem> {
        if !self.model.names().any(|known| known == name) {
            return Err(self.unknown(name));
        }
        // Whoever reads the settings of an outcome does not see in which order they were said.
        if name == ALL_RATES && self.said.iter().any(|said| FaultClass::of(said).is_some()) {
            return Err(Problem {
                what: format!("{name} must come before single rates"),
                detail: "it would scale the rates that were already set.".into(),
                hint: format!("put {name} first, then the single rates"),
            });
        }
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        let (changed, told) = match value.strip_prefix('x') {
            Some(factor) => {
                let factor = number(factor).filter(|factor| FACTORS.contains(factor));
                let factor = factor.ok_or_else(|| bad_value(name, value, FACTOR))?;
                (self.model.scale(name, factor), factor.total_cmp(&1.0).is_ne().then(|| format!("x{factor}")))
            }
            None => {
                let number = number(value).ok_or_else(|| bad_value(name, value, FACTOR))?;
                (self.model.set(name, number), Some(number.to_string()))
            }
        };
        changed.map_err(|error| bad_value(name, value, &format!("{error}.")))?;
        Ok(told)
    }

    fn unknown(&self, name: &str) -> Problem {
        let policies = POLICIES.iter().map(|(policy, _, _)| *policy);
        let mut names: Vec<&str> = policies.chain(self.model.names()).collect();
        let count = names.len();
        names.sort_by_key(|known| (edits(name, known), *known));
        names.truncate(NEAREST);
        Problem {
            what: format!("unknown setting: {name:?}"),
            detail: format!("there are {count} settings; the nearest names are {}.", names.join(", ")),
            hint: "`mainstay sim settings` lists all with default, unit and meaning".into(),
        }
    }
}

fn bad_value(name: &str, value: &str, detail: &str) -> Problem {
    Problem {
        what: format!("invalid value for {name}: {value:?}"),
        detail: detail.to_owned(),
        hint: format!("example: {name}=x3"),
    }
}

fn checkpoint(word: &str) -> Option<CheckpointPolicy> {
    [CheckpointPolicy::Wait, CheckpointPolicy::Ask, CheckpointPolicy::AtOnce]
        .into_iter()
        .find(|checkpoint| checkpoint.word() == word)
}

#[expect(clippy::option_option, reason = "the outer one is absent where the value is not allowed")]
fn drain_tool(value: &str) -> Option<Option<DrainTool>> {
    let minutes = || value.parse().ok().filter(|minutes| *minutes <= DRAIN_MINUTES_MAX).map(Span::minutes);
    match value {
        "none" => Some(None),
        "wait" => Some(Some(DrainTool { stops_jobs_after: None })),
        _ => Some(Some(DrainTool { stops_jobs_after: Some(minutes()?) })),
    }
}

fn mode(word: &str) -> Option<Mode> {
    [Mode::Observe, Mode::Propose, Mode::Act].into_iter().find(|mode| mode_word(*mode) == word)
}

const fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "observe",
        Mode::Propose => "propose",
        Mode::Act => "act",
    }
}

impl CheckpointPolicy {
    /// The word, as on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Ask => "ask",
            Self::AtOnce => "at-once",
        }
    }
}

pub(super) fn format_policy(policies: &Policies, name: &str) -> String {
    match name {
        "checkpoint" => policies.checkpoint.word().to_owned(),
        "mode" => mode_word(policies.mode).to_owned(),
        "drain-tool" => match policies.drain_tool.map(|tool| tool.stops_jobs_after) {
            None => "none".to_owned(),
            Some(None) => "wait".to_owned(),
            Some(Some(after)) => (after.0 / Span::minutes(1).0).to_string(),
        },
        "rack-out-max" => policies.rack_nodes_out_max.to_string(),
        _ => told_percent(policies.fleet_out_max),
    }
}

/// `2.5%` without a detour over floats: ten thousand parts per million are one percent.
fn percent(text: &str) -> Option<Ppm> {
    let digits = text.strip_suffix('%')?.trim_end();
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(part) || part.len() > 4 || (part.is_empty() && digits.contains('.'))
    {
        return None;
    }
    let ppm = whole.parse::<u32>().ok()?.checked_mul(10_000)? + format!("{part:0<4}").parse::<u32>().ok()?;
    (ppm <= Ppm::ONE.0).then_some(Ppm(ppm))
}

fn told_percent(share: Ppm) -> String {
    let text = format!("{}.{:04}", share.0 / 10_000, share.0 % 10_000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// How many letters have to be changed, put in or taken out to make one word of the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(&to) {
            let best = (diagonal + usize::from(letter != *other)).min(*cell + 1).min(left + 1);
            diagonal = std::mem::replace(cell, best);
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
