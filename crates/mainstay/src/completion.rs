//! Completion: scripts for shells, and completions for kubectl, which runs a companion of the plugin. Both are generated
//! from the command line definition.

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output::{CommandOutput, Problem};

pub(crate) const HELP: &str = "\
Examples:
  mainstay completion bash > /etc/bash_completion.d/mainstay
  mainstay completion zsh > \"${fpath[1]}/_mainstay\"
  mainstay completion fish > ~/.config/fish/completions/mainstay.fish

For the kubectl plugin, kubectl completes the command line: put links to this program, named kubectl-mainstay and \
kubectl_complete-mainstay, on the PATH.";

/// What kubectl is told last: nothing else is to be completed, no files either (cobra's ShellCompDirectiveNoFileComp).
const NO_FILES: &str = ":4\n";
/// The same where files are what is wanted (ShellCompDirectiveDefault).
const FILES: &str = ":0\n";

/// The script of a shell.
pub(crate) fn script(shell: Shell) -> Result<String, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mainstay", &mut script);
    String::from_utf8(script).map_err(|error| Problem {
        what: "cannot create the completion script".to_owned(),
        detail: format!("{error}."),
        hint: "this is a bug in mainstay: please report it with the command you ran.".to_owned(),
    })
}

/// What may come next, as kubectl reads it: one a line with what it is, then what to do with them.
pub(crate) fn for_kubectl(words: impl Iterator<Item = String>) -> CommandOutput {
    let words: Vec<String> = words.collect();
    let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let command = Cli::command();
    let mut here = &command;
    let mut value_of = None;
    for word in before {
        value_of = match (value_of, word.strip_prefix('-')) {
            (Some(_), _) => None,
            (None, Some(_)) => option(here, word).filter(|option| option.get_action().takes_values()),
            (None, None) => {
                here = here.find_subcommand(word).unwrap_or(here);
                None
            }
        };
    }
    let offered: Vec<(String, String)> = match value_of {
        Some(option) => values(option),
        None if last.starts_with('-') => options(here),
        None => subcommands(here),
    };
    let is_file = value_of.is_some_and(|option| values(option).is_empty());
    let fitting = offered.into_iter().filter(|(word, _)| word.starts_with(last));
    let lines: String = fitting.map(|(word, about)| format!("{word}\t{about}\n")).collect();
    CommandOutput::success(lines + if is_file { FILES } else { NO_FILES })
}

fn option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let is = |option: &&Arg| {
        option.get_long().is_some_and(|long| word == format!("--{long}"))
            || option.get_short().is_some_and(|short| word == format!("-{short}"))
    };
    command.get_arguments().find(is)
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(|text| text.to_string().lines().next().unwrap_or_default().to_owned()).unwrap_or_default()
}

fn values(option: &Arg) -> Vec<(String, String)> {
    let all = option.get_possible_values();
    all.iter().map(|value| (value.get_name().to_owned(), about(value.get_help()))).collect()
}

fn options(command: &Command) -> Vec<(String, String)> {
    let all = command.get_arguments().filter(|option| !option.is_hide_set());
    all.filter_map(|option| Some((format!("--{}", option.get_long()?), about(option.get_help())))).collect()
}

fn subcommands(command: &Command) -> Vec<(String, String)> {
    let all = command.get_subcommands().filter(|word| !word.is_hide_set());
    all.map(|word| (word.get_name().to_owned(), about(word.get_about()))).collect()
}
