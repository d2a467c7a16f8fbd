//! The only table that maps a bucket to a response, an urgency and a repair plan. Every row of every other table names
//! a bucket.

use std::collections::BTreeMap;

use mainstay_model::{Bounded, RepairStep, Response, Urgency};

use super::Problem;
use super::parse::{Reader, lines};

const TABLE: &str = "catalogue/buckets.tsv";
const COLUMNS: [&str; 6] = ["bucket", "from", "response", "urgency", "rungs", "why"];

/// A bucket with its response, urgency and repair plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Name of the bucket, from the vendor or from Mainstay.
    pub name: Box<str>,
    /// Origin of the bucket: `NVIDIA`, `Fabric Manager guide` or `Mainstay`.
    pub from: Box<str>,
    /// The response that the bucket asks for.
    pub response: Response,
    /// Time that running jobs get before they are stopped.
    pub urgency: Urgency,
    /// Steps of the repair plan.
    pub rungs: Bounded<RepairStep, 8>,
    /// Reason for the response, urgency and plan.
    pub why: Box<str>,
}

/// All buckets, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Buckets(BTreeMap<Box<str>, Bucket>);

impl Buckets {
    /// Reads the table that Mainstay ships with.
    pub(super) fn built_in(problems: &mut Vec<Problem>) -> Self {
        Self::read(include_str!("../../catalogue/buckets.tsv"), problems)
    }

    fn read(text: &str, problems: &mut Vec<Problem>) -> Self {
        let mut buckets = Self::default();
        for (line, text) in lines(text) {
            let mut reader = Reader::new(TABLE, line, problems);
            let Some([name, from, response, urgency, rungs, why]) = reader.columns(text, COLUMNS) else { continue };
            let response = reader.response(response);
            let urgency = reader.urgency(urgency);
            let rungs = reader.rungs(rungs, response);
            if why.trim().is_empty() {
                reader.wrong(
                    "no reason is given",
                    "the last column is empty",
                    "state the reason for the bucket's response",
                );
            }
            let (Some(response), Some(urgency), Some(rungs)) = (response, urgency, rungs) else { continue };
            let bucket = Bucket { name: name.into(), from: from.into(), response, urgency, rungs, why: why.into() };
            if buckets.0.insert(name.into(), bucket).is_some() {
                reader.wrong(
                    "a bucket is defined twice",
                    &format!("{name} has a row already"),
                    "keep one of the two rows",
                );
            }
        }
        buckets
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Bucket> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Bucket> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        Buckets::read(text, &mut problems);
        problems.into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn the_built_in_table_is_sound() {
        let mut problems = Vec::new();
        let buckets = Buckets::built_in(&mut problems);
        assert_eq!(problems, []);
        assert_eq!(buckets.get("RESET_GPU").map(|bucket| bucket.response), Some(Response::Remove));
        assert_eq!(buckets.get("reset_gpu"), None);
    }

    #[test]
    fn a_bucket_has_one_answer_and_a_reason() {
        assert_eq!(wrong("A\tours\tNote\tNow\t-\tx\nA\tours\tWatch\tNow\t-\tx"), ["a bucket is defined twice"]);
        assert_eq!(wrong("A\tours\tNote\tNow\t-\t "), ["no reason is given"]);
        assert_eq!(wrong("A\tNote"), ["the row is not complete"]);
    }

    #[test]
    fn a_ladder_begins_with_capture_and_rises() {
        let with = |response: &str, rungs: &str| wrong(&format!("A\tours\t{response}\tNow\t{rungs}\twhy"));
        assert_eq!(with("Remove", "Reboot>Replace"), ["the repair plan does not begin with Capture"]);
        assert_eq!(with("Remove", "-"), ["the repair plan does not begin with Capture"]);
        assert_eq!(
            with("Remove", "Capture>Reboot>ResetGpu"),
            ["the repair plan is not sorted from least to most disruptive"]
        );
        assert_eq!(with("Watch", "Capture"), ["a row that does not remove the node has a repair plan"]);
        assert_eq!(with("Kill", "Kick>Reboot"), ["response has an unknown value", "rungs has an unknown value"]);
        assert_eq!(with("Remove", "Capture>Reboot>Replace"), Vec::<String>::new());
    }
}
