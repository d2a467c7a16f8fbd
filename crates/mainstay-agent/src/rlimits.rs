//! Resource limits of a program that the agent starts. They are set by this program itself in a new process, which then
//! becomes the other one: so they hold from its first instruction on and for whatever it starts, without code between
//! fork and exec.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;
use rustix::process::{
    Resource, Rlimit, Signal, getpriority_process, getrlimit, set_parent_process_death_signal, setrlimit,
};
use serde::Deserialize;

use crate::output::{self, CommandOutput, Outcome, Problem};

/// The hidden word that sets limits.
pub(crate) const WORD: &str = "limited";

/// What one program may use. What is not said is not limited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// How far others go first, 0 to 19.
    #[arg(long, default_value_t = 0)]
    #[serde(default)]
    pub nice: u8,
    /// Processor time of each process, after which the kernel ends it.
    #[arg(long)]
    pub cpu_seconds: Option<u64>,
    /// Address space limit of each process, in MiB; too small for CUDA
    #[arg(long)]
    pub memory_mib: Option<u64>,
    /// The largest file that may be written.
    #[arg(long)]
    pub file_mib: Option<u64>,
    /// Open files of each process.
    #[arg(long)]
    pub open_files: Option<u64>,
}

/// A command line to execute after the resource limits are set.
#[derive(Debug, Args)]
pub(crate) struct LimitedCommand {
    #[command(flatten)]
    limits: Limits,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

// === impl Limits ===

impl Limits {
    /// As options of the hidden word.
    pub(crate) fn options(&self) -> Vec<String> {
        let mut options = vec![format!("--nice={}", self.nice)];
        let more = [
            ("cpu-seconds", self.cpu_seconds),
            ("memory-mib", self.memory_mib),
            ("file-mib", self.file_mib),
            ("open-files", self.open_files),
        ];
        options.extend(more.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?))));
        options
    }

    fn set(&self) -> io::Result<()> {
        let mib = |value: Option<u64>| value.map(|mib| mib.saturating_mul(1024 * 1024));
        let limits = [
            (Resource::Cpu, self.cpu_seconds),
            (Resource::As, mib(self.memory_mib)),
            (Resource::Fsize, mib(self.file_mib)),
            (Resource::Nofile, self.open_files),
            // A tool that crashes on a sick node must not fill its disk.
            (Resource::Core, Some(0)),
        ];
        for (resource, value) in limits {
            let Some(value) = value else { continue };
            // Who may have less than this has less, and needs no leave for that.
            let value = Some(getrlimit(resource).maximum.map_or(value, |most| most.min(value)));
            setrlimit(resource, Rlimit { current: value, maximum: value })?;
        }
        // Never in front of who started us.
        let nice = i32::from(self.nice.min(19)).max(getpriority_process(None)?);
        rustix::process::setpriority_process(None, nice)?;
        // Where the agent is killed, what it started is asked to end. Its children are not, so a script may leave one.
        set_parent_process_death_signal(Some(Signal::TERM))?;
        Ok(())
    }
}

// === impl LimitedCommand ===

impl LimitedCommand {
    /// Becomes the other program; comes back only where that cannot be, having said why.
    pub(crate) fn exec(&self) -> CommandOutput {
        let _ = output::fail(&self.set_limits_and_exec());
        CommandOutput { text: String::new(), outcome: Outcome::NotBegun }
    }

    fn set_limits_and_exec(&self) -> Problem {
        if let Err(error) = self.limits.set() {
            return Problem::new("cannot set resource limits", error, "use limits within those of this process.");
        }
        let Some((program, arguments)) = self.command.split_first() else {
            return Problem::new("no program to start", "the command line has no program.", "add one after --.");
        };
        let error = Command::new(program).args(arguments).exec();
        Problem::new(
            format!("cannot start {}", program.display()),
            error,
            "check that it is executable on this machine.",
        )
    }
}
