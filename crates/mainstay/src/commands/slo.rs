//! `mainstay slo`: lists and shows service level objectives with their error budgets, and prints their Prometheus rules. It
//! evaluates no query: the controller keeps the budgets in the status.

mod budget;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use mainstay_account::burn::burn_rules;
use mainstay_account::detection::{Concern, concerns, detection_time};
use mainstay_account::render::{GROUPS_MAX, prometheus_rule, rule_file};
use mainstay_account::rules::{decimal, rules, window_name};
use mainstay_account::slo::{Severity, Slo};
use mainstay_api::SloStatus;
use mainstay_model::{Ppm, Span, Timestamp};
use mainstay_text::{Align, Table, counted, duration, thousands};
use serde::Serialize;

use super::names;
use super::why::labelled;
use crate::kubeconfig::{self, QueryArgs, QueryOutput};
use crate::output::{CommandOutput, Problem, TableFormat};

pub(crate) const HELP: &str = "\
Examples:
  mainstay slo list
  mainstay slo show research-jobs
  mainstay slo rules -f slo.yaml > slo-rules.yaml";

/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Subcommands of `mainstay slo`: list, show and rules.
#[derive(Subcommand)]
pub(crate) enum SloCommand {
    /// List objectives with their error budgets
    #[command(after_help = "\
BUDGET LEFT is what remains of the error budget. A question mark means that no controller could read it.
ALERT AFTER is the longest time until a total outage raises an alert of that severity, in 999 of 1,000 outages.

Examples:
  mainstay slo list
  mainstay slo list -f slo.yaml -o json")]
    List(SloArgs),
    /// Show the budget, windows and limits of one objective
    #[command(after_help = "\
BAD MIN is the least number of bad events in the window that may alert. It keeps false pages below 0.2 a month.

Examples:
  mainstay slo show research-jobs
  mainstay slo show research-jobs -f slo.yaml")]
    Show {
        /// Slo name
        name: String,
        #[command(flatten)]
        slos: SloArgs,
    },
    /// Print the Prometheus rules of all objectives
    #[command(after_help = "\
Examples:
  mainstay slo rules -f slo.yaml > slo-rules.yaml
  mainstay slo rules --as object | kubectl apply -f -")]
    Rules {
        /// Form of the rules
        #[arg(long = "as", value_enum, default_value = "file")]
        form: RuleForm,
        /// Namespace of the PrometheusRule object
        #[arg(short, long, value_name = "NAME", default_value = crate::manifests::NAMESPACE)]
        namespace: String,
        #[command(flatten)]
        slos: SloArgs,
    },
}

/// Source of the objectives and output format.
#[derive(Args)]
pub(crate) struct SloArgs {
    /// File with Slo objects [default: the cluster]
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    how: QueryArgs,
}

/// Forms of Prometheus rules.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum RuleForm {
    /// Rule file of Prometheus
    File,
    /// PrometheusRule object of the Prometheus operator
    Object,
}

#[derive(Serialize)]
struct Items {
    items: Vec<Item>,
}

/// One objective, as `slo list` and `slo show` print it in JSON and YAML.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    name: String,
    objective_ppm: u32,
    window_seconds: u64,
    owner: String,
    severity: &'static str,
    expected_volume: Option<u64>,
    total_outage_alert_after_seconds: Option<u64>,
    windows: Vec<Window>,
    concerns: Vec<String>,
    /// Why the error budget is unknown or old. Absent if it is current.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Error budget as the controller last read it. Absent for objectives of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<SloStatus>,
}

/// An objective and the object that it was read from.
struct Entry {
    slo: Slo,
    object: mainstay_api::Slo,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Window {
    severity: &'static str,
    long_window: String,
    short_window: String,
    burn_rate_milli: u64,
    bad_min: u64,
    for_seconds: u64,
}

// === impl SloCommand ===

impl SloCommand {
    pub(super) fn run(self) -> Result<CommandOutput, Problem> {
        match self {
            Self::List(slos) => slos.query(|all| {
                let items: Vec<Item> = all.iter().map(Item::of).collect();
                let text = table(&items);
                QueryOutput::new(&Items { items }, text)
            }),
            Self::Show { name, slos } => slos.query(|all| {
                let entry = known(all, &name)?;
                let item = Item::of(entry);
                // A file has no budget.
                let budget = if slos.file.is_none() { budget::lines(&entry.object, now()) } else { String::new() };
                let text = page(&item, &budget);
                QueryOutput::new(&item, text)
            }),
            Self::Rules { form, namespace, slos } => slos.query(|all| {
                let groups: Vec<_> = all.iter().map(|one| rules(&one.slo)).collect();
                let text = match form {
                    RuleForm::File => rule_file(&groups),
                    RuleForm::Object => prometheus_rule("mainstay-slos", &namespace, &groups),
                };
                let value: serde_json::Value =
                    serde_saphyr::from_str(&text).map_err(|error| kubeconfig::internal_error(&error))?;
                QueryOutput::new(&value, text)
            }),
        }
    }
}

/// Explains the error budget of one objective.
pub(super) fn why(name: &str, how: &QueryArgs) -> Result<CommandOutput, Problem> {
    how.cluster.run(async |client| {
        let all = in_cluster(&client).await?;
        let entry = known(&all, name)?;
        let item = Item::of(entry);
        let object = &entry.object;
        let good = object.spec.indicator.good_events();
        let objective = format!("{} {good}, over {}", item.objective(), duration(item.window_seconds));
        let text = [
            budget::headline(name, object.status.as_ref()),
            labelled("Objective", &objective),
            budget::lines(object, now()),
            labelled("Total outage", &format!("{} after {} at most", item.severity, item.alert_after())),
            labelled("Owner", &item.owner),
            labelled("Action", &budget::action(object)),
        ];
        QueryOutput::new(&item, text.concat())?.into_output(how.output)
    })
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

async fn in_cluster(client: &mainstay_kube::Client) -> Result<Vec<Entry>, Problem> {
    let most = u32::try_from(GROUPS_MAX).unwrap_or(u32::MAX);
    let objects = mainstay_kube::slos(client, most).await.map_err(|trouble| kubeconfig::problem(&trouble))?;
    checked(objects)
}

// === impl SloArgs ===

impl SloArgs {
    fn query(&self, answer: impl FnOnce(&[Entry]) -> Result<QueryOutput, Problem>) -> Result<CommandOutput, Problem> {
        let form: TableFormat = self.how.output;
        if let Some(file) = &self.file {
            return answer(&checked(read(file)?)?)?.into_output(form);
        }
        self.how.cluster.run(async |client| answer(&in_cluster(&client).await?)?.into_output(form))
    }
}

fn read(file: &Path) -> Result<Vec<mainstay_api::Slo>, Problem> {
    let refused = |detail: String, hint: &str| Problem {
        what: format!("{} cannot be used", file.display()),
        detail: format!("{detail}."),
        hint: hint.to_owned(),
    };
    let mut text = String::new();
    let opened = std::fs::File::open(file).and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    opened.map_err(|error| refused(error.to_string(), "name a file with Slo objects in YAML."))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(refused("it has more than 1 MiB".to_owned(), "split the file."));
    }
    let objects: Vec<mainstay_api::Slo> = serde_saphyr::from_multiple(&text)
        .map_err(|error| refused(error.to_string(), "`kubectl explain slo.spec` shows the fields of a Slo."))?;
    if objects.len() > GROUPS_MAX {
        let detail = format!("it has {} objects, at most {GROUPS_MAX} are taken", objects.len());
        return Err(refused(detail, "split the file."));
    }
    Ok(objects)
}

fn checked(objects: Vec<mainstay_api::Slo>) -> Result<Vec<Entry>, Problem> {
    let count = objects.len();
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for object in objects {
        match Slo::try_from(&object) {
            Ok(slo) => entries.push(Entry { slo, object }),
            Err(error) => errors.push(format!("{}: {error}", object.metadata.name.as_deref().unwrap_or("(no name)"))),
        }
    }
    entries.sort_by(|a, b| a.slo.name().cmp(b.slo.name()));
    for pair in entries.windows(2) {
        if let [a, b] = pair
            && a.slo.name() == b.slo.name()
        {
            errors.push(format!("{}: the name is used twice", a.slo.name()));
        }
    }
    if errors.is_empty() {
        return Ok(entries);
    }
    Err(Problem {
        what: format!("{} of {count} objectives are invalid", errors.len()),
        detail: format!("{}.", errors.join("; ")),
        hint: "correct the objects; `kubectl explain slo.spec` shows their fields.".to_owned(),
    })
}

fn known<'a>(all: &'a [Entry], name: &str) -> Result<&'a Entry, Problem> {
    let found = all.iter().find(|one| one.slo.name() == name);
    found.ok_or_else(|| names::unknown("objective", name, all.iter().map(|one| one.slo.name()), "mainstay slo list"))
}

// === impl Item ===

impl Item {
    fn of(Entry { slo, object }: &Entry) -> Self {
        let severity = |own: Severity| own.min(slo.severity()).label();
        let windows = burn_rules(slo).into_iter().map(|rule| Window {
            severity: severity(rule.alert.severity()),
            long_window: window_name(rule.long),
            short_window: window_name(rule.short),
            burn_rate_milli: rule.burn_milli,
            bad_min: rule.bad_min,
            for_seconds: rule.alert.hold().0 / 1_000,
        });
        Self {
            name: slo.name().to_owned(),
            objective_ppm: slo.objective().0,
            window_seconds: slo.window().0 / 1_000,
            owner: slo.owner().to_owned(),
            severity: slo.severity().label(),
            expected_volume: slo.volume(),
            total_outage_alert_after_seconds: detection_time(slo, Ppm::ONE, slo.severity()).map(|span| span.0 / 1_000),
            windows: windows.collect(),
            concerns: concerns(slo).iter().map(concern).collect(),
            problem: object.status.as_ref().and(object.problem()).map(ToOwned::to_owned),
            status: object.status.clone(),
        }
    }

    fn alert_after(&self) -> String {
        self.total_outage_alert_after_seconds.map_or_else(|| "▲ never sure".to_owned(), duration)
    }

    /// What the reader of the list must know beyond the numbers.
    fn notes(&self) -> String {
        let data = match (&self.problem, &self.status) {
            (Some(_), Some(status)) if status.budget_left_ppm.is_some() => Some("▲ old data".to_owned()),
            (Some(_) | None, _) => None,
        };
        let count = u64::try_from(self.concerns.len()).unwrap_or(u64::MAX);
        let concerns = (count > 0).then(|| format!("▲ {}", counted(count, "concern", "concerns")));
        data.into_iter().chain(concerns).collect::<Vec<_>>().join(", ")
    }

    fn objective(&self) -> String {
        format!("{} %", decimal(self.objective_ppm.into(), 4))
    }
}

fn concern(concern: &Concern) -> String {
    let seconds = |span: Span| duration(span.0 / 1_000);
    match concern {
        Concern::NoVolume => "expectedVolume is not set, so nothing pages".to_owned(),
        Concern::Unreachable { long, burn_milli } => {
            let (window, burn) = (window_name(*long), decimal(*burn_milli, 3));
            format!("the {window} window is left out: a total outage stays below its burn rate of {burn}")
        }
        Concern::Late { alert_after, spent_after } => {
            let after = alert_after.map_or("never for sure".to_owned(), |span| format!("after {}", seconds(span)));
            format!("a total outage spends the budget in {}, and alerts {after}", seconds(*spent_after))
        }
    }
}

fn table(items: &[Item]) -> String {
    if items.is_empty() {
        return "No objective exists.\nTo add one: kubectl explain slo.spec\n".to_owned();
    }
    let mut table = Table::new(&[
        ("SLO", Align::Left),
        ("OBJECTIVE", Align::Right),
        ("WINDOW", Align::Right),
        ("BUDGET LEFT", Align::Right),
        ("SEVERITY", Align::Left),
        ("ALERT AFTER", Align::Right),
        ("OWNER", Align::Left),
        ("", Align::Left),
    ]);
    for one in items {
        table.row([
            one.name.clone(),
            one.objective(),
            duration(one.window_seconds),
            budget::left(one.status.as_ref()),
            one.severity.to_owned(),
            one.alert_after(),
            one.owner.clone(),
            one.notes(),
        ]);
    }
    table.text()
}

fn page(item: &Item, budget: &str) -> String {
    let volume =
        item.expected_volume.map_or("not set".to_owned(), |volume| format!("{} events a day", thousands(volume)));
    let mut text = format!(
        "{}\n{}{}{}{}{}\n",
        item.name,
        labelled("Objective", &format!("{} over {}", item.objective(), duration(item.window_seconds))),
        labelled("Owner", &item.owner),
        labelled("Volume", &volume),
        labelled("Total outage", &format!("{} after {}", item.severity, item.alert_after())),
        budget
    );
    let mut table = Table::new(&[
        ("ALERT", Align::Left),
        ("WINDOW", Align::Right),
        ("SHORT", Align::Right),
        ("BURN RATE", Align::Right),
        ("BAD MIN", Align::Right),
        ("FOR", Align::Right),
    ]);
    for one in &item.windows {
        table.row([
            one.severity.to_owned(),
            one.long_window.clone(),
            one.short_window.clone(),
            decimal(one.burn_rate_milli, 3),
            one.bad_min.to_string(),
            duration(one.for_seconds),
        ]);
    }
    text.push_str(&table.text());
    for one in &item.concerns {
        text.push_str(&format!("▲ {one}\n"));
    }
    text
}
