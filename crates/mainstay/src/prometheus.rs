//! The Prometheus server that a command reads: its option, and queries for a few numbers.

use std::collections::BTreeMap;

use mainstay_kube::PROMETHEUS_LIMITS;
use mainstay_prometheus::{Error, Range, Server};

use crate::output::Problem;

/// Parses the address of a server.
pub(crate) fn server(url: &str) -> Result<Server, Error> {
    Server::new(url, PROMETHEUS_LIMITS)
}

/// Results of a query at one time, in Unix seconds: the labels of each series and its value.
pub(crate) async fn instant(
    server: &Server,
    query: &str,
    at: i64,
) -> Result<Vec<(BTreeMap<String, String>, String)>, Problem> {
    let answer = server.range(query, Range { from: at, to: at, step: 1 }).await.map_err(|error| problem(&error))?;
    let newest = |series: mainstay_prometheus::Series| {
        let value = series.points().last().map(|(_, value)| value.to_owned())?;
        Some((series.metric, value))
    };
    Ok(answer.series.into_iter().filter_map(newest).collect())
}

/// A server that cannot be read, for the caller of a command.
pub(crate) fn problem(error: &Error) -> Problem {
    Problem {
        what: "cannot read Prometheus".to_owned(),
        detail: format!("{error}."),
        hint: "check the address; a server behind TLS needs a tunnel, such as kubectl port-forward.".to_owned(),
    }
}
