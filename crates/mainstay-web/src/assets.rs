//! The web UI, embedded in the binary. A binary without it serves a plain page that explains how to build it.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse as _, Response};
use rust_embed::RustEmbed;

use super::error::ErrorResponse;

/// Files of the web UI that `npm run build` writes to `ui/dist`.
#[derive(RustEmbed)]
#[folder = "../../ui/dist/"]
#[allow_missing = true]
struct Assets;

/// Files whose names contain a hash of their content.
const HASHED: &str = "assets/";

const MISSING: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Mainstay</title>\
<body><h1>Mainstay</h1><p>The server runs, but this binary does not include the web UI.</p>\
<p>To include it: <code>cd ui &amp;&amp; npm ci &amp;&amp; npm run build</code>, then build the binary again.</p>\
<p>The data is available without it: <a href=\"/api/v1/fleet\">fleet</a>, \
<a href=\"/openapi.json\">API</a>, <a href=\"/metrics\">metrics</a>.</p>";

/// Whether the binary includes the web UI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebUi {
    /// The server shows it.
    Included,
    /// The server has the API only.
    Missing,
}

/// Whether this binary includes the web UI.
#[must_use]
pub fn web_ui() -> WebUi {
    if Assets::get("index.html").is_some() { WebUi::Included } else { WebUi::Missing }
}

impl WebUi {
    /// The address for the terminal; without the web UI, that of the API and how to get the web UI.
    #[must_use]
    pub fn lines(self, address: SocketAddr) -> String {
        match self {
            Self::Included => format!("  http://{address}\n"),
            Self::Missing => format!(
                "  http://{address}/api/v1/fleet\n\nThis binary does not include the web UI, only the API. To include it, \
                 run\n`npm ci && npm run build` in the folder ui and build mainstay again.\n"
            ),
        }
    }
}

/// Answers every path that is not an API call.
pub(super) async fn page(method: Method, uri: Uri) -> Result<Response, ErrorResponse> {
    let path = uri.path();
    if path.starts_with("/api/") {
        return Err(ErrorResponse::no_such_call(path));
    }
    if method != Method::GET && method != Method::HEAD {
        return Err(ErrorResponse::not_allowed());
    }
    let name = path.trim_start_matches('/');
    match name {
        "" | "index.html" => Ok(Assets::get("index.html")
            .map_or_else(|| Html(MISSING).into_response(), |file| answer("index.html", file.data))),
        _ => Assets::get(name).map(|file| answer(name, file.data)).ok_or_else(|| ErrorResponse::no_such_call(path)),
    }
}

fn answer(name: &str, data: std::borrow::Cow<'static, [u8]>) -> Response {
    let kept = if name.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let bytes = match data {
        std::borrow::Cow::Borrowed(data) => Bytes::from_static(data),
        std::borrow::Cow::Owned(data) => Bytes::from(data),
    };
    (StatusCode::OK, [(header::CONTENT_TYPE, kind(name)), (header::CACHE_CONTROL, kept)], bytes).into_response()
}

/// The content type by file extension; other files are bytes.
fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "webmanifest" => "application/json",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_binary_with_the_web_ui_prints_its_address() {
        let address: SocketAddr = "127.0.0.1:7878".parse().unwrap();
        assert_eq!(WebUi::Included.lines(address), "  http://127.0.0.1:7878\n");
        let missing = WebUi::Missing.lines(address);
        assert!(missing.contains("does not include the web UI") && missing.contains("npm run build"), "{missing}");
        assert!(!missing.contains("http://127.0.0.1:7878\n"), "{missing}");
    }
}
