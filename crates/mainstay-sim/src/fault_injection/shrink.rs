//! Minimises a failing seed: removes halves, quarters and single injected faults while the same property still fails.

use super::SeedRun;
use crate::property::PropertyViolation;

/// Maximum number of runs for one minimisation.
const TRIES_MAX: u32 = 300;

/// The smallest fault-injection run that still violates the property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinimalRun {
    /// The storm, with the troubles that are left.
    pub storm: SeedRun,
    /// What breaks first in it.
    pub broken: PropertyViolation,
    /// How many storms it took.
    pub tries: u32,
}

/// The smallest storm found that breaks the same promise; none where this one breaks nothing.
pub fn shrink(storm: &SeedRun, progress: &mut dyn FnMut(u32)) -> Option<MinimalRun> {
    let first = storm.weather().broken.into_iter().next()?;
    let mut kept: Vec<usize> = storm.script().into_iter().map(|(number, _)| number).collect();
    let mut broken = first;
    let mut tries = 1;
    let mut share = kept.len().div_ceil(2);
    while share > 0 && tries < TRIES_MAX {
        let mut from = 0;
        let mut cut_any = false;
        while from < kept.len() && tries < TRIES_MAX {
            let mut fewer = kept.clone();
            fewer.drain(from..(from + share).min(kept.len()));
            tries += 1;
            progress(tries);
            let tried = SeedRun { keep: Some(fewer.clone()), ..storm.clone() };
            match tried.weather().broken.into_iter().next().filter(|found| found.promise == broken.promise) {
                Some(found) => {
                    kept = fewer;
                    broken = found;
                    cut_any = true;
                }
                None => from += share,
            }
        }
        share = if share == 1 && !cut_any { 0 } else { (share / 2).max(usize::from(cut_any || share > 1)) };
    }
    Some(MinimalRun { storm: SeedRun { keep: Some(kept), ..storm.clone() }, broken, tries })
}
