//! The kernel's watchdogs: soft and hard lockups and hung tasks. The process is left out, because a tenant chooses its
//! name. The CPU is left out, because a busy node would fill the tally.
//!
//! The formats come from `kernel/watchdog.c`, `kernel/hung_task.c`, `kernel/rcu/tree_stall.h` and `kernel/workqueue.c`; their prefixes changed with the versions.

use mainstay_model::Source;

use crate::scan::Cursor;
use crate::{Place, Signal};

/// Maximum length of a task's name and number, with a margin. A crashed process named `INFO: task` also begins a kernel
/// line, but the kernel's text about a crash is longer.
const TASK_BYTES_MAX: usize = 48;

pub(super) fn parse(text: &str) -> Option<Signal> {
    let code = watchdog(text).or_else(|| hung_task(text)).or_else(|| stall(text))?;
    Signal::new(Source::Kernel, code, Place::Node, "")
}

/// Parses `watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python:1234]` and `NMI watchdog: Watchdog detected hard
/// LOCKUP on cpu 3`, on newer kernels `watchdog: CPU3: Watchdog detected …`.
fn watchdog(text: &str) -> Option<&'static str> {
    let mut line = Cursor::new(text);
    let _ = line.eat("NMI ");
    let _ = line.eat("watchdog: ");
    if line.eat("BUG: soft lockup - CPU#").is_some() {
        line.number()?;
        return line.eat(" stuck for ").map(|()| "soft-lockup");
    }
    if line.eat("CPU").is_some() {
        line.number()?;
        line.eat(": ")?;
    }
    line.eat("Watchdog detected hard LOCKUP on cpu ").map(|()| "hard-lockup")
}

/// Parses `INFO: task python:1234 blocked for more than 120 seconds.`, on newer kernels `blocked in I/O wait for more
/// than`. The next line, `is blocked on a mutex likely owned by …`, is about the same task.
fn hung_task(text: &str) -> Option<&'static str> {
    let mut line = Cursor::new(text);
    line.eat("INFO: task ")?;
    let task = line.until(" blocked ")?;
    let wait = line.until("for more than ")?;
    (task.len() <= TASK_BYTES_MAX && wait.len() <= TASK_BYTES_MAX).then_some("hung-task")
}

/// Parses `rcu: INFO: rcu_sched self-detected stall on CPU`, `INFO: rcu_preempt detected stalls on CPUs/tasks:` and
/// `BUG: workqueue lockup - pool cpus=3 …`.
fn stall(text: &str) -> Option<&'static str> {
    let mut line = Cursor::new(text);
    if line.eat("BUG: workqueue lockup - pool").is_some() {
        return Some("workqueue-lockup");
    }
    let _ = line.eat("rcu: ");
    line.eat("INFO: rcu")?;
    line.run(|c| c.is_ascii_lowercase() || c == '_');
    let stalls =
        [" self-detected stall on CPU", " detected stalls on CPUs/tasks", " detected expedited stalls on CPUs"];
    stalls.iter().any(|said| line.rest().starts_with(said)).then_some("rcu-stall")
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    pub(crate) const LINES: &[Line] = &[
        ("watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python:1234]", "Kernel soft-lockup node"),
        ("NMI watchdog: BUG: soft lockup - CPU#0 stuck for 24s! [dd:8103]", "Kernel soft-lockup node"),
        ("BUG: soft lockup - CPU#3 stuck for 67s! [kworker/3:1:99]", "Kernel soft-lockup node"),
        ("watchdog: BUG: soft lockup - CPU#11 stuck for 94s!", "Kernel soft-lockup node"),
        ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 1", "Kernel hard-lockup node"),
        ("watchdog: Watchdog detected hard LOCKUP on cpu 6", "Kernel hard-lockup node"),
        ("watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3", "Kernel hard-lockup node"),
        ("INFO: task python:1234 blocked for more than 120 seconds.", "Kernel hung-task node"),
        ("INFO: task kworker/0:2:7095 blocked for more than 241 seconds.", "Kernel hung-task node"),
        ("INFO: task my task:77 blocked in I/O wait for more than 122 seconds.", "Kernel hung-task node"),
        ("rcu: INFO: rcu_sched self-detected stall on CPU", "Kernel rcu-stall node"),
        (
            "INFO: rcu_sched self-detected stall on CPU { 2}  (t=21001 jiffies g=8727 c=8726 q=223)",
            "Kernel rcu-stall node",
        ),
        ("rcu: INFO: rcu_sched detected stalls on CPUs/tasks:", "Kernel rcu-stall node"),
        ("BUG: workqueue lockup - pool cpus=3 node=0 flags=0x0 nice=0 stuck for 33s!", "Kernel workqueue-lockup node"),
    ];

    #[test]
    fn a_lockup_is_a_fact_about_the_node() {
        says(LINES);
    }

    #[test]
    fn lines_about_watchdogs_that_found_nothing_are_left_alone() {
        nothing(&[
            "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
            "INFO: task kworker/0:2:7095 is blocked on a mutex likely owned by task kworker/u16:3:52.",
            "watchdog: BUG: soft lockup - CPU#x stuck for 23s! [python:1234]",
            "watchdog: CPU3: all is well",
        ]);
    }
}
