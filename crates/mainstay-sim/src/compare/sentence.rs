//! The finding in one sentence: who is better at what, with numbers, and what was not shown.

use mainstay_model::format_milli;

use super::{Comparison, Direction, Measure, MeasureComparison, PAIRS_MIN, Unit, Verdict};

impl Comparison {
    /// Which side is better at what, and at what no difference was shown.
    #[must_use]
    pub fn sentence(&self) -> String {
        let of = |verdict: Verdict| -> Vec<&MeasureComparison> {
            self.measures.iter().filter(|compared| !compared.measure.is_part() && compared.verdict == verdict).collect()
        };
        let names =
            |measures: &[&MeasureComparison]| list(measures.iter().map(|compared| compared.measure.name().to_owned()));
        let seeds = match self.seeds.len() {
            1 => "one seed".to_owned(),
            many => format!("{many} seeds"),
        };
        if self.seeds.len() < PAIRS_MIN {
            return format!(
                "{} and {} cannot be compared with {seeds}: at least {PAIRS_MIN} are required.",
                self.a, self.b
            );
        }
        let unclear = of(Verdict::NoDifferenceShown);
        let better: Vec<String> = [(&self.a, Verdict::ABetter), (&self.b, Verdict::BBetter)]
            .into_iter()
            .filter_map(|(side, verdict)| {
                let measures = of(verdict);
                let (first, rest) = measures.split_first()?;
                let all =
                    std::iter::once(first.told(verdict, true)).chain(rest.iter().map(|more| more.told(verdict, false)));
                Some(format!("{side} is better at {}", list(all)))
            })
            .collect();
        match (better.is_empty(), unclear.is_empty()) {
            (true, _) => format!(
                "No significant difference between {} and {} over {seeds}: not in {}.",
                self.a,
                self.b,
                names(&unclear).replace(" and ", " nor in ")
            ),
            (false, true) => format!("Over {seeds}, {}.", better.join("; ")),
            (false, false) => {
                format!("Over {seeds}, {}; no significant difference in {}.", better.join("; "), names(&unclear))
            }
        }
    }
}

impl Comparison {
    /// What a picture is headed with: the finding on work lost, as a share and in GPU-hours; where chance hides it in all
    /// that is lost, the finding on what our own drains cost.
    #[must_use]
    pub fn headline(&self) -> String {
        let finding = |measure: Measure, what: &str| {
            let compared = self.of(measure)?;
            let (better, worse, own, other) = match compared.verdict {
                Verdict::ABetter => (&self.a, &self.b, compared.a, compared.b),
                Verdict::BBetter => (&self.b, &self.a, compared.b, compared.a),
                Verdict::NoDifferenceShown => return None,
            };
            let less = other.mean_milli.saturating_sub(own.mean_milli);
            let share = i128::from(less) * 100_000 / i128::from(other.mean_milli.max(1));
            let share = format_milli(i64::try_from(share).unwrap_or(0), 0);
            let hours = format_milli(less, Unit::GpuHours.decimals(less));
            Some(format!("{better} loses {share} % less work {what}than {worse}: {hours} GPU-hours less per run"))
        };
        finding(Measure::WorkLost, "")
            .or_else(|| finding(Measure::Drained, "to Mainstay's drains "))
            .unwrap_or_else(|| format!("No significant difference in work lost between {} and {}", self.a, self.b))
    }
}

impl MeasureComparison {
    /// The mean of both sides with the better one first, and for the leading measure how sure the difference is.
    fn told(&self, verdict: Verdict, with_interval: bool) -> String {
        let decimals = self.decimals();
        let (own, other) = match verdict {
            Verdict::BBetter => (self.b, self.a),
            Verdict::ABetter | Verdict::NoDifferenceShown => (self.a, self.b),
        };
        let unit = match self.unit.word() {
            "" => String::new(),
            word => format!(" {word}"),
        };
        let interval = if with_interval {
            let direction = match self.better {
                Direction::Less => "less",
                Direction::More => "more",
            };
            let ends = [self.difference.low_milli, self.difference.high_milli].map(i64::saturating_abs);
            let [low, high] =
                [ends.iter().min(), ends.iter().max()].map(|end| format_milli(end.copied().unwrap_or(0), decimals));
            let mean = format_milli(self.difference.mean_milli.saturating_abs(), decimals);
            format!(": {mean} {direction}, 95 % interval {low} to {high}")
        } else {
            String::new()
        };
        let [own, other] = [own, other].map(|side| format_milli(side.mean_milli, decimals));
        format!("{} ({own} against {other}{unit}{interval})", self.measure.name())
    }

    /// How many digits after the point both sides are shown with.
    #[must_use]
    pub fn decimals(&self) -> u32 {
        self.unit.decimals(self.a.mean_milli.max(self.b.mean_milli))
    }
}

fn list(words: impl IntoIterator<Item = String>) -> String {
    let mut words: Vec<String> = words.into_iter().collect();
    match words.pop() {
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} and {last}", words.join(", ")),
        None => String::new(),
    }
}
