//! Proof that every stage and every wait reason is explained by a sentence in some scenario. Another test checks that the
//! scenarios are the output of the engine.

use anyhow::ensure;
use mainstay_model::{Stage, WaitingOn};
use std::collections::BTreeSet;
use xtask::output;

use crate::prove::{Context, Measurement, Proof};

pub(super) const PROOF: Proof = Proof { name: "why", run: |context| Box::pin(async { measure(context) }) };

fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let files = context.workspace.files.iter().filter(|file| file.path.starts_with("scenarios/"));
    let told = ScenarioCoverage::of(files.filter_map(|file| file.text.as_deref()));
    ensure!(told.sentences > 0, "no scenario asks why");
    let missing = told.missing();
    for one in &missing {
        output::note(format_args!("why: no scenario explains {one}"));
    }
    let detail = format!(
        "{} sentences about {} stages and {} waits, {} of them together",
        told.sentences,
        told.stages.len(),
        told.waits.len(),
        told.pairs.len(),
    );
    Ok(Measurement { value: i64::try_from(missing.len())?, detail })
}

/// Waits that no scenario can show yet: only claims for planned work wait for a window, and no version makes them.
const LATER: [WaitingOn; 1] = [WaitingOn::Window];

/// Stages and wait reasons that the scenarios explain.
#[derive(Debug, Default)]
struct ScenarioCoverage<'a> {
    sentences: usize,
    stages: BTreeSet<&'a str>,
    waits: BTreeSet<&'a str>,
    pairs: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> ScenarioCoverage<'a> {
    fn of(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut told = Self::default();
        for sentence in texts.flat_map(str::lines).filter_map(|line| line.strip_prefix("why  ")) {
            let (Some(stage), Some(wait)) = (word(sentence, " ["), word(sentence, ", ")) else {
                continue;
            };
            // Without what comes next it would be no answer.
            if sentence.contains(". Next: ") {
                told.sentences += 1;
                told.stages.insert(stage);
                told.waits.insert(wait);
                told.pairs.insert((stage, wait));
            }
        }
        told
    }

    fn missing(&self) -> Vec<String> {
        let stages = Stage::ALL.iter().map(|stage| format!("{stage:?}"));
        let stages = stages.filter(|stage| !self.stages.contains(stage.as_str()));
        // A wait of the list that a scenario explains is an error too: it must leave the list.
        let waits = WaitingOn::ALL.iter().filter(|wait| LATER.contains(wait) == self.waits.contains(wait.word()));
        stages.chain(waits.map(|wait| wait.word().to_owned())).collect()
    }
}

/// The word behind a phrase.
fn word<'a>(sentence: &'a str, phrase: &str) -> Option<&'a str> {
    let (_, rest) = sentence.split_once(phrase)?;
    rest.split(|c: char| !c.is_ascii_alphanumeric()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_without_a_next_step_explains_nothing() {
        let whole = "why       r1n2 [Held, Operator]: r1n2 has an operator request. Next: none.";
        let told = ScenarioCoverage::of([whole].into_iter());
        let all = Stage::ALL.len() + WaitingOn::ALL.len() - LATER.len();
        assert_eq!(told.missing().len(), all - 2);
        let half = "why       r1n2 [Held, Operator]: r1n2 has an operator request.";
        assert_eq!(ScenarioCoverage::of([half].into_iter()).missing().len(), all);
        let early = "why       r1n2 [Suspect, Window]: r1n2 waits. Next: none.";
        assert!(ScenarioCoverage::of([early].into_iter()).missing().contains(&"Window".to_owned()));
    }
}
