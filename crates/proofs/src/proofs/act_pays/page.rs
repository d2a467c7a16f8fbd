//! The page of the proof and its picture: what each responder loses, by part.

use std::fmt::Write as _;
use std::path::Path;

use mainstay_sim::{Comparison, Estimate, Measure, MeasureComparison, Verdict};

use super::{Case, DAYS, GPUS, HELD_OUT, Jobs, Responder, TRAINING};

const PAGE: &str = "docs/reference/act-pays.md";
const PICTURE: &str = "docs/pictures/act-pays.svg";

/// The parts of the loss, with the colour and the words of each in the picture.
const PARTS: [(Measure, &str, &str); 7] = [
    (Measure::Redone, "#b4532a", "work done again"),
    (Measure::Hung, "#d98c3f", "jobs that hang"),
    (Measure::Restarting, "#e8c36a", "restarts"),
    (Measure::Saving, "#8fb8a8", "requested checkpoints"),
    (Measure::Slowed, "#6a8caf", "slow nodes"),
    (Measure::Unusable, "#51606e", "nodes unable to run jobs"),
    (Measure::HeldUp, "#a9b3bc", "idle nodes of waiting jobs"),
];

pub(super) fn write(root: &Path, cases: &[Case]) -> anyhow::Result<()> {
    std::fs::write(root.join(PAGE), page(cases))?;
    std::fs::write(root.join(PICTURE), picture(cases))?;
    Ok(())
}

fn page(cases: &[Case]) -> String {
    let (first, last) = (HELD_OUT.start(), HELD_OUT.end());
    let mut text = format!(
        "# Does acting pay?\n\n\
         `cargo xtask prove act-pays` writes this file. Do not edit it by hand. What follows for operators is on the page\n\
         [when to act](../operate/when-to-act.md).\n\n\
         The proof compares Mainstay with two opponents on the same faults: {GPUS} GPUs for {DAYS} days, seeds {first} to {last}.\n\n\
         - *operators only*: Mainstay observes. Technicians notice faults after hours and repair the nodes.\n\
         - *drain tool*: a tool with Mainstay's detection cordons a flagged node at once, waits for its job or stops it after a\n  \
           timer, reboots the node and returns it without tests. If that does not help, a technician repairs the node. Its\n  \
           default follows NVSentinel: wait until the jobs end (`mode: AllowCompletion`, node-drainer/values.yaml at 52b90539),\n  \
           then reboot (`rebootnodes`, fault-remediation/values.yaml at c42ba035). The other setting is the best of six timers on\n  \
           seeds {} to {}.\n\n\
         *Lost* is the sum of all parts: work that was done again, jobs that hung, restarts, checkpoints because of a request,\n\
         slow nodes, nodes that could run no job, and free nodes that an interrupted job waited with. The interval is that of\n\
         the paired difference, at 95 %. *No difference shown* means that it contains zero or that the difference is below 1 %.\n\n\
         All results are simulated, with our own failure model ([back-test](backtest.md)). None is a measurement of a real fleet.\n\n\
         ![GPU time lost by part, for each responder](../pictures/act-pays.svg)\n\n",
        TRAINING.start(),
        TRAINING.end(),
    );
    for case in cases {
        let _ = writeln!(text, "## {}, rates `{}`\n", sentence_case(case.jobs.words()), case.rates.word());
        if case.jobs == Jobs::Training {
            text.push_str(
                "One job takes all nodes except 5 % spares. It saves every 30 minutes for 30 seconds and starts in 10 minutes. This\n\
                 kind of jobs was not used to choose any policy.\n\n",
            );
        }
        let _ = writeln!(text, "Best timer of the drain tool: `{}`.\n", case.best_tool);
        table(&mut text, case);
    }
    text
}

fn table(text: &mut String, case: &Case) {
    text.push_str("| opponent | it loses, GPU-hours | Mainstay loses | difference | 95 % interval | result |\n|---|---|---|---|---|---|\n");
    for (opponent, compared) in &case.opponents {
        if let Some(lost) = compared.of(Measure::Lost) {
            let _ = writeln!(text, "| {} | {} |", opponent.words(), cells(lost));
        }
    }
    text.push_str("\nBy part, in GPU-hours, and counts:\n\n");
    let names: Vec<String> = case.opponents.iter().map(|(opponent, _)| opponent.words()).collect();
    let _ = writeln!(text, "| part | {} | Mainstay |", names.join(" | "));
    let _ = writeln!(text, "|---|{}---|", "---|".repeat(names.len()));
    let counts = [Measure::Interruptions, Measure::HealthyStops];
    for measure in PARTS.map(|(measure, ..)| measure).into_iter().chain(counts) {
        let of = |(_, compared): &(Responder, Comparison)| compared.of(measure).map(|one| (one.a, one.b));
        let sides: Vec<(Estimate, Estimate)> = case.opponents.iter().filter_map(of).collect();
        let Some((_, mainstay)) = sides.first() else { continue };
        let figures: Vec<String> = sides.iter().map(|(theirs, _)| whole(theirs.mean_milli)).collect();
        let _ = writeln!(text, "| {} | {} | {} |", measure.name(), figures.join(" | "), whole(mainstay.mean_milli));
    }
    text.push('\n');
}

fn cells(lost: &MeasureComparison) -> String {
    let Estimate { mean_milli, low_milli, high_milli } = lost.difference;
    let result = match lost.verdict {
        Verdict::BBetter => "Mainstay loses less",
        Verdict::ABetter => "**Mainstay loses more**",
        Verdict::NoDifferenceShown => "no difference shown",
    };
    let interval = format!("{} to {}", whole(low_milli), whole(high_milli));
    [whole(lost.a.mean_milli), whole(lost.b.mean_milli), whole(mean_milli), interval, result.to_owned()].join(" | ")
}

/// A figure without decimals, with a comma between thousands.
fn whole(milli: i64) -> String {
    let digits = (milli.unsigned_abs().saturating_add(500) / 1_000).to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if milli <= -500 { format!("−{text}") } else { text }
}

fn sentence_case(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const WIDTH: i64 = 960;
const LEFT: i64 = 280;
const RIGHT: i64 = 90;
const ROW: i64 = 26;

/// A bar for each responder, as long as its loss, with a piece for each part. Each case has its own scale.
fn picture(cases: &[Case]) -> String {
    let rows: usize = cases.iter().map(|case| case.opponents.len() + 3).sum();
    let height = i64::try_from(rows).unwrap_or(0) * ROW + 70;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#26303a\">\n\
         <title>GPU time lost by part, for each responder</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let mut y = 24;
    for (at, (_, colour, words)) in (0_i64..).zip(PARTS) {
        let (x, y) = (20 + at % 4 * 235, y + at / 4 * 20);
        let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>", y - 11);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\">{words}</text>", x + 18);
    }
    y += 50;
    for case in cases {
        let _ = writeln!(
            svg,
            "<text x=\"20\" y=\"{y}\" font-weight=\"600\">{}, {} rates: GPU-hours lost</text>",
            sentence_case(case.jobs.words()),
            case.rates.word()
        );
        y += ROW;
        let sides = case.opponents.iter().map(|(opponent, compared)| (opponent.words(), compared, false));
        let ours = case.opponents.first().map(|(_, compared)| (Responder::Mainstay.words(), compared, true));
        let bars: Vec<(String, &Comparison, bool)> = sides.chain(ours).collect();
        let longest =
            bars.iter().map(|(_, compared, is_ours)| mean(compared, Measure::Lost, *is_ours)).max().unwrap_or(1);
        for (name, compared, is_ours) in bars {
            let _ = writeln!(svg, "<text x=\"20\" y=\"{y}\">{name}</text>");
            let mut x = LEFT;
            for (measure, colour, _) in PARTS {
                let width = mean(compared, measure, is_ours).saturating_mul(WIDTH - LEFT - RIGHT) / longest.max(1);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"16\" fill=\"{colour}\"/>",
                    y - 13
                );
                x += width;
            }
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{y}\">{}</text>",
                x + 6,
                whole(mean(compared, Measure::Lost, is_ours))
            );
            y += ROW;
        }
        y += ROW;
    }
    svg.push_str("</svg>\n");
    svg
}

fn mean(compared: &Comparison, measure: Measure, is_ours: bool) -> i64 {
    let side = |one: &MeasureComparison| if is_ours { one.b.mean_milli } else { one.a.mean_milli };
    compared.of(measure).map_or(0, side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_and_have_a_comma_between_thousands() {
        assert_eq!(whole(1_234_567_499), "1,234,567");
        assert_eq!(whole(-2_499_600), "−2,500");
        assert_eq!(whole(400), "0");
    }
}
