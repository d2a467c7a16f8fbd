//! The rules that apply in one pool: the catalogue with the pool's overrides.

use mainstay_model::{Code, Override, Policy, RuleName, Source};

use super::{Catalogue, Row};

/// The catalogue as one pool sees it.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The catalogue.
    pub catalogue: &'a Catalogue,
    /// The policy of the pool, if it has one. Its overrides replace the rules of codes.
    pub policy: Option<&'a Policy>,
}

impl<'a> Rules<'a> {
    /// Returns whether a code can lead to a rule, by the pool's override or by a row of the code.
    #[must_use]
    pub fn leads_to(self, source: Source, code: &Code, rule: &RuleName) -> bool {
        self.of_code(source, code).any(|one| one == rule)
    }

    /// Returns the rules that a code can lead to.
    pub fn of_code(self, source: Source, code: &Code) -> impl Iterator<Item = &'a RuleName> {
        let overriding = self.overriding(source, code.as_str());
        let rows = if overriding.is_some() { &[][..] } else { self.rows(source, code) };
        overriding.map(|one| &one.rule).into_iter().chain(rows.iter().map(|row| &row.rule))
    }

    /// The pool's override for a code.
    pub(crate) fn overriding(self, source: Source, code: &str) -> Option<&'a Override> {
        let names = |one: &&Override| one.source == source && one.code.as_str() == code;
        self.policy?.overrides.as_slice().iter().find(names)
    }

    fn rows(self, source: Source, code: &Code) -> &'a [Row] {
        self.catalogue.known(source, code.as_str()).map_or(self.catalogue.unknown(), |group| &group.rows)
    }
}
