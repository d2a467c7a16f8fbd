//! Decodes the causes of XIDs 144 to 150 from the interrupt word and the error status of the line, in the layout of the
//! driver. The rows are NVIDIA's; the catalogue decides the response.

use mainstay_model::Version;

/// First driver release with the newer layout of the interrupt word.
const NEWER_FROM: u32 = 575;

/// Position of the reason in the interrupt word, in both layouts.
const REASON_SHIFT: u32 = 20;
const REASON_MASK: u32 = 0x3f;

/// The layout of the interrupt word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The layout before driver R575.
    R565,
    /// The layout from driver R575 on.
    R575,
}

/// Interrupt word and error status that identify one cause of an XID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodePattern {
    reason: u32,
    r565: LowBits,
    r575: LowBits,
    status: Status,
}

/// The expected low bits of the interrupt word; only the given digits are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LowBits {
    mask: u32,
    value: u32,
}

/// The expected error status.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Status {
    Whatever,
    HasBit(u32),
    IsOneOf(Vec<u32>),
}

// === impl Layout ===

impl Layout {
    /// Returns the layout of a driver, or `None` if its version cannot be parsed.
    #[must_use]
    pub fn of(driver: &Version) -> Option<Self> {
        let release: u32 = driver.as_str().split('.').next()?.trim().parse().ok()?;
        Some(if release >= NEWER_FROM { Self::R575 } else { Self::R565 })
    }
}

// === impl DecodePattern ===

impl DecodePattern {
    /// Parses the columns `reason`, `r565`, `r575` and `status`.
    pub(crate) fn parse(reason: &str, r565: &str, r575: &str, status: &str) -> Option<Self> {
        let reason = hex(reason).filter(|reason| *reason <= REASON_MASK)?;
        Some(Self { reason, r565: LowBits::parse(r565)?, r575: LowBits::parse(r575)?, status: Status::parse(status)? })
    }

    /// Returns the four columns as text: the reason, the low bits in both layouts, the error status.
    #[must_use]
    pub fn words(&self) -> [String; 4] {
        [format!("0x{:02x}", self.reason), self.r565.word(), self.r575.word(), self.status.word()]
    }

    /// Returns whether a line matches. The layout must be known, because the other layout gives another meaning.
    pub(crate) fn holds(&self, interrupt: u32, status: Option<u32>, layout: Layout) -> bool {
        let low = match layout {
            Layout::R565 => self.r565,
            Layout::R575 => self.r575,
        };
        interrupt >> REASON_SHIFT & REASON_MASK == self.reason
            && interrupt & low.mask == low.value
            && self.status.holds(status)
    }
}

// === impl LowBits ===

impl LowBits {
    fn parse(text: &str) -> Option<Self> {
        let value = u32::from_str_radix(text, 2).ok()?;
        let bits = u32::try_from(text.len()).ok().filter(|bits| (1..REASON_SHIFT).contains(bits))?;
        Some(Self { mask: (1 << bits) - 1, value })
    }
}

impl LowBits {
    fn word(self) -> String {
        let bits = usize::try_from(self.mask.count_ones()).unwrap_or_default();
        format!("{:0bits$b}", self.value)
    }
}

// === impl Status ===

impl Status {
    fn word(&self) -> String {
        match self {
            Self::Whatever => "any".to_owned(),
            Self::HasBit(bit) => format!("bit 0x{bit:08x}"),
            Self::IsOneOf(values) => {
                values.iter().map(|value| format!("0x{value:08x}")).collect::<Vec<_>>().join(" or ")
            }
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            None if text == "-" => Some(Self::Whatever),
            Some(("bit", value)) => hex(value).filter(|bit| bit.is_power_of_two()).map(Self::HasBit),
            Some(("is", values)) => values.split('|').map(hex).collect::<Option<Vec<u32>>>().map(Self::IsOneOf),
            None | Some(_) => None,
        }
    }

    fn holds(&self, status: Option<u32>) -> bool {
        match (self, status) {
            (Self::Whatever, _) => true,
            (Self::HasBit(bit), Some(status)) => status & bit != 0,
            (Self::IsOneOf(values), Some(status)) => values.contains(&status),
            (Self::HasBit(_) | Self::IsOneOf(_), None) => false,
        }
    }
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_says_which_layout() {
        for (driver, layout) in [
            ("570.86.15", Some(Layout::R565)),
            ("575.51.03", Some(Layout::R575)),
            ("580.95.05", Some(Layout::R575)),
            ("", None),
            ("open", None),
        ] {
            assert_eq!(driver.parse().ok().and_then(|driver| Layout::of(&driver)), layout, "{driver}");
        }
    }

    #[test]
    fn a_word_means_something_else_in_the_other_layout() {
        let down = DecodePattern::parse("0x21", "0111000110", "0010001", "-").unwrap();
        assert!(down.holds(0x0210_01c6, None, Layout::R565) && !down.holds(0x0210_01c6, None, Layout::R575));
        assert!(down.holds(0x0210_0011, None, Layout::R575) && !down.holds(0x0210_0011, None, Layout::R565));
        assert!(!down.holds(0x0200_0011, None, Layout::R575), "another reason");
        assert!(down.holds(0xfe1f_fc91, Some(7), Layout::R575), "what is not decoded does not matter");
    }

    #[test]
    fn a_row_is_told_as_it_was_written() {
        let words = |status: &str| DecodePattern::parse("0x21", "0111000110", "0010001", status).unwrap().words();
        assert_eq!(words("-"), ["0x21", "0111000110", "0010001", "any"]);
        assert_eq!(words("is 0x2|0x3").last().unwrap(), "0x00000002 or 0x00000003");
    }

    #[test]
    fn a_status_is_a_bit_or_a_value() {
        let with = |status: &str| DecodePattern::parse("0x00", "0", "0", status).unwrap();
        let holds = |status: &str, value| with(status).holds(0, value, Layout::R575);
        assert!(holds("bit 0x2", Some(3)) && !holds("bit 0x2", Some(4)) && !holds("bit 0x2", None));
        assert!(holds("is 0x2|0x3", Some(3)) && !holds("is 0x2|0x3", Some(1)));
        for wrong in ["bit 0x3", "bit", "is", "is 2", "", "has 0x1"] {
            assert_eq!(DecodePattern::parse("0x00", "0", "0", wrong), None, "{wrong}");
        }
    }
}
