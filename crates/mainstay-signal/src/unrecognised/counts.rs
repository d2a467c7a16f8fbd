//! Counts templates within a bound. Memory and report stay small however many templates a log has; the rest is a number.

use std::collections::BTreeMap;

use mainstay_model::{Bounded, Code, Span, Timestamp, UnrecognisedLine};

use super::LineTemplate;

/// Maximum number of templates that a node reports.
pub const TEMPLATES_MAX: usize = 8;

/// Time without a line after which a template is dropped: it is no longer a fault of today.
const FORGOTTEN_AFTER: Span = Span::hours(24);

/// Time without a line after which a template may be replaced by a new one. Lines of a boot would otherwise leave no room
/// for the fault that follows.
const REPLACED_AFTER: Span = Span::hours(1);

/// The templates of one boot with their counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnrecognisedCounts {
    lines: BTreeMap<Code, UnrecognisedLine>,
    overflow: u64,
}

// === impl UnrecognisedCounts ===

impl UnrecognisedCounts {
    /// Restores stored counts of the same boot.
    #[must_use]
    pub fn of_lines(lines: &Bounded<UnrecognisedLine, TEMPLATES_MAX>, overflow: u64) -> Self {
        let lines = lines.as_slice().iter().map(|line| (line.code.clone(), line.clone())).collect();
        Self { lines, overflow }
    }

    /// Counts a line; returns whether its template is new. Without room for a new template, the overflow rises.
    pub fn note(&mut self, line: &LineTemplate, at: Timestamp) -> bool {
        if let Some(known) = self.lines.get_mut(&line.code) {
            known.count = known.count.saturating_add(1);
            known.last_seen_at = known.last_seen_at.max(at);
            return false;
        }
        if self.lines.len() >= TEMPLATES_MAX && !self.make_room(at) {
            self.overflow = self.overflow.saturating_add(1);
            return false;
        }
        let LineTemplate { code, template, component } = line.clone();
        let counted =
            UnrecognisedLine { code: code.clone(), template, component, count: 1, first_seen_at: at, last_seen_at: at };
        self.lines.insert(code, counted);
        true
    }

    /// Counts lines whose template was not determined, because too many came at once.
    pub fn note_uncounted(&mut self, lines: u64) {
        self.overflow = self.overflow.saturating_add(lines);
    }

    /// Drops templates without a line for a day; returns whether there was one.
    pub fn forget(&mut self, now: Timestamp) -> bool {
        let before = self.lines.len();
        self.lines.retain(|_, line| now.since(line.last_seen_at) < FORGOTTEN_AFTER);
        self.lines.len() != before
    }

    /// Returns the templates, the most frequent first.
    #[must_use]
    pub fn lines(&self) -> Bounded<UnrecognisedLine, TEMPLATES_MAX> {
        let mut sorted: Vec<&UnrecognisedLine> = self.lines.values().collect();
        sorted.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.code.cmp(&b.code)));
        let mut lines = Bounded::new();
        for line in sorted {
            // The map has no more than the list takes.
            let _ = lines.try_push(line.clone());
        }
        lines
    }

    /// Returns the number of lines that are in no template, for want of room or time.
    #[must_use]
    pub const fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Drops the template that has been without a line the longest; returns whether there was one.
    fn make_room(&mut self, at: Timestamp) -> bool {
        let oldest = self.lines.values().min_by_key(|line| line.last_seen_at);
        let oldest = oldest.filter(|line| at.since(line.last_seen_at) >= REPLACED_AFTER).map(|line| line.code.clone());
        match oldest {
            Some(code) => {
                let dropped = self.lines.remove(&code).map_or(0, |line| line.count);
                self.overflow = self.overflow.saturating_add(dropped);
                true
            }
            None => false,
        }
    }
}
