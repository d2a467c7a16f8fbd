//! Has the binary built again when its web page was. The page's folder is made where it is missing: an empty one can be
//! watched, and a binary for development reads the page from there whenever it appears.

use std::io::Write as _;

/// What `npm run build` fills.
const PAGE: &str = "../../ui/dist";

fn main() -> std::io::Result<()> {
    // In a checkout that cannot be written to there is no page, and none can appear.
    let _ = std::fs::create_dir_all(PAGE);
    let mut out = std::io::stdout();
    writeln!(out, "cargo::rerun-if-changed=build.rs\ncargo::rerun-if-changed={PAGE}")
}
