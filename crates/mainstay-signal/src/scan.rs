//! A cursor over one line, and the only conversion of text from a line to bounded text. It knows no format.

/// Replacement for a character that the model does not allow.
const STAND_IN: char = '?';

/// Marker at the end of a text that was cut.
const CUT: &str = " +";

/// A position in a line, moving right. A step that fails does not move it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a>(&'a str);

// === impl Cursor ===

impl<'a> Cursor<'a> {
    /// Creates a cursor at the beginning of a text.
    pub(crate) const fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// Creates a cursor after the last `mark`. Drivers print the process name first and their own text after it. A
    /// search from the end therefore finds the driver's text, whatever a tenant named its process.
    pub(crate) fn behind_last(text: &'a str, mark: &str) -> Option<Self> {
        text.rsplit_once(mark).map(|(_, rest)| Self(rest))
    }

    /// Returns the remaining text.
    pub(crate) const fn rest(&self) -> &'a str {
        self.0
    }

    /// Moves past `expected`.
    pub(crate) fn eat(&mut self, expected: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// Moves past the next `mark` and returns the text before it.
    pub(crate) fn until(&mut self, mark: &str) -> Option<&'a str> {
        let (before, rest) = self.0.split_once(mark)?;
        self.0 = rest;
        Some(before)
    }

    /// Moves past characters of a kind and returns them; there may be none.
    pub(crate) fn run(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let rest = self.0.trim_start_matches(of);
        let run = self.0.strip_suffix(rest).unwrap_or_default();
        self.0 = rest;
        run
    }

    /// Parses a decimal number of at most nine digits.
    pub(crate) fn number(&mut self) -> Option<u32> {
        let mut ahead = *self;
        let digits = ahead.run(|c| c.is_ascii_digit());
        let number = if digits.len() <= 9 { digits.parse().ok()? } else { return None };
        *self = ahead;
        Some(number)
    }

    /// Parses a hexadecimal number of at most 32 bits, with or without `0x`.
    pub(crate) fn hex(&mut self) -> Option<u32> {
        let mut ahead = *self;
        let _ = ahead.eat("0x");
        let digits = ahead.run(|c| c.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok()?;
        *self = ahead;
        Some(number)
    }

    /// Parses a name as drivers write units and states: letters, digits, `_` and `-`.
    pub(crate) fn word(&mut self) -> Option<&'a str> {
        let mut ahead = *self;
        ahead.run(|c| c == ' ');
        let word = ahead.run(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if word.is_empty() {
            return None;
        }
        *self = ahead;
        Some(word)
    }
}

/// Returns the beginning of a text, limited to a number of bytes and to whole characters.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}

/// Converts text of a line to the model's form. An invalid character becomes the replacement. A text that is too long
/// is cut between words and ends in `+`, because half a register looks like another register.
pub(crate) fn clean(text: &str, bytes_max: usize) -> String {
    let plain = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '&' | '<' | '>' | '\\');
    let mut clean: String = text.trim().chars().map(|c| if plain(c) { c } else { STAND_IN }).collect();
    if clean.len() > bytes_max {
        let room = bytes_max.saturating_sub(CUT.len());
        let whole = clean.get(..=room).and_then(|kept| kept.rfind(' ')).unwrap_or(room);
        clean.truncate(whole);
        clean.push_str(CUT);
        clean.truncate(bytes_max);
    }
    clean
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_step_that_fails_leaves_the_cursor_where_it_was() {
        let mut cursor = Cursor::new("1234567890 x");
        assert_eq!(cursor.number(), None);
        assert_eq!(cursor.eat("2"), None);
        assert_eq!(cursor.until("y"), None);
        assert_eq!(cursor.rest(), "1234567890 x");
        assert_eq!(cursor.hex(), None, "ten digits do not fit 32 bits");
        assert_eq!(cursor.rest(), "1234567890 x");
    }

    #[test]
    fn numbers_words_and_runs_are_stepped_over() {
        let mut cursor = Cursor::new("0x1F, NETIR_LINK_EVT  Fatal 09(");
        assert_eq!(cursor.hex(), Some(0x1f));
        assert_eq!(cursor.eat(","), Some(()));
        assert_eq!(cursor.word(), Some("NETIR_LINK_EVT"));
        assert_eq!(cursor.word(), Some("Fatal"));
        assert_eq!(cursor.run(|c| c == ' '), " ");
        assert_eq!(cursor.number(), Some(9));
        assert_eq!(cursor.rest(), "(");
    }

    #[test]
    fn a_text_is_cut_between_words() {
        assert_eq!(clean("r0=10000000 r2=00000002", 23), "r0=10000000 r2=00000002");
        assert_eq!(clean("r0=10000000 r2=00000002", 22), "r0=10000000 +");
        assert_eq!(clean("r0=10000000 r2=00000002", 13), "r0=10000000 +");
        assert_eq!(clean("abcdefgh", 6), "abcd +");
    }

    #[test]
    fn strange_characters_become_the_stand_in() {
        assert_eq!(clean(" a\u{1b}[2J<é>\" ", 64), "a?[2J????");
    }

    proptest! {
        #[test]
        fn clean_text_is_within_any_bound(text in "\\PC{0,90}", bytes_max in 0_usize..80) {
            prop_assert!(clean(&text, bytes_max).len() <= bytes_max);
        }

        #[test]
        fn clean_text_is_left_alone(text in "[!#-%'-;=?-\\[\\]-~]{0,64}") {
            prop_assert_eq!(clean(&text, 64), text);
        }
    }
}
