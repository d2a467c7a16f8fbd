//! Builds this crate again when the web UI was built again. It creates the folder of the web UI if that is missing: Cargo
//! can watch an empty folder, and a development build reads the web UI from it at run time.

use std::io::Write as _;

/// The folder that `npm run build` fills.
const WEB_UI: &str = "../../ui/dist";

fn main() -> std::io::Result<()> {
    // A checkout without write permission has no web UI, and none can appear.
    let _ = std::fs::create_dir_all(WEB_UI);
    let mut out = std::io::stdout();
    writeln!(out, "cargo::rerun-if-changed=build.rs\ncargo::rerun-if-changed={WEB_UI}")
}
