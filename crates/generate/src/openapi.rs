//! Generates `docs/reference/openapi.json` from the routes and types of `mainstay-api`. The HTTP servers return the
//! same document.

use anyhow::Context;

use super::GeneratedFile;

pub(super) fn file() -> anyhow::Result<GeneratedFile> {
    let text = serde_json::to_string_pretty(&mainstay_api::http::openapi())
        .context("cannot write the OpenAPI document as JSON")?;
    Ok(GeneratedFile { path: "docs/reference/openapi.json".to_owned(), text: text + "\n" })
}
