//! The run as one SVG: pending GPUs above, replicas of the warm Deployment below, over the same time. Colours are those of Okabe
//! and Ito; a dashed line carries the same without colour.

use std::fmt::Write as _;
use std::time::Duration;

use super::sampler::{Run, Sample};

const WIDTH: u64 = 1_200;
const LEFT: u64 = 72;
const RIGHT: u64 = 1_152;
/// Upper edge of each panel.
const PANELS: [u64; 2] = [220, 480];
const PANEL_HEIGHT: u64 = 190;
const HEIGHT: u64 = 760;
const BLUE: &str = "#0072B2";
const VERMILION: &str = "#D55E00";
const GREEN: &str = "#009E73";
const TITLE: &str = "Warm GPU pods follow the GPUs that jobs of a queue wait for";
const NOTE: &str = "Real HorizontalPodAutoscaler, prometheus-adapter, Prometheus and Mainstay controller; emulated nodes. Windows: 6 s out, 90 s in.";

/// A line of one panel.
struct Line {
    panel: usize,
    colour: &'static str,
    dash: &'static str,
    name: &'static str,
    of: fn(&Sample) -> Option<i64>,
}

const LINES: [Line; 3] = [
    Line { panel: 0, colour: VERMILION, dash: "", name: "GPUs that jobs wait for", of: |one| one.pending },
    Line { panel: 1, colour: BLUE, dash: "", name: "replicas set by the autoscaler", of: |one| Some(one.replicas) },
    Line { panel: 1, colour: GREEN, dash: "6 4", name: "replicas that run", of: |one| Some(one.running) },
];
const HEADINGS: [&str; 2] =
    ["External metric mainstay_queue_pending_gpus, queue research (no line: no data)", "Deployment warm-gpus"];

/// The chart as a document.
pub(super) fn svg(run: &Run) -> String {
    let end = run.samples.last().map_or(Duration::from_secs(1), |one| one.at);
    let most = LINES.iter().flat_map(|line| run.samples.iter().filter_map(line.of)).max().unwrap_or(1).max(1);
    let most = u64::try_from(most).unwrap_or(1).next_multiple_of(4);
    let scale = Scale { end_millis: u64::try_from(end.as_millis()).unwrap_or(1).max(1), most };
    let mut body = String::new();
    text(&mut body, LEFT, 48, "font-size=\"28\" font-weight=\"600\" fill=\"#1a1a1a\"", TITLE);
    text(&mut body, LEFT, 80, "font-size=\"16\" fill=\"#595959\"", NOTE);
    for (panel, heading) in HEADINGS.into_iter().enumerate() {
        scale.axes(&mut body, panel, heading);
    }
    for (number, (at, event)) in (0_u64..).zip(&run.events) {
        scale.event(&mut body, number % 2, *at, event);
    }
    if let Some(more) = run.samples.windows(2).find(|pair| pair[0].nodes < pair[1].nodes) {
        scale.event(&mut body, 2, more[1].at, "2 nodes more");
    }
    for line in &LINES {
        scale.line(&mut body, line, &run.samples);
    }
    legend(&mut body);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif\" \
         style=\"font-variant-numeric: tabular-nums\">\n<title>{TITLE}</title>\n<desc>{NOTE}</desc>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// Places of times and values.
struct Scale {
    end_millis: u64,
    most: u64,
}

impl Scale {
    fn x(&self, at: Duration) -> u64 {
        let millis = u64::try_from(at.as_millis()).unwrap_or(self.end_millis).min(self.end_millis);
        LEFT + millis * (RIGHT - LEFT) / self.end_millis
    }

    fn y(&self, panel: usize, value: u64) -> u64 {
        PANELS[panel] + PANEL_HEIGHT - value.min(self.most) * PANEL_HEIGHT / self.most
    }

    fn axes(&self, body: &mut String, panel: usize, heading: &str) {
        text(body, LEFT, PANELS[panel] - 12, "font-size=\"16\" font-weight=\"600\" fill=\"#1a1a1a\"", heading);
        for value in (0..=self.most).step_by(4) {
            let y = self.y(panel, value);
            rule(body, [LEFT, y, RIGHT, y], "stroke=\"#d0d0d0\"");
            text(body, LEFT - 10, y + 5, "text-anchor=\"end\" font-size=\"16\" fill=\"#595959\"", &value.to_string());
        }
        let bottom = PANELS[panel] + PANEL_HEIGHT;
        for seconds in (0..=self.end_millis / 1_000).step_by(30) {
            let x = self.x(Duration::from_secs(seconds));
            rule(body, [x, bottom, x, bottom + 6], "stroke=\"#595959\"");
            let label = format!("{seconds} s");
            text(body, x, bottom + 24, "text-anchor=\"middle\" font-size=\"16\" fill=\"#595959\"", &label);
        }
    }

    /// A vertical line through both panels. Labels are in three rows, so that neighbours do not overlap.
    fn event(&self, body: &mut String, row: u64, at: Duration, event: &str) {
        let (x, y) = (self.x(at), 118 + row * 24);
        rule(body, [x, y + 6, x, PANELS[1] + PANEL_HEIGHT], "stroke=\"#1a1a1a\" stroke-dasharray=\"2 4\"");
        text(body, x, y, "text-anchor=\"middle\" font-size=\"16\" fill=\"#1a1a1a\"", event);
    }

    /// Steps from sample to sample, with a gap where there is no value.
    fn line(&self, body: &mut String, line: &Line, samples: &[Sample]) {
        let (mut path, mut before) = (String::new(), None);
        for sample in samples {
            let value = (line.of)(sample).and_then(|value| u64::try_from(value).ok());
            if let Some(value) = value {
                let (x, y) = (self.x(sample.at), self.y(line.panel, value));
                // Writing to a String cannot fail.
                let _ = match before {
                    Some(_) => write!(path, "H{x}V{y}"),
                    None => write!(path, "M{x} {y}"),
                };
            }
            before = value;
        }
        let (colour, dash) = (line.colour, line.dash);
        let _ = writeln!(
            body,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"3\" stroke-dasharray=\"{dash}\"/>"
        );
    }
}

fn legend(body: &mut String) {
    let y = HEIGHT - 24;
    for (x, line) in (LEFT..).step_by(340).zip(&LINES) {
        let look = format!("stroke=\"{}\" stroke-width=\"3\" stroke-dasharray=\"{}\"", line.colour, line.dash);
        rule(body, [x, y - 5, x + 36, y - 5], &look);
        text(body, x + 46, y, "font-size=\"16\" fill=\"#1a1a1a\"", line.name);
    }
}

fn rule(body: &mut String, [x1, y1, x2, y2]: [u64; 4], look: &str) {
    let _ = writeln!(body, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {look}/>");
}

fn text(body: &mut String, x: u64, y: u64, look: &str, text: &str) {
    let _ = writeln!(body, "<text x=\"{x}\" y=\"{y}\" {look}>{text}</text>");
}
