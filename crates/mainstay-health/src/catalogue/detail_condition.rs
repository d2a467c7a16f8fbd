//! The condition of a row on the detail of its evidence: text, position on the chip, or register bits. It decides no
//! response.

use super::{DecodePattern, Layout};

/// Number of registers in an XID 74 line.
const REGISTERS: usize = 7;

/// A set of bits for each register of an XID 74 line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers([u32; REGISTERS]);

/// Which details of its evidence a row of the catalogue matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetailCondition {
    /// No condition on the detail.
    Always,
    /// No condition, but each detail is counted separately.
    Each,
    /// The detail is exactly this text.
    Is(Box<str>),
    /// The detail contains this word.
    Word(Box<str>),
    /// The detail names a place on the chip (GPC and TPC), and no other place was reported with the same code.
    OnePlace,
    /// The detail decodes to this cause.
    Decoded(DecodePattern),
    /// At least one of these bits is set.
    Any(Registers),
    /// Some bits are set, and only these.
    Only(Registers),
}

/// Text, link, chip position and registers of a detail, parsed once for all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParsedDetail<'a> {
    text: &'a str,
    link: Option<u16>,
    /// Place on the chip, as GPC and TPC.
    place: (Option<u16>, Option<u16>),
    registers: Registers,
    reading: Completeness,
    interrupt: Option<u32>,
    status: Option<u32>,
}

/// Whether all registers of a detail are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completeness {
    Whole,
    /// Some registers could not be parsed or were cut off.
    Partial,
}

// === impl Registers ===

impl Registers {
    /// Parses a list such as `r0:8,9 r2:13`.
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

// === impl DetailCondition ===

impl DetailCondition {
    /// Parses the column `when`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            None if text == "-" => Some(Self::Always),
            None if text == "each" => Some(Self::Each),
            Some(("one", "gpc tpc")) => Some(Self::OnePlace),
            Some(("word", word)) => (!word.is_empty()).then(|| Self::Word(word.into())),
            Some(("any", bits)) => Registers::parse(bits).map(Self::Any),
            Some(("only", bits)) => Registers::parse(bits).map(Self::Only),
            None | Some(_) => (!text.is_empty()).then(|| Self::Is(text.into())),
        }
    }

    /// Returns whether a detail meets the condition. If registers were parsed only in part, only a set bit counts as
    /// known, and a row that always matches covers the rest.
    pub(crate) fn holds(&self, said: ParsedDetail<'_>, layout: Option<Layout>) -> bool {
        match self {
            Self::Always | Self::Each => true,
            Self::Is(text) => said.is(text),
            Self::Word(word) => said.text.split_ascii_whitespace().any(|one| one == &**word),
            Self::OnePlace => said.names_a_place(),
            Self::Decoded(decode) => match (said.interrupt, layout) {
                (Some(interrupt), Some(layout)) => decode.holds(interrupt, said.status, layout),
                (Some(_) | None, Some(_) | None) => false,
            },
            Self::Any(bits) => said.registers.meets(*bits),
            Self::Only(bits) => {
                said.reading == Completeness::Whole
                    && said.registers != Registers::default()
                    && said.registers.is_within(*bits)
            }
        }
    }
}

impl DetailCondition {
    /// Returns whether two matching details are counted together.
    pub(crate) fn adds_up(&self, one: ParsedDetail<'_>, other: ParsedDetail<'_>) -> bool {
        match self {
            Self::Each => one.text == other.text,
            Self::Always
            | Self::Is(_)
            | Self::Word(_)
            | Self::OnePlace
            | Self::Any(_)
            | Self::Only(_)
            | Self::Decoded(_) => one.link == other.link,
        }
    }
}

// === impl ParsedDetail ===

impl<'a> ParsedDetail<'a> {
    /// The empty detail, for evidence whose detail was lost with an earlier boot.
    pub(crate) const NOTHING: ParsedDetail<'static> = ParsedDetail {
        text: "",
        link: None,
        place: (None, None),
        registers: Registers([0; REGISTERS]),
        reading: Completeness::Partial,
        interrupt: None,
        status: None,
    };

    /// Parses a detail such as `link 3 r0=10000000 r2=00000002`; any text is valid. A single `+` marks where a long
    /// text was cut.
    pub(crate) fn read(text: &'a str) -> Self {
        let mut said = Self { text, reading: Completeness::Whole, ..Self::NOTHING };
        let mut words = text.split_ascii_whitespace();
        while let Some(word) = words.next() {
            if word == "link" {
                said.link = words.next().and_then(|number| number.parse().ok());
            } else if word == "gpc" {
                said.place.0 = words.next().and_then(|number| number.parse().ok());
            } else if word == "tpc" {
                said.place.1 = words.next().and_then(|number| number.parse().ok());
            } else if let Some(value) = word.strip_prefix("i=") {
                said.interrupt = u32::from_str_radix(value, 16).ok();
            } else if let Some(value) = word.strip_prefix("s=") {
                said.status = u32::from_str_radix(value, 16).ok();
            } else if word == "+" {
                said.reading = Completeness::Partial;
            } else if let Some((register, value)) = register(word) {
                match (said.registers.0.get_mut(register), u32::from_str_radix(value, 16)) {
                    (Some(held), Ok(value)) => *held |= value,
                    (Some(_) | None, Ok(_) | Err(_)) => said.reading = Completeness::Partial,
                }
            }
        }
        said
    }

    /// Returns whether the detail is this text, possibly after the place of a part that is not in the inventory.
    fn is(self, text: &str) -> bool {
        self.text.strip_suffix(text).is_some_and(|before| before.is_empty() || before.ends_with(' '))
    }

    fn names_a_place(self) -> bool {
        self.place.0.is_some() && self.place.1.is_some()
    }

    /// Returns whether both details name a place on the chip, and the places differ.
    pub(crate) fn is_elsewhere(self, other: Self) -> bool {
        self.names_a_place() && other.names_a_place() && self.place != other.place
    }
}

/// Parses the number and the value of `r0=10000000`.
fn register(word: &str) -> Option<(usize, &str)> {
    let (register, value) = word.strip_prefix('r')?.split_once('=')?;
    Some((register.parse().ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(when: &str, detail: &str) -> bool {
        DetailCondition::parse(when).unwrap().holds(ParsedDetail::read(detail), Some(Layout::R575))
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
            assert_eq!(DetailCondition::parse(when), None, "{when}");
        }
    }

    #[test]
    fn a_word_is_a_whole_word_wherever_it_stands() {
        assert!(holds("word Fatal", "nvswitch0 Fatal link 30"));
        assert!(!holds("word Fatal", "nvswitch0 Non-fatal link 30"));
        assert!(!holds("word Fatal", "Fatally link 30"));
    }

    #[test]
    fn a_place_on_the_chip_has_two_numbers() {
        assert!(holds("one gpc tpc", "gpc 1 tpc 3"));
        assert!(!holds("one gpc tpc", "gpc 1"));
        let (here, there, nowhere) =
            (ParsedDetail::read("gpc 1 tpc 3"), ParsedDetail::read("gpc 1 tpc 4"), ParsedDetail::read(""));
        assert!(here.is_elsewhere(there) && !here.is_elsewhere(here) && !here.is_elsewhere(nowhere));
    }

    #[test]
    fn details_of_two_links_do_not_add_up() {
        let adds_up = |when, one, other| {
            DetailCondition::parse(when).unwrap().adds_up(ParsedDetail::read(one), ParsedDetail::read(other))
        };
        assert!(adds_up("any r0:4", "link 3 r0=10", "link 3 r0=20"));
        assert!(!adds_up("any r0:4", "link 3 r0=10", "link 4 r0=10"));
        assert!(adds_up("each", "port 1", "port 1"));
        assert!(!adds_up("each", "port 1", ""));
    }

    #[test]
    fn a_line_is_decoded_in_the_layout_of_its_driver_alone() {
        let when = DetailCondition::Decoded(DecodePattern::parse("0x21", "0111000110", "0010001", "-").unwrap());
        let said = ParsedDetail::read("NETIR_LINK_DOWN Fatal link 1 i=02100011 s=00000000");
        assert!(when.holds(said, Some(Layout::R575)));
        assert!(!when.holds(said, Some(Layout::R565)));
        assert!(!when.holds(said, None), "a driver that nobody can read");
        assert!(!when.holds(ParsedDetail::read("NETIR_LINK_DOWN Fatal link 1"), Some(Layout::R575)));
    }
}
