//! Makes `ui/src/waiting.ts`: the web UI shows the model's own texts for what a node waits on.

use std::fmt::Write as _;

use mainstay_model::WaitingOn;

use super::GeneratedFile;

const HEAD: &str = "\
// Generated from crates/mainstay-model/src/waiting.rs by `cargo xtask gen`; do not edit.

import type { WaitingOn } from \"./contract\";
";

pub(super) fn file() -> anyhow::Result<GeneratedFile> {
    let mut text = HEAD.to_owned();
    table(&mut text, "WAIT_NOUN", "The reason as it completes \"waiting for …\".", WaitingOn::noun)?;
    table(&mut text, "WAIT_ENDS", "What ends the wait, as one sentence.", WaitingOn::ends_when)?;
    Ok(GeneratedFile { path: "ui/src/waiting.ts".to_owned(), text })
}

fn table(text: &mut String, name: &str, doc: &str, of: fn(WaitingOn) -> &'static str) -> anyhow::Result<()> {
    writeln!(text, "\n/** {doc} */\nexport const {name}: Record<WaitingOn, string> = {{")?;
    for reason in WaitingOn::ALL {
        writeln!(text, "  {}: {},", reason.word(), serde_json::to_string(of(reason))?)?;
    }
    writeln!(text, "}};")?;
    Ok(())
}
