//! Connects to the API server and starts the report writer and the GpuNode watch. Only this module and those two use the
//! API client, so that a build without the feature `cluster` needs none.

use std::sync::Arc;
use std::time::Duration;

use kube::config::{AuthInfo, Cluster as Server, Context, KubeConfigOptions, Kubeconfig};
use kube::config::{NamedAuthInfo, NamedCluster, NamedContext};
use kube::{Client, Config};
use tokio::sync::{Notify, mpsc, watch as latest};

use super::backoff::Backoff;
use super::{Cluster, ClusterOptions, Counts, Identity, watch, write};
use crate::output::Problem;

/// Largest number of queued messages from the writer and the watch; each sends few.
const NEWS_MAX: usize = 16;

/// Time limit for opening a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

impl ClusterOptions {
    /// Starts to write and to watch. A server that does not answer is tried again for as long as the agent runs.
    pub(super) async fn connect(&self, url: &str) -> Result<Cluster, Problem> {
        let identity = Identity::read(&self.token)?;
        let client = self.client(url).await?;
        let (newest, reports) = latest::channel(None);
        let (tell, news) = mpsc::channel(NEWS_MAX);
        let (patience, counts) = (Backoff::new(), Arc::new(Counts::new()));
        let node = identity.node.clone();
        let reported = Arc::new(Notify::new());
        let (told, its) = (Arc::clone(&reported), (patience.clone(), Arc::clone(&counts)));
        tokio::spawn(write::write(client.clone(), node.clone(), reports, told, tell.clone(), its));
        tokio::spawn(watch::watch(client, node, reported, tell, (patience, Arc::clone(&counts))));
        Ok(Cluster { identity, newest, news, counts })
    }

    async fn client(&self, url: &str) -> Result<Client, Problem> {
        let unusable = |error: &dyn std::fmt::Display| {
            Problem::new(
                format!("cannot connect to the API server {url}"),
                error.to_string(),
                "check --server, --server-ca and --token.",
            )
        };
        let named = || "cluster".to_owned();
        let kubeconfig = Kubeconfig {
            clusters: vec![NamedCluster {
                name: named(),
                cluster: Some(Server {
                    server: Some(url.to_owned()),
                    certificate_authority: Some(self.server_ca.display().to_string()),
                    ..Server::default()
                }),
                ..NamedCluster::default()
            }],
            auth_infos: vec![NamedAuthInfo {
                name: named(),
                auth_info: Some(AuthInfo { token_file: Some(self.token.display().to_string()), ..AuthInfo::default() }),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext {
                name: named(),
                context: Some(Context { cluster: named(), user: Some(named()), ..Context::default() }),
                ..NamedContext::default()
            }],
            current_context: Some(named()),
            ..Kubeconfig::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let mut config = config.map_err(|error| unusable(&error))?;
        config.connect_timeout = Some(CONNECT_WITHIN);
        // The agent retries itself: its retries are limited, counted and spread over time.
        config.default_retry = false;
        Client::try_from(config).map_err(|error| unusable(&error))
    }
}
