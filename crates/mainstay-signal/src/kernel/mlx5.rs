//! Lines that only the mlx5 driver prints about a network adapter: links, modules and firmware. What its lines share with
//! other drivers is in `ethernet.rs`.
//!
//! The formats come from the kernel's `drivers/net/ethernet/mellanox/mlx5/core` (`health.c`, `events.c`, `cmd.c`,
//! `en_main.c`), and from `drivers/infiniband/core/cache.c` for InfiniBand ports.

use mainstay_model::Source;

use super::device::DeviceLine;
use crate::scan::Cursor;
use crate::{Place, Signal};

const DRIVER: &str = "mlx5_core";
const WATCHDOG: &str = "netdev-watchdog";

/// Phrases that may be anywhere in a text. These lines have no detail that distinguishes two of them on one adapter.
const SAYINGS: &[(&str, &str)] = &[
    ("device's health compromised", "health-compromised"),
    ("Will cause a leak of a command resource", "command-timeout"),
    ("Detected insufficient power on the PCIe slot", "insufficient-power"),
    ("insufficient/unadvertised power on the PCIe slot", "insufficient-power"),
    ("High temperature on sensors", "high-temperature"),
    ("PCI slot is unavailable", "pci-unavailable"),
    ("RX timeout on channel", "rx-timeout"),
];

pub(super) fn parse(line: &DeviceLine<'_>) -> Option<Signal> {
    if line.driver != DRIVER {
        return None;
    }
    let text = without_function(line.text);
    let (code, detail) = link(text)
        .or_else(|| timeout(text))
        .or_else(|| health_issue(text))
        .or_else(|| saying(text))
        .or_else(|| module(text))?;
    Signal::new(Source::Nic, code, line.place.clone(), &detail)
}

/// Parses a line about a module that names no adapter: `mlx5_core: Port module event[error]: …`.
pub(super) fn parse_bare(text: &str) -> Option<Signal> {
    let (code, detail) = module(text.strip_prefix("mlx5_core: ")?)?;
    Signal::new(Source::Nic, code, Place::Node, &detail)
}

/// Removes `wait_func:1150:(pid 1234): `: errors begin with the function and line that printed them.
fn without_function(text: &str) -> &str {
    let is_function = |head: &str| head.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
    let function = text.split_once(":(pid ").filter(|(head, _)| is_function(head));
    function.and_then(|(_, rest)| rest.split_once("): ")).map_or(text, |(_, said)| said)
}

/// Parses `Link down`, and the line `Port: 1 Link DOWN` that newer kernels print for the same change. The port in the
/// detail distinguishes the two.
fn link(text: &str) -> Option<(&'static str, String)> {
    let mut line = Cursor::new(text);
    let detail = match line.eat("Port: ") {
        Some(()) => format!("port {}", line.number()?),
        None => String::new(),
    };
    line.run(|c| c == ' ');
    match line.rest().trim_end() {
        "Link down" | "Link DOWN" => Some(("link-down", detail)),
        "Link up" | "Link ACTIVE" => Some(("link-up", detail)),
        _ => None,
    }
}

/// Parses the queue watchdog in the format of Linux 6.8, and the driver's own text for the same event.
fn timeout(text: &str) -> Option<(&'static str, String)> {
    if text.starts_with("NETDEV WATCHDOG: ") {
        return Some((WATCHDOG, String::new()));
    }
    let mut line = Cursor::new(text);
    line.eat("TX timeout ")?;
    Some(("tx-timeout", if line.rest().starts_with("on queue") { "queue".to_owned() } else { String::new() }))
}

/// Parses `Health issue observed, unrecoverable hardware error, severity(3) ERROR:`. At the end of the same report, or
/// on older kernels alone, is `synd 0x8: unrecoverable hardware error`; `synd` in the detail distinguishes the two.
fn health_issue(text: &str) -> Option<(&'static str, String)> {
    let mut line = Cursor::new(text);
    let (synd, reason) = if line.eat("Health issue observed, ").is_some() {
        ("", line.until(", severity").unwrap_or(line.rest()))
    } else if line.eat("synd ").is_some() {
        // The driver prints zero if missed heartbeats caused the report; those have their own line.
        line.hex().filter(|syndrome| *syndrome != 0)?;
        line.eat(": ")?;
        ("synd ", line.rest())
    } else {
        line.eat("Fatal error ")?;
        let kind = line.number()?;
        return line.eat(" detected").map(|()| ("fatal-error", format!("kind {kind}")));
    };
    if reason == "unrecoverable hardware error" {
        return Some(("hardware-error", synd.to_owned()));
    }
    Some(("health-issue", format!("{synd}{reason}")))
}

fn saying(text: &str) -> Option<(&'static str, String)> {
    let (_, code) = SAYINGS.iter().find(|(words, _)| text.contains(words))?;
    Some((code, String::new()))
}

/// Parses `Port module event: module 0, Cable unplugged` and `Port module event[error]: module 0, Cable error, High
/// Temperature`.
fn module(text: &str) -> Option<(&'static str, String)> {
    let mut line = Cursor::new(text);
    line.eat("Port module event")?;
    line.until(": module ")?;
    let module = format!("module {}", line.number()?);
    line.eat(", ")?;
    match line.rest().trim_end() {
        "Cable unplugged" => Some(("cable-unplugged", module)),
        "Cable plugged" => Some(("cable-plugged", module)),
        "Cable error, High Temperature" => Some(("module-high-temperature", module)),
        other => Some(("cable-error", format!("{module} {}", other.trim_start_matches("Cable error, ")))),
    }
}

#[cfg(test)]
pub(super) mod tests;
