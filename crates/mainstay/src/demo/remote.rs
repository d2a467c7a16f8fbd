//! Requests to a running demo, over the HTTP API that its web UI uses.

use mainstay_api::http::{AcceptedResponse, Problem as Refused, Route};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::output::Problem;

/// Longer than the server's own limit on an answer.
const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(12);

/// The URL of a demo from an address with or without a scheme and a port; a number alone is a port of this machine.
pub(super) fn url(address: &str) -> Result<String, Problem> {
    let invalid = |detail: &str| Problem {
        what: format!("invalid address: {}", address.escape_debug()),
        detail: format!("{detail}."),
        hint: "use HOST:PORT, for example --address 127.0.0.1:7878, or --port 7878.".to_owned(),
    };
    let is_port = !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_digit());
    let full = match address {
        port if is_port => format!("http://127.0.0.1:{port}"),
        url if url.contains("://") => url.to_owned(),
        host => format!("http://{host}"),
    };
    let mut url = reqwest::Url::parse(&full).map_err(|error| invalid(&error.to_string()))?;
    if url.scheme() != "http" {
        return Err(invalid("a demo uses http://"));
    }
    // Url leaves the standard port out, and a demo is never there unless the address names it.
    let has_port = full.trim_end_matches('/').ends_with(":80") || url.port().is_some();
    if !has_port && url.set_port(Some(super::PORT)).is_err() {
        return Err(invalid("the address has no host"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Makes a call at a URL, and returns when it was accepted.
pub(super) fn call(address: &str, route: Route, body: &impl Serialize) -> Result<AcceptedResponse, Problem> {
    let url = format!("{}{}", address.trim_end_matches('/'), route.call().1);
    answer(address, |client| client.post(url).json(body))
}

/// Reads an object by its name, the last part of the route's path.
pub(super) fn read<T: DeserializeOwned>(address: &str, route: Route, name: &str) -> Result<T, Problem> {
    let mut url = reqwest::Url::parse(&format!("{}{}", address.trim_end_matches('/'), route.call().1))
        .map_err(|error| strange(address, &error))?;
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop().push(name);
    }
    answer(address, |client| client.get(url))
}

fn answer<T: DeserializeOwned>(
    address: &str,
    request: impl FnOnce(&reqwest::Client) -> reqwest::RequestBuilder,
) -> Result<T, Problem> {
    super::runtime()?.block_on(async {
        let client =
            reqwest::Client::builder().timeout(ANSWER_WITHIN).build().map_err(|error| silent(address, &error))?;
        let response = request(&client).send().await.map_err(|error| silent(address, &error))?;
        if response.status().is_success() {
            return response.json().await.map_err(|error| strange(address, &error));
        }
        let Refused { what, detail, hint } = response.json().await.map_err(|error| strange(address, &error))?;
        Err(Problem { what, detail, hint })
    })
}

fn silent(address: &str, error: &reqwest::Error) -> Problem {
    Problem {
        what: format!("cannot reach a demo at {address}"),
        detail: format!("{}.", mainstay_text::root_cause(error)),
        hint: "start one with `mainstay demo`, or give its --port or --address.".to_owned(),
    }
}

fn strange(address: &str, error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: format!("the server at {address} is not a demo"),
        detail: format!("{error}."),
        hint: "check --port or --address; the demo prints its address when it starts.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_no_scheme_and_no_port() {
        for (address, expected) in [
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
            ("http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
            ("127.0.0.1:9000", "http://127.0.0.1:9000"),
            ("localhost:9000", "http://localhost:9000"),
            ("localhost", "http://localhost:7878"),
            ("9000", "http://127.0.0.1:9000"),
            ("[::1]:9000", "http://[::1]:9000"),
        ] {
            assert_eq!(url(address).unwrap(), expected, "{address}");
        }
        for address in ["", "https://127.0.0.1:9000", "http://", "a b", "99999"] {
            let problem = url(address).unwrap_err();
            assert!(problem.what.starts_with("invalid address: ") && problem.hint.contains("HOST:PORT"), "{problem:?}");
            assert!(!problem.detail.contains("relative URL"), "{problem:?}");
        }
    }
}
