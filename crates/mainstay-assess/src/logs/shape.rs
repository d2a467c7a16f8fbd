//! The shape of one line of text: the prefixes before the message of the kernel or of a service. `dmesg` with any of its
//! times, syslog, `journalctl`, containers, `kubectl logs`, and tools that run a command on many nodes write different
//! things there. Each part is removed at most once, in any order, and contains the time, the node or the writer.

use mainstay_signal::Writer;

use crate::timestamp::{self, Stamp, Zone};

/// Parts before the words of a line.
const PARTS_MAX: usize = 10;
/// Marks of quotation before a line in an e-mail.
const QUOTES_MAX: usize = 4;
/// A name of a host or of a program.
const NAME_BYTES_MAX: usize = 64;

/// A message with its time, node and writer, as far as the line states them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) stamp: Option<Stamp>,
    pub(super) host: Option<&'a str>,
    pub(super) writer: Writer<'a>,
    /// Syslog priority, 0 to 7.
    pub(super) priority: Option<u8>,
    pub(super) text: &'a str,
    /// It has a date, readable or not, so a host may follow.
    is_dated: bool,
    /// It begins as RFC 5424 has it, so fields in a fixed order follow the time.
    is_rfc5424: bool,
    /// It begins with a blank and has no time, so it continues the line before it.
    pub(super) is_continuation: bool,
}

/// Reads the shape of a line.
pub(super) fn read(line: &str, zone: Zone) -> Shape<'_> {
    let rest = unquoted(line);
    let mut shape = Shape {
        stamp: None,
        host: None,
        writer: Writer::Unstated,
        priority: None,
        text: rest,
        is_dated: false,
        is_rfc5424: false,
        is_continuation: false,
    };
    for _ in 0..PARTS_MAX {
        if !(shape.time(zone) || shape.level() || shape.fields() || shape.node() || shape.program()) {
            break;
        }
    }
    shape.is_continuation = shape.stamp.is_none()
        && !shape.is_dated
        && shape.writer == Writer::Unstated
        && line.starts_with([' ', '\t'])
        && rest == shape.text;
    shape
}

impl<'a> Shape<'a> {
    fn goes_on(&mut self, rest: &'a str) -> bool {
        self.text = rest.trim_start();
        true
    }

    /// A time. A date before seconds since boot is more precise.
    fn time(&mut self, zone: Zone) -> bool {
        if let Some((stamp, rest)) = timestamp::leading(self.text, zone) {
            let is_dmesg = self.text.starts_with('[') && !self.text.starts_with("[20");
            if is_dmesg && self.writer == Writer::Unstated {
                self.writer = Writer::Kernel;
            }
            self.is_dated |= matches!(stamp, Stamp::At(_));
            if !matches!(self.stamp, Some(Stamp::At(_))) {
                self.stamp = Some(stamp);
            }
            return self.goes_on(rest.strip_prefix(':').unwrap_or(rest));
        }
        match timestamp::unreadable(self.text) {
            Some(rest) => {
                if !self.text.starts_with('[') {
                    self.is_dated = true;
                } else if self.writer == Writer::Unstated {
                    self.writer = Writer::Kernel;
                }
                self.goes_on(rest)
            }
            None => false,
        }
    }

    /// A facility and a level: `kern  :err   : `, `kern: warning: `, `<6>`, and `<34>1 ` of RFC 5424.
    fn level(&mut self) -> bool {
        if let Some((number, rest)) = self.text.strip_prefix('<').and_then(|text| text.split_once('>')) {
            let Ok(number) = number.parse::<u8>() else { return false };
            self.priority = Some(number % 8);
            let version = rest.strip_prefix("1 ");
            self.is_rfc5424 = version.is_some();
            return self.goes_on(version.unwrap_or(rest));
        }
        let Some((facility, rest)) = self.text.split_once(':') else { return false };
        let Some((level, rest)) = rest.split_once(':') else { return false };
        let Some(priority) = priority(level.trim()) else { return false };
        let is_kernel = facility.trim() == "kern";
        if !is_kernel && !["user", "daemon", "syslog"].contains(&facility.trim()) {
            return false;
        }
        if is_kernel {
            self.writer = Writer::Kernel;
        }
        self.priority = Some(priority);
        self.goes_on(rest)
    }

    /// Host, program, process, message id and structured data of RFC 5424; `-` is an empty field.
    fn fields(&mut self) -> bool {
        if !(self.is_rfc5424 && self.is_dated) {
            return false;
        }
        self.is_rfc5424 = false;
        let mut words = self.text.splitn(5, ' ');
        let (Some(host), Some(program), Some(_process), Some(_id), Some(rest)) =
            (words.next(), words.next(), words.next(), words.next(), words.next())
        else {
            return false;
        };
        let Some(rest) = rest.strip_prefix('-').or_else(|| after_data(rest)) else { return false };
        self.host = Some(host).filter(|host| *host != "-");
        self.writer = match program {
            "kernel" => Writer::Kernel,
            "-" => Writer::Unstated,
            name => Writer::Program(name),
        };
        self.goes_on(rest.trim_start().trim_start_matches('\u{feff}'))
    }

    /// A node or a container in front of the line: `b1360: [621109.4] …` of a tool for many nodes, `[pod/name/container]
    /// …` of `kubectl logs`, `stdout F …` of a container runtime, `… - Guest: …` of a hypervisor.
    fn node(&mut self) -> bool {
        let text = self.text;
        if let Some(rest) =
            ["stdout F ", "stderr F ", "stdout P ", "stderr P "].iter().find_map(|tag| text.strip_prefix(tag))
        {
            return self.goes_on(rest);
        }
        if let Some((_, rest)) = text.strip_prefix("[pod/").and_then(|text| text.split_once("] ")) {
            return self.goes_on(rest);
        }
        if let Some((before, rest)) = text.split_once(" - Guest: ")
            && before.len() <= NAME_BYTES_MAX
        {
            return self.goes_on(rest);
        }
        let Some((name, rest)) = text.split_once(": ") else { return false };
        let begins = rest.starts_with('[')
            || rest.starts_with("kern: ")
            || rest.starts_with("kern:  ")
            || rest.starts_with("20");
        let is_name = is_name(name) && name.contains(|c: char| c.is_ascii_digit());
        if self.stamp.is_some() || self.host.is_some() || self.writer != Writer::Unstated || !is_name || !begins {
            return false;
        }
        self.host = Some(name);
        self.goes_on(rest)
    }

    /// `HOST kernel: `, `kernel: `, `[kernel] `, `HOST program[12]: `, or a host alone behind a date.
    fn program(&mut self) -> bool {
        let text = self.text;
        // A message that a terminal shows has no blank before the time.
        let broadcast = || text.strip_prefix("kernel:").filter(|rest| rest.starts_with('['));
        if let Some(rest) = text.strip_prefix("kernel: ").or_else(|| text.strip_prefix("[kernel] ")).or_else(broadcast)
        {
            self.writer = Writer::Kernel;
            return self.goes_on(rest);
        }
        // A host, a level or a second host may stand before the program.
        if let Some((before, rest)) = text.split_once(" kernel: ")
            && self.host.is_none()
            && before.split(' ').count() <= 2
            && before.len() <= NAME_BYTES_MAX
            && !before.contains([':', '['])
        {
            self.host = before.split(' ').next();
            self.writer = Writer::Kernel;
            return self.goes_on(rest);
        }
        let is_dated = self.is_dated && self.host.is_none() && self.writer == Writer::Unstated;
        if let Some((head, rest)) = text.split_once(": ") {
            let mut words = head.split(' ').filter(|word| !word.is_empty());
            let (first, second, third) = (words.next(), words.next(), words.next());
            let named = match (first, second, third) {
                (Some(program), None, _) => Some((None, program)),
                (Some(host), Some(program), None) if is_dated => Some((Some(host), program)),
                _ => None,
            };
            if let Some((host, program)) = named
                && let Some((name, pid)) = program.split_once('[')
                && pid
                    .strip_suffix(']')
                    .is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
                && !name.is_empty()
                && self.writer == Writer::Unstated
            {
                self.host = self.host.or(host);
                self.writer = Writer::Program(name);
                return self.goes_on(rest);
            }
        }
        let Some((host, rest)) = text.split_once(' ') else { return false };
        let is_followed =
            rest.starts_with('[') || rest.split(' ').next().is_some_and(|next| next.ends_with(':') || next == "Xid");
        if is_dated && is_name(host) && is_followed && is_syslog_host(host) {
            self.host = Some(host);
            return self.goes_on(rest);
        }
        false
    }
}

/// What follows `[id name="value" …]`, of which there may be several; a bracket within a value has a backslash before it.
fn after_data(text: &str) -> Option<&str> {
    let mut rest = text;
    let mut is_escaped = false;
    while let Some(element) = rest.strip_prefix('[') {
        let end = element.char_indices().find(|(_, c)| {
            let ends = *c == ']' && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            ends
        });
        rest = element.get(end?.0 + 1..)?;
    }
    (rest.len() < text.len()).then_some(rest)
}

/// Removes marks of quotation and the line number of `grep -n`.
fn unquoted(line: &str) -> &str {
    let mut rest = line.trim_start();
    for _ in 0..QUOTES_MAX {
        match rest.strip_prefix('>') {
            Some(after) => rest = after.trim_start(),
            None => break,
        }
    }
    match rest.split_once(':') {
        Some((number, after)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            let is_line = after.starts_with(|c: char| c.is_ascii_uppercase() || c == '[');
            if is_line { after } else { rest }
        }
        Some(_) | None => rest,
    }
}

fn is_name(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.<>/".contains(&byte);
    !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.bytes().all(is_sign)
}

/// The first name in a message of the kernel is no host, although a host may look like it.
fn is_syslog_host(word: &str) -> bool {
    !["NVRM", "EDAC", "amdgpu", "nvidia", "pcieport", "pci", "nvme", "XFS", "INFO", "BUG", "infiniband", "sd"]
        .contains(&word)
        && word.contains(['-', '.', '_']) | word.bytes().any(|byte| byte.is_ascii_digit())
}

fn priority(level: &str) -> Option<u8> {
    let levels: [&[&str]; 8] = [
        &["emerg"],
        &["alert"],
        &["crit"],
        &["err", "error"],
        &["warn", "warning"],
        &["notice"],
        &["info"],
        &["debug"],
    ];
    let at = levels.iter().position(|names| names.contains(&level))?;
    u8::try_from(at).ok()
}

#[cfg(test)]
mod tests {
    use mainstay_model::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn zone() -> Zone {
        Zone { offset_minutes: 0, until: Timestamp(1_794_700_800_000) }
    }

    #[test]
    fn every_shape_has_the_same_words() {
        use Writer::{Kernel, Program, Unstated};
        for (line, host, writer) in [
            ("x: y", None, Unstated),
            ("kernel: x: y", None, Kernel),
            ("[189409.740412] x: y", None, Kernel),
            ("[ 885604.443860]x: y", None, Kernel),
            ("[  +0.000001] x: y", None, Kernel),
            ("[Seg Set 11 14:22:05 2017] x: y", None, Kernel),
            (" kernel:[391772.405611] x: y", None, Kernel),
            ("[Feb22 04:01] x: y", None, Kernel),
            ("[Fri May 07 09:16:09 2024] x: y", None, Kernel),
            ("[Sun Nov 19 02:22:40 2024] n-1 kernel: x: y", Some("n-1"), Kernel),
            ("[645169.273578][    C3] x: y", None, Kernel),
            ("Jul 18 01:46:12 n-1 kernel: [  830161.696862] x: y", Some("n-1"), Kernel),
            ("Jun 6 21:51:53 n-1 kernel: x: y", Some("n-1"), Kernel),
            ("Nov 14 05:51:38.106121 n-1 INFO kernel: [827986.357569] x: y", Some("n-1"), Kernel),
            ("Sat Mar 25 16:12:52 2017 n-1 kernel: [292690.931507] x: y", Some("n-1"), Kernel),
            ("11月 15 14:15:47 n-1 nv-fabricmanager[94232]: x: y", Some("n-1"), Program("nv-fabricmanager")),
            ("kvě 25 19:29:48 n-1 kernel: x: y", Some("n-1"), Kernel),
            ("2025-06-15T15:53:14.230147+08:00 n-1 kernel: x: y", Some("n-1"), Kernel),
            ("kern  :err   : 2025-11-02T08:40:15,859532+00:00 x: y", None, Kernel),
            ("10.1.2.3: kern: warning: [2026-08-14T06:10:16.288830314Z]: x: y", Some("10.1.2.3"), Kernel),
            ("b1360: [621109.406132] x: y", Some("b1360"), Kernel),
            ("Nov 18 16:33:16 n-1 mce: y", Some("n-1"), Unstated),
            ("Dec 17 23:33:15 n-1 [359992.915196] x: y", Some("n-1"), Kernel),
            ("> [168476.695504] x: y", None, Kernel),
            ("  n-1 kernel: x: y", Some("n-1"), Kernel),
            (
                "15712:Nov 27 23:45:22 n-1 /usr/libexec/gdm-x-session[92022]: x: y",
                Some("n-1"),
                Program("/usr/libexec/gdm-x-session"),
            ),
            ("2025-11-27T02:50:48.127Z In(05) vcpu-5 - Guest: <6>[  560383.919025] x: y", None, Kernel),
            ("2026-03-05T10:11:12.123456789Z stdout F x: y", None, Unstated),
            ("[pod/driver-abc/driver] x: y", None, Unstated),
            ("<4>[  123.456789] x: y", None, Kernel),
            ("Mar  5 10:11:12 n-1 python[12]: x: y", Some("n-1"), Program("python")),
            ("<3>1 2026-03-05T10:11:12.003Z n-1 kernel - - - x: y", Some("n-1"), Kernel),
            (
                r#"<11>1 2026-03-05T10:11:12Z n-1 kubelet 812 - [a@1 b="\]"][c@1 d="e"] x: y"#,
                Some("n-1"),
                Program("kubelet"),
            ),
            ("<11>1 2026-03-05T10:11:12Z - - - - - \u{feff}x: y", None, Unstated),
        ] {
            let shape = read(line, zone());
            let words = if line.contains("mce: y") { "mce: y" } else { "x: y" };
            assert_eq!((shape.host, shape.writer, shape.text), (host, writer, words), "{line}");
        }
        assert_eq!(read("kern  :err   : 2025-11-02T08:40:15,859532+00:00 x", zone()).priority, Some(3));
        assert!(read("      NVRM: goes on", zone()).is_continuation);
        assert!(!read("      [1.5] NVRM: a line", zone()).is_continuation);
    }

    /// Parts of prefixes, whole and broken; any order of them may stand before a message.
    const PARTS: [&str; 24] = [
        "[189409.740412] ",
        "[Fri May 07 09:16:09 2024] ",
        "[Feb22 04:01] ",
        "[  +0.000001] ",
        "[    C3] ",
        "Jul 18 01:46:12 ",
        "11月 15 14:15:47 ",
        "2025-06-15T15:53:14.230147+08:00 ",
        "<3>",
        "<11>1 ",
        "kern  :err   : ",
        "kern: warning: ",
        "n-1 ",
        "n-1: ",
        "kernel: ",
        "kubelet[12]: ",
        "- ",
        "[a@1 b=\"\\]\"] ",
        "[a@1 b=\"\\",
        "stdout F ",
        "[pod/x/y] ",
        " - Guest: ",
        "> ",
        "15712:",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn any_prefix_is_removed_from_the_front_only(
            parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..8),
            message in "\\PC{0,40}",
            cut in 0_usize..60,
        ) {
            let line: String = parts.concat() + &message;
            let line: String = line.chars().skip(cut / 10).collect();
            let shape = read(&line, zone());
            prop_assert!(line.ends_with(shape.text));
            prop_assert!(shape.host.is_none_or(|host| line.contains(host)));
        }
    }
}
