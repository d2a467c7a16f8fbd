//! Plain text: `dmesg` with any of its times, and what syslog and `journalctl` print. The host in a line is the node; where
//! there is none, the file is called after it.

use std::io::{self, BufRead};

use mainstay_model::Timestamp;
use mainstay_text::{Line, Lines};

use super::LogReader;
use crate::dropped::DropReason;
use crate::timestamp::{self, Stamp};

/// The kernel ends a line at 1,024 bytes; before it are a time and a host.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// Seconds since boot that fall by more than this are those of another boot.
const SAME_BOOT_MS: i64 = 60_000;

pub(super) fn read(reading: &mut LogReader<'_>, from: &mut impl BufRead) -> io::Result<()> {
    let mut lines = Lines::new(from, LINE_BYTES_MAX);
    let mut latest_since_boot = 0;
    let mut is_another_boot = false;
    while let Some(line) = lines.next_line()? {
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong => {
                reading.skip(DropReason::LineTooLong, 1);
                continue;
            }
        };
        if bytes.is_empty() {
            continue;
        }
        reading.volume.entries += 1;
        let line = String::from_utf8_lossy(bytes);
        let Some((stamp, rest)) = timestamp::leading(&line, reading.zone) else {
            reading.skip(DropReason::NoTime, 1);
            continue;
        };
        let Some((host, text)) = kernel(rest, stamp) else {
            reading.skip(DropReason::NotTheKernel, 1);
            continue;
        };
        let at = match stamp {
            Stamp::At(at) => at,
            Stamp::SinceBoot(ms) => {
                is_another_boot |= ms + SAME_BOOT_MS < latest_since_boot;
                latest_since_boot = latest_since_boot.max(ms);
                let told = reading.told;
                let booted =
                    reading.node.as_ref().and_then(|node| told.booted_by_node.get(node)).or(told.booted.as_ref());
                match booted.filter(|_| !is_another_boot) {
                    Some(booted) => Timestamp(booted.0.saturating_add(ms)),
                    None => {
                        reading.skip(DropReason::OnlySecondsSinceBoot, 1);
                        continue;
                    }
                }
            }
        };
        reading.line(host, at, text);
    }
    reading.volume.bytes = lines.bytes();
    Ok(())
}

/// The host and the kernel's words behind a time: `HOST kernel: text`, or the text alone as `dmesg` has it. None where
/// another program wrote it.
fn kernel(rest: &str, stamp: Stamp) -> Option<(Option<&str>, &str)> {
    let Some((first, after)) = rest.split_once(' ') else { return Some((None, rest)) };
    if first == "kernel:" {
        return Some((None, after));
    }
    // `dmesg` prints seconds or dates in brackets, and no host.
    if matches!(stamp, Stamp::SinceBoot(_)) || first.ends_with(':') {
        return Some((None, rest));
    }
    let (program, text) = after.split_once(": ").unwrap_or((after, ""));
    if program == "kernel" {
        return Some((Some(first), text));
    }
    let is_program = program.ends_with(']') && program.contains('[') && !program.contains(' ');
    (!is_program).then_some((None, rest))
}
