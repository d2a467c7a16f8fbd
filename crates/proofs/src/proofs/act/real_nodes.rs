//! The real program acts on three real kubelets, with its fence: a quarantine, evictions that a budget refuses and then allows, SIGTERM to a
//! real container, a power cut during a drain, a node that registers again, and a pod that is created again during its eviction. The API
//! server's audit log is the judge of every write on nodes and pods. The agents' reports are played, and no executor runs.

mod drain;
mod judge;
mod power_cut;
mod registration;
mod trial;
mod write_rules;

use std::cell::Cell;
use std::fmt::Display;

use anyhow::{Result, ensure};
use xtask::output;

use crate::prove::{Context, Measurement};
use judge::Treatment;
use trial::Trial;

/// Fewer than these would mean that a case or the judge has looked at nothing.
const EXPECTATIONS_MIN: u32 = 120;

/// Counts what was expected, and prints what does not hold.
#[derive(Debug, Default)]
struct Expectations {
    checked: Cell<u32>,
    broken: Cell<u32>,
}

impl Expectations {
    fn expect(&self, holds: bool, what: impl Display) {
        self.checked.set(self.checked.get() + 1);
        if !holds {
            self.broken.set(self.broken.get() + 1);
            output::note(format_args!("does not hold: {what}"));
        }
    }

    /// A case that cannot go on is an expectation that does not hold. The other cases and the judge still run.
    fn of_case(&self, name: &str, ended: &Result<()>) {
        let problem = ended.as_ref().err().map(|error| format!("{error:#}")).unwrap_or_default();
        self.expect(ended.is_ok(), format_args!("{name}: {problem}"));
    }
}

/// Runs the three cases at the same time, each on a node of its own, and judges every write at the end.
pub(super) async fn measure(context: &Context) -> Result<Measurement> {
    let expectations = Expectations::default();
    // The nodes end before their API server, because values are dropped in reverse order.
    let (trial, [mut drained, mut cut, mut again]) = Trial::start(context, &expectations).await?;
    let mut treatments = [&drained, &cut, &again].map(Treatment::of);
    let [of_drained, of_cut, of_again] = &mut treatments;
    let (drain, power_cut, registration) = tokio::join!(
        drain::case(&trial, &mut drained, of_drained),
        power_cut::case(&trial, &mut cut, of_cut),
        registration::case(&trial, &mut again, of_again),
    );
    expectations.of_case("drain", &drain);
    expectations.of_case("power cut", &power_cut);
    expectations.of_case("registration", &registration);
    trial.settle().await?;
    let counts = judge::judge(&trial, &treatments)?;
    let (checked, broken) = (expectations.checked.get(), expectations.broken.get());
    ensure!(broken > 0 || checked >= EXPECTATIONS_MIN, "only {checked} expectations were checked");
    let detail = format!("{checked} expectations on 3 real nodes: {broken} do not hold; {counts}");
    Ok(Measurement { value: i64::from(broken), detail })
}
