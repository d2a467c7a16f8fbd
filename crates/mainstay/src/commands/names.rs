//! Suggestions for unknown names.

use crate::output::Problem;

/// Suggestions per unknown name.
const OFFERED_MAX: usize = 3;
/// Names that are compared at most.
const COMPARED_MAX: usize = 200_000;

/// The problem for an unknown name, with suggestions.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone, list: &str) -> Problem {
    let near = near(name, known.clone());
    let detail = match (near.as_slice(), known.take(1).count()) {
        ([], 0) => format!("no {what} is visible to this account."),
        ([], _) => "no similar name exists.".to_owned(),
        (near, _) => format!("did you mean {}?", near.join(", ")),
    };
    Problem { what: format!("unknown {what} {name}"), detail, hint: format!("`{list}` lists them.") }
}

/// The nearest names: those that hold it, then those that are few letters away.
fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let allowed = (name.chars().count() / 3).max(1);
    let mut scored: Vec<(usize, &str)> = known
        .take(COMPARED_MAX)
        .filter_map(|one| {
            let distance = if !name.is_empty() && one.contains(name) { 0 } else { distance(name, one) };
            (distance <= allowed).then_some((distance, one))
        })
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(OFFERED_MAX).map(|(_, one)| one).collect()
}

/// The edit distance: letters to insert, delete, change or swap with a neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let at = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX - 1);
            let mut least = (at(&row, j) + usize::from(a != b)).min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let is_swapped = i > 0 && j > 0 && one.get(i - 1) == Some(b) && other.get(j - 1) == Some(a);
            if is_swapped {
                least = least.min(at(&before, j - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_name_and_nonsense_finds_none() {
        let known = ["r1n04", "r1n40", "r2n11", "gpu-a"];
        assert_eq!(near("r1n4", known.into_iter()), ["r1n40", "r1n04"]);
        assert_eq!(near("r1n 04", known.into_iter()), ["r1n04", "r1n40"]);
        assert!(near("elephant", known.into_iter()).is_empty());
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("", "abc"), 3);
        let said = unknown("node", "r1n05", known.into_iter(), "mainstay node list");
        assert_eq!(said.detail, "did you mean r1n04?");
    }
}
