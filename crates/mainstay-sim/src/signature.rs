//! Log signatures: the lines that a fault prints and the repairs that end it. It knows what the kernel prints and not
//! what anybody makes of it.

use std::fmt::Write as _;

use mainstay_model::RepairStep;

use crate::FaultClass;
use crate::rng::RandomStream;

const TABLE: &str = include_str!("../tables/voices.tsv");

/// Repairs in the order of the table.
const RUNGS: [RepairStep; 4] = [RepairStep::ResetGpu, RepairStep::Reboot, RepairStep::PowerCycle, RepairStep::Replace];

/// Whether jobs on the node can continue despite a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobImpact {
    /// It cannot go on.
    Stops,
    /// It can.
    GoesOn,
}

/// Which signature an injected fault gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureChoice {
    /// As it is drawn.
    AsDrawn,
    /// In a voice with a line that has these words.
    Saying(&'static str),
    /// In a voice without lines.
    Silently,
}

/// Log lines, job impact and repair shares of one variant of a fault class.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub(crate) to_work: JobImpact,
    /// Shares of what mends it; none where it passes by itself.
    mends: Option<[f64; 4]>,
    lines: Vec<&'static str>,
}

/// The table of log signatures, by fault class.
#[derive(Debug, Clone)]
pub(crate) struct Signatures {
    by_class: Vec<(FaultClass, Vec<f64>, Vec<Signature>)>,
}

impl Signatures {
    /// The built-in table.
    pub(crate) fn built_in() -> Self {
        let by_class = FaultClass::ALL.into_iter().map(|class| {
            let rows = TABLE.lines().filter_map(|line| row(line, class));
            let (weights, voices) = rows.unzip();
            (class, weights, voices)
        });
        Self { by_class: by_class.collect() }
    }

    /// Which way a fault of this class shows itself; the number is kept, the voice is looked up.
    pub(crate) fn pick(&self, class: FaultClass, chance: &mut RandomStream) -> usize {
        chance.pick(self.weights(class))
    }

    pub(crate) fn get(&self, class: FaultClass, number: usize) -> Option<&Signature> {
        self.of(class).and_then(|(_, _, voices)| voices.get(number))
    }

    /// The voice of a class in this manner; none where it is drawn, or where there is none.
    pub(crate) fn in_manner(&self, class: FaultClass, manner: SignatureChoice) -> Option<usize> {
        let (_, _, voices) = self.of(class)?;
        voices.iter().position(|voice| match manner {
            SignatureChoice::AsDrawn => false,
            SignatureChoice::Saying(words) => voice.lines.iter().any(|line| line.contains(words)),
            SignatureChoice::Silently => !voice.has_lines(),
        })
    }

    fn weights(&self, class: FaultClass) -> &[f64] {
        self.of(class).map_or(&[], |(_, weights, _)| weights)
    }

    fn of(&self, class: FaultClass) -> Option<&(FaultClass, Vec<f64>, Vec<Signature>)> {
        self.by_class.iter().find(|(of, _, _)| *of == class)
    }
}

impl Signature {
    /// The gentlest rung that mends it; none where it passes by itself.
    pub(crate) fn draw_repair_step(&self, chance: &mut RandomStream) -> Option<RepairStep> {
        RUNGS.get(chance.pick(self.mends.as_ref()?)).copied()
    }

    /// The same without a replacement.
    pub(crate) fn draw_automatic_step(&self, chance: &mut RandomStream) -> Option<RepairStep> {
        let [automatic @ .., _replacement] = self.mends.as_ref()?;
        RUNGS.get(chance.pick(automatic)).copied()
    }

    /// The lines, for the parts at these addresses.
    pub(crate) fn lines<'a>(&'a self, gpu: &'a str, nic: &'a str) -> impl Iterator<Item = String> + 'a {
        self.lines.iter().map(move |line| {
            let mut text = String::with_capacity(line.len() + 16);
            // Addresses are ours and have no braces.
            let _ = write!(text, "{}", line.replace("{gpu}", gpu).replace("{nic}", nic));
            text
        })
    }

    /// Whether anything is printed at all.
    pub(crate) fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }
}

/// A row of the table, where it is of this class. The tests read every row, so what is not understood never ships.
fn row(line: &'static str, class: FaultClass) -> Option<(f64, Signature)> {
    let mut columns = line.split('\t');
    if columns.next() != Some(class.word()) {
        return None;
    }
    let weight: f64 = columns.next()?.parse().ok()?;
    let to_work = match columns.next()? {
        "stops" => JobImpact::Stops,
        "goes-on" => JobImpact::GoesOn,
        _ => return None,
    };
    let mends = match columns.next()? {
        "-" => None,
        shares => {
            let mut read = [0.0; 4];
            for (share, text) in read.iter_mut().zip(shares.split(':')) {
                *share = text.parse().ok()?;
            }
            Some(read)
        }
    };
    let lines = match columns.next()? {
        "-" => Vec::new(),
        lines => lines.split(" | ").collect(),
    };
    Some((weight, Signature { to_work, mends, lines }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_every_class_has_a_voice() {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        let voices = Signatures::built_in();
        assert_eq!(voices.by_class.iter().map(|(_, _, voices)| voices.len()).sum::<usize>(), rows);
        assert!(voices.by_class.iter().all(|(_, _, voices)| !voices.is_empty()));
    }

    #[test]
    fn every_line_is_one_that_the_parsers_of_a_node_know() {
        for (class, _, voices) in Signatures::built_in().by_class {
            for line in voices.iter().flat_map(|voice| voice.lines("0000:1b:00", "0000:18:00.0")) {
                assert!(mainstay_signal::parse(&line).is_some(), "{}: {line}", class.word());
            }
        }
    }

    #[test]
    fn an_automatic_step_replaces_nothing() {
        let voices = Signatures::built_in();
        let (_, _, of_gpus) = voices.of(FaultClass::GpuHardFault).unwrap();
        for key in 0..500 {
            let mut chance = crate::rng::stream(1, crate::rng::Purpose::Fault, key);
            let steps = of_gpus.iter().map(|voice| voice.draw_automatic_step(&mut chance));
            assert!(steps.flatten().all(|step| step != RepairStep::Replace));
        }
    }
}
