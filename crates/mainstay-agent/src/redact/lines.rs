//! Where names stand in lines: of the kernel, of audit, of journals, of `nvidia-smi`. A process may be called anything of up
//! to 15 bytes, also something with the very sign that ends a name; so a name reaches to the last such sign that is
//! possible. Formats are those of the kernel's `mm/oom_kill.c`, `kernel/hung_task.c`, `kernel/watchdog.c`,
//! `arch/x86/mm/fault.c`, `lib/dump_stack.c` and of the lines in `mainstay-signal`'s tests.

use std::ops::Range;

/// A task's name in the kernel (`TASK_COMM_LEN` less its end).
const NAME_BYTES_MAX: usize = 15;

/// How the text between a start marker and an end marker is treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameKind {
    /// A name, to the end of the line where nothing ends it.
    Name,
    /// A name, or other words where nothing ends it.
    NameIfEnded,
    /// A name that cannot hold what ends it.
    Word,
}
use NameKind::{Name, NameIfEnded, Word};

/// What begins a name within a line, and what may end it.
const BETWEEN: [(&str, &[&str], NameKind); 16] = [
    // NVRM: Xid (PCI:0000:b5:00): 31, pid=2079991, name=pt_main_thread, Ch 00000007
    (", name=", &[", "], Name),
    // CPU: 3 PID: 77 Comm: python3 Not tainted 6.8.0
    (" Comm: ", &[" Not tainted", " Tainted", " Kdump:"], Name),
    // INFO: task python3:4242 blocked for more than 120 seconds.
    ("INFO: task ", &[":"], NameIfEnded),
    // task:python3 state:D stack:0 pid:4242
    ("task:", &[" state:"], NameIfEnded),
    // watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:4242]
    ("s! [", &[":"], NameIfEnded),
    // oom-kill:constraint=…,cpuset=X,mems_allowed=0,oom_memcg=X,task_memcg=X,task=python3,pid=1,uid=0
    (",cpuset=", &[",mems_allowed="], Name),
    ("oom_memcg=", &[",task_memcg="], Name),
    ("task_memcg=", &[",task="], Name),
    (",task=", &[",pid="], Name),
    // process '/tmp/a.out' started with executable stack
    ("process '", &["' "], NameIfEnded),
    // warning: `python3' uses 32-bit capabilities
    ("warning: `", &["' "], NameIfEnded),
    // Process python3 (pid: 4242, stack limit = …)
    ("Process ", &[" (pid: "], NameIfEnded),
    // audit: type=1326 … comm="python3" exe="/usr/bin/python3"; what would need quoting is written as hexadecimal.
    (" comm=", &[" "], Word),
    (" exe=", &[" "], Word),
    (" cmd=", &[" "], Word),
    ("proctitle=", &[" "], Word),
];

/// What follows a name that a message begins with.
const BEFORE: [&str; 4] =
    [" invoked oom-killer:", ": page allocation failure:", ": page allocation stalls", "): drop_caches:"];

/// Paths and scopes of control groups that name a container, a pod or a job.
const CONTAINERS: [&str; 6] = ["kubepods", "/docker/", "cri-containerd-", "libpod-", "/lxc/", "/slurm/"];

/// Programs whose lines in a journal are about the machine. What others write is their own.
const ABOUT_THE_MACHINE: [&str; 14] = [
    "kernel",
    "systemd",
    "nvidia",
    "nv-",
    "nvrm",
    "dcgm",
    "mst",
    "openibd",
    "opensm",
    "rdma",
    "mcelog",
    "rasdaemon",
    "ipmi",
    "mainstay-agent",
];

/// Programs that begin likewise and speak of containers.
const ABOUT_CONTAINERS: [&str; 3] = ["nvidia-container", "nvidia-ctk", "nvidia-device-plugin"];

/// `<process_name>` of `nvidia-smi -q -x`, which may go on over lines.
pub(super) fn element(line: &str, inside: &mut bool, spans: &mut Vec<Range<usize>>) {
    const BEGIN: &str = "<process_name>";
    const END: &str = "</process_name>";
    let begin = if *inside { 0 } else { line.find(BEGIN).map_or(line.len(), |at| at + BEGIN.len()) };
    if begin == line.len() && !*inside && !line.ends_with(BEGIN) {
        return;
    }
    // One element a line, so its last end is its end.
    let end = line.rfind(END).filter(|end| *end >= begin);
    *inside = end.is_none();
    spans.push(begin..end.unwrap_or(line.len()));
}

/// Every name in a line; true where the last one may go on in the next line.
pub(super) fn all(line: &str, spans: &mut Vec<Range<usize>>) -> bool {
    let message = message(line);
    let mut open = false;
    if foreign(line) || command_of_smi(line) {
        let from = if foreign(line) { 0 } else { line.find(':').map_or(0, |colon| colon + 1) };
        spans.push(from..line.len());
        return false;
    }
    for (begin, ends, is) in BETWEEN {
        for (at, _) in line.match_indices(begin) {
            let from = at + begin.len();
            let text = line.get(from..).unwrap_or_default();
            let length = if is == Word { text.find(' ').unwrap_or(text.len()) } else { name(text, ends) };
            let is_ended = from + length < line.len();
            if !is_ended && is == NameIfEnded {
                continue;
            }
            open |= begin == ", name=" && !is_ended;
            spans.push(from..from + length);
        }
    }
    for marker in BEFORE {
        if let Some(end) = line.rfind(marker).filter(|end| *end > message) {
            spans.push(message..end);
        }
    }
    numbered(line, spans);
    crashed(line, message, spans);
    spans.extend(row(line, message));
    containers(line, spans);
    open
}

/// Where the message of a line begins, behind what the log puts in front of it: the first such sign, because what comes
/// later may be a tenant's word.
fn message(line: &str) -> usize {
    let stamped = line.starts_with(['[', '<']);
    let sign = if stamped { "] " } else { "kernel: " };
    line.find(sign).map_or(0, |at| at + sign.len())
}

/// How long a name is that ends with one of these.
fn name(text: &str, ends: &[&str]) -> usize {
    let longest = longest(text);
    let near = |end: &&str| {
        let until = (longest + end.len()).min(text.len());
        let window = (0..=until).rev().find_map(|bytes| text.get(..bytes));
        window.and_then(|window| window.rfind(end))
    };
    let far = |end: &&str| text.find(end);
    ends.iter().filter_map(near).max().or_else(|| ends.iter().filter_map(far).min()).unwrap_or(text.len())
}

/// How far a name may reach; `dmesg` writes bytes that cannot be printed as `\xNN`.
fn longest(text: &str) -> usize {
    let mut at = 0;
    for _ in 0..NAME_BYTES_MAX {
        let is_escaped = text.as_bytes().get(at..).is_some_and(|rest| rest.starts_with(b"\\x"));
        at += if is_escaped { 4 } else { 1 };
    }
    at
}

/// `Killed process 1234 (python3) total-vm`, `reaped process 7 (a b), now`, `Process 12 (x) of user 0 dumped core`.
fn numbered(line: &str, spans: &mut Vec<Range<usize>>) {
    for (at, word) in line.match_indices("rocess ") {
        let after = line.get(at + word.len()..).unwrap_or_default();
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || !after.get(digits..).is_some_and(|rest| rest.starts_with(" (")) {
            continue;
        }
        let from = at + word.len() + digits + 2;
        spans.push(from..from + name(line.get(from..).unwrap_or_default(), &[")"]));
    }
}

/// `python3[1234]: segfault at 8 ip … in libx.so[7f00+1000]`, `traps: python3[1] trap divide error … in a.out[…]`: the
/// process and the file.
fn crashed(line: &str, message: usize, spans: &mut Vec<Range<usize>>) {
    const SIGNS: [&str; 5] =
        ["]: segfault at", "] trap ", "] general protection", "]: bad frame", "]: potentially unexpected"];
    let Some(sign) = SIGNS.iter().filter_map(|sign| line.rfind(sign)).max() else { return };
    let start =
        message + line.get(message..).and_then(|text| text.strip_prefix("traps: ")).map_or(0, |_| "traps: ".len());
    let Some(end) = line.get(..sign).and_then(|text| text.rfind('[')).filter(|end| *end >= start) else { return };
    spans.push(start..end);
    let file = line.get(sign..).and_then(|text| text.find(" in ")).map(|at| sign + at + " in ".len());
    if let Some(file) = file {
        spans.push(file..line.len());
    }
}

/// A row of the list that the kernel prints when memory runs out: `[   1234]  1000  1234   98765  4321  98304  0  0 python3`.
fn row(line: &str, message: usize) -> Option<Range<usize>> {
    /// Fewer numbers than any kernel prints.
    const NUMBERS: usize = 6;
    let text = line.get(message..)?;
    let (pid, mut rest) = text.strip_prefix('[')?.split_once(']')?;
    pid.trim().parse::<u32>().ok()?;
    let mut numbers = 0;
    loop {
        let word = rest.trim_start();
        let length = word.find(' ').unwrap_or(word.len());
        let is_number = word.get(..length).is_some_and(|word| word.parse::<i64>().is_ok());
        // The last word is the name, also where it is a number.
        if !is_number || length == word.len() {
            let from = line.len() - word.len();
            return (numbers >= NUMBERS && !word.is_empty()).then_some(from..line.len());
        }
        numbers += 1;
        rest = word.get(length..)?;
    }
}

fn containers(line: &str, spans: &mut Vec<Range<usize>>) {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '=' | '"' | '\'' | ';' | ')');
    for (at, _) in CONTAINERS.iter().flat_map(|word| line.match_indices(word)) {
        let from = line.get(..at).and_then(|text| text.rfind(ends)).map_or(0, |sign| sign + 1);
        let length = line.get(at..).and_then(|text| text.find(ends)).unwrap_or(line.len() - at);
        spans.push(from..at + length);
    }
}

/// `Name : /usr/bin/python3`, below `Process ID` in `nvidia-smi -q`.
fn command_of_smi(line: &str) -> bool {
    line.starts_with(' ') && line.split_once(':').is_some_and(|(key, _)| key.trim() == "Name")
}

/// A line of a journal that a program wrote which is not about the machine: `Nov 17 10:00:00 host python3[12]: …`, or with
/// a date as in ISO 8601. The bug report of NVIDIA's driver looks through all of the journal.
fn foreign(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return false };
    let clock = |word: &str| word.len() >= 8 && word.bytes().filter(|byte| *byte == b':').count() >= 2;
    let month = first.len() == 3 && first.chars().all(char::is_alphabetic);
    let dated = if month {
        words.next().is_some_and(|day| day.parse::<u8>().is_ok()) && words.next().is_some_and(clock)
    } else {
        first.starts_with("20") && first.contains('T') && clock(first)
    };
    let Some(program) = words.nth(1).filter(|_| dated) else { return false };
    let program = program.split(['[', ':']).next().unwrap_or_default().to_ascii_lowercase();
    let is_one_of = |list: &[&str]| list.iter().any(|begin| program.starts_with(begin));
    !is_one_of(&ABOUT_THE_MACHINE) || is_one_of(&ABOUT_CONTAINERS)
}
