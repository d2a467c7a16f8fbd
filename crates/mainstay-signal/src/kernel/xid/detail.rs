//! The detail that distinguishes two Xid lines with the same number: a link and its registers, a unit, or the driver's
//! recommendation. Processes, channels and addresses are left out, because they differ from line to line.
//!
//! The formats come from NVIDIA's open kernel modules, and from observed lines where the GPU's firmware prints them.

use std::fmt::Write as _;

use crate::scan::Cursor;

/// Returns the detail of a message. It is empty if the number alone is enough, or if the format is unknown.
pub(super) fn of(code: u32, message: &str) -> String {
    let detail = match code {
        13 => graphics(message),
        31 => mmu_fault(message),
        45 => teardown(message),
        48 => double_bit(message),
        63 | 64 => remap(message),
        74 => nvlink(message),
        94 | 95 => containment(message),
        144..=150 => nvlink5(message),
        154 => recovery_action(message),
        _ => None,
    };
    detail.unwrap_or_default()
}

/// Parses `Graphics SM Warp Exception on (GPC 1, TPC 3, SM 0): Out Of Range Address`. A repeated fault on the same GPC
/// and TPC points to the chip; the SM does not matter.
fn graphics(message: &str) -> Option<String> {
    let mut at = Cursor::behind_last(message, "(GPC ")?;
    let gpc = at.number()?;
    at.eat(", TPC ")?;
    Some(format!("gpc {gpc} tpc {}", at.number()?))
}

/// Parses `MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_6 faulted @ 0x7f5a_e7504000. Fault is of type FAULT_PDE
/// ACCESS_TYPE_…`. The client differs between lines of one bug, the engine does not.
fn mmu_fault(message: &str) -> Option<String> {
    let mut fault = Cursor::behind_last(message, "MMU Fault: ENGINE ")?;
    let engine = fault.word()?;
    let kind = fault.until("FAULT_").and_then(|_| fault.word());
    Some(kind.map_or_else(|| engine.to_owned(), |kind| format!("{engine} FAULT_{kind}")))
}

/// Parses `Ch 00000010 caused by previous Xid 149`, on newer drivers: the channel was removed because of another fault.
fn teardown(message: &str) -> Option<String> {
    Some(format!("after {}", Cursor::behind_last(message, "caused by previous Xid ")?.number()?))
}

/// Parses `… detected on GPU in the framebuffer at physAddr 0x18f31d80 partition 16, subpartition 3.`; only newer
/// drivers print the address. A second line of the same fault names only the channel and has no detail.
fn double_bit(message: &str) -> Option<String> {
    let unit = Cursor::behind_last(message, " on GPU in the ")?.rest();
    let mut detail = unit.split([',', '.', '(']).next()?.split(" at ").next()?.to_owned();
    for part in [" partition ", " subpartition "] {
        if let Some(number) = Cursor::behind_last(message, part).and_then(|mut at| at.number()) {
            let _ = write!(detail, "{part}{number}");
        }
    }
    Some(detail)
}

/// Result for a row or page, in Mainstay's terms. Each phrase of the driver has its own, because the rules depend on
/// it.
const REMAPS: &[(&str, &str)] = &[
    ("New row", "row remap pending"),
    ("New bank", "bank remap pending"),
    ("table is full", "row remap table full"),
    ("All reserved rows for bank", "no spare row in bank"),
    ("remap a reserved row", "reserved row"),
    ("already pending", "row remap already pending"),
    ("Row Remapper Error", "row remap internal error"),
    ("unable to retire page", "page retirement failed"),
    ("Page Retirement", "page retirement"),
    ("page retirement", "page retirement"),
];

/// Parses `Row Remapper: New row (0x…) marked for remapping, reset gpu to activate.`, `Row Remapper Error: (0x…) - …`,
/// `DRAM Retirement failed due to … at 0x…`; before Ampere `Dynamic Page Retirement: …`.
fn remap(message: &str) -> Option<String> {
    if let Some(mut failure) = Cursor::behind_last(message, "DRAM Retirement failed due to ") {
        let reason = failure.until(" at ").unwrap_or(failure.rest());
        return Some(format!("retirement failed: {reason}"));
    }
    // The last phrase is the most exact one, and the only one that cannot be the tail of a process name.
    let (_, kind) = REMAPS.iter().filter_map(|(phrase, kind)| Some((message.rfind(phrase)?, kind))).max()?;
    Some((*kind).to_owned())
}

/// XID 74 registers in order of importance: those that NVIDIA's workflow uses come first, so that they fit.
const REGISTER_ORDER: [usize; 7] = [0, 2, 3, 4, 1, 5, 6];

/// Parses `NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)`. Zero registers are left
/// out.
fn nvlink(message: &str) -> Option<String> {
    let mut link = Cursor::behind_last(message, "link ")?;
    let mut detail = format!("link {}", link.number()?);
    let Some(registers) = link.until("(").and_then(|_| link.until(")")) else {
        return Some(detail);
    };
    let registers: Vec<&str> = registers.split(',').take(REGISTER_ORDER.len()).map(str::trim).collect();
    for number in REGISTER_ORDER {
        let Some(register) = registers.get(number) else { continue };
        let mut cursor = Cursor::new(register);
        let _ = match cursor.hex().filter(|_| cursor.rest().is_empty()) {
            Some(0) => Ok(()),
            Some(value) => write!(detail, " r{number}={value:08x}"),
            None => write!(detail, " r{number}=?"),
        };
    }
    Some(detail)
}

/// Parses `Contained: CE User Channel (0x9). RST: No, D-RST: No`: the unit, and whether the driver asks for a reset, or
/// for a drain and a reset. Newer drivers may print `Ch 00000008` alone.
fn containment(message: &str) -> Option<String> {
    let unit = Cursor::behind_last(message, "ontained: ")?.rest();
    let mut detail = unit.split(['(', '.']).next()?.trim_end().to_owned();
    for (mark, name) in [(" RST: ", "RST"), ("D-RST: ", "D-RST")] {
        if let Some(answer) = Cursor::behind_last(unit, mark).and_then(|mut at| at.word()) {
            let _ = write!(detail, " {name}={answer}");
        }
    }
    Some(detail)
}

/// Bits of the interrupt word that NVIDIA's table uses in either layout: the reason in bits 20 to 25, and the low 11
/// bits.
const INTERRUPT_MASK: u32 = 0x03f0_07ff;

/// Parses `NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 0x00000000 …)`, NVLink of Blackwell. The first two words
/// in the parentheses (`[…]` before R575) are the interrupt and the error status, from which NVIDIA's table derives the
/// cause. Interrupt bits that the table does not use are left out, because they differ between lines of one cause.
fn nvlink5(message: &str) -> Option<String> {
    let (before, after) = message.rsplit_once(" Link ")?;
    let mut words = before.split_ascii_whitespace().rev();
    let severity = words.find(|word| matches!(*word, "Fatal" | "Nonfatal"))?;
    let unit = words.next()?;
    let mut link = Cursor::new(after);
    // The driver prints -1 if it does not know the link.
    let sign = if link.eat("-").is_some() { "-" } else { "" };
    let mut detail = format!("{unit} {severity} link {sign}{}", link.number()?);
    link.run(|c| " ([".contains(c));
    for (name, mask) in [("i", INTERRUPT_MASK), ("s", u32::MAX)] {
        if let Some(value) = link.hex() {
            let _ = write!(detail, " {name}={:08x}", value & mask);
            link.run(|c| c == ' ' || c == ',');
        }
    }
    Some(detail)
}

/// Parses `GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)`: the driver's own recommendation.
fn recovery_action(message: &str) -> Option<String> {
    let mut to = Cursor::behind_last(message, " to 0x")?;
    Some(format!("to 0x{:x}", to.hex()?))
}
