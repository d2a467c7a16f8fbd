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
        let overridden = self.overriding(source, code.as_str());
        overridden.map_or_else(|| self.rows(source, code).iter().any(|row| row.rule == *rule), |one| one.rule == *rule)
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
