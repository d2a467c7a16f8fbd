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
use crate::output::Problem;

/// No token of a cluster is longer; a header of the server may be.
const TOKEN_BYTES_MAX: usize = 8 * 1_024;

/// The result of validating a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenStatus {
    /// Valid, with permission.
    Welcome,
    /// Valid, without permission: why.
    Forbidden(String),
    /// Not valid.
    Unknown,
    /// Not validated, which denies access: why.
    Unanswered(String),
}

/// Decides whether a bearer token grants access.
pub(crate) trait TokenValidator: Send + Sync {
    fn validate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, TokenStatus>;
}

/// Which clients have access.
#[derive(Clone)]
pub(crate) enum Access {
    /// Every client on this machine.
    OpenOnLoopback,
    /// Clients with a token. The web UI itself is open, so that it can ask for one.
    Tokens(Arc<dyn TokenValidator>),
}

impl Access {
    /// Whether it may be offered at an address at all.
    pub(crate) fn fits(&self, address: SocketAddr) -> Result<(), Problem> {
        match self {
            Self::OpenOnLoopback if !address.ip().is_loopback() => Err(Problem {
                what: format!("refusing to listen on {address} without authentication"),
                detail: "any client could use it, so it listens on the loopback only.".to_owned(),
                hint: "omit the address, and use a tunnel for access from elsewhere.".to_owned(),
            }),
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
}

impl Access {
    /// Whether whoever opened a stream with these headers would be let in again.
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

/// Whether a path tells something of the fleet.
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
pub(crate) mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    fn status(access: &Access, method: &Method, path: &str, pairs: &[(header::HeaderName, &str)]) -> Option<u16> {
        let judged = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(access.judge(
            method,
            path,
            &headers(pairs),
        ));
        judged.err().map(|refusal| refusal.into_response().status().as_u16())
    }

    /// Test validator that derives the status from the text of the token.
    pub(crate) struct LiteralValidator;

    impl TokenValidator for LiteralValidator {
        fn validate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, TokenStatus> {
            let worth = match token {
                "right" => TokenStatus::Welcome,
                "poor" => TokenStatus::Forbidden("it may not list pods.".to_owned()),
                "silent" => TokenStatus::Unanswered("no answer.".to_owned()),
                _ => TokenStatus::Unknown,
            };
            Box::pin(std::future::ready(worth))
        }
    }

    #[test]
    fn an_open_server_is_offered_on_the_loopback_only() {
        let fits = |address: &str| Access::OpenOnLoopback.fits(address.parse().unwrap()).is_ok();
        assert!(fits("127.0.0.1:7878") && fits("[::1]:0"));
        assert!(!fits("0.0.0.0:7878") && !fits("10.0.0.7:7878") && !fits("[::]:7878"));
    }

    #[test]
    fn an_open_server_answers_to_names_of_the_machine_only() {
        let host = |host: &str| status(&Access::OpenOnLoopback, &Method::GET, "/", &[(header::HOST, host)]);
        for ours in ["localhost:7878", "127.0.0.1:7878", "[::1]:7878", "LOCALHOST", "127.8.8.8"] {
            assert_eq!(host(ours), None, "{ours}");
        }
        for strange in ["evil.example", "localhost.evil.example:7878", "127.0.0.1.evil.example", "10.0.0.1", "[::]", ""]
        {
            assert_eq!(host(strange), Some(421), "{strange}");
        }
        assert_eq!(status(&Access::OpenOnLoopback, &Method::GET, "/", &[]), Some(421));
    }

    #[test]
    fn a_page_of_another_origin_changes_nothing() {
        let from = |method: Method, origin: &str| {
            let pairs = [(header::HOST, "localhost:7878"), (header::ORIGIN, origin)];
            status(&Access::OpenOnLoopback, &method, "/api/v1/stop", &pairs)
        };
        assert_eq!(from(Method::POST, "http://localhost:7878"), None);
        for strange in ["http://evil.example", "http://localhost:3000", "https://localhost:7878", "null"] {
            assert_eq!(from(Method::POST, strange), Some(403), "{strange}");
            assert_eq!(from(Method::DELETE, strange), Some(403), "{strange}");
            assert_eq!(from(Method::GET, strange), None, "it cannot read the answer");
        }
    }

    #[test]
    fn a_cluster_asks_for_a_token_and_lets_the_page_load() {
        let access = Access::Tokens(Arc::new(LiteralValidator));
        let with = |path: &str, token: &str| status(&access, &Method::GET, path, &[(header::AUTHORIZATION, token)]);
        assert_eq!(status(&access, &Method::GET, "/api/v1/fleet", &[]), Some(401));
        assert_eq!(with("/api/v1/fleet", "Basic right"), Some(401));
        assert_eq!(with("/api/v1/fleet", "Bearer wrong"), Some(401));
        assert_eq!(with("/api/v1/fleet", &format!("Bearer {}", "x".repeat(9_000))), Some(401));
        assert_eq!(with("/api/v1/fleet", "Bearer poor"), Some(403));
        assert_eq!(with("/api/v1/fleet", "Bearer silent"), Some(503), "who is not answered for is not let in");
        assert_eq!(with("/metrics", "Bearer wrong"), Some(401));
        assert_eq!(with("/api/v1/fleet", "Bearer right"), None);
        assert_eq!(status(&access, &Method::GET, "/", &[]), None);
    }
}
