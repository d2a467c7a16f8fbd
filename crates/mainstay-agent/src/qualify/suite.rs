//! Suites as data. Three are built in; a folder may hold others, and better ones under the same names.

use std::io::Read as _;
use std::path::Path;

use mainstay_model::{SuiteName, TestName};
use serde::Deserialize;

use crate::rlimits::Limits;

/// As many as a report has room for.
pub const TESTS_MAX: usize = 32;

/// A file larger than this is no suite.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// The longest that any test may run.
const TIME_LIMIT_SECONDS_MAX: u64 = 24 * 60 * 60;

/// A program of this name is ourselves.
pub(super) const SELF: &str = "self";

/// In an argument: how many GPUs there are.
pub(super) const GPUS: &str = "{gpus}";

const BUILT_IN: [(&str, &str); 3] = [
    ("dcgm", include_str!("../../suites/dcgm.toml")),
    ("nccl", include_str!("../../suites/nccl.toml")),
    ("host", include_str!("../../suites/host.toml")),
];

/// A suite.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name.
    pub name: SuiteName,
    /// What it is about.
    pub about: String,
    /// Its tests, in order.
    #[serde(rename = "test")]
    pub tests: Vec<Test>,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Its name.
    pub name: TestName,
    /// The program, as it is found in a folder of tools; `self` is this one.
    pub program: String,
    /// Its arguments; `{gpus}` is how many GPUs there are.
    pub arguments: Vec<String>,
    /// How long it may run.
    pub time_limit_seconds: u64,
    /// What it may use.
    #[serde(default)]
    pub limits: Limits,
    /// How what it says is read.
    pub parser: Parser,
    /// What its figures must be.
    #[serde(default, rename = "threshold")]
    pub thresholds: Vec<Threshold>,
}

/// How what a test says is read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Parser {
    /// Nothing is read: 0 is passed, anything else failed.
    ExitCode,
    /// Lines `figure NAME NUMBER`.
    Figures,
    /// What `dcgmi diag -j` prints.
    DcgmDiag {
        /// Tests that must have passed on every GPU, each under all the names that it has had.
        must_pass: Vec<Vec<String>>,
    },
    /// What a program of nccl-tests prints.
    NcclTests,
}

/// What a figure must be on machines with these GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// Which figure.
    pub figure: String,
    /// The models, in the driver's words; `*` is every machine.
    pub products: Vec<String>,
    /// The lowest that is good.
    pub at_least: Option<i64>,
    /// The highest that is good.
    pub at_most: Option<i64>,
}

/// Why there is no such suite.
#[derive(Debug, PartialEq, Eq)]
pub struct SuiteProblem(pub String);

// === impl Suite ===

impl Suite {
    /// The names of the built-in suites.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        BUILT_IN.iter().map(|(name, _)| *name).collect()
    }

    /// A suite by its name: `NAME.toml` of the folder, else the built-in one.
    ///
    /// # Errors
    /// Where there is none, or it is not one.
    pub fn named(name: &SuiteName, folder: Option<&Path>) -> Result<Self, SuiteProblem> {
        if let Some(folder) = folder {
            let path = folder.join(format!("{}.toml", name.as_str().replace('/', "-")));
            if path.exists() {
                let mut text = String::new();
                let file =
                    std::fs::File::open(&path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
                file.map_err(|error| SuiteProblem(format!("{}: {error}", path.display())))?;
                return Self::parse(&text, name)
                    .map_err(|problem| SuiteProblem(format!("{}: {}", path.display(), problem.0)));
            }
        }
        let text = BUILT_IN.iter().find(|(built_in, _)| *built_in == name.as_str()).map(|(_, text)| *text);
        let known = Self::names().join(", ");
        Self::parse(text.ok_or_else(|| SuiteProblem(format!("{name} is not one of {known}")))?, name)
    }

    pub(crate) fn parse(text: &str, name: &SuiteName) -> Result<Self, SuiteProblem> {
        let suite: Self = toml::from_str(text).map_err(|error| SuiteProblem(error.to_string()))?;
        match suite.nonsense(name) {
            Some(nonsense) => Err(SuiteProblem(nonsense)),
            None => Ok(suite),
        }
    }

    /// What a file of the right form may still have wrong.
    fn nonsense(&self, name: &SuiteName) -> Option<String> {
        if self.name != *name {
            return Some(format!("the file has the name {}", self.name));
        }
        if self.tests.is_empty() || self.tests.len() > TESTS_MAX {
            return Some(format!("{} tests; the limit is 1 to {TESTS_MAX}", self.tests.len()));
        }
        let mut names: Vec<&TestName> = self.tests.iter().map(|test| &test.name).collect();
        names.sort();
        if names.windows(2).any(|pair| pair.first() == pair.last()) {
            return Some("two tests have the same name".to_owned());
        }
        self.tests.iter().find_map(Test::nonsense)
    }
}

// === impl Test ===

impl Test {
    fn nonsense(&self) -> Option<String> {
        let name = &self.name;
        if !(1..=TIME_LIMIT_SECONDS_MAX).contains(&self.time_limit_seconds) {
            return Some(format!("{name}: time_limit_seconds must be 1 to {TIME_LIMIT_SECONDS_MAX}"));
        }
        // A name with a path in it would not be looked for among the tools.
        if self.program.is_empty() || self.program.contains('/') {
            return Some(format!("{name}: program must be a name without a folder"));
        }
        let is_empty = |threshold: &&Threshold| threshold.at_least.is_none() && threshold.at_most.is_none();
        if let Some(threshold) = self.thresholds.iter().find(is_empty) {
            return Some(format!("{name}: the threshold for {} has no limit", threshold.figure));
        }
        let measures = !self.thresholds.is_empty();
        match self.parser {
            // What only prints figures shows nothing without a threshold.
            Parser::Figures | Parser::NcclTests if !measures => {
                Some(format!("{name}: a test that measures needs a threshold"))
            }
            Parser::ExitCode if measures => Some(format!("{name}: thresholds need a parser that reads numbers")),
            Parser::Figures | Parser::NcclTests | Parser::ExitCode | Parser::DcgmDiag { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> SuiteName {
        SuiteName::parse(text).unwrap()
    }

    #[test]
    fn every_built_in_suite_can_be_read() {
        for built_in in Suite::names() {
            let suite = Suite::named(&name(built_in), None).unwrap();
            assert!(!suite.tests.is_empty(), "{built_in}");
        }
        assert_eq!(
            Suite::named(&name("other"), None),
            Err(SuiteProblem("other is not one of dcgm, nccl, host".to_owned()))
        );
    }

    #[test]
    fn a_folder_goes_before_what_is_built_in_and_nonsense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let test = |more: &str| {
            let text = format!(
                "name = \"host\"\nabout = \"x\"\n[[test]]\nname = \"a\"\nprogram = \"true\"\narguments = []\ntime_limit_seconds = 5\n{more}\n"
            );
            std::fs::write(folder.path().join("host.toml"), text).unwrap();
            Suite::named(&name("host"), Some(folder.path()))
        };
        let good = test("parser = { kind = \"exit-code\" }");
        assert_eq!(good.unwrap().tests[0].program, "true");
        for (more, complaint) in [
            ("parser = { kind = \"figures\" }", "needs a threshold"),
            ("parser = { kind = \"guess\" }", "guess"),
            ("parser = { kind = \"figures\" }\nthreshold = [{ figure = \"x\", products = [\"*\"] }]", "has no limit"),
            ("parser = { kind = \"exit-code\" }\nlimits = { memory = 5 }", "memory"),
            (
                "parser = { kind = \"exit-code\" }\n[[test]]\nname = \"a\"\nprogram = \"b\"\narguments = []\ntime_limit_seconds = 5\nparser = { kind = \"exit-code\" }",
                "same name",
            ),
            (
                "parser = { kind = \"exit-code\" }\n[[test]]\nname = \"b\"\nprogram = \"/bin/b\"\narguments = []\ntime_limit_seconds = 5\nparser = { kind = \"exit-code\" }",
                "without a folder",
            ),
        ] {
            let problem = test(more).unwrap_err();
            assert!(problem.0.contains(complaint), "{more}: {}", problem.0);
        }
    }
}
