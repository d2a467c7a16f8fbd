//! Rows that follow from the vendor's tables. A code with hand-written rows gets no row here; the tables still contain
//! what the vendor publishes.

use std::collections::BTreeSet;

use mainstay_model::{Code, Response, RuleName, Source};

use super::bucket::{Bucket, Buckets};
use super::parse::{Draft, Reader};
use super::vendor_tables::{NVLINK5, Nvlink5, SXID, Sxid, SxidClass, VendorTables, XID, Xid};
use super::{DetailCondition, Generations, Problem, Row, Threshold};
use crate::arrivals::HOURS;

const XIDS: &str = "NVIDIA XID catalogue";
const DECODED: &str = "NVIDIA XID catalogue, decode of 144-150";
const SXIDS: &str = "NVIDIA Fabric Manager user guide";

/// From this number a day on, the vendor's investigatory action applies. The vendor gives no number. Mainstay chose it,
/// the same as for page faults.
const REPEATED: Threshold = Threshold { count: 3, hours: HOURS };

/// The rule for a code on a GPU that it does not apply to.
const OUT_OF_PLACE: &str = "xid-out-of-place";
/// The rule for a potentially fatal SXid that the driver logs as non-fatal.
const PORT_ERROR: &str = "nvswitch-port-error";
/// The bucket of both rules.
const WATCH: &str = "WATCH";

/// Returns all rows in the order of their rank: decoded causes before XIDs that are not decoded.
pub(super) fn rows(
    published: &VendorTables,
    written: &BTreeSet<(Source, Code)>,
    buckets: &Buckets,
    problems: &mut Vec<Problem>,
) -> Vec<Draft> {
    let mut rows = nvlink5(&published.nvlink5);
    let decoded = published.decoded();
    for xid in &published.xids {
        let by_hand = written.contains(&(Source::Xid, xid.code.clone()));
        rows.extend(out_of_place(xid, buckets));
        if !by_hand {
            rows.extend(of_xid(xid, problems));
        } else if xid.rule.is_some() || decoded.contains(&xid.code) {
            let mut reader = Reader::new(XID, xid.line, problems);
            let detail = format!("{} has hand-written rows, and a rule here", xid.code);
            reader.wrong(
                "a code has a rule in two tables",
                &detail,
                "write - for the rule, or remove the hand-written rows",
            );
        }
    }
    rows.extend(published.sxids.iter().flat_map(|sxid| of_sxid(sxid, buckets)));
    rows
}

/// Builds the row for a code on a generation that it does not apply to.
fn out_of_place(xid: &Xid, buckets: &Buckets) -> Option<Draft> {
    // A code that applies to no generation is unused, and has one row for all.
    if xid.on == Generations::ANY || xid.on.iter().next().is_none() {
        return None;
    }
    let row = Row::answering(RuleName::parse(OUT_OF_PLACE).ok()?, buckets.get(WATCH)?, XIDS);
    Some(draft(XID, xid.line, Source::Xid, &xid.code, Row { on: xid.on.others(), ..row }))
}

fn of_xid(xid: &Xid, problems: &mut Vec<Problem>) -> Vec<Draft> {
    let (Some(rule), Some(immediate)) = (&xid.rule, &xid.immediate) else {
        let detail = format!("{} has neither an action nor hand-written rows", xid.code);
        let mut reader = Reader::new(XID, xid.line, problems);
        reader.wrong("a code has no rule", &detail, "write rows for it in catalogue.tsv");
        return Vec::new();
    };
    let repeated = xid.investigatory.as_ref().and_then(|then| when_repeated(rule, immediate, then, XIDS));
    let once = Row::answering(rule.clone(), immediate, XIDS);
    repeated.into_iter().chain([once]).map(|row| draft(XID, xid.line, Source::Xid, &xid.code, row)).collect()
}

/// Orders rows: first those that remove a node, then those for repeated codes, then the rest.
fn nvlink5(table: &[Nvlink5]) -> Vec<Draft> {
    let mut by_weight: [Vec<Draft>; 3] = Default::default();
    let [removing, repeating, resting] = &mut by_weight;
    for cause in table {
        let when = DetailCondition::Decoded(cause.decode.clone());
        let decoded =
            |row: Row| draft(NVLINK5, cause.line, Source::Xid, &cause.code, Row { when: when.clone(), ..row });
        let once = decoded(Row::answering(cause.rule.clone(), &cause.immediate, DECODED));
        let repeated = when_repeated(&cause.rule, &cause.immediate, &cause.investigatory, DECODED);
        repeating.extend(repeated.map(decoded));
        if once.row.response == Response::Remove { removing.push(once) } else { resting.push(once) }
    }
    by_weight.into_iter().flatten().collect()
}

/// Builds the row for a repeated code, if its investigatory action is stronger than its immediate action.
fn when_repeated(rule: &RuleName, immediate: &Bucket, then: &Bucket, fact: &str) -> Option<Row> {
    if then.response <= immediate.response {
        return None;
    }
    let rule = RuleName::parse(&format!("{rule}-repeated")).ok()?;
    Some(Row { threshold: REPEATED, ..Row::answering(rule, then, fact) })
}

fn of_sxid(sxid: &Sxid, buckets: &Buckets) -> Vec<Draft> {
    let mut row = Row::answering(sxid.rule.clone(), &sxid.action, SXIDS);
    let mut rows = Vec::new();
    if sxid.class == SxidClass::PotentiallyFatal && row.response == Response::Remove {
        row.when = DetailCondition::Word("Fatal".into());
        let other = RuleName::parse(PORT_ERROR).ok().zip(buckets.get(WATCH));
        rows.extend(other.map(|(rule, watch)| Row::answering(rule, watch, SXIDS)));
    }
    rows.insert(0, row);
    rows.into_iter().map(|row| draft(SXID, sxid.line, Source::Sxid, &sxid.code, row)).collect()
}

fn draft(table: &'static str, line: u32, source: Source, code: &Code, row: Row) -> Draft {
    Draft { table, line, row: Row { source: Some(source), code: Some(code.clone()), ..row } }
}
