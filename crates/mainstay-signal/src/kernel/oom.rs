//! Out-of-memory events of a container or of the node. The killed process is left out, because a tenant chose its name.
//!
//! The formats come from the kernel's `mm/oom_kill.c`: `oom-kill:constraint=…` gives the reason, and `Out of memory:
//! Killed process …` reports that a process was killed. One event prints both, so they have different codes.

use mainstay_model::Source;

use crate::scan::Cursor;
use crate::{Place, Signal};

/// Beginnings of a kill line, with the memory that ran out.
const KILLS: &[(&str, &str)] = &[
    // Newer kernels print `Killed`; older ones announced it with `Kill process … or sacrifice child`.
    ("Out of memory: Kill", "node"),
    ("Out of memory (oom_kill_allocating_task): Kill", "node"),
    ("Memory cgroup out of memory: Kill", "cgroup"),
];

pub(super) fn parse(text: &str) -> Option<Signal> {
    let (code, detail) = kill(text).or_else(|| constraint(text)).or_else(|| report(text))?;
    Signal::new(Source::Kernel, code, Place::Node, &detail)
}

fn kill(text: &str) -> Option<(&'static str, String)> {
    let (_, whose) = KILLS.iter().find(|(beginning, _)| text.starts_with(beginning))?;
    Some(("oom-kill", (*whose).to_owned()))
}

/// Maps `CONSTRAINT_NONE` (the node), `CONSTRAINT_MEMCG` (a container), `CONSTRAINT_CPUSET` and
/// `CONSTRAINT_MEMORY_POLICY`.
fn constraint(text: &str) -> Option<(&'static str, String)> {
    let mut line = Cursor::new(text);
    line.eat("oom-kill:constraint=CONSTRAINT_")?;
    Some(("oom", line.word().unwrap_or_default().to_ascii_lowercase()))
}

/// Parses other lines of the report. They have a code of their own, because one event prints several. The name of a
/// process begins the first, and a tenant chose it.
fn report(text: &str) -> Option<(&'static str, String)> {
    let is_invoked = text.split_once(" invoked oom-killer: gfp_mask=0x").is_some_and(|(name, _)| name.len() <= 15);
    let part = if is_invoked {
        "invoked"
    } else if text.starts_with("oom_reaper: reaped process ") {
        "reaped"
    } else if text.starts_with("Tasks state (memory values in pages):") {
        "tasks"
    } else {
        return None;
    };
    Some(("oom-report", part.to_owned()))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("Out of memory: Killed process 1234 (python) total-vm:25004420kB, anon-rss:91796kB, file-rss:15612kB, shmem-rss:0kB, UID:0 pgtables:716kB oom_score_adj:0", "Kernel oom-kill node node"),
        ("Out of memory: Kill process 1234 (chrome) score 850 or sacrifice child", "Kernel oom-kill node node"),
        ("Out of memory (oom_kill_allocating_task): Killed process 7 (a b) total-vm:1kB", "Kernel oom-kill node node"),
        ("Memory cgroup out of memory: Killed process 11433 (java) total-vm:25004420kB, anon-rss:91796kB", "Kernel oom-kill node cgroup"),
        ("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=node,pid=5678,uid=1000", "Kernel oom node none"),
        ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0-1,oom_memcg=/kubepods,task=python,pid=9,uid=0", "Kernel oom node memcg"),
        ("oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=0", "Kernel oom node memory_policy"),
        ("StreamTrans #72 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=167", "Kernel oom-report node invoked"),
        ("oom_reaper: reaped process 345646 (vector), now anon-rss:0kB, file-rss:0kB, shmem-rss:0", "Kernel oom-report node reaped"),
        ("NVRM: Xid (PCI: invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0", "Kernel oom-report node invoked"),
        ("Tasks state (memory values in pages):", "Kernel oom-report node tasks"),
    ];

    #[test]
    fn memory_that_ran_out_says_whose_it_was() {
        says(LINES);
    }

    #[test]
    fn the_rest_of_the_report_is_left_alone() {
        nothing(&[
            "Killed process 1234 (chrome) total-vm:2345678kB, anon-rss:1234567kB, file-rss:0kB, shmem-rss:0kB",
            "Mem-Info:",
        ]);
    }
}
