//! Makes `docs/reference/faults.md`: what the catalogue says of every fault, what the vendor publishes beside it, and where
//! other systems do something else. It judges nothing; the catalogue's own tables are the source.

mod peers;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Context as _;
use mainstay_health::{Bucket, Catalogue, Generations, Published, Row, When, With, rule_text};
use mainstay_model::{Response, Rung, Source};

use super::{Generated, NOTICE};
use peers::{Ours, Peers};

const PATH: &str = "docs/reference/faults.md";

const INTRODUCTION: &str = "\
# Faults

What Mainstay makes of every fault it knows. Each rule is a row of a table in
[`crates/mainstay-health`](../../crates/mainstay-health/catalogue.tsv); `cargo xtask prove catalogue` holds what the vendor
publishes against what the brain decides, from raw line to decision. A rule's name is also what a pool's override names.

A fault is *noted* (counted), *watched* (looked at; nothing is stopped) or it takes the node *out*.
";

const MEANINGS: &str = "
## Rules

Incidents, `mainstay why` and the web UI show these texts.

| rule | title | meaning |
|---|---|---|
";

/// Rules of the engine that no table of the catalogue has.
const OF_THE_ENGINE: [&str; 4] = ["node-unreachable", "planned-work", "request", "unconfirmed-unreachable"];

const BUCKETS: &str = "
## Buckets

The one table from what is asked for to what is done. A bucket is a word of NVIDIA's XID catalogue, describes what the guide
of its Fabric Manager asks for, or is ours.

| bucket | from | comes to | work is waited for | ladder | why |
|---|---|---|---|---|---|
";

const EXCEPTIONS: &str = "
## Where we know better

Everything else is as the vendor publishes it.

| fault | the vendor | we | because |
|---|---|---|---|
";

const XIDS: &str = "
## XIDs

NVIDIA's XID catalogue: the GPUs a code applies to (A is A100, H is H100, B is B100 and its siblings, G is GB200), what is
done at once and what then, and our rule. On a GPU that it does not apply to, a code is watched (`xid-out-of-place`). Others
are shown where they take out a node that we leave running, or the other way round, by their own lists; NVIDIA's device plugin
withdraws a GPU at every code that it does not ignore.

| XID | name | on | at once | then | we | others do otherwise |
|---|---|---|---|---|---|---|
";

const NVLINK5: &str = "
## Causes of XIDs 144 to 150

NVLink of Blackwell, by the interrupt word and the error status in the line's parentheses. The low bits of the word differ
with the driver; the reason is in bits 20 to 25.

| XID | unit | reason | low bits before R575 | from R575 on | error status | at once | then | rule |
|---|---|---|---|---|---|---|---|---|
";

const SXIDS: &str = "
## SXids

NVSwitch errors of HGX boards, by the Fabric Manager user guide. Of an SXid that may be fatal, the driver says whether it was;
where it was not, it is watched (`nvswitch-port-error`).

| SXid | name | class | rule | comes to |
|---|---|---|---|---|
";

const REST: &str = "
## Everything else

Lines of the kernel, the PCI bus and network adapters, and readings of NVML and sysfs. *How often* is a number within so many
hours.

| source | code | when | how often | rule | comes to | by |
|---|---|---|---|---|---|---|
";

/// The page.
pub(super) fn file() -> anyhow::Result<Generated> {
    let (catalogue, published) = (Catalogue::built_in(), Published::built_in());
    let mut text = format!("{NOTICE}\n\n{INTRODUCTION}");
    meanings(&mut text, &catalogue)?;
    buckets(&mut text, &published)?;
    exceptions(&mut text, &published)?;
    xids(&mut text, &catalogue, &published, &Peers::read()?)?;
    nvlink5(&mut text, &published)?;
    sxids(&mut text, &published)?;
    rest(&mut text, &catalogue)?;
    Ok(Generated { path: PATH.to_owned(), text })
}

/// Every rule once, with its title and explanation.
fn meanings(text: &mut String, catalogue: &Catalogue) -> anyhow::Result<()> {
    text.push_str(MEANINGS);
    let of_catalogue = catalogue.rows().map(|row| row.rule.as_str());
    let rules: BTreeSet<&str> = of_catalogue.chain(OF_THE_ENGINE).collect();
    for rule in rules {
        let meaning = rule_text(rule).with_context(|| format!("rule {rule} has no text"))?;
        writeln!(text, "| `{rule}` | {} {} | {} |", meaning.part, meaning.title, meaning.explanation)?;
    }
    Ok(())
}

fn buckets(text: &mut String, published: &Published) -> anyhow::Result<()> {
    text.push_str(BUCKETS);
    for Bucket { name, from, response, urgency, rungs, why } in &published.buckets {
        let until = if *response == Response::Remove { format!("{urgency:?}") } else { "–".to_owned() };
        writeln!(text, "| `{name}` | {from} | {} | {until} | {} | {why} |", word(*response), ladder(rungs.as_slice()))?;
    }
    Ok(())
}

fn exceptions(text: &mut String, published: &Published) -> anyhow::Result<()> {
    text.push_str(EXCEPTIONS);
    for one in &published.exceptions {
        let (source, code) = (one.source, &one.code);
        writeln!(text, "| {source:?} {code} | {} | `{}` | {} |", one.published, one.rule, one.reason)?;
    }
    Ok(())
}

fn xids(text: &mut String, catalogue: &Catalogue, published: &Published, peers: &Peers) -> anyhow::Result<()> {
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

fn nvlink5(text: &mut String, published: &Published) -> anyhow::Result<()> {
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

fn sxids(text: &mut String, published: &Published) -> anyhow::Result<()> {
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
        let source = row.source.map_or("whoever".to_owned(), |source| format!("{source:?}"));
        let code = row.code.as_ref().map_or("any other", |code| code.as_str());
        let often = format!("{} in {}", row.threshold.count, row.threshold.hours);
        let when = or_dash(&condition(row)).to_owned();
        let (rule, bucket, fact) = (&row.rule, &row.bucket, &row.fact);
        writeln!(text, "| {source} | {code} | {when} | {often} | `{rule}` | `{bucket}` | {fact} |")?;
    }
    Ok(())
}

/// The rows of a code on the GPUs it applies to, in the order in which they are tried.
fn rows_of<'a>(catalogue: &'a Catalogue, source: Source, code: &str) -> Vec<&'a Row> {
    let of_code = |row: &&Row| row.source == Some(source) && row.code.as_ref().is_some_and(|one| one.as_str() == code);
    catalogue.rows().filter(of_code).filter(|row| row.on == Generations::ANY).collect()
}

/// Each rule once, with what it comes to. Causes that are decoded have a table of their own.
fn rules(rows: &[&Row]) -> String {
    let mut told: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| !matches!(row.when, When::Decoded(_))) {
        let often = if row.threshold.count > 1 { format!(" from {} on", row.threshold.count) } else { String::new() };
        let one = format!("`{}`{often}: {}", row.rule, word(row.response));
        if !told.contains(&one) {
            told.push(one);
        }
    }
    if rows.iter().any(|row| matches!(row.when, When::Decoded(_))) {
        told.insert(0, "[by cause](#causes-of-xids-144-to-150)".to_owned());
    }
    told.join("; ")
}

/// What one line of a code comes to.
fn ours(rows: &[&Row]) -> Ours {
    let once = rows.iter().filter(|row| row.threshold.count == 1);
    let (out, all) =
        once.fold((0, 0), |(out, all), row| (out + usize::from(row.response == Response::Remove), all + 1));
    match out {
        0 => Ours::Stays,
        out if out == all => Ours::Out,
        _ => Ours::Depends,
    }
}

fn condition(row: &Row) -> String {
    let when = match &row.when {
        When::Always => String::new(),
        When::Each => "each by itself".to_owned(),
        When::Is(text) => format!("`{text}`"),
        When::Word(word) => format!("`{word}`"),
        When::OnePlace => "one GPC and TPC".to_owned(),
        When::Any(_) | When::Only(_) => "by registers".to_owned(),
        When::Decoded(_) => "by cause".to_owned(),
    };
    match &row.with {
        With::Whatever => when,
        With::Codes(codes) => {
            format!("{when} with {}", codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "))
        }
        With::Other => format!("{when} with another fault"),
    }
}

const fn word(response: Response) -> &'static str {
    match response {
        Response::Note => "noted",
        Response::Watch => "watched",
        Response::Remove => "out",
    }
}

fn ladder(rungs: &[Rung]) -> String {
    let words: Vec<String> = rungs.iter().map(|rung| format!("{rung:?}")).collect();
    or_dash(&words.join(" → ")).to_owned()
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}
