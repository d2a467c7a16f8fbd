//! Generates `docs/reference/faults.md`: the rule and response for every fault, the vendor's published action, and the
//! systems that respond differently. The catalogue's tables are the only source; this file adds no judgement.

mod peers;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Context as _;
use mainstay_health::{
    Bucket, Catalogue, DetailCondition, EvidenceCondition, Generations, Row, RuleText, VendorTables, rule_text,
};
use mainstay_model::{RepairStep, Response, Source};
use xtask::figures::table::NOTICE;

use super::GeneratedFile;
use peers::{Peers, ServiceEffect};

const PATH: &str = "docs/reference/faults.md";

const INTRODUCTION: &str = "\
# Faults

How Mainstay responds to every fault it knows. Each rule is a row of a table in
[`crates/mainstay-health`](../../crates/mainstay-health/catalogue.tsv). `cargo xtask prove catalogue` compares every
action that the vendor publishes with the engine's decision, from the raw log line to the decision. To change the
response for one pool, name a rule in the overrides of its FleetPolicy.

Each rule has one of three responses:

- *counted*: Mainstay stores the count and does nothing else.
- *watched*: Mainstay shows the fault to an operator. No job is stopped.
- *removed from service*: Mainstay decides to drain the node and to follow the repair plan. In mode Observe this decision
  is a dry run.
";

const MEANINGS: &str = "
## Rules

Incidents, `mainstay why` and the web UI show these texts.

| rule | title | meaning | runbook |
|---|---|---|---|
";

/// Rules of the engine that no table of the catalogue has.
const OF_THE_ENGINE: [&str; 4] = ["node-unreachable", "planned-work", "request", "unconfirmed-unreachable"];

const BUCKETS: &str = "
## Buckets

A bucket maps a recommended action to a response, an urgency and a repair plan. Its origin is NVIDIA's XID catalogue,
the Fabric Manager user guide or Mainstay. Urgency is the time that running jobs get before they are stopped. A dash
means that the node stays in service.

| bucket | origin | response | urgency | repair plan | reason |
|---|---|---|---|---|---|
";

const EXCEPTIONS: &str = "
## Differences from the vendor

For every other published fault, Mainstay follows the vendor.

| fault | vendor's action | Mainstay's rule | reason |
|---|---|---|---|
";

const XIDS: &str = "
## XIDs

The columns *GPUs*, *immediate action* and *investigatory action* come from NVIDIA's XID catalogue. GPUs are A (A100),
H (H100), B (B100 and its variants) and G (GB200). On any other GPU the code is watched (`xid-out-of-place`).

The last column lists systems that remove a node where Mainstay does not, or keep one that Mainstay removes. It follows
their own published lists. NVIDIA's device plugin withdraws a GPU at every code that it does not ignore.

| XID | name | GPUs | immediate action | investigatory action | Mainstay's rules | other systems that differ |
|---|---|---|---|---|---|---|
";

const NVLINK5: &str = "
## Causes of XIDs 144 to 150

Mainstay decodes these NVLink errors of Blackwell GPUs from the interrupt word and the error status in the parentheses
of the log line. The layout of the low bits of the interrupt word depends on the driver version. The reason is in bits
20 to 25.

| XID | unit | reason | low bits before R575 | from R575 on | error status | immediate action | investigatory action | rule |
|---|---|---|---|---|---|---|---|---|
";

const SXIDS: &str = "
## SXids

SXids are NVSwitch errors of HGX boards. The classes come from the Fabric Manager user guide. For a potentially fatal
SXid the driver logs whether it was fatal. If it was not, it is watched (`nvswitch-port-error`).

| SXid | name | class | rule | bucket |
|---|---|---|---|---|
";

const REST: &str = "
## All other faults

Log lines of the kernel, the PCI bus and network adapters, and readings of NVML and sysfs. *Threshold* is a count
within a number of hours.

| source | code | condition | threshold | rule | bucket | origin |
|---|---|---|---|---|---|---|
";

/// Generates the page of all faults.
pub(super) fn file() -> anyhow::Result<GeneratedFile> {
    let (catalogue, published) = (Catalogue::built_in(), VendorTables::built_in());
    let mut text = format!("{NOTICE}\n\n{INTRODUCTION}");
    meanings(&mut text, &catalogue)?;
    buckets(&mut text, &published)?;
    exceptions(&mut text, &published)?;
    xids(&mut text, &catalogue, &published, &Peers::read()?)?;
    nvlink5(&mut text, &published)?;
    sxids(&mut text, &published)?;
    rest(&mut text, &catalogue)?;
    Ok(GeneratedFile { path: PATH.to_owned(), text })
}

/// Every rule once, with its title and explanation.
fn meanings(text: &mut String, catalogue: &Catalogue) -> anyhow::Result<()> {
    text.push_str(MEANINGS);
    let of_catalogue = catalogue.rows().map(|row| row.rule.as_str());
    let rules: BTreeSet<&str> = of_catalogue.chain(OF_THE_ENGINE).collect();
    for rule in rules {
        let meaning = rule_text(rule).with_context(|| format!("rule {rule} has no text"))?;
        let RuleText { part, title, explanation, runbook, .. } = meaning;
        writeln!(
            text,
            "| `{rule}` | {part} {title} | {explanation} | [{runbook}](../operate/runbooks/{runbook}.md) |"
        )?;
    }
    Ok(())
}

fn buckets(text: &mut String, published: &VendorTables) -> anyhow::Result<()> {
    text.push_str(BUCKETS);
    for Bucket { name, from, response, urgency, rungs, why } in &published.buckets {
        let until = if *response == Response::Remove { format!("{urgency:?}") } else { "–".to_owned() };
        writeln!(text, "| `{name}` | {from} | {} | {until} | {} | {why} |", word(*response), ladder(rungs.as_slice()))?;
    }
    Ok(())
}

fn exceptions(text: &mut String, published: &VendorTables) -> anyhow::Result<()> {
    text.push_str(EXCEPTIONS);
    for one in &published.exceptions {
        let (source, code) = (one.source, &one.code);
        writeln!(text, "| {source:?} {code} | {} | `{}` | {} |", one.published, one.rule, one.reason)?;
    }
    Ok(())
}

fn xids(text: &mut String, catalogue: &Catalogue, published: &VendorTables, peers: &Peers) -> anyhow::Result<()> {
    text.push_str(XIDS);
    for xid in &published.xids {
        let rows = rows_of(catalogue, Source::Xid, xid.code.as_str());
        let on: String = xid.on.iter().map(mainstay_health::Generation::letter).collect();
        let otherwise = peers.otherwise(xid.code.as_str(), ours(&rows));
        let name =
            |bucket: &Option<Bucket>| bucket.as_ref().map_or("–".to_owned(), |bucket| format!("`{}`", bucket.name));
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            xid.code,
            xid.mnemonic,
            or_dash(&on),
            name(&xid.immediate),
            name(&xid.investigatory),
            rules(&rows),
            or_dash(&otherwise),
        )?;
    }
    Ok(())
}

fn nvlink5(text: &mut String, published: &VendorTables) -> anyhow::Result<()> {
    text.push_str(NVLINK5);
    for one in &published.nvlink5 {
        let [reason, r565, r575, status] = one.decode.words();
        writeln!(
            text,
            "| {} | {} | {reason} | `{r565}` | `{r575}` | {status} | `{}` | `{}` | `{}` |",
            one.code, one.unit, one.immediate.name, one.investigatory.name, one.rule,
        )?;
    }
    Ok(())
}

fn sxids(text: &mut String, published: &VendorTables) -> anyhow::Result<()> {
    text.push_str(SXIDS);
    for one in &published.sxids {
        let class = one.class.word();
        writeln!(text, "| {} | {} | {class} | `{}` | `{}` |", one.code, one.name, one.rule, one.action.name)?;
    }
    Ok(())
}

fn rest(text: &mut String, catalogue: &Catalogue) -> anyhow::Result<()> {
    text.push_str(REST);
    let mut rows: Vec<&Row> = catalogue.rows().collect();
    rows.retain(|row| !matches!(row.source, Some(Source::Xid | Source::Sxid)));
    rows.sort_by_key(|row| row.rank);
    for row in rows {
        let source = row.source.map_or("any".to_owned(), |source| format!("{source:?}"));
        let code = row.code.as_ref().map_or("any other", |code| code.as_str());
        let often = format!("{} in {} h", row.threshold.count, row.threshold.hours);
        let when = or_dash(&condition(row)).to_owned();
        let (rule, bucket, fact) = (&row.rule, &row.bucket, &row.fact);
        writeln!(text, "| {source} | {code} | {when} | {often} | `{rule}` | `{bucket}` | {fact} |")?;
    }
    Ok(())
}

/// Returns the rows of a code on the GPUs it applies to, in the order in which the engine tries them.
fn rows_of<'a>(catalogue: &'a Catalogue, source: Source, code: &str) -> Vec<&'a Row> {
    let of_code = |row: &&Row| row.source == Some(source) && row.code.as_ref().is_some_and(|one| one.as_str() == code);
    catalogue.rows().filter(of_code).filter(|row| row.on == Generations::ANY).collect()
}

/// Lists each rule once with its response. Decoded causes have their own table.
fn rules(rows: &[&Row]) -> String {
    let mut told: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| !matches!(row.when, DetailCondition::Decoded(_))) {
        let often =
            if row.threshold.count > 1 { format!(" (at least {} times)", row.threshold.count) } else { String::new() };
        let one = format!("`{}`{often}: {}", row.rule, word(row.response));
        if !told.contains(&one) {
            told.push(one);
        }
    }
    if rows.iter().any(|row| matches!(row.when, DetailCondition::Decoded(_))) {
        told.insert(0, "[depends on the cause](#causes-of-xids-144-to-150)".to_owned());
    }
    told.join("; ")
}

/// Returns whether one line of a code removes the node from service.
fn ours(rows: &[&Row]) -> ServiceEffect {
    let once = rows.iter().filter(|row| row.threshold.count == 1);
    let (out, all) =
        once.fold((0, 0), |(out, all), row| (out + usize::from(row.response == Response::Remove), all + 1));
    match out {
        0 => ServiceEffect::Stays,
        out if out == all => ServiceEffect::Out,
        _ => ServiceEffect::Depends,
    }
}

fn condition(row: &Row) -> String {
    let when = match &row.when {
        DetailCondition::Always => String::new(),
        DetailCondition::Each => "each detail counted separately".to_owned(),
        DetailCondition::Is(text) => format!("detail `{text}`"),
        DetailCondition::Word(word) => format!("detail contains `{word}`"),
        DetailCondition::OnePlace => "all from one GPC and TPC".to_owned(),
        DetailCondition::Any(_) | DetailCondition::Only(_) => "depends on registers".to_owned(),
        DetailCondition::Decoded(_) => "depends on the cause".to_owned(),
    };
    match &row.with {
        EvidenceCondition::Whatever => when,
        EvidenceCondition::Codes(codes) => {
            format!("{when} with {}", codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "))
        }
        EvidenceCondition::Other => format!("{when} with another fault"),
    }
}

const fn word(response: Response) -> &'static str {
    match response {
        Response::Note => "counted",
        Response::Watch => "watched",
        Response::Remove => "removed from service",
    }
}

fn ladder(rungs: &[RepairStep]) -> String {
    let words: Vec<String> = rungs.iter().map(|rung| format!("{rung:?}")).collect();
    or_dash(&words.join(" → ")).to_owned()
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}
