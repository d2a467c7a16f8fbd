//! Marks of state: a shape each, beside its word. On a terminal the shape has a colour as well, which says nothing that shape
//! and word do not.

use mainstay_model::Stage;

/// The shape of a stage.
pub(crate) const fn mark(stage: Stage) -> char {
    match stage {
        Stage::Bootstrapping => '○',
        Stage::InService => '●',
        Stage::Suspect => '◐',
        Stage::Quarantined => '▲',
        Stage::Draining => '▼',
        Stage::Repairing => '✚',
        Stage::Qualifying => '◇',
        Stage::Maintenance => '□',
        Stage::Upgrading => '△',
        Stage::Held => '■',
        Stage::Retired => '✕',
    }
}

/// Colours of the eight that people who see red and green alike tell apart (Okabe and Ito), as the nearest of 256.
const COLOURS: [(char, u8); 12] = [
    ('●', 36),
    ('◐', 214),
    ('▲', 166),
    ('▼', 166),
    ('✚', 175),
    ('◇', 74),
    ('■', 25),
    ('✕', 166),
    ('✓', 36),
    ('!', 214),
    ('+', 36),
    ('-', 166),
];

/// The text with its marks in colour. Only a mark that begins a word of its own is one.
pub(crate) fn coloured(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() * 2);
    let letters: Vec<char> = text.chars().collect();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| letters.get(place));
        let is_alone =
            before.is_none_or(|c| c.is_whitespace()) && letters.get(place + 1).is_none_or(|c| c.is_whitespace());
        match COLOURS.iter().find(|(mark, _)| mark == letter).filter(|_| is_alone) {
            Some((_, colour)) => shown.push_str(&format!("\u{1b}[38;5;{colour}m{letter}\u{1b}[0m")),
            None => shown.push(*letter),
        }
    }
    shown
}

/// Whether colours are wanted: on a terminal, where nobody said no (no-color.org).
pub(crate) fn are_wanted() -> bool {
    let says_no = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    crate::output::is_terminal() && !says_no && !is_dumb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_shape_of_its_own() {
        let shapes: std::collections::BTreeSet<char> = Stage::ALL.into_iter().map(mark).collect();
        assert_eq!(shapes.len(), Stage::ALL.len());
    }

    #[test]
    fn colour_is_beside_shapes_and_never_within_words() {
        assert_eq!(coloured("- a-b"), "\u{1b}[38;5;166m-\u{1b}[0m a-b");
        assert_eq!(coloured("plain, r1-n2"), "plain, r1-n2");
    }
}
