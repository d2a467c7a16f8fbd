//! What is said to a demo that runs already, over the same calls that its web page makes.

use mainstay_api::http::{Accepted, Problem as Refused, Route};
use serde::Serialize;

use crate::output::Problem;

/// Longer than the server's own limit on an answer.
const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(12);

/// Makes a call at an address, and answers what it was taken as.
pub(super) fn call(address: &str, route: Route, body: &impl Serialize) -> Result<Accepted, Problem> {
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let url = format!("{}{}", address.trim_end_matches('/'), route.call().1);
        let client =
            reqwest::Client::builder().timeout(ANSWER_WITHIN).build().map_err(|error| silent(address, &error))?;
        let response = client.post(url).json(body).send().await.map_err(|error| silent(address, &error))?;
        if response.status().is_success() {
            return response.json().await.map_err(|error| strange(address, &error));
        }
        let Refused { what, detail, hint } = response.json().await.map_err(|error| strange(address, &error))?;
        Err(Problem { what, detail, hint })
    })
}

fn silent(address: &str, error: &reqwest::Error) -> Problem {
    let detail = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    Problem {
        what: format!("no demo answers at {address}"),
        detail: format!("{detail}."),
        hint: "start one with `mainstay demo`, or say where it is with --address.".to_owned(),
    }
}

fn strange(address: &str, error: &reqwest::Error) -> Problem {
    Problem {
        what: format!("what answers at {address} is no demo"),
        detail: format!("{error}."),
        hint: "say where the demo is with --address; it printed its address when it started.".to_owned(),
    }
}
