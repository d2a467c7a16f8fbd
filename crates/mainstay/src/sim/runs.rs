//! Outcomes from files, made by this or another version. Nothing in them is believed: sizes are bounded, and no text of
//! theirs reaches a terminal or a picture unless it is plain.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use mainstay_sim::PAIRS_MAX;
use mainstay_sim::{FORMAT, Outcome, Rates, Run};

use crate::output::Problem;

/// The largest file.
const BYTES_MAX: u64 = 64 << 20;
/// The most settings of a run.
const SETTINGS_MAX: usize = 100;
/// The longest name or value of a setting.
const SETTING_CHARS_MAX: usize = 100;

/// All outcomes of these files, in their order.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Outcome>, Problem> {
    let mut outcomes = Vec::new();
    for path in paths {
        let text = text(path)?;
        for document in serde_json::Deserializer::from_str(&text).into_iter::<Outcome>() {
            let outcome = document.map_err(|error| not_an_outcome(path, &error.to_string()))?;
            let plain = plain(&outcome.run).and_then(|()| match outcome.format {
                FORMAT => Ok(()),
                other => Err(format!("the file has format {other}; this version reads {FORMAT}")),
            });
            plain.map_err(|why| not_an_outcome(path, &why))?;
            outcomes.push(outcome);
            if outcomes.len() > PAIRS_MAX {
                return Err(Problem {
                    what: "too many runs".into(),
                    detail: format!("the limit is {PAIRS_MAX} runs per side."),
                    hint: "use fewer files".into(),
                });
            }
        }
    }
    Ok(outcomes)
}

fn text(path: &Path) -> Result<String, Problem> {
    let problem = |detail: String| Problem {
        what: format!("cannot read {}", path.display()),
        detail,
        hint: "use a file written by `mainstay sim run -o json`".into(),
    };
    let mut text = String::new();
    let file = File::open(path).map_err(|error| problem(format!("{error}.")))?;
    // One byte more than allowed tells a file that is too large from one that just fits.
    let length = file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| problem(format!("{error}.")))?;
    if u64::try_from(length).is_ok_and(|length| length > BYTES_MAX) {
        return Err(problem(format!("the file is larger than {} MiB.", BYTES_MAX >> 20)));
    }
    Ok(text)
}

/// What of a run is shown to people.
fn plain(run: &Run) -> Result<(), String> {
    let is_plain = |text: &String| {
        text.chars().count() <= SETTING_CHARS_MAX && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
    };
    let settings = run.settings.iter().flat_map(|(name, value)| [name, value]);
    if run.settings.len() > SETTINGS_MAX || !settings.into_iter().all(is_plain) {
        return Err(format!(
            "more than {SETTINGS_MAX} settings, or a setting with more than {SETTING_CHARS_MAX} or non-ASCII characters"
        ));
    }
    Rates::of(&run.rates).map(|_| ()).ok_or_else(|| "rates are not low, base, high or stress".to_owned())
}

fn not_an_outcome(path: &Path, why: &str) -> Problem {
    // A parser quotes what it met, and a file may hold anything.
    let why: String = why.chars().filter(|character| !character.is_control()).take(200).collect();
    Problem {
        what: format!("{} is not a simulation result", path.display()),
        detail: format!("{why}."),
        hint: "use a file written by `mainstay sim run -o json`".into(),
    }
}
