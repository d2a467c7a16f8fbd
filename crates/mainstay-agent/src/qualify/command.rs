//! The `qualify` subcommand: runs a test suite for an operator on a node. The order path calls [`super::run`] itself.

use std::path::PathBuf;

use clap::Args;
use mainstay_model::{Nonce, SuiteName, Verdict};
use mainstay_telemetry::shutdown::TerminationSignals;

use super::{Machine, Suite, SuiteResult};
use crate::output::{self, CommandOutput, Format, Outcome, Problem};
use crate::settings::Settings;
use crate::shutdown::ShutdownSignal;
use crate::sources::versions;
use crate::text;
use crate::tools::Tools;

/// More GPUs than any node has.
const GPUS_MAX: usize = 64;

/// What a suite is run with.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Test suite: dcgm, nccl, host, or one from --suites
    #[arg(long, value_name = "NAME")]
    suite: SuiteName,
    /// Folder with additional suites, NAME.toml; they override built-in suites
    #[arg(long, value_name = "FOLDER")]
    suites: Option<PathBuf>,
    /// Nonce to include in the results
    #[arg(long, value_name = "NONCE", default_value = "by-hand")]
    nonce: Nonce,
    /// GPU model for the thresholds [default: the driver's]
    #[arg(long, value_name = "MODEL")]
    product: Option<String>,
    /// Folder with test programs, instead of PATH; repeatable
    #[arg(long, value_name = "FOLDER")]
    tools: Vec<PathBuf>,
    /// Work folder of the tests, on the disk to test
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    scratch: PathBuf,
}

pub(crate) async fn run(
    options: Options,
    settings: Settings,
    launcher: PathBuf,
    format: Format,
) -> Result<CommandOutput, Problem> {
    let no_start = |error: std::io::Error| {
        Problem::new("the agent cannot start", error, "check the resource limits of the process (ulimit).")
    };
    let suite = Suite::named(&options.suite, options.suites.as_deref()).map_err(|problem| {
        Problem::new(
            format!("cannot use suite {}", options.suite),
            problem.0,
            "docs/operate/agent.md describes the format of suites.",
        )
    })?;
    let gpus = text::names(&settings.proc.join("driver/nvidia/gpus"), GPUS_MAX).map_or(0, |names| names.len());
    let driver = || versions::look(&settings).versions.and_then(|versions| versions.product);
    let machine = Machine {
        product: options.product.or_else(driver),
        gpus,
        tools: Tools::new(options.tools),
        scratch: options.scratch,
        launcher,
    };
    let stop = ShutdownSignal::new().map_err(no_start)?;
    let mut signals = TerminationSignals::new().map_err(no_start)?;
    let (done, mut qualified) = tokio::sync::oneshot::channel();
    let its = stop.clone();
    let work = std::thread::Builder::new().name("qualify".to_owned()).spawn(move || {
        let mut progress = |progress: super::Progress<'_>| {
            output::progress(&format!("{}/{}  {}", progress.number, progress.of, progress.test));
        };
        let _ = done.send(super::run(&suite, &machine, &options.nonce, &its, &mut progress));
    });
    drop(work.map_err(no_start)?);
    let qualified = loop {
        tokio::select! {
            qualified = &mut qualified => break qualified,
            _ = signals.received() => stop.fire(),
        }
    };
    output::progress("");
    let defect = |_| {
        Problem::new(
            "no suite was run",
            "the worker thread ended.",
            "this is a bug in mainstay-agent: please report it.",
        )
    };
    let qualified = qualified.map_err(defect)?;
    let text = match format {
        Format::Text => qualified.text(),
        Format::Json => output::json(&qualified, true)?,
    };
    let found = match qualified.verdict {
        Verdict::Passed => Outcome::Nothing,
        Verdict::Failed => Outcome::Evidence,
        Verdict::Unknown => Outcome::Unseen,
    };
    Ok(CommandOutput { text, outcome: found })
}

// === impl SuiteResult ===

impl SuiteResult {
    fn text(&self) -> String {
        let mut text = String::new();
        for tested in &self.results {
            let detail = tested.result.detail.as_ref().map_or("", |detail| detail.as_str());
            let (test, verdict) = (tested.result.test.as_str(), format!("{:?}", tested.result.verdict));
            text.push_str(&format!("{test:<20} {verdict:<8} {:>6.0} s  {detail}\n", tested.seconds));
        }
        let passed = self.results.iter().filter(|tested| tested.result.verdict == Verdict::Passed).count();
        text + &format!("{}: {:?}, {passed} of {} tests passed\n", self.suite, self.verdict, self.tests)
    }
}
