//! `watch`: prints evidence as it arrives. It stores nothing.

use std::time::Duration;

use jiff::Timestamp;
use mainstay_model::BootId;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::agent::Agent;
use crate::kmsg::From;
use crate::output::{self, Format, Found, Problem, Said};
use crate::settings::Settings;
use crate::store::{Change, Store};

/// How long the driver is waited for at the end.
const LET_GO: Duration = Duration::from_secs(1);

/// A change as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shown {
    at: Timestamp,
    source: String,
    code: String,
    place: String,
    detail: String,
    times: u64,
    new: bool,
}

impl Shown {
    pub(crate) fn of(change: &Change) -> Self {
        Self {
            at: Timestamp::from_millisecond(change.at.0).unwrap_or(Timestamp::MAX),
            source: format!("{:?}", change.signal.source),
            code: change.signal.code.to_string(),
            place: change.signal.place.to_string(),
            detail: change.signal.detail.to_string(),
            times: change.times,
            new: change.noted == mainstay_signal::Noted::New,
        }
    }

    fn line(&self) -> String {
        let Self { at, source, code, place, detail, times, new } = self;
        let new = if *new { "  new" } else { "" };
        format!("{at:.3}  {source:<10} {code:<20} {place:<14} x{times:<6} {detail}{new}\n")
    }
}

pub(crate) async fn run(settings: Settings, boot: BootId, from_boot: bool, format: Format) -> Result<Said, Problem> {
    let from = if from_boot { From::Oldest } else { From::Now };
    let agent = Agent::start(settings, Store::new(boot), None, from);
    let no_threads = |error: std::io::Error| {
        Problem::new("the agent cannot start", error, "check the resource limits of the process (ulimit).")
    };
    let mut agent = agent.map_err(no_threads)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(no_threads)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(no_threads)?;
    let found = 'watching: loop {
        let happened = tokio::select! {
            happened = agent.next() => happened.map_err(no_threads)?,
            _ = interrupt.recv() => break Found::Nothing,
            _ = terminate.recv() => break Found::Nothing,
        };
        for change in &happened.changes {
            let shown = Shown::of(change);
            let text = match format {
                Format::Text => shown.line(),
                Format::Json => output::json(&shown, false)?,
            };
            if !output::line(&text) {
                break 'watching Found::Closed;
            }
        }
    };
    agent.end(LET_GO).await;
    Ok(Said { text: String::new(), found })
}
