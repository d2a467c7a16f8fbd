//! Every ban in the clippy configurations bites. Clippy says nothing about a path of a primitive that does not exist
//! (`f64::sinn`), so a ban with a slip of the pen would protect nobody.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(120);

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
async fn every_ban_of_the_pure_crates_bites() {
    every_ban_bites("tools/clippy/pure").await;
}

#[tokio::test]
async fn every_ban_of_the_edges_bites() {
    every_ban_bites("").await;
}

/// Names every banned path in a crate of its own, and asks clippy.
async fn every_ban_bites(folder: &str) {
    let bans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).canonicalize().unwrap();
    let configuration: toml::Table = toml::from_str(&fs::read_to_string(bans.join("clippy.toml")).unwrap()).unwrap();
    let banned = |kind: &str| -> Vec<String> {
        let list = configuration[kind].as_array().unwrap();
        list.iter()
            .map(|ban| {
                assert!(ban.get("reason").is_some(), "{ban} has no reason");
                ban["path"].as_str().unwrap().to_owned()
            })
            .collect()
    };
    let (types, methods) = (banned("disallowed-types"), banned("disallowed-methods"));

    let named = |path: &String| {
        let generics = GENERICS.iter().find(|(known, _)| known == path).map_or("", |(_, generics)| generics);
        format!("{path}{generics}")
    };
    let mut code = String::new();
    for (at, path) in types.iter().enumerate() {
        code += &format!("pub fn type_{at}(_: &{}) {{}}\n", named(path));
    }
    for (at, path) in methods.iter().enumerate() {
        code += &format!("pub fn method_{at}() {{ let _ = {}; }}\n", named(path));
    }
    let said = clippy(&code, &bans).await;
    let silent: Vec<&String> =
        types.iter().chain(&methods).filter(|path| !said.contains(&format!("`{path}`"))).collect();
    assert!(silent.is_empty(), "these bans do not bite: {silent:?}\n{said}");
    assert!(!types.is_empty() && !methods.is_empty());
}

async fn clippy(code: &str, bans: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "[package]\nname = \"banned\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.path().join("src/lib.rs"), code).unwrap();
    let mut cargo = Command::new("cargo");
    cargo.args(["clippy", "--offline", "--message-format", "short"]).current_dir(folder.path());
    cargo.env("CLIPPY_CONF_DIR", bans).env("CARGO_TARGET_DIR", folder.path().join("target"));
    cargo.env("CARGO_TERM_COLOR", "never").stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(LIMIT, cargo.output()).await.expect("clippy ends in time").unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}
