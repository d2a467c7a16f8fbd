//! What a row asks of the detail of its evidence: a text, or bits of the registers in an NVLink line. It judges nothing.

/// How many registers an XID 74 line carries.
const REGISTERS: usize = 7;

/// A set of bits for each register of an XID 74 line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers([u32; REGISTERS]);

/// What a row asks of the detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// Nothing.
    Always,
    /// To be exactly this text.
    Is(Box<str>),
    /// To have one of these bits set.
    Any(Registers),
    /// To have bits set, and none but these.
    Only(Registers),
}

/// A detail, read once for all the rows it is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said<'a> {
    text: &'a str,
    link: Option<u16>,
    registers: Registers,
    reading: Reading,
}

/// Whether all of a detail's registers are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Whole,
    /// Some could not be read, or were cut away.
    Partial,
}

// === impl Registers ===

impl Registers {
    /// Reads `r0:8,9 r2:13`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut bits = Self::default();
        for word in text.split_ascii_whitespace() {
            let (register, list) = word.strip_prefix('r')?.split_once(':')?;
            let register = bits.0.get_mut(register.parse::<usize>().ok()?)?;
            for bit in list.split(',') {
                *register |= 1_u32.checked_shl(bit.parse().ok()?)?;
            }
        }
        Some(bits).filter(|bits| bits.0 != [0; REGISTERS])
    }

    fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(mine, theirs)| mine & theirs != 0)
    }

    fn is_within(self, other: Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| mine & !theirs == 0)
    }
}

// === impl When ===

impl When {
    /// Reads the column `when`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            None if text == "-" => Some(Self::Always),
            Some(("any", bits)) => Registers::parse(bits).map(Self::Any),
            Some(("only", bits)) => Registers::parse(bits).map(Self::Only),
            None | Some(_) => (!text.is_empty()).then(|| Self::Is(text.into())),
        }
    }

    /// Whether a detail is what the row asks for. Of registers that were only read in part, none but a bit that was seen
    /// is known, so that a row which always matches has to speak for the rest.
    pub(crate) fn holds(&self, said: Said<'_>) -> bool {
        match self {
            Self::Always => true,
            Self::Is(text) => said.is(text),
            Self::Any(bits) => said.registers.meets(*bits),
            Self::Only(bits) => {
                said.reading == Reading::Whole
                    && said.registers != Registers::default()
                    && said.registers.is_within(*bits)
            }
        }
    }
}

// === impl Said ===

impl<'a> Said<'a> {
    /// What is left of a detail that went with an earlier boot.
    pub(crate) const NOTHING: Said<'static> =
        Said { text: "", link: None, registers: Registers([0; REGISTERS]), reading: Reading::Partial };

    /// Reads a detail such as `link 3 r0=10000000 r2=00000002`; any text is a detail. A lone `+` stands where a long one
    /// was cut.
    pub(crate) fn read(text: &'a str) -> Self {
        let mut said = Self { text, reading: Reading::Whole, ..Self::NOTHING };
        let mut words = text.split_ascii_whitespace();
        while let Some(word) = words.next() {
            if word == "link" {
                said.link = words.next().and_then(|number| number.parse().ok());
            } else if word == "+" {
                said.reading = Reading::Partial;
            } else if let Some((register, value)) = register(word) {
                match (said.registers.0.get_mut(register), u32::from_str_radix(value, 16)) {
                    (Some(held), Ok(value)) => *held |= value,
                    (Some(_) | None, Ok(_) | Err(_)) => said.reading = Reading::Partial,
                }
            }
        }
        said
    }

    /// Whether it is this text, after the place of a part that the inventory did not have.
    fn is(self, text: &str) -> bool {
        self.text.strip_suffix(text).is_some_and(|before| before.is_empty() || before.ends_with(' '))
    }

    /// Whether both speak of the same link; details without one are all of the part as a whole.
    pub(crate) fn shares_link(self, other: Self) -> bool {
        self.link == other.link
    }
}

/// The number and the value of `r0=10000000`.
fn register(word: &str) -> Option<(usize, &str)> {
    let (register, value) = word.strip_prefix('r')?.split_once('=')?;
    Some((register.parse().ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(when: &str, detail: &str) -> bool {
        When::parse(when).unwrap().holds(Said::read(detail))
    }

    #[test]
    fn any_needs_one_bit_and_only_allows_no_other() {
        assert!(holds("any r0:8,28", "link 3 r0=10000000 r2=00000002"));
        assert!(!holds("any r0:8,28", "link 3 r0=20000000 r2=00000100"));
        assert!(holds("only r0:0,1", "link 3 r0=3"));
        assert!(!holds("only r0:0,1", "link 3 r0=7"));
        assert!(!holds("only r0:0,1", "link 3 r0=1 r2=1"));
    }

    #[test]
    fn no_bit_at_all_is_neither_any_nor_only() {
        assert!(!holds("only r0:0", "link 3 r0=0"));
        assert!(!holds("any r0:0", "link 3"));
        assert!(holds("-", "link 3"));
    }

    #[test]
    fn of_registers_read_in_part_only_a_bit_that_was_seen_is_known() {
        for detail in ["link 3 r0=1 r7=1", "link 3 r0=1 r2=?", "link 3 r0=1 r2=100000000", "link 3 r0=1 +"] {
            assert!(!holds("only r0:0", detail), "{detail}");
            assert!(holds("any r0:0", detail), "{detail}");
        }
    }

    #[test]
    fn a_text_is_compared_as_a_whole() {
        assert!(holds("to 0x1", "to 0x1"));
        assert!(!holds("to 0x1", "to 0x10"));
        assert!(!holds("to 0x1", "into 0x1"));
        assert!(holds("to 0x1", "0000:1b:00.0 to 0x1"), "a part that the inventory did not have");
    }

    #[test]
    fn bits_that_no_register_has_are_refused() {
        for when in ["any r0:32", "any r7:0", "any r0:", "only ", "any x0:1", "only r0", ""] {
            assert_eq!(When::parse(when), None, "{when}");
        }
    }

    #[test]
    fn details_of_two_links_do_not_add_up() {
        let on = |detail| Said::read(detail);
        assert!(on("link 3 r0=10").shares_link(on("link 3 r0=20")));
        assert!(!on("link 3 r0=10").shares_link(on("link 4 r0=10")));
    }
}
