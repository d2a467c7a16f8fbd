//! Cost of the fleet metrics: a real agent's response, served once for each of 12,500 nodes with other GPUs and moving values,
//! scraped by one real Prometheus that evaluates the recording rules.

mod nodes;

use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::agent::gpus::Gpus;
use super::agent::program::{self, Agent};
use super::agent::sysfs::Sysfs;
use crate::prove::{Context, Measurement, Proof};
pub(super) use nodes::{Template, serve};
use testbed::Prometheus;

pub(super) const PROOF: Proof = Proof { name: "metrics-cost", run: |context| Box::pin(measure(context)) };

/// 100,000 GPUs in nodes of eight.
const NODES: u64 = 12_500;
const GPUS: u64 = 8 * NODES;
/// Scrape and evaluation interval. Prometheus spreads both over the interval.
const EVERY: Duration = Duration::from_secs(60);
/// Until every node is scraped, and after that until every rule is evaluated twice with all of them.
const SCRAPED_WITHIN: Duration = Duration::from_mins(10);
const EVALUATED_AFTER: Duration = Duration::from_secs(180);
const SOON: Duration = Duration::from_secs(20);

/// Counters of congestion as a ConnectX adapter has them.
const CONGESTION: [&str; 3] = ["np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets"];

async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let template = template(context).await?;
    let bytes = template.page(0, 0).len();
    let nodes = serve(template).await?;
    let folder = tempfile::tempdir().context("a folder for Prometheus")?;
    let targets: Vec<Value> = (0..NODES).map(|node| nodes.target(node)).collect();
    fs::write(folder.path().join("targets.json"), serde_json::to_string(&targets)?)?;
    let seconds = EVERY.as_secs();
    let rules = context.workspace.root.join("deploy/alerts/gpu-rules.yaml");
    let config = format!(
        "global: {{ scrape_interval: {seconds}s, scrape_timeout: 30s, evaluation_interval: {seconds}s }}\n\
         rule_files: [{}]\n\
         scrape_configs: [{{ job_name: agents, file_sd_configs: [{{ files: [targets.json] }}] }}]\n",
        rules.display()
    );
    let server = Prometheus::serve(folder.path(), &config).await?;
    let begun = Instant::now();
    while number(&server, "sum(up)").await? < NODES {
        ensure!(begun.elapsed() < SCRAPED_WITHIN, "not every node is scraped after {} s", SCRAPED_WITHIN.as_secs());
        sleep(Duration::from_secs(5)).await;
    }
    sleep(EVALUATED_AFTER).await;
    let of_gpus = number(&server, "count({__name__=~\"mainstay_agent_gpu_.+\"})").await?;
    let of_agents = number(&server, "count({__name__=~\"mainstay_agent_.+|mainstay_metrics_.+\"})").await?;
    let recorded = number(&server, "count({__name__=~\"mainstay:gpu_.+\"})").await?;
    let own = own(&server).await?;
    let in_all = of_metric(&own, "prometheus_tsdb_head_series")?;
    let resident = of_metric(&own, "process_resident_memory_bytes")?;
    let evaluation = Evaluation::read(&server).await?;
    ensure!(of_gpus.is_multiple_of(GPUS), "{of_gpus} series of {GPUS} GPUs: not all GPUs are alike");
    let tenths = |series: u64| format!("{}.{}", series / GPUS, series * 10 / GPUS % 10);
    let detail = format!(
        "{GPUS} GPUs on {NODES} nodes, scraped every {seconds} s; per GPU: {} series with its label, {} with its share of the node's, \
         {} recorded by {} rules, {} in the server in all; {} bytes of a response per GPU; {} kB of the server's memory per GPU, {} MB in all; \
         evaluation of all rules {} ms, of the slowest {} ms, every {seconds} s",
        of_gpus / GPUS,
        tenths(of_agents),
        tenths(recorded),
        evaluation.rules,
        tenths(in_all),
        bytes / 8,
        resident / GPUS / 1_000,
        resident / 1_000_000,
        evaluation.sum_ms,
        evaluation.slowest_ms,
    );
    ensure!(
        evaluation.slowest_ms < u64::try_from(EVERY.as_millis())?,
        "a rule takes longer than its interval: {detail}"
    );
    Ok(Measurement { value: i64::try_from(of_gpus / GPUS)?, detail })
}

/// What a real agent exports on a node with eight GPUs and adapters that count congestion.
pub(super) async fn template(context: &Context) -> anyhow::Result<Template> {
    let program = program::build(context).await?;
    let sysfs = Sysfs::full()?;
    let class = sysfs.path().join("class/infiniband");
    for adapter in fs::read_dir(&class)? {
        let counters = adapter?.path().join("ports/1/hw_counters");
        fs::create_dir_all(&counters)?;
        for name in CONGESTION {
            fs::write(counters.join(name), "4711\n")?;
        }
    }
    let gpus = Gpus::new(&sysfs)?;
    let nowhere = gpus.folder().join("no-kmsg");
    let mut args: Vec<OsString> = [program::reads(&nowhere, sysfs.path()), gpus.args()].concat();
    let state = gpus.folder().join("state.json").into_os_string();
    args.extend(["--disable".into(), "kernel-log".into(), "--state".into(), state]);
    args.extend(["--listen".into(), "127.0.0.1:0".into()]);
    let mut agent = Agent::start(&program, "run", &args)?;
    let address = agent.listening().await?;
    let begun = Instant::now();
    loop {
        let text = program::get(&address).await?;
        if text.contains("mainstay_agent_gpu_info{gpu=\"7\"") && text.contains("mainstay_agent_rdma_cnp_sent_total ") {
            return Template::of(&text);
        }
        ensure!(begun.elapsed() < SOON, "the agent does not list its GPUs and adapters: {text}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// Time that Prometheus took for the last evaluation of every group.
struct Evaluation {
    rules: usize,
    sum_ms: u64,
    slowest_ms: u64,
}

impl Evaluation {
    async fn read(server: &Prometheus) -> anyhow::Result<Self> {
        let answer: Value = serde_json::from_str(&server.get("/api/v1/rules").await?)?;
        let groups = answer["data"]["groups"].as_array().context("no rule groups")?;
        let rules: Vec<&Value> =
            groups.iter().flat_map(|group| group["rules"].as_array().into_iter().flatten()).collect();
        for rule in &rules {
            ensure!(rule["health"] == "ok", "{rule}");
        }
        let times = groups.iter().map(|group| group["evaluationTime"].as_f64().unwrap_or(0.0) * 1_000.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds of a minute")]
        let times: Vec<u64> = times.map(|millis| millis as u64).collect();
        let slowest_ms = times.iter().copied().max().unwrap_or(0);
        Ok(Self { rules: rules.len(), sum_ms: times.iter().sum(), slowest_ms })
    }
}

/// Value of a query with one result; 0 if it has none.
async fn number(server: &Prometheus, query: &str) -> anyhow::Result<u64> {
    let answer = server.instant(query).await?;
    let value = answer["data"]["result"][0]["value"][1].as_str();
    value.map_or(Ok(0), |value| value.parse().with_context(|| format!("{query} is {value}")))
}

async fn own(server: &Prometheus) -> anyhow::Result<String> {
    server.get("/metrics").await
}

fn of_metric(text: &str, name: &str) -> anyhow::Result<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value: f64 = value.with_context(|| format!("no {name}"))?.parse()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count or a size")]
    let value = value as u64;
    Ok(value)
}
