//! The qualification runner: a suite is data, a test a command with limits, a parser and thresholds. It says what a test
//! showed and judges no node. Whatever happens, the result names every test of the suite: one that did not run to its end is
//! `Unknown`, so that a part of a suite never looks like the whole.

mod command;
mod judge;
mod log;
mod parse;
mod suite;
mod workload;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mainstay_api::TestResult;
use mainstay_model::{Detail, Nonce, SuiteName, Verdict};
use serde::Serialize;

pub(crate) use command::{Options, run as word};
pub use log::Log;
pub use parse::{ParsedOutput, parse};
pub use suite::{Parser, Suite, SuiteProblem, TESTS_MAX, Test, Threshold};
pub(crate) use workload::Workload;

use crate::scratch::Scratch;
use crate::shutdown::ShutdownSignal;
use crate::subprocess::{self, Capacity, ExitStatus, Invocation};
use crate::text;
use crate::tools::Tools;

/// What a test may say; one that says more is ended, because a document that is cut cannot be read. A diagnosis of eight GPUs
/// is under 100 kB.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The machine that is tested.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The GPU model, in the driver's words; none where there is no driver.
    pub product: Option<String>,
    /// How many GPUs the driver lists.
    pub gpus: usize,
    /// Where tests' programs are looked for.
    pub tools: Tools,
    /// Where they may write; on the disk that is to be tested.
    pub scratch: PathBuf,
    /// This program, which sets limits and has workloads of its own.
    pub launcher: PathBuf,
}

/// Verdict of a suite, with the result of each of its tests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SuiteResult {
    /// Which suite.
    pub suite: SuiteName,
    /// What the order carried.
    pub nonce: Nonce,
    /// How many tests the suite has.
    pub tests: usize,
    /// What they come to together: passed only where each of them did.
    pub verdict: Verdict,
    /// One for each test of the suite, in its order.
    pub results: Vec<TestReport>,
}

/// Result of one test, with its duration, measurements and output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestReport {
    /// As it goes into the report.
    #[serde(flatten)]
    pub result: TestResult,
    /// How long it ran.
    pub seconds: f64,
    /// What was measured, each with its unit in its name.
    pub figures: BTreeMap<String, i64>,
    /// What it said.
    pub log: Log,
}

/// What is told while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The test's number, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// Its name.
    pub test: &'a str,
}

/// Outcome of one test before the nonce is added.
#[derive(Debug, Default)]
struct TestOutcome {
    verdict: Option<Verdict>,
    detail: String,
    took: Duration,
    figures: BTreeMap<String, i64>,
    log: Log,
}

/// Runs a suite, one test after the other, and blocks until it is done. A stop ends the test that runs; it and the rest are
/// `Unknown`.
#[must_use]
pub fn run(
    suite: &Suite,
    machine: &Machine,
    nonce: &Nonce,
    stop: &ShutdownSignal,
    progress: &mut dyn FnMut(Progress<'_>),
) -> SuiteResult {
    let of = suite.tests.len();
    let results: Vec<TestReport> = suite
        .tests
        .iter()
        .zip(1..)
        .map(|(test, number)| {
            progress(Progress { number, of, test: test.name.as_str() });
            let shown = if stop.has_fired() {
                TestOutcome::unknown("not started: stopped")
            } else {
                shown(test, machine, stop)
            };
            let detail = Detail::parse(&text::line(&shown.detail, Detail::BYTES_MAX)).ok();
            let detail = detail.filter(|detail| !detail.as_str().is_empty());
            let verdict = shown.verdict.unwrap_or(Verdict::Unknown);
            TestReport {
                result: TestResult { nonce: nonce.clone(), test: test.name.clone(), verdict, detail },
                seconds: shown.took.as_secs_f64(),
                figures: shown.figures,
                log: shown.log,
            }
        })
        .collect();
    let verdicts: Vec<Verdict> = results.iter().map(|tested| tested.result.verdict).collect();
    SuiteResult {
        suite: suite.name.clone(),
        nonce: nonce.clone(),
        tests: of,
        verdict: judge::together(&verdicts),
        results,
    }
}

fn shown(test: &Test, machine: &Machine, stop: &ShutdownSignal) -> TestOutcome {
    let program = match test.program.as_str() {
        suite::SELF => Some(machine.launcher.clone()),
        name => machine.tools.find(name),
    };
    let Some(program) = program else { return TestOutcome::unknown(&format!("tool not found: {}", test.program)) };
    if machine.gpus == 0 && test.arguments.iter().any(|argument| argument.contains(suite::GPUS)) {
        return TestOutcome::unknown("the driver lists no GPU");
    }
    match Scratch::new(&machine.scratch) {
        Ok(scratch) => ran(test, machine, program, scratch.path(), stop),
        Err(error) => TestOutcome::unknown(&format!("{}: {error}", machine.scratch.display())),
    }
}

fn ran(test: &Test, machine: &Machine, program: PathBuf, folder: &Path, stop: &ShutdownSignal) -> TestOutcome {
    let gpus = machine.gpus.to_string();
    let job = Invocation {
        launcher: &machine.launcher,
        program,
        arguments: test.arguments.iter().map(|argument| argument.replace(suite::GPUS, &gpus)).collect(),
        folder,
        search_path: machine.tools.search_path(),
        limits: test.limits.clone(),
        time: Duration::from_secs(test.time_limit_seconds),
    };
    let (mut output, mut log) = (Vec::new(), Log::default());
    let ran = subprocess::run(&job, stop, |stream, bytes| {
        log.take(bytes);
        if stream == subprocess::Stream::Output {
            output.extend_from_slice(bytes);
        }
        Ok(if output.len() > OUTPUT_BYTES_MAX { Capacity::Full } else { Capacity::More })
    });
    let mut shown = TestOutcome { took: ran.took, log: log.ended(), ..TestOutcome::default() };
    let code = match ran.ended {
        ExitStatus::Exited(code) => code,
        ExitStatus::Signalled(signal) => return shown.because(&format!("ended by signal {signal}")),
        ExitStatus::OutOfTime => return shown.because(&format!("timed out after {} s", test.time_limit_seconds)),
        ExitStatus::TooMuch => return shown.because(&format!("more than {OUTPUT_BYTES_MAX} bytes of output")),
        ExitStatus::Stopped => return shown.because("stopped"),
        ExitStatus::Unending => return shown.because("killed, but hangs in the kernel"),
        ExitStatus::Failed(why) => return shown.because(&why),
    };
    let parsed = parse(&test.parser, &String::from_utf8_lossy(&output));
    let judged = judge::judge(test, machine.product.as_deref(), code, &parsed);
    shown.figures = parsed.figures;
    (shown.verdict, shown.detail) = (Some(judged.verdict), judged.detail);
    shown
}

// === impl TestOutcome ===

impl TestOutcome {
    fn unknown(why: &str) -> Self {
        Self::default().because(why)
    }

    fn because(mut self, why: &str) -> Self {
        (self.verdict, self.detail) = (Some(Verdict::Unknown), why.to_owned());
        self
    }
}
