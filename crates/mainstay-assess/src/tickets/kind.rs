//! What a fault is about, roughly: the few words in which a ticket and the evidence of a machine can be compared. It is a
//! vocabulary of this report and judges nothing.

use mainstay_model::Source;
use serde::Serialize;

/// Coarse class of a fault, in which tickets and evidence are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FaultKind {
    /// The GPU as a whole: off the bus, its processor, its firmware.
    Gpu,
    Memory,
    Nvlink,
    Network,
    Pcie,
    Host,
    /// The application or its runtime.
    Software,
    /// Nobody says.
    Unknown,
}

/// Words of tickets, the most telling first. A number behind `xid` is looked at before all of them.
const WORDS: [(FaultKind, &[&str]); 7] = [
    (FaultKind::Nvlink, &["nvlink", "nvswitch", "sxid", "fabric manager"]),
    (
        FaultKind::Memory,
        &["ecc", "hbm", "row remap", "remap", "memory", "dbe", "sram", "dram", "uncontained", "contained"],
    ),
    (
        FaultKind::Network,
        &["link flap", "nic", "infiniband", "cable", "transceiver", "port down", "link down", "mlx5", "optic"],
    ),
    (FaultKind::Gpu, &["off the bus", "gsp", "gpu", "xid"]),
    (FaultKind::Pcie, &["pcie", "aer"]),
    (
        FaultKind::Host,
        &["power", "psu", "disk", "ssd", "nvme", "cpu", "dimm", "bmc", "host", "board", "reboot", "unreachable"],
    ),
    (FaultKind::Software, &["software", "application", "driver", "kernel panic", "user", "job", "oom"]),
];

impl FaultKind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Memory => "GPU memory",
            Self::Nvlink => "NVLink",
            Self::Network => "Network",
            Self::Pcie => "PCIe",
            Self::Host => "Host",
            Self::Software => "Software",
            Self::Unknown => "Unknown",
        }
    }

    /// What a person's words are about.
    pub(crate) fn of_words(text: &str) -> Self {
        let text = text.to_lowercase();
        if let Some((_, after)) = text.split_once("xid") {
            let digits: String =
                after.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).take(5).collect();
            let is_near = after.find(|c: char| c.is_ascii_digit()).is_some_and(|at| at <= 3);
            if is_near && !text.contains("sxid") && !digits.is_empty() {
                return Self::of_evidence(Source::Xid, &digits);
            }
        }
        let has = |word: &&str| {
            text.split(|c: char| !c.is_alphanumeric()).any(|part| part == *word)
                || word.contains(' ') && text.contains(*word)
        };
        WORDS.iter().find(|(_, words)| words.iter().any(has)).map_or(Self::Unknown, |(kind, _)| *kind)
    }

    /// What a piece of evidence is about.
    pub(crate) fn of_evidence(source: Source, code: &str) -> Self {
        match source {
            Source::Xid => match code {
                "48" | "63" | "64" | "92" | "94" | "95" | "140" | "160" | "161" | "171" | "172" => Self::Memory,
                "74" | "137" | "144" | "145" | "146" | "147" | "148" | "149" | "150" | "155" => Self::Nvlink,
                "13" | "31" | "43" | "45" | "68" | "69" => Self::Software,
                _ => Self::Gpu,
            },
            Source::Sxid => Self::Nvlink,
            Source::Nic => Self::Network,
            Source::PcieAer => Self::Pcie,
            Source::Kernel => Self::Host,
            Source::Driver => Self::Gpu,
            Source::Service => Self::Software,
            Source::Nvml => {
                let starts = |words: &[&str]| words.iter().any(|word| code.starts_with(word));
                if starts(&["ecc", "remap", "spare", "sram"]) {
                    Self::Memory
                } else if starts(&["nvlink"]) {
                    Self::Nvlink
                } else if starts(&["pcie"]) {
                    Self::Pcie
                } else {
                    Self::Gpu
                }
            }
            Source::Inventory | Source::External | Source::Unrecognised => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_tickets_are_understood_roughly() {
        for (text, kind) in [
            ("XID 79 on GPU 3", FaultKind::Gpu),
            ("gpu fell off the bus", FaultKind::Gpu),
            ("Xid: 63, row remap pending", FaultKind::Memory),
            ("ECC errors, GPU replaced", FaultKind::Memory),
            ("NVLink down between GPU 2 and 5", FaultKind::Nvlink),
            ("bad cable rail 4", FaultKind::Network),
            ("PSU failed", FaultKind::Host),
            ("node unreachable", FaultKind::Host),
            ("user job crashed", FaultKind::Software),
            ("RMA", FaultKind::Unknown),
            ("", FaultKind::Unknown),
        ] {
            assert_eq!(FaultKind::of_words(text), kind, "{text}");
        }
    }
}
