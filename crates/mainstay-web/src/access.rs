//! Access control. A demo is open to users of this machine only: it binds the loopback, answers to loopback names only (DNS
//! rebinding), and accepts no change from a page of another origin. A shared server requires a bearer token; the API server
//! validates it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::future::BoxFuture;

use super::ServerState;
use super::error::ErrorResponse;

/// Longest accepted token; tokens of a cluster are shorter.
const TOKEN_BYTES_MAX: usize = 8 * 1_024;

/// The result of validating a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenStatus {
    /// Valid token of a user with permission.
    Welcome,
    /// Valid, without permission, with the reason.
    Forbidden(String),
    /// Not a valid token.
    Unknown,
    /// Not validated, which denies access, with the reason.
    Unanswered(String),
}

/// Decides whether a bearer token grants access.
pub trait TokenValidator: Send + Sync {
    /// Validates one token. The caller does not limit how often it asks.
    fn validate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, TokenStatus>;
}

/// An address at which clients of other machines could use a server without authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refusing to listen on {0} without authentication")]
pub struct OpenAddress(pub SocketAddr);

/// Which clients have access.
#[derive(Clone)]
pub enum Access {
    /// Every client on this machine.
    OpenOnLoopback,
    /// Clients with a token. The web UI itself is open, so that it can ask for one.
    Tokens(Arc<dyn TokenValidator>),
}

impl Access {
    /// Checks that a server with this access may listen on an address.
    ///
    /// # Errors
    ///
    /// Access is open, and the address is not on the loopback.
    pub fn fits(&self, address: SocketAddr) -> Result<(), OpenAddress> {
        match self {
            Self::OpenOnLoopback if !address.ip().is_loopback() => Err(OpenAddress(address)),
            Self::OpenOnLoopback | Self::Tokens(_) => Ok(()),
        }
    }

    async fn judge(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), ErrorResponse> {
        match self {
            Self::OpenOnLoopback => open(method, headers),
            Self::Tokens(judge) if is_ours(path) => bearer(judge.as_ref(), headers).await,
            Self::Tokens(_) => Ok(()),
        }
    }

    /// Whether a stream that was opened with these headers still has access.
    pub(super) async fn still_admits(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::OpenOnLoopback => true,
            Self::Tokens(judge) => bearer(judge.as_ref(), headers).await.is_ok(),
        }
    }
}

pub(super) async fn check(State(served): State<ServerState>, request: Request, next: Next) -> Response {
    let (method, uri, headers) = (request.method().clone(), request.uri().clone(), request.headers().clone());
    match served.access.judge(&method, uri.path(), &headers).await {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Whether a path returns data of the fleet.
fn is_ours(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics"
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

fn open(method: &Method, headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let host = text(headers, header::HOST).unwrap_or_default();
    if !is_loopback(host) {
        return Err(ErrorResponse::new(
            StatusCode::MISDIRECTED_REQUEST,
            "invalid Host header",
            "the server accepts localhost, 127.0.0.1 and [::1] only, to prevent DNS rebinding.",
            "open the address that the server printed when it started.",
        ));
    }
    let changes = *method != Method::GET && *method != Method::HEAD;
    let origin = text(headers, header::ORIGIN).filter(|_| changes);
    if origin.is_some_and(|origin| origin != format!("http://{host}")) {
        return Err(ErrorResponse::new(
            StatusCode::FORBIDDEN,
            "cross-origin requests may not change anything",
            "the request came from a page of another server.",
            "use the web UI of this server, or the command line.",
        ));
    }
    Ok(())
}

/// Whether a host, with or without a port, is a name of the machine itself.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(name, _)| name),
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

async fn bearer(judge: &dyn TokenValidator, headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let token = text(headers, header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
    let Some(token) = token.filter(|token| !token.is_empty() && token.len() <= TOKEN_BYTES_MAX) else {
        return Err(ErrorResponse::new(
            StatusCode::UNAUTHORIZED,
            "a bearer token is required",
            "the request has no valid Authorization header.",
            "send the header Authorization: Bearer TOKEN.",
        ));
    };
    match judge.validate(token).await {
        TokenStatus::Welcome => Ok(()),
        TokenStatus::Unknown => Err(ErrorResponse::new(
            StatusCode::UNAUTHORIZED,
            "the token is not valid",
            "it may have expired, or belong to another cluster or audience.",
            "request a new token, for example with `kubectl create token`.",
        )),
        TokenStatus::Forbidden(why) => Err(ErrorResponse::new(
            StatusCode::FORBIDDEN,
            "the token has no permission to view this fleet",
            why,
            "ask an administrator for the role mainstay-viewer.",
        )),
        TokenStatus::Unanswered(why) => Err(ErrorResponse::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the API server could not validate the token",
            why,
            "try again in a moment.",
        )),
    }
}

#[cfg(test)]
mod tests;
