//! From figures to a verdict. Passed needs everything: an end by itself, every figure that a threshold asks for, and a
//! threshold for this GPU model. Failed needs a failure that was shown; whatever is missing is unknown, and figures of what
//! did not come to its end are not judged.

use mainstay_model::Verdict;

use super::parse::ParsedOutput;
use super::suite::{Parser, Test, Threshold};

/// Verdict on one test, and the reason as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) detail: String,
}

/// Judges one test that ended with this exit code.
pub(super) fn judge(test: &Test, product: Option<&str>, code: i32, parsed: &ParsedOutput) -> Judgement {
    let failed = |detail: String| Judgement { verdict: Verdict::Failed, detail };
    let unknown = |detail: String| Judgement { verdict: Verdict::Unknown, detail };
    if let Some(failure) = &parsed.failure {
        return failed(failure.clone());
    }
    let applies =
        |threshold: &&Threshold| threshold.products.iter().any(|model| model == "*" || Some(model.as_str()) == product);
    if let Some(lacks) = &parsed.lacks {
        return unknown(if code == 0 { lacks.clone() } else { format!("exit code {code}: {lacks}") });
    }
    let (mut met, mut lacks) = (Vec::new(), None);
    for threshold in test.thresholds.iter().filter(applies) {
        let Threshold { figure, at_least, at_most, .. } = threshold;
        match parsed.figures.get(figure) {
            Some(value) if at_least.is_some_and(|least| *value < least) => {
                return failed(format!("{figure} {value}, at least {}", at_least.unwrap_or(0)));
            }
            Some(value) if at_most.is_some_and(|most| *value > most) => {
                return failed(format!("{figure} {value}, at most {}", at_most.unwrap_or(0)));
            }
            Some(value) => met.push(format!("{figure} {value}")),
            None => lacks = lacks.or_else(|| Some(format!("{figure} was not reported"))),
        }
    }
    if code != 0 {
        let detail = format!("exit code {code}");
        if test.parser == Parser::ExitCode {
            return failed(detail);
        }
        lacks = lacks.or(Some(detail));
    }
    let unjudged = test
        .thresholds
        .iter()
        .find(|threshold| !test.thresholds.iter().filter(applies).any(|other| other.figure == threshold.figure));
    let lacks = lacks.or_else(|| {
        let model = product.unwrap_or("a machine without GPUs");
        unjudged.map(|threshold| format!("no threshold for {} on {model}", threshold.figure))
    });
    match lacks {
        Some(lacks) => unknown(lacks),
        None => Judgement { verdict: Verdict::Passed, detail: met.join(", ") },
    }
}

/// What the tests of a suite come to together.
pub(super) fn together(verdicts: &[Verdict]) -> Verdict {
    if verdicts.contains(&Verdict::Failed) {
        Verdict::Failed
    } else if verdicts.is_empty() || verdicts.contains(&Verdict::Unknown) {
        Verdict::Unknown
    } else {
        Verdict::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qualify::Suite;

    fn judged(product: Option<&str>, code: i32, figures: &[(&str, i64)]) -> (Verdict, String) {
        let suite = Suite::named(&mainstay_model::SuiteName::parse("nccl").unwrap(), None).unwrap();
        let figures = figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let parsed = ParsedOutput { figures, ..ParsedOutput::default() };
        let Judgement { verdict, detail } = judge(&suite.tests[0], product, code, &parsed);
        (verdict, detail)
    }

    const H100: Option<&str> = Some("NVIDIA H100 80GB HBM3");
    const GOOD: [(&str, i64); 3] = [("bus-bandwidth-mbps", 480_000), ("gpus", 8), ("wrong", 0)];

    #[test]
    fn passed_needs_every_figure_and_a_threshold_for_the_model() {
        assert_eq!(judged(H100, 0, &GOOD).0, Verdict::Passed);
        assert_eq!(
            judged(H100, 0, &[("bus-bandwidth-mbps", 459_999), ("gpus", 8), ("wrong", 0)]),
            (Verdict::Failed, "bus-bandwidth-mbps 459999, at least 460000".to_owned())
        );
        assert_eq!(judged(H100, 0, &[("bus-bandwidth-mbps", 480_000), ("gpus", 7), ("wrong", 0)]).0, Verdict::Failed);
        assert_eq!(judged(H100, 0, &GOOD[..2]), (Verdict::Unknown, "wrong was not reported".to_owned()));
        assert_eq!(judged(H100, 0, &[]).0, Verdict::Unknown);
        assert_eq!(
            judged(Some("NVIDIA B200"), 0, &GOOD),
            (Verdict::Unknown, "no threshold for bus-bandwidth-mbps on NVIDIA B200".to_owned())
        );
        assert_eq!(judged(None, 0, &GOOD).0, Verdict::Unknown);
    }

    #[test]
    fn an_exit_code_takes_a_pass_away_and_hides_no_failure() {
        assert_eq!(judged(H100, 3, &GOOD), (Verdict::Unknown, "exit code 3".to_owned()));
        assert_eq!(judged(H100, 3, &[("wrong", 12)]).0, Verdict::Failed);
    }

    #[test]
    fn a_suite_passes_only_as_a_whole() {
        use Verdict::{Failed, Passed, Unknown};
        assert_eq!(together(&[Passed, Passed]), Passed);
        assert_eq!(together(&[Passed, Unknown]), Unknown);
        assert_eq!(together(&[Unknown, Failed, Passed]), Failed);
        assert_eq!(together(&[]), Unknown);
    }
}
