//! Owners of the owners of pods: a Job of a JobSet belongs to the JobSet's gang. Only metadata is read.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::watch::Key;

/// Deepest chain of owners. A deeper one is an error or a cycle.
const ABOVE_MAX: usize = 8;
/// Largest number of owners kept: one per node of the largest cluster. Beyond it, a pod's direct owner names the gang.
const OWNERS_MAX: usize = 100_000;

/// One owner, as an owner reference names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    uid: Box<str>,
    /// Kind and name of the owner.
    pub(super) words: String,
}

/// Owners of owners, for the kinds that are followed.
#[derive(Debug, Default)]
pub(super) struct Owners {
    above: BTreeMap<Box<str>, Option<Owner>>,
    /// UID of an object by kind and key, because a deletion gives only the key.
    named: BTreeMap<(usize, Key), Box<str>>,
}

impl Owner {
    pub(super) fn of(owner: &OwnerReference) -> Self {
        let words = format!("{}/{}", owner.kind.to_ascii_lowercase(), owner.name);
        Self { uid: owner.uid.as_str().into(), words }
    }

    pub(super) fn uid(&self) -> &str {
        &self.uid
    }
}

impl Owners {
    /// Topmost known owner of an owner.
    pub(super) fn top<'a>(&'a self, owner: &'a Owner) -> &'a Owner {
        let mut top = owner;
        for _ in 0..ABOVE_MAX {
            match self.above.get(&top.uid) {
                Some(Some(above)) => top = above,
                Some(None) | None => break,
            }
        }
        top
    }

    /// Stores an owner. Returns the UIDs whose pods may belong to another gang now.
    pub(super) fn is(&mut self, kind: usize, key: Key, meta: &ObjectMeta) -> BTreeSet<Box<str>> {
        let Some(uid) = meta.uid.as_deref().map(Box::<str>::from) else { return BTreeSet::new() };
        if self.above.len() >= OWNERS_MAX && !self.above.contains_key(&uid) {
            return BTreeSet::new();
        }
        let above = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true)).map(Owner::of);
        if let Some(before) = self.named.insert((kind, key), uid.clone())
            && before != uid
        {
            self.above.remove(&before);
        }
        let before = self.above.insert(uid.clone(), above.clone());
        if before.flatten() == above { BTreeSet::new() } else { self.below(uid) }
    }

    /// Forgets a deleted owner. Its pods keep their gang while they run.
    pub(super) fn gone(&mut self, kind: usize, key: Key) {
        if let Some(uid) = self.named.remove(&(kind, key)) {
            self.above.remove(&uid);
        }
    }

    /// This UID and all UIDs below it.
    fn below(&self, uid: Box<str>) -> BTreeSet<Box<str>> {
        let mut all = BTreeSet::from([uid]);
        for _ in 0..ABOVE_MAX {
            let under = |above: &Option<Owner>| above.as_ref().is_some_and(|above| all.contains(&above.uid));
            let more: Vec<Box<str>> =
                self.above.iter().filter(|(_, above)| under(above)).map(|(uid, _)| uid.clone()).collect();
            let known = all.len();
            all.extend(more);
            if all.len() == known {
                break;
            }
        }
        all
    }
}
