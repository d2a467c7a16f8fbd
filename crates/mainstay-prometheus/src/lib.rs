//! A client of the Prometheus HTTP API: range queries, with limits on time and size. Plain HTTP only: a server behind TLS is
//! reached through a tunnel that its operator makes. What a series means is decided by the caller.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_text::root_cause;
use serde::Deserialize;

/// A Prometheus server.
#[derive(Debug, Clone)]
pub struct Server {
    client: reqwest::Client,
    url: String,
    answer_bytes_max: usize,
}

/// Limits of one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest time until the whole answer is read.
    pub answer_within: Duration,
    /// Largest answer.
    pub answer_bytes_max: usize,
}

/// The times at which a query is evaluated: Unix seconds, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// First evaluation.
    pub from: i64,
    /// End of the evaluations.
    pub to: i64,
    /// Seconds between two evaluations.
    pub step: u32,
}

/// Answer to a range query.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Series that matched.
    pub series: Vec<Series>,
    /// Size of the answer.
    pub bytes: usize,
}

/// One series of an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Series {
    /// Labels of the series.
    pub metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
}

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be used.
    #[error("{url} must begin with http://")]
    Address {
        /// Address as stated.
        url: String,
    },
    /// The server does not answer.
    #[error("cannot reach Prometheus at {url}: {cause}")]
    Unreachable {
        /// Address of the server.
        url: String,
        /// Why it cannot be reached.
        cause: String,
    },
    /// The answer is larger than the limit.
    #[error("the answer of {url} has more than {bytes_max} bytes")]
    TooLarge {
        /// Address of the server.
        url: String,
        /// The limit.
        bytes_max: usize,
    },
    /// The server rejects the query, or is no Prometheus.
    #[error("unexpected answer of {url}: {cause}")]
    Unexpected {
        /// Address of the server.
        url: String,
        /// What the server answered.
        cause: String,
    },
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    status: String,
    #[serde(default)]
    error: String,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Series>,
}

// === impl Server ===

impl Server {
    /// A server by its address, such as `http://prometheus:9090`. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Address`] if the address is not plain HTTP.
    pub fn new(url: &str, limits: Limits) -> Result<Self, Error> {
        let url = url.trim_end_matches('/').to_owned();
        if !url.starts_with("http://") {
            return Err(Error::Address { url });
        }
        let client = reqwest::Client::builder().timeout(limits.answer_within).build();
        let client = client.map_err(|error| Error::Unreachable { url: url.clone(), cause: root_cause(&error) })?;
        Ok(Self { client, url, answer_bytes_max: limits.answer_bytes_max })
    }

    /// Evaluates a query at every step of the range.
    ///
    /// # Errors
    /// Any [`Error`] but the first.
    pub async fn range(&self, query: &str, range: Range) -> Result<Answer, Error> {
        let url = &self.url;
        let Range { from, to, step } = range;
        let form = format!("query={}&start={from}&end={to}&step={step}", encoded(query));
        let request = self.client.post(format!("{url}/api/v1/query_range"));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
        let unreachable = |error: reqwest::Error| Error::Unreachable { url: url.clone(), cause: root_cause(&error) };
        let mut response = request.send().await.map_err(unreachable)?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(unreachable)? {
            if body.len() + piece.len() > self.answer_bytes_max {
                return Err(Error::TooLarge { url: url.clone(), bytes_max: self.answer_bytes_max });
            }
            body.extend_from_slice(&piece);
        }
        let series = series(&body).map_err(|cause| Error::Unexpected { url: url.clone(), cause })?;
        Ok(Answer { series, bytes: body.len() })
    }
}

/// Reads the body of a response.
fn series(body: &[u8]) -> Result<Vec<Series>, String> {
    let response: Response = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if response.status != "success" {
        return Err(response.error);
    }
    Ok(response.data.map(|data| data.result).unwrap_or_default())
}

// === impl Series ===

impl Series {
    /// Points as Unix milliseconds and the value's text.
    pub fn points(&self) -> impl Iterator<Item = (i64, &str)> {
        self.values.iter().filter_map(|(at, value)| Some((milliseconds(*at)?, value.as_str())))
    }
}

fn milliseconds(at: f64) -> Option<i64> {
    // Through text, because a cast would hide a value out of range.
    format!("{:.0}", (at * 1_000.0).round()).parse().ok()
}

/// A value as a whole number, rounded down. None for what is no count: negative, not a number, or at least `below`.
#[must_use]
pub fn whole(value: &str, below: f64) -> Option<u64> {
    let value: f64 = value.parse().ok()?;
    (0.0..below).contains(&value).then(|| format!("{:.0}", value.floor()).parse().ok()).flatten()
}

/// A value in thousandths. None for what is no count: negative, not a number, or at least 10^15.
#[must_use]
pub fn thousandths(value: &str) -> Option<u64> {
    const BELOW: f64 = 1e15;
    let value: f64 = value.parse().ok()?;
    (0.0..BELOW).contains(&value).then(|| format!("{:.0}", (value * 1_000.0).round()).parse().ok()).flatten()
}

/// A text as a field of a form.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
