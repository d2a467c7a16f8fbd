//! One attempt: a bare request, so that nothing of a client's good manners stands between it and the server.

use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;

/// A busy server answers later; one that never does is broken.
const ANSWERS_AT_MOST: Duration = Duration::from_secs(30);
/// Answers of a server that did not do it: not understood, not known, not allowed, no such verb, too large, no such form,
/// against the schema. Anything else counts as let through, "not found" of a read as well: one might have looked.
const REFUSALS: [u16; 7] = [400, 401, 403, 405, 413, 415, 422];

/// The token with which an attempt is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TokenKind {
    /// Of the agent's pod on a1.
    Agent,
    /// Of the agent's account, bound to no pod.
    Loose,
    /// Of an agent's pod that was deleted.
    Gone,
    /// The agent's, with another signature.
    Forged,
}

/// Why it should be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Because of who asks: others may.
    OfWho,
    /// Because of what is asked: nobody may.
    OfWhat,
}

/// One attempt.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) what: String,
    pub(super) who: TokenKind,
    pub(super) refusal: Refusal,
    /// The harm that is left, in the words of SECURITY.md.
    pub(super) stated: Option<&'static str>,
    method: Method,
    path: String,
    content: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

/// How something is written, and what that form is called.
pub(super) const FORMS: [(&str, Method, &str); 4] = [
    ("replaces", Method::PUT, "application/json"),
    ("merges into", Method::PATCH, "application/merge-patch+json"),
    ("applies", Method::PATCH, "application/apply-patch+yaml"),
    ("creates", Method::POST, "application/json"),
];

impl Attempt {
    pub(super) fn new(what: impl Into<String>, method: Method, path: impl Into<String>, body: &Value) -> Self {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let content = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let (what, path, headers) = (what.into(), path.into(), Vec::new());
        Self {
            what,
            who: TokenKind::Agent,
            refusal: Refusal::OfWho,
            stated: None,
            method,
            path,
            content,
            headers,
            body,
        }
    }

    /// An object written in one of the forms. A creation goes to the collection.
    pub(super) fn write(what: &str, form: usize, prefix: &str, name: &str, body: &Value) -> Self {
        let (word, method, content) = FORMS[form].clone();
        let path = match word {
            "creates" => prefix.to_owned(),
            "applies" => format!("{prefix}/{name}?fieldManager=thief&force=true"),
            _ => format!("{prefix}/{name}"),
        };
        let mut body = body.clone();
        if word != "replaces"
            && let Some(metadata) = body["metadata"].as_object_mut()
        {
            metadata.remove("resourceVersion");
        }
        let mut attempt = Self::new(format!("{what}: {word} {path}"), method, path, &body);
        attempt.content = content;
        attempt
    }

    pub(super) fn is_refused(&self, code: u16) -> bool {
        REFUSALS.contains(&code) || code == 404 && self.method != Method::GET
    }

    pub(super) fn get(path: impl Into<String>) -> Self {
        let path = path.into();
        Self::new(format!("reads {path}"), Method::GET, path, &Value::Null)
    }

    pub(super) fn by(mut self, who: TokenKind) -> Self {
        self.who = who;
        self
    }

    /// Nobody may.
    pub(super) fn refused_to_all(mut self) -> Self {
        self.refusal = Refusal::OfWhat;
        self
    }

    pub(super) fn stated(mut self, harm: &'static str) -> Self {
        self.stated = Some(harm);
        self
    }

    pub(super) fn saying(mut self, header: &'static str, value: &str) -> Self {
        self.what = format!("{}, {header} {value}", self.what);
        self.headers.push((header, value.to_owned()));
        self
    }

    pub(super) fn content(mut self, content: &'static str) -> Self {
        self.content = content;
        self
    }

    /// Makes it, and answers the server's code.
    pub(super) async fn make(&self, client: &Client) -> Result<u16> {
        self.send(client, &self.path).await
    }

    /// The same without a commit.
    pub(super) async fn rehearse(&self, client: &Client) -> Result<u16> {
        let sign = if self.path.contains('?') { '&' } else { '?' };
        match self.method {
            Method::GET => self.send(client, &self.path).await,
            _ => self.send(client, &format!("{}{sign}dryRun=All", self.path)).await,
        }
    }

    async fn send(&self, client: &Client, path: &str) -> Result<u16> {
        let mut request = Request::builder().method(self.method.clone()).uri(path).header("Content-Type", self.content);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let answer = client.send(request.body(Body::from(self.body.clone()))?);
        let answer = timeout(ANSWERS_AT_MOST, answer).await.with_context(|| format!("{}: no answer", self.what))?;
        match answer {
            Ok(answer) => Ok(answer.status().as_u16()),
            Err(kube::Error::Api(status)) => Ok(status.code),
            // A server that will not read on closes the connection, sometimes before its answer is read.
            Err(_) if self.body.len() > 1 << 20 => Ok(413),
            Err(error) => Err(error).with_context(|| self.what.clone()),
        }
    }
}
