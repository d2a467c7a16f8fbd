//! Makes `docs/reference/openapi.json` from the routes and types of `mainstay-api`: the document that a server answers with.

use anyhow::Context;

use super::Generated;

pub(super) fn file() -> anyhow::Result<Generated> {
    let text = serde_json::to_string_pretty(&mainstay_api::http::openapi()).context("the document has no JSON form")?;
    Ok(Generated { path: "docs/reference/openapi.json".to_owned(), text: text + "\n" })
}
