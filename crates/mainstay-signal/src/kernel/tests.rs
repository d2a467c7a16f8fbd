//! What holds for every line: prefixes change nothing, no input panics or leaves the bounds, and no tenant can make
//! the kernel print a fault by the names it chooses. The lines themselves are in the tests of their readers.

use mainstay_model::{Code, Detail};
use proptest::prelude::*;
use proptest::sample::select;

use super::{
    LINE_BYTES_MAX, PREFIX_BYTES_MAX, aer, amdgpu, crash, ethernet, lockup, memory, mlx5, nvidia, oom, other_gpu,
    parse, parse_bytes, pcie, storage, sxid, xid,
};
use crate::Signal;

/// A line with its expected source, code, place and detail.
pub(super) type Line = (&'static str, &'static str);

fn words(signal: &Signal) -> String {
    let Signal { source, code, place, detail } = signal;
    format!("{source:?} {code} {place} {detail}").trim_end().to_owned()
}

pub(super) fn says(lines: &[Line]) {
    for (line, expected) in lines {
        assert_eq!(parse(line).as_ref().map(words).as_deref(), Some(*expected), "{line}");
    }
}

pub(super) fn nothing(lines: &[&str]) {
    for line in lines {
        assert_eq!(parse(line), None, "{line}");
    }
}

fn all_lines() -> Vec<&'static str> {
    let readers = [
        xid::tests::LINES,
        sxid::tests::LINES,
        aer::tests::LINES,
        mlx5::tests::LINES,
        lockup::tests::LINES,
        oom::tests::LINES,
        amdgpu::tests::LINES,
        crash::tests::LINES,
        ethernet::tests::LINES,
        memory::tests::LINES,
        nvidia::tests::LINES,
        other_gpu::tests::LINES,
        pcie::tests::LINES,
        storage::tests::LINES,
    ];
    readers.concat().iter().map(|(line, _)| *line).collect()
}

const PREFIXES: &[&str] = &[
    "6,1234,567890,-;",
    "3,41,1100,-,caller=T1946;",
    "12,41,1100,c,more=of,these;",
    "[  123.456789] ",
    "[ 130.456250] [ T1946] ",
    "[    0.000000][    C12] ",
    "[Wed Aug  5 03:12:01 2026] ",
    "[  +0.000093] ",
    "<3>",
    "<3>[  123.456789] ",
    "Nov 15 03:00:00 host kernel: ",
    "Nov  5 03:00:00 gpu-node-a.example kernel: [680111.646286] ",
    "2026-11-15T03:00:00.123456+00:00 host kernel: ",
    "kernel: ",
    "kernel: [16450076.435595] ",
];

#[test]
fn a_prefix_changes_nothing() {
    for line in all_lines() {
        let plain = parse(line);
        for prefix in PREFIXES {
            assert!(prefix.len() <= PREFIX_BYTES_MAX);
            assert_eq!(parse(&format!("{prefix}{line}")), plain, "{prefix}{line}");
            assert_eq!(parse(&format!("{prefix}{line}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:00.0\n")), plain);
        }
    }
}

#[test]
fn a_line_of_another_program_in_the_journal_is_not_the_kernels() {
    let line = "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.";
    for prefix in [
        "Nov 15 03:00:00 host python[123]: ",
        "Nov 15 03:00:00 host python[123]: kernel: ",
        "Nov 15 03:00:00 host systemd kernel: ",
        "Nov fifteenth 03:00:00 host kernel: ",
        "now host kernel: ",
        "[drm] ",
        "6,x,567890,-;",
        "6,1,2;",
        "<x>",
        "x\n",
    ] {
        assert_eq!(parse(&format!("{prefix}{line}")), None, "{prefix}");
    }
}

#[test]
fn a_line_is_read_up_to_the_bound_and_the_prefix_does_not_count() {
    let (head, verdict) = ("NVRM: Xid (PCI:0000:1b:00): 154, changed from 0x0", " to 0x1");
    let gap = LINE_BYTES_MAX - head.len() - verdict.len();
    for prefix in PREFIXES.iter().chain([&""]) {
        let read = |gap: usize| words(&parse(&format!("{prefix}{head}{:gap$}{verdict} {:999}", "", "")).unwrap());
        assert_eq!(read(gap), "Xid 154 0000:1b:00.0 to 0x1", "{prefix}");
        assert_eq!(read(gap + 1), "Xid 154 0000:1b:00.0", "{prefix}");
    }
}

/// What the kernel prints when a process crashes: the process name first, of at most 15 bytes, and at the end the name
/// of a file that was mapped. A tenant chooses both.
fn crash(comm: &str, file: &str) -> String {
    format!("{comm}[1234]: segfault at 8 ip 00007f7c7ac69996 sp 00007f7c12fd7c30 error 4 in {file}[7f00+1000]")
}

#[test]
fn no_line_can_be_forged_by_a_crash_that_begins_and_ends_like_it() {
    for line in all_lines() {
        for (comm, from) in (1..=15).flat_map(|bytes| (0..line.len()).map(move |from| (&line[..bytes], from))) {
            let forged = crash(comm, &line[from..]);
            assert_eq!(parse(&forged), None, "{forged}");
        }
    }
}

/// A modified line: a few bytes replaced, inserted or removed.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 1..6);
    (select(all_lines()), edits).prop_map(|(line, edits)| {
        let mut bytes = line.as_bytes().to_vec();
        for (at, byte, how) in edits {
            let at = at.index(bytes.len().max(1));
            match (how, bytes.get_mut(at)) {
                (0, Some(old)) => *old = byte,
                (1, Some(_)) => drop(bytes.remove(at)),
                (_, _) => bytes.insert(at.min(bytes.len()), byte),
            }
        }
        bytes
    })
}

fn within_bounds(signal: &Signal) {
    assert!(signal.code.as_str().len() <= Code::BYTES_MAX);
    assert!(signal.detail.as_str().len() <= Detail::BYTES_MAX);
    assert!(Code::parse(signal.code.as_str()).is_ok() && Detail::parse(signal.detail.as_str()).is_ok());
    assert!(signal.place.to_string().len() <= 24);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        parse_bytes(&bytes).iter().for_each(within_bounds);
    }

    #[test]
    fn any_text_behind_a_known_beginning_is_read_without_panic(
        line in select(all_lines()),
        keep in any::<prop::sample::Index>(),
        text in "\\PC{0,200}",
    ) {
        let beginning = &line[..keep.index(line.len())];
        parse(&format!("{beginning}{text}")).iter().for_each(within_bounds);
    }

    #[test]
    fn an_edited_line_is_read_within_the_bounds_and_the_same_behind_a_time(bytes in mutated()) {
        let signal = parse_bytes(&bytes);
        signal.iter().for_each(within_bounds);
        // An edit may itself make a prefix, and then the one before it is one too many.
        if bytes.first().is_some_and(u8::is_ascii_alphabetic) {
            let later = [b"[  123.456789] ".as_slice(), &bytes].concat();
            prop_assert_eq!(parse_bytes(&later), signal);
        }
    }

    #[test]
    fn lines_that_begin_with_a_chosen_name_are_no_faults(
        (comm, file) in (select(all_lines()), select(all_lines())),
        (comm_bytes, file_from) in (0_usize..=15, any::<prop::sample::Index>()),
    ) {
        let comm = comm.get(..comm_bytes).unwrap_or(comm);
        let file = &file[file_from.index(file.len())..];
        for line in [
            crash(comm, file),
            format!("{comm}: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL|__GFP_COMP), nodemask=(null)"),
            format!("traps: {comm}[1] trap divide error ip:401136 sp:7ffe error:0 in {file}[401000+1000]"),
            format!("process '{file}' started with executable stack"),
        ] {
            prop_assert_eq!(parse(&line), None, "{}", line);
        }
    }
}
