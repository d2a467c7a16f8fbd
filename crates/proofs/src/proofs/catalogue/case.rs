//! One expectation: what is said on which GPU, and what should come of it. Playing it is `fleet.rs`.

use std::fmt;

use anyhow::{Context as _, ensure};
use mainstay_model::{RepairStep, RuleName};

/// One line of an expectation table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// Which fault: `xid 79`, `decode 12`, `sxid 12028`.
    pub(super) of: String,
    pub(super) gpu: String,
    pub(super) driver: String,
    /// What the vendor publishes.
    pub(super) published: String,
    /// What should come of it: `runs`, `watched`, `out`, or `out` with the first repair step.
    pub(super) should: String,
    /// What is said, and how often.
    pub(super) lines: Vec<(String, u32)>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) end: NodeState,
    /// The rule that led to it, where any did.
    pub(super) rule: Option<RuleName>,
}

/// State of the node after all lines of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeState {
    /// The node stays in service.
    Runs,
    /// It is under suspicion, and nothing is stopped.
    Watched,
    /// The node is removed from service, and this step comes first, after the capture of evidence.
    Out(Option<RepairStep>),
}

impl Outcome {
    pub(super) fn is_as(&self, should: &str) -> bool {
        match self.end {
            NodeState::Runs => should == "runs",
            NodeState::Watched => should == "watched",
            NodeState::Out(rung) => should == "out" || rung.is_some_and(|rung| should == format!("out {rung:?}")),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end {
            NodeState::Runs => f.write_str("runs")?,
            NodeState::Watched => f.write_str("watched")?,
            NodeState::Out(None) => f.write_str("out")?,
            NodeState::Out(Some(rung)) => write!(f, "out {rung:?}")?,
        }
        self.rule.iter().try_for_each(|rule| write!(f, " by {rule}"))
    }
}

/// The cases of a table.
pub(super) fn read(text: &str) -> anyhow::Result<Vec<Case>> {
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| one(row).with_context(|| format!("in {row}"))).collect()
}

fn one(row: &str) -> anyhow::Result<Case> {
    let columns: Vec<&str> = row.split('\t').collect();
    let &[of, gpu, driver, published, should, lines] = columns.as_slice() else {
        anyhow::bail!("{} columns", columns.len());
    };
    let rungs = ["out RestartService", "out ResetGpu", "out Reboot", "out PowerCycle", "out Replace"];
    ensure!(["runs", "watched", "out"].contains(&should) || rungs.contains(&should), "no outcome {should}");
    let lines = lines.split(" % ").map(|line| match line.rsplit_once(" x") {
        Some((said, times)) if times.bytes().all(|byte| byte.is_ascii_digit()) => Ok((said.to_owned(), times.parse()?)),
        Some(_) | None => Ok((line.to_owned(), 1)),
    });
    Ok(Case {
        of: of.to_owned(),
        gpu: gpu.to_owned(),
        driver: driver.to_owned(),
        published: published.to_owned(),
        should: should.to_owned(),
        lines: lines.collect::<anyhow::Result<_>>()?,
    })
}
