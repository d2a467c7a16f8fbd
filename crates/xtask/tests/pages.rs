//! Pages that name functions name functions that exist.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

#[test]
fn every_function_on_the_page_about_one_error_line_is_in_its_file_and_is_named_once() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/contribute");
    let page = fs::read_to_string(folder.join("one-error-line.md"))?;
    let mut named = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| ") && line.contains("](")) {
        let (_, rest) = row.split_once("](").context("no link")?;
        let (file, rest) = rest.split_once(')').context("a link without an end")?;
        let function = rest.split('`').nth(1).with_context(|| format!("no function: {row}"))?;
        let code = fs::read_to_string(folder.join(file)).with_context(|| file.to_owned())?;
        ensure!(code.contains(&format!("fn {function}(")), "{file} has no function {function}");
        ensure!(!named.contains(&(file.to_owned(), function.to_owned())), "{file} {function} is visited twice");
        named.push((file.to_owned(), function.to_owned()));
    }
    ensure!(named.len() > 15, "the page has {} rows", named.len());
    Ok(())
}
