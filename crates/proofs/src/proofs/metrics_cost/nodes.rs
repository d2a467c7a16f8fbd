//! Many nodes from one agent's response: every node has GPUs of its own, and values that move between scrapes as they do on
//! real nodes, because Prometheus stores what does not change almost for free.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// One line of the response.
enum Line {
    /// A comment of the format.
    Comment(String),
    /// Text before the UUID of the GPU, text after it up to the value, and the value.
    Gpu { head: String, gpu: u64, tail: String, value: i64, moves: Moves },
    /// A series of the node as a whole.
    Node { head: String, value: i64, moves: Moves },
}

/// How a value changes from scrape to scrape.
#[derive(Clone, Copy)]
enum Moves {
    Never,
    UpAndDown,
    Up,
}

/// An agent's response with places for what differs from node to node.
pub(in super::super) struct Template(Vec<Line>);

/// Address of the server that answers for all nodes.
pub(in super::super) struct Nodes {
    address: String,
}

impl Nodes {
    /// Target of one node, as service discovery would have it.
    pub(super) fn target(&self, node: u64) -> Value {
        self.target_of(node, &format!("gpu-{node:05}"))
    }

    /// Target of one node with a name of its own.
    pub(in super::super) fn target_of(&self, node: u64, name: &str) -> Value {
        json!({
            "targets": [self.address],
            "labels": { "__metrics_path__": format!("/{node}/metrics"), "instance": name, "node": name },
        })
    }
}

/// Serves all nodes while the process runs.
pub(in super::super) async fn serve(template: Template) -> anyhow::Result<Nodes> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let page = async |State(template): State<Arc<Template>>, Path(node): Path<u64>| {
        let minute = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs() / 60);
        template.page(node, minute % 100_000)
    };
    let router = Router::new().route("/{node}/metrics", get(page)).with_state(Arc::new(template));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(Nodes { address })
}

impl Template {
    pub(super) fn of(text: &str) -> anyhow::Result<Self> {
        text.lines().map(Line::of).collect::<anyhow::Result<Vec<_>>>().map(Self)
    }

    /// Response of a node at a minute.
    pub(super) fn page(&self, node: u64, minute: u64) -> String {
        let mut page = String::with_capacity(64 * 1_024);
        for (number, line) in (0_u64..).zip(&self.0) {
            // Writing to a string does not fail.
            let _ = match line {
                Line::Comment(text) => writeln!(page, "{text}"),
                Line::Gpu { head, gpu, tail, value, moves } => {
                    let value = moves.at(*value, node ^ number, minute);
                    writeln!(page, "{head}GPU-{node:08x}-{gpu:04x}-4000-8000-{node:012x}{tail} {value}")
                }
                Line::Node { head, value, moves } => {
                    writeln!(page, "{head} {}", moves.at(*value, node ^ number, minute))
                }
            };
        }
        page
    }
}

impl Line {
    fn of(line: &str) -> anyhow::Result<Self> {
        if line.starts_with('#') {
            return Ok(Self::Comment(line.to_owned()));
        }
        let (series, value) = line.rsplit_once(' ').with_context(|| format!("no value in {line}"))?;
        let value = value.parse().with_context(|| format!("no whole number in {line}"))?;
        let name = series.split('{').next().unwrap_or_default();
        let moves = match name {
            _ if name.ends_with("_total") => Moves::Up,
            _ if name.ends_with("_info") || name.ends_with("_size_bytes") || name.ends_with("nvlinks_up") => {
                Moves::Never
            }
            _ if name.starts_with("mainstay_agent_gpu_") => Moves::UpAndDown,
            _ => Moves::Never,
        };
        let Some((head, rest)) = series.split_once("uuid=\"") else {
            return Ok(Self::Node { head: series.to_owned(), value, moves });
        };
        let gpu = head.split('"').nth(1).and_then(|gpu| gpu.parse().ok());
        let gpu = gpu.with_context(|| format!("no index of a GPU in {line}"))?;
        let tail = rest.split_once('"').map(|(_, tail)| format!("\"{tail}")).context("an open label")?;
        Ok(Self::Gpu { head: format!("{head}uuid=\""), gpu, tail, value, moves })
    }
}

impl Moves {
    fn at(self, value: i64, seed: u64, minute: u64) -> i64 {
        let mixed = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ minute.wrapping_mul(0xbf58_476d_1ce4_e5b9)) >> 40;
        let part = |end: u64| i64::try_from(mixed % end).unwrap_or(0);
        match self {
            Self::Never => value,
            Self::UpAndDown => value.saturating_add(part(9)),
            Self::Up => value.saturating_add(i64::try_from(minute * 1_000).unwrap_or(0)).saturating_add(part(1_000)),
        }
    }
}
