//! `watch`: prints evidence as it arrives. It stores nothing.

use std::time::Duration;

use jiff::Timestamp;
use mainstay_model::BootId;
use mainstay_telemetry::shutdown::TerminationSignals;
use serde::Serialize;

use crate::agent::Agent;
use crate::kmsg::StartPosition;
use crate::output::{self, CommandOutput, Format, Outcome, Problem};
use crate::settings::Settings;
use crate::store::{Change, Store};

/// How long the driver is waited for at the end.
const LET_GO: Duration = Duration::from_secs(1);

/// One counted signal, as `watch` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EvidenceLine {
    at: Timestamp,
    source: String,
    code: String,
    place: String,
    detail: String,
    times: u64,
    new: bool,
}

impl EvidenceLine {
    fn of(change: &Change) -> Self {
        Self {
            at: Timestamp::from_millisecond(change.at.0).unwrap_or(Timestamp::MAX),
            source: format!("{:?}", change.signal.source),
            code: change.signal.code.to_string(),
            place: change.signal.place.to_string(),
            detail: change.signal.detail.to_string(),
            times: change.times,
            new: change.noted == mainstay_signal::TallyOutcome::New,
        }
    }

    fn line(&self) -> String {
        let Self { at, source, code, place, detail, times, new } = self;
        let new = if *new { "  new" } else { "" };
        format!("{at:.3}  {source:<10} {code:<20} {place:<14} x{times:<6} {detail}{new}\n")
    }
}

pub(crate) async fn run(
    settings: Settings,
    boot: BootId,
    from_boot: bool,
    format: Format,
) -> Result<CommandOutput, Problem> {
    let from = if from_boot { StartPosition::Oldest } else { StartPosition::Now };
    let agent = Agent::start(settings, Store::new(boot), None, from);
    let no_threads = |error: std::io::Error| {
        Problem::new("the agent cannot start", error, "check the resource limits of the process (ulimit).")
    };
    let mut agent = agent.map_err(no_threads)?;
    let mut signals = TerminationSignals::new().map_err(no_threads)?;
    let found = 'watching: loop {
        let happened = tokio::select! {
            happened = agent.next() => happened.map_err(no_threads)?,
            _ = signals.received() => break Outcome::Nothing,
        };
        for change in &happened.changes {
            let shown = EvidenceLine::of(change);
            let text = match format {
                Format::Text => shown.line(),
                Format::Json => output::json(&shown, false)?,
            };
            if !output::line(&text) {
                break 'watching Outcome::Closed;
            }
        }
    };
    agent.end(LET_GO).await;
    Ok(CommandOutput { text: String::new(), outcome: found })
}
