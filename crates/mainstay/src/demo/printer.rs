//! A demo in the terminal: its address, its events and its result, as text lines or JSON objects.

use std::net::SocketAddr;

use mainstay_api::http::ScriptStep;
use mainstay_model::Timestamp;
use mainstay_sim::LiveFleet;
use mainstay_text::{counted, duration, gpu_hours, thousands, wrapped};
use mainstay_web::WebUi;
use serde_json::json;

use super::{Output, RunArgs, ScriptChoice, Summary};
use crate::output::{self, CommandOutput, Problem};

/// Width of the text.
const COLUMNS: usize = 100;
/// How wide a moment is.
const MOMENT: usize = 12;

/// Formats the events of a demo as text or JSON lines.
pub(super) struct Printer {
    output: Output,
}

impl Printer {
    pub(super) const fn new(output: Output) -> Self {
        Self { output }
    }

    pub(super) fn began(&self, show: &RunArgs, address: SocketAddr, web_ui: WebUi) -> Result<String, Problem> {
        let RunArgs { gpus, seed, speed, script, .. } = show;
        match self.output {
            Output::Json => output::json_line(&json!({
                "event": "began", "address": format!("http://{address}"), "gpus": gpus, "seed": seed, "speed": speed,
                "webUi": web_ui == WebUi::Included,
            })),
            Output::Text => {
                let fleet = format!(
                    "Virtual fleet of {} GPUs, seed {seed}, speed {}x.",
                    thousands((*gpus).into()),
                    thousands((*speed).into())
                );
                let next = match script {
                    ScriptChoice::Default => "The demo script starts now. Ctrl-C stops it.",
                    ScriptChoice::None | ScriptChoice::Crowded => {
                        "No faults by themselves; inject one with `mainstay demo inject`. Ctrl-C stops it."
                    }
                };
                Ok(format!("{fleet}\n\n{}\n{next}\n\n", web_ui.lines(address)))
            }
        }
    }

    pub(super) fn step(&self, step: &ScriptStep) -> Result<String, Problem> {
        match self.output {
            Output::Json => self.object("step", step),
            Output::Text => Ok(line(step.at, &format!("{}. {}", step.title, step.text))),
        }
    }

    pub(super) fn more(&self, step: &ScriptStep) -> Result<String, Problem> {
        match self.output {
            Output::Json => self.object("more", step),
            Output::Text => Ok(line(step.at, &step.text)),
        }
    }

    fn object(&self, event: &str, step: &ScriptStep) -> Result<String, Problem> {
        let seconds = Timestamp(step.at).since(LiveFleet::BEGINS_AT).0 / 1_000;
        let ScriptStep { at, title, text, .. } = step;
        output::json_line(&json!({ "event": event, "at": at, "afterSeconds": seconds, "title": title, "text": text }))
    }

    /// The one line that is left.
    pub(super) fn ended(&self, ending: &Summary) -> Result<CommandOutput, Problem> {
        let seconds = ending.now.since(LiveFleet::BEGINS_AT).0 / 1_000;
        let (lost, saved) = (ending.lost_gpu_seconds, ending.saved_gpu_seconds);
        Ok(CommandOutput::success(match self.output {
            Output::Json => output::json_line(&json!({
                "event": "ended", "at": ending.now.0, "afterSeconds": seconds, "lostGpuSeconds": lost,
                "savedGpuSeconds": saved, "violations": ending.violations,
            }))?,
            Output::Text => {
                let wrong = match ending.violations {
                    0 => String::new(),
                    found => {
                        format!(" The auditor found {}: please report it.", counted(found, "violation", "violations"))
                    }
                };
                format!(
                    "Stopped after {} of demo time: {} GPU-hours lost, {} saved by checkpoints on request.{wrong}\n",
                    duration(seconds),
                    gpu_hours(lost),
                    gpu_hours(saved)
                )
            }
        }))
    }
}

/// How long after the beginning a moment is.
pub(super) fn since_begin(at: i64) -> String {
    duration(Timestamp(at).since(LiveFleet::BEGINS_AT).0 / 1_000)
}

/// The moment, and beside it a text in as many lines as it needs.
fn line(at: i64, text: &str) -> String {
    let indent = " ".repeat(MOMENT + 2);
    let lines = wrapped(text, COLUMNS - indent.len(), "");
    let shown: Vec<String> = lines
        .lines()
        .zip(0..)
        .map(|(line, number)| match number {
            0 => format!("{:>MOMENT$}  {line}\n", since_begin(at)),
            _ => format!("{indent}{line}\n"),
        })
        .collect();
    shown.concat()
}
