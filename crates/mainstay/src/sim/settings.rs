//! `mainstay sim settings`: every name that `--set` accepts, with its default, unit and meaning.

use clap::Args;
use mainstay_sim::{Rates, Setting, SettingKind, settings};
use mainstay_text::{Align, Table};

use super::{Format, Output, rates};
use crate::output::{self, CommandOutput, Problem};

/// Which defaults are listed, and how.
#[derive(Args)]
pub(crate) struct Settings {
    /// Fault rates of the defaults: low, base, high or stress
    #[arg(long, default_value = "base", value_parser = rates)]
    rates: Rates,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(asked: &Settings) -> Result<CommandOutput, Problem> {
    let all = settings(asked.rates);
    Ok(CommandOutput::success(match asked.format.output {
        Output::Json => output::json(&all)?,
        Output::Text => text(&all),
    }))
}

fn text(all: &[Setting]) -> String {
    let sections = [
        ("Policies", SettingKind::Policy),
        ("Fault rates", SettingKind::Rate),
        ("Parameters of the failure model", SettingKind::Parameter),
    ];
    let tables = sections.map(|(title, kind)| {
        let mut table = Table::new(&[
            ("name", Align::Left),
            ("default", Align::Right),
            ("unit or values", Align::Left),
            ("meaning", Align::Left),
        ]);
        for setting in all.iter().filter(|setting| setting.kind == kind) {
            let Setting { name, default, unit, meaning, .. } = setting;
            table.row([(*name).to_owned(), default.clone(), (*unit).to_owned(), (*meaning).to_owned()]);
        }
        format!("{title}\n{}", table.text())
    });
    format!("{}\nExample: mainstay sim run --set mode=observe --set link-flap=x3\n", tables.join("\n"))
}
