//! Detects the name under which the program was started, and adapts help, examples and hints to it. A file
//! `kubectl-mainstay` on the path makes it a plugin of kubectl, and a file `kubectl_complete-mainstay` is what kubectl
//! asks to complete that plugin's words; both are links to this program. Help, examples and hints say what the person
//! would type.

use std::path::Path;

use clap::Command;

/// Name under which the program was started: `mainstay`, kubectl plugin or completion helper.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramName {
    /// Its own.
    Mainstay,
    /// `kubectl mainstay`.
    Plugin,
    /// By kubectl, to complete the plugin's words.
    Completion,
}

/// Words after which a text speaks of the program and not of the thing.
const WORDS: [&str; 21] = [
    "assess",
    "breaker",
    "budget",
    "completion",
    "crds",
    "demo",
    "doctor",
    "gameday",
    "incident",
    "node",
    "plan",
    "render",
    "review",
    "runbook",
    "serve",
    "sim",
    "slo",
    "status",
    "ui",
    "version",
    "why",
];

impl ProgramName {
    pub(crate) fn of_process() -> Self {
        let name = std::env::args_os().next().unwrap_or_default();
        match Path::new(&name).file_stem().and_then(|name| name.to_str()) {
            Some("kubectl-mainstay") => Self::Plugin,
            Some("kubectl_complete-mainstay") => Self::Completion,
            Some(_) | None => Self::Mainstay,
        }
    }

    /// The command line under this name.
    pub(crate) fn command(self, command: Command) -> Command {
        match self {
            Self::Mainstay | Self::Completion => command,
            Self::Plugin => renamed(command).bin_name("kubectl mainstay"),
        }
    }

    /// A text in which the program has this name.
    pub(crate) fn with_program_name(self, text: &str) -> String {
        if self != Self::Plugin {
            return text.to_owned();
        }
        let mut text = text.to_owned();
        for word in WORDS {
            text = text.replace(&format!("mainstay {word}"), &format!("kubectl mainstay {word}"));
        }
        text
    }
}

fn renamed(command: Command) -> Command {
    let help = command.get_after_help().map(|help| ProgramName::Plugin.with_program_name(&help.to_string()));
    let command = match help {
        Some(help) => command.after_help(help),
        None => command,
    };
    command.mut_subcommands(renamed)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_plugin_says_what_its_caller_would_type() {
        let mut command = ProgramName::Plugin.command(Cli::command());
        command.build();
        let status = command.find_subcommand_mut("status").unwrap();
        let help = status.render_help().to_string();
        assert!(
            help.contains("Usage: kubectl mainstay status") && help.contains("\n  kubectl mainstay status --watch")
        );
        assert!(!help.contains("\n  mainstay "), "{help}");
        assert_eq!(
            ProgramName::Plugin.with_program_name("`mainstay why node NAME`"),
            "`kubectl mainstay why node NAME`"
        );
        assert_eq!(ProgramName::Mainstay.with_program_name("`mainstay why node NAME`"), "`mainstay why node NAME`");
    }

    #[test]
    fn every_word_is_known_by_which_a_text_may_call_the_program() {
        let command = Cli::command();
        for word in command.get_subcommands().map(Command::get_name) {
            assert!(WORDS.contains(&word), "{word}");
        }
    }
}
