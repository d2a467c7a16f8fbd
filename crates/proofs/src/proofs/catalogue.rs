//! Proof that the fault catalogue does what the vendor publishes: a raw line of the log is parsed, counted, observed and
//! decided on, and what comes of it is held against expectations that were transcribed by another way than the catalogue.
//! Where we mean to differ, the catalogue's own list of exceptions has to say so, and a line there that makes no difference
//! is counted against it as well.

mod case;
mod fleet;
#[cfg(test)]
mod tests;

use anyhow::ensure;
use mainstay_engine::Engine;
use mainstay_health::{Exception, VendorTables};
use mainstay_model::Source;
use std::collections::{BTreeMap, BTreeSet};
use xtask::output;

use crate::prove::{Context, Measurement, Proof};
use case::{Case, Outcome};

pub(super) const PROOF: Proof = Proof { name: "catalogue", run: |_: &Context| Box::pin(async { measure() }) };

const TABLES: [&str; 4] = [
    include_str!("catalogue/expected/xid.tsv"),
    include_str!("catalogue/expected/workflow.tsv"),
    include_str!("catalogue/expected/nvlink5.tsv"),
    include_str!("catalogue/expected/sxid.tsv"),
];

/// What the tables must cover, so that a fault cannot go missing from both sides. Of the 161 XIDs that NVIDIA has an action
/// for, six are in the decode alone.
const XIDS: usize = 155;
const DECODED: usize = 95;
const SXIDS: usize = 93;

/// How many differences are printed one by one.
const TOLD_MAX: usize = 20;

fn measure() -> anyhow::Result<Measurement> {
    let cases = TABLES.iter().map(|text| case::read(text)).collect::<anyhow::Result<Vec<_>>>()?.concat();
    let (xids, decoded, sxids) = (kinds(&cases, "xid"), kinds(&cases, "decode"), kinds(&cases, "sxid"));
    ensure!((xids, decoded, sxids) == (XIDS, DECODED, SXIDS), "{xids} XIDs, {decoded} causes, {sxids} SXids");
    let outcomes = fleet::play(&cases, Engine::new())?;
    let published = VendorTables::built_in();
    let verdict = Verdict::of(&cases, &outcomes, &published);
    for line in verdict.wrong.iter().take(TOLD_MAX) {
        output::note(format_args!("catalogue: {line}"));
    }
    let detail = format!(
        "{} cases of {xids} XIDs, {decoded} causes of NVLink errors and {sxids} SXids; {} end otherwise and are listed, \
         as {} exceptions",
        cases.len(),
        verdict.excepted,
        published.exceptions.len(),
    );
    Ok(Measurement { value: i64::try_from(verdict.wrong.len())?, detail })
}

/// How many faults of a kind there are.
fn kinds(cases: &[Case], kind: &str) -> usize {
    let of = cases.iter().filter(|case| case.of.split_once(' ').is_some_and(|(word, _)| word == kind));
    of.map(|case| case.of.as_str()).collect::<BTreeSet<_>>().len()
}

/// What the cases came to.
struct Verdict {
    wrong: Vec<String>,
    excepted: usize,
}

impl Verdict {
    fn of(cases: &[Case], outcomes: &[Outcome], published: &VendorTables) -> Self {
        let mut unused: BTreeMap<usize, &Exception> = published.exceptions.iter().enumerate().collect();
        let mut verdict = Self { wrong: Vec::new(), excepted: 0 };
        for (case, outcome) in cases.iter().zip(outcomes) {
            verdict.wrong.extend(misprinted(case, published));
            if outcome.is_as(&case.should) {
                continue;
            }
            match published.exceptions.iter().position(|exception| speaks_for(exception, case, outcome)) {
                Some(at) => {
                    unused.remove(&at);
                    verdict.excepted += 1;
                }
                None => verdict.wrong.push(format!(
                    "{} on {} ({}) should be {:?} and is {outcome}: {}",
                    case.of,
                    case.gpu,
                    case.published,
                    case.should,
                    case.lines.first().map_or("", |(line, _)| line),
                )),
            }
        }
        verdict.wrong.extend(unused.values().map(|exception| {
            format!(
                "{:?} {} ({}) is listed and makes no difference",
                exception.source, exception.code, exception.published
            )
        }));
        verdict
    }
}

/// Whether a difference is one that we mean.
fn speaks_for(exception: &Exception, case: &Case, outcome: &Outcome) -> bool {
    let kind = match exception.source {
        Source::Xid => "xid",
        Source::Sxid => "sxid",
        Source::PcieAer
        | Source::Nic
        | Source::Kernel
        | Source::Nvml
        | Source::Inventory
        | Source::External
        | Source::Driver
        | Source::Service
        | Source::Unrecognised => return false,
    };
    case.of == format!("{kind} {}", exception.code)
        && case.published == *exception.published
        && outcome.rule.as_ref().is_none_or(|rule| *rule == exception.rule)
}

/// Whether the vendor's action is another in the table that the documents are made from.
fn misprinted(case: &Case, published: &VendorTables) -> Option<String> {
    let (kind, number) = case.of.split_once(' ')?;
    let says = match kind {
        "xid" => {
            let xid = published.xids.iter().find(|xid| xid.code.as_str() == number)?;
            let known = published.buckets.iter().any(|bucket| *bucket.name == *case.published);
            xid.immediate.as_ref().filter(|_| known)?.name.to_string()
        }
        "sxid" => {
            let sxid = published.sxids.iter().find(|sxid| sxid.code.as_str() == number)?;
            sxid.class.word().to_owned()
        }
        _ => return None,
    };
    (!case.published.starts_with(&says)).then(|| format!("{} is {} and our table has {says}", case.of, case.published))
}
