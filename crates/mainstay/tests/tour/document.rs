//! The `sh` blocks of a page as commands with their expected exit codes and outputs. It runs nothing.
//!
//! A command that fails on purpose has a comment `# exit code N`. A comment `<!-- output: TEXT -->` after a block is text
//! that its output must contain.

use anyhow::{Context as _, Result, ensure};

/// A fenced block of commands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) page: String,
    /// Line of the fence, from 1.
    pub(crate) line: usize,
    /// The nearest heading above it.
    pub(crate) heading: String,
    pub(crate) commands: Vec<Printed>,
    /// Texts that the output must contain.
    pub(crate) output: Vec<String>,
}

/// One command, as printed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) exit_code: i32,
}

const EXIT_CODE: &str = "# exit code ";

/// Every `sh` block of a page.
pub(crate) fn blocks(page: &str, text: &str) -> Result<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut heading = String::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let inside: Vec<(&str, usize)> = lines.by_ref().take_while(|(line, _)| *line != "```").collect();
            if kind == "sh" {
                let commands = commands(&inside).with_context(|| format!("{page}:{number}"))?;
                let (page, heading) = (page.to_owned(), heading.clone());
                blocks.push(Block { page, line: number, heading, commands, output: Vec::new() });
            }
        } else if let Some(title) = line.strip_prefix('#') {
            heading = title.trim_start_matches('#').trim().to_owned();
        } else if let Some(text) = line.strip_prefix("<!-- output: ").and_then(|rest| rest.strip_suffix(" -->")) {
            let block = blocks.last_mut().with_context(|| format!("{page}:{number} has no block above it"))?;
            block.output.push(text.to_owned());
        }
    }
    Ok(blocks)
}

fn commands(lines: &[(&str, usize)]) -> Result<Vec<Printed>> {
    let mut commands = Vec::new();
    let mut lines = lines.iter();
    while let Some((first, line)) = lines.next() {
        if first.trim().is_empty() || first.starts_with('#') {
            continue;
        }
        let (mut text, mut last) = ((*first).to_owned(), *first);
        let mut here_document = first.split_once("<<").map(|(_, end)| end.trim());
        while here_document.is_some() || last.ends_with('\\') {
            let (next, _) = lines.next().context("a command does not end in its block")?;
            text.push('\n');
            text.push_str(next);
            here_document = here_document.filter(|end| end != next);
            last = next;
        }
        commands.push(Printed { line: *line, exit_code: exit_code(&text)?, text });
    }
    ensure!(!commands.is_empty(), "the block has no command");
    Ok(commands)
}

fn exit_code(text: &str) -> Result<i32> {
    let Some((_, rest)) = text.split_once(EXIT_CODE) else { return Ok(0) };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().with_context(|| format!("no exit code in {text}"))
}

#[test]
fn commands_headings_exit_codes_and_outputs_are_read() -> Result<()> {
    let page = "# A\n## 1. B\n```sh\na \\\n  b\n# note\nc <<EOF\n# x\nEOF\nd   # exit code 5: why\n```\n\n\
                <!-- output: x y -->\n```text\nno\n```\n";
    let found = blocks("p.md", page)?;
    let [block] = found.as_slice() else { anyhow::bail!("{found:?}") };
    assert_eq!((block.heading.as_str(), block.line, block.output.as_slice()), ("1. B", 3, &["x y".to_owned()][..]));
    let commands: Vec<(usize, &str, i32)> =
        block.commands.iter().map(|command| (command.line, command.text.as_str(), command.exit_code)).collect();
    assert_eq!(commands, [(4, "a \\\n  b", 0), (7, "c <<EOF\n# x\nEOF", 0), (10, "d   # exit code 5: why", 5)]);
    assert!(blocks("p.md", "```sh\na \\\n```\n").is_err(), "a command that does not end was accepted");
    Ok(())
}
