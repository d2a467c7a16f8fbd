//! Every ban in the clippy configurations works. Clippy accepts a path of a primitive that does not exist (`f64::sinn`), so a
//! ban with a typing error would have no effect.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(120);

/// The part of a clippy configuration that is tried here.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Bans {
    disallowed_types: Vec<Ban>,
    disallowed_methods: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    path: String,
    reason: String,
}

/// What a banned path needs to be named in an expression or a type.
const GENERICS: &[(&str, &str)] = &[
    ("std::env::var", "::<&str>"),
    ("std::env::var_os", "::<&str>"),
    ("std::fs::read", "::<&str>"),
    ("std::fs::read_to_string", "::<&str>"),
    ("std::fs::write", "::<&str, &str>"),
    ("std::thread::spawn", "::<fn(), ()>"),
    ("std::collections::HashMap", "<u8, u8>"),
    ("std::collections::HashSet", "<u8>"),
    ("std::sync::Mutex", "<u8>"),
];

#[tokio::test]
async fn every_ban_of_the_pure_crates_bites() -> anyhow::Result<()> {
    every_ban_bites("tools/clippy/pure").await
}

#[tokio::test]
async fn every_ban_of_the_edges_bites() -> anyhow::Result<()> {
    every_ban_bites("").await
}

/// Names every banned path in a crate of its own, and asks clippy.
async fn every_ban_bites(folder: &str) -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).canonicalize()?;
    let Bans { disallowed_types: types, disallowed_methods: methods } =
        toml::from_str(&fs::read_to_string(folder.join("clippy.toml"))?)?;
    ensure!(!types.is_empty() && !methods.is_empty(), "there is nothing to try");
    for ban in types.iter().chain(&methods) {
        ensure!(ban.reason.len() > 10, "{} is banned without a reason", ban.path);
    }

    let named = |ban: &Ban| {
        let generics = GENERICS.iter().find(|(known, _)| *known == ban.path).map_or("", |(_, generics)| generics);
        format!("{}{generics}", ban.path)
    };
    let mut code = String::new();
    for (at, ban) in types.iter().enumerate() {
        code += &format!("pub fn type_{at}(_: &{}) {{}}\n", named(ban));
    }
    for (at, ban) in methods.iter().enumerate() {
        code += &format!("pub fn method_{at}() {{ let _ = {}; }}\n", named(ban));
    }
    let said = clippy(&code, &folder).await?;
    let paths = types.iter().chain(&methods).map(|ban| ban.path.as_str());
    let silent: Vec<&str> = paths.filter(|path| !said.contains(&format!("`{path}`"))).collect();
    ensure!(silent.is_empty(), "these bans do not bite: {silent:?}\n{said}");
    Ok(())
}

async fn clippy(code: &str, bans: &Path) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let manifest = "[package]\nname = \"banned\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::create_dir(folder.path().join("src"))?;
    fs::write(folder.path().join("Cargo.toml"), manifest)?;
    fs::write(folder.path().join("src/lib.rs"), code)?;
    let mut cargo = Command::new("cargo");
    cargo.args(["clippy", "--offline", "--message-format", "short"]).current_dir(folder.path());
    cargo.env("CLIPPY_CONF_DIR", bans).env("CARGO_TARGET_DIR", folder.path().join("target"));
    cargo.env("CARGO_TERM_COLOR", "never").stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(LIMIT, cargo.output()).await.context("clippy takes too long")??;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{said}");
    Ok(said)
}
