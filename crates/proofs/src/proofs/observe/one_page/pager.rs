//! A real Alertmanager (Debian's) on the loopback, and a pager that keeps what it sends.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use axum::Json;
use axum::extract::State;
use axum::routing::post;
use serde::Deserialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use xtask::command;

/// The receiver of the example that calls the on-call engineer.
const PAGER: &str = "https://pager.example.org/fleet";
const EXAMPLE_HOST: &str = ".example.org/";
const READY_WITHIN: Duration = Duration::from_secs(30);
/// Notifications that are kept.
const PAGES_MAX: usize = 1_000;

/// One notification to the on-call engineer about something that fires.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) title: String,
}

/// What Alertmanager sends to a webhook.
#[derive(Deserialize)]
struct Notification {
    status: String,
    alerts: Vec<Alert>,
}

#[derive(Deserialize)]
struct Alert {
    annotations: Annotations,
}

#[derive(Deserialize)]
struct Annotations {
    summary: String,
}

type Pages = Arc<watch::Sender<Vec<Page>>>;

/// A running Alertmanager with its pager; both end with this.
pub(super) struct Alertmanager {
    port: u16,
    pages: Pages,
    pager: JoinHandle<()>,
    _server: Child,
}

impl Alertmanager {
    /// Starts it with a configuration whose receivers are those of the example.
    pub(super) async fn start(folder: &Path, configuration: &str) -> Result<Self> {
        ensure!(configuration.contains(PAGER), "the example has another pager");
        let pages = Pages::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let pager_port = listener.local_addr()?.port();
        let router = axum::Router::new()
            .route("/page", post(page))
            .route("/other", post(|| async {}))
            .with_state(Arc::clone(&pages));
        let pager = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        let mut text = configuration.replace(PAGER, &format!("http://127.0.0.1:{pager_port}/page"));
        while let Some(at) = text.find(EXAMPLE_HOST) {
            let start = text[..at].rfind('"').context("a receiver without quotes")? + 1;
            let end = at + text[at..].find('"').context("a receiver without quotes")?;
            text.replace_range(start..end, &format!("http://127.0.0.1:{pager_port}/other"));
        }
        let file = folder.join("alertmanager.yml");
        std::fs::write(&file, text)?;
        let port = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut server = command::program("prometheus-alertmanager", folder);
        server.arg("--config.file").arg(&file).arg("--storage.path").arg(folder.join("alertmanager"));
        server.args(["--cluster.listen-address=", &format!("--web.listen-address=127.0.0.1:{port}")]);
        let server =
            server.stderr(Stdio::null()).spawn().context("Debian's package `prometheus-alertmanager` is needed")?;
        let until = Instant::now() + READY_WITHIN;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
            ensure!(Instant::now() < until, "Alertmanager does not start");
            sleep(Duration::from_millis(100)).await;
        }
        Ok(Self { port, pages, pager, _server: server })
    }

    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// All pages so far.
    pub(super) fn pages(&self) -> Vec<Page> {
        self.pages.borrow().clone()
    }
}

impl Drop for Alertmanager {
    fn drop(&mut self) {
        self.pager.abort();
    }
}

async fn page(State(pages): State<Pages>, Json(notification): Json<Notification>) {
    if notification.status != "firing" {
        return;
    }
    let titles: Vec<String> = notification.alerts.into_iter().map(|alert| alert.annotations.summary).collect();
    pages.send_modify(|pages| {
        if pages.len() < PAGES_MAX {
            pages.push(Page { title: titles.join("; ") });
        }
    });
}
