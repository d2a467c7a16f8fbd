//! A comparison as one SVG chart: the result as title, lost work as two stacked bars, and the other measures as small
//! bars below. Colours are those of Okabe and Ito; hatching and labels carry the same without colour. SVG in whole
//! pixels, so that the same runs give the same bytes.

mod svg;
#[cfg(test)]
mod tests;

use mainstay_model::format_milli;
use mainstay_sim::{Comparison, Estimate, Measure, MeasureComparison, Verdict};
use mainstay_text::{counted, thousands, wrapped};

use self::svg::{Fill, Style, Svg};

const WIDTH: i64 = 1_200;
const MARGIN: i64 = 48;
/// The longest bar of the upper part; its figure stands behind it.
const BAR: i64 = 940;
/// The lower part has two columns.
const COLUMN: i64 = 576;
const SMALL_BAR: i64 = 360;
const SMALL_HEIGHT: i64 = 96;
/// Letters of the title that fit a line.
const TITLE_CHARS: usize = 74;
/// Letters of a side's name that fit above a bar, and beside a small one.
const NAME_CHARS: usize = 80;

/// Greys, because the colours above mean parts of a loss.
const SIDE_FILLS: [Fill; 2] = [Fill::Dark, Fill::Light];

/// The parts of the work lost, each with its words and its own look.
const PARTS: [(Measure, &str, Fill); 5] = [
    (Measure::Redone, "redone since the last checkpoint", Fill::Blue),
    (Measure::Hung, "hung", Fill::VermilionHatched),
    (Measure::Restarting, "restarting", Fill::Orange),
    (Measure::Saving, "checkpoint on request", Fill::SkyDotted),
    (Measure::Slowed, "slowed", Fill::PurpleStriped),
];

/// Which side of a measure is meant.
type Side = fn(&MeasureComparison) -> Estimate;

/// The small pictures, in reading order.
const SMALL: [Measure; 6] = [
    Measure::Drained,
    Measure::Interruptions,
    Measure::JobsFinished,
    Measure::OutOfService,
    Measure::UsefulShare,
    Measure::BackMedian,
];

/// The picture.
pub(super) fn svg(comparison: &Comparison) -> String {
    let (a, b) = (plainly(&comparison.a), plainly(&comparison.b));
    let comparison = &comparison.clone().named(a, b);
    let mut svg = Svg::new(&comparison.headline(), &comparison.sentence());
    let mut y = title(&mut svg, comparison);
    y = work_lost(&mut svg, comparison, y);
    y = small(&mut svg, comparison, y);
    y = foot(&mut svg, y);
    svg.finish(WIDTH, y + MARGIN / 2)
}

/// What a side does, in words for those who do not know the command line.
fn plainly(name: &str) -> String {
    let plain = match name {
        "checkpoint=wait" => "“wait for the checkpoint”",
        "checkpoint=at-once" => "“drain at once”",
        "mode=observe" => "“observe only”",
        "mode=propose" => "“propose only”",
        "mode=act" => "“act”",
        other => other,
    };
    plain.to_owned()
}

fn title(svg: &mut Svg, comparison: &Comparison) -> i64 {
    let mut y = MARGIN + 16;
    for line in wrapped(&comparison.headline(), TITLE_CHARS, "").lines() {
        svg.text(MARGIN, y, Style::Title, line);
        y += 38;
    }
    let runs = format!(
        "Simulated: {} GPUs for {}, {}, the same {} on both sides. Whiskers: 95 % interval of each mean.",
        thousands(comparison.gpus.into()),
        counted(comparison.days.into(), "day", "days"),
        counted(comparison.jobs.into(), "job", "jobs"),
        counted(u64::try_from(comparison.seeds.len()).unwrap_or(0), "seed", "seeds"),
    );
    svg.text(MARGIN, y, Style::Quiet, &runs);
    y + 48
}

/// Two bars made of the parts of the loss, with a whisker for the whole.
fn work_lost(svg: &mut Svg, comparison: &Comparison, top: i64) -> i64 {
    let Some(lost) = comparison.of(Measure::WorkLost).filter(|lost| lost.pairs > 0) else { return top };
    svg.text(MARGIN, top, Style::Heading, "Work lost per run, in GPU-hours");
    let most = lost.a.high_milli.max(lost.b.high_milli);
    let mut y = top + 32;
    let sides: [(&str, &str, Side); 2] = [("A", &comparison.a, |it| it.a), ("B", &comparison.b, |it| it.b)];
    for (side, name, of) in sides {
        let whole = of(lost);
        svg.text(MARGIN, y, Style::Plain, &format!("{side}: {}", short(name)));
        y += 10;
        let mut done = 0;
        for (measure, _, fill) in PARTS {
            let Some(part) = comparison.of(measure) else { continue };
            let mean = of(part).mean_milli;
            let (from, to) = (scaled(done, most, BAR), scaled(done.saturating_add(mean), most, BAR));
            svg.bar(MARGIN + from, y, to - from, 52, fill);
            let label = format_milli(mean, part.decimals());
            svg.label_within(MARGIN + from, y, to - from, 52, fill, &label);
            done = done.saturating_add(mean);
        }
        let [low, mean, high] = ends(whole, most, BAR);
        svg.whisker(MARGIN + low, MARGIN + high, y + 62);
        svg.text(MARGIN + mean + 14, y + 33, Style::Figure, &format_milli(whole.mean_milli, lost.decimals()));
        y += 98;
    }
    let mut x = MARGIN;
    for (_, words, fill) in PARTS {
        svg.bar(x, y - 6, 22, 16, fill);
        svg.text(x + 30, y + 7, Style::Plain, words);
        x += 64 + 7 * i64::try_from(words.chars().count()).unwrap_or(0);
    }
    y += 40;
    let decimals = lost.decimals();
    let difference = lost.difference;
    let told = format!(
        "B minus A on the same seeds: {} GPU-hours, 95 % interval {} to {}.",
        format_milli(difference.mean_milli, decimals),
        format_milli(difference.low_milli, decimals),
        format_milli(difference.high_milli, decimals),
    );
    svg.text(MARGIN, y, Style::Plain, &told);
    svg.text(
        MARGIN,
        y + 24,
        Style::Quiet,
        "The verdict uses this paired difference, not the whiskers: both sides run the same faults.",
    );
    y + 54
}

fn small(svg: &mut Svg, comparison: &Comparison, top: i64) -> i64 {
    svg.rule(MARGIN, WIDTH - MARGIN, top);
    let shown = SMALL.into_iter().filter_map(|measure| comparison.of(measure)).filter(|it| it.pairs > 0);
    let mut places = (0_i64..).map(|place| (MARGIN + place % 2 * COLUMN, top + 40 + place / 2 * SMALL_HEIGHT));
    let mut bottom = top;
    for (compared, (x, y)) in shown.zip(&mut places) {
        one_small(svg, compared, x, y);
        bottom = y + SMALL_HEIGHT;
    }
    bottom
}

fn one_small(svg: &mut Svg, compared: &MeasureComparison, x: i64, top: i64) {
    let unit = if compared.unit.word().is_empty() { String::new() } else { format!(", {}", compared.unit.word()) };
    let mut name = compared.measure.name().to_owned();
    if let Some(first) = name.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    svg.text(x, top, Style::Heading, &format!("{name}{unit}"));
    let (verdict, style) = match compared.verdict {
        Verdict::ABetter => ("A is better", Style::Heading),
        Verdict::BBetter => ("B is better", Style::Heading),
        Verdict::NoDifferenceShown => ("no significant difference", Style::Quiet),
    };
    svg.text_to(x + COLUMN - MARGIN, top, style, verdict);
    let most = compared.a.high_milli.max(compared.b.high_milli);
    let sides = [("A", compared.a), ("B", compared.b)];
    for (((side, estimate), fill), row) in sides.into_iter().zip(SIDE_FILLS).zip(0_i64..) {
        let y = top + 12 + row * 28;
        let [low, mean, high] = ends(estimate, most, SMALL_BAR);
        svg.text(x, y + 16, Style::Plain, side);
        svg.bar(x + 24, y, mean, 20, fill);
        svg.whisker_across(x + 24 + low, x + 24 + high, y + 10);
        svg.text(
            x + 24 + mean.max(high) + 10,
            y + 16,
            Style::Plain,
            &format_milli(estimate.mean_milli, compared.decimals()),
        );
    }
}

fn foot(svg: &mut Svg, top: i64) -> i64 {
    svg.rule(MARGIN, WIDTH - MARGIN, top - 8);
    svg.text(
        MARGIN,
        top + 20,
        Style::Quiet,
        "Simulation with our own failure model (published rates, stated assumptions) and first-fit placement of jobs.",
    );
    top + 28
}

fn short(name: &str) -> String {
    let mut text: String = name.chars().take(NAME_CHARS).collect();
    if text.len() < name.len() {
        text.push('…');
    }
    text
}

fn ends(estimate: Estimate, most_milli: i64, width: i64) -> [i64; 3] {
    [estimate.low_milli, estimate.mean_milli, estimate.high_milli].map(|milli| scaled(milli, most_milli, width))
}

/// Where a figure lies between nothing and the largest, in pixels.
fn scaled(milli: i64, most_milli: i64, width: i64) -> i64 {
    let place = (i128::from(milli.max(0)) * i128::from(width)).checked_div(most_milli.into()).unwrap_or(0);
    i64::try_from(place).unwrap_or(width).min(width)
}
