//! `cargo xtask sentences`: draws user-facing sentences by a seed, for a reader who did not write them. The same seed and
//! the same files draw the same sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::exit::Exit;
use crate::tidy::plain_english::sentence;
use crate::tidy::plain_english::text::{self, Kind};
use crate::workspace::Workspace;
use crate::{command, output};

const GIT_LIMIT: Duration = Duration::from_secs(60);
/// Shorter texts are labels.
const WORDS_MIN: usize = 4;

/// How many sentences, and the seed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of sentences.
    #[arg(long, default_value_t = 40)]
    count: usize,
    /// Seed of the draw [default: the commit of the checkout].
    #[arg(long, value_name = "COMMIT")]
    seed: Option<String>,
}

/// A sentence and the place where it begins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sentence {
    kind: Kind,
    place: String,
    text: String,
}

/// Prints the drawn sentences with file and line.
pub(crate) async fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Exit> {
    let seed = match &args.seed {
        Some(seed) => seed.clone(),
        None => {
            let mut git = command::program("git", &workspace.root);
            command::text(git.args(["rev-parse", "HEAD"]), GIT_LIMIT).await?.trim().to_owned()
        }
    };
    for (one, number) in draw(all(workspace), &seed, args.count).iter().zip(1..) {
        output::line(format_args!("{number:>3}. {} ({:?})\n     {}", one.place, one.kind, one.text))?;
    }
    Ok(Exit::Holds)
}

/// Every user-facing sentence of the workspace.
fn all(workspace: &Workspace) -> Vec<Sentence> {
    let mut found = Vec::new();
    for file in &workspace.files {
        let texts = text::of_file(file);
        for text in texts.iter().filter(|text| !matches!(text.kind, Kind::Comment | Kind::Heading)) {
            for (line, one) in sentence::sentences(&text.text) {
                if sentence::words(&one) >= WORDS_MIN {
                    let place = format!("{}:{}", file.path, text.line + line);
                    found.push(Sentence { kind: text.kind, place, text: one });
                }
            }
        }
    }
    found
}

/// Orders the sentences of each kind by a hash of seed and text, then takes one of each kind in turn, so that no kind
/// crowds out the others. Equal texts are drawn once.
fn draw(sentences: Vec<Sentence>, seed: &str, count: usize) -> Vec<Sentence> {
    let mut kinds: BTreeMap<Kind, Vec<(Vec<u8>, Sentence)>> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for one in sentences {
        if known.insert(one.text.clone()) {
            let hash = Sha256::digest(format!("{seed}\n{}", one.text)).to_vec();
            kinds.entry(one.kind).or_default().push((hash, one));
        }
    }
    // The last is taken first.
    for of_kind in kinds.values_mut() {
        of_kind.sort_unstable_by(|a, b| b.cmp(a));
    }
    let mut drawn = Vec::new();
    while drawn.len() < count && kinds.values().any(|of_kind| !of_kind.is_empty()) {
        drawn.extend(kinds.values_mut().filter_map(Vec::pop).map(|(_, one)| one));
    }
    drawn.truncate(count);
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(count: usize) -> Vec<Sentence> {
        let kind = |number: usize| if number.is_multiple_of(10) { Kind::Help } else { Kind::Document };
        let one = |number: usize| Sentence { kind: kind(number), place: String::new(), text: format!("text {number}") };
        (0..count).chain(0..count).map(one).collect()
    }

    #[test]
    fn the_seed_decides_and_no_sentence_comes_twice() {
        let drawn = draw(sentences(100), "abc", 40);
        assert_eq!(drawn, draw(sentences(100), "abc", 40));
        assert_ne!(drawn, draw(sentences(100), "abd", 40));
        let different: BTreeSet<&str> = drawn.iter().map(|one| one.text.as_str()).collect();
        assert_eq!((drawn.len(), different.len()), (40, 40));
        assert_eq!(drawn.iter().filter(|one| one.kind == Kind::Help).count(), 10, "kinds take turns");
        assert_eq!(draw(sentences(3), "abc", 40).len(), 3);
    }
}
