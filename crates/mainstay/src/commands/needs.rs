//! Collects from a view of the cluster what the definition of "needs an operator" looks at ([`mainstay_web::render::needs`]).

use std::collections::BTreeMap;

use mainstay_kube::View;
use mainstay_web::render::needs::{Facts, Installation, Leadership, OpenIncident};

use super::incidents::IncidentView;

/// Kinds of Mainstay that a view reads.
const OUR_KINDS: usize = 6;

/// What a cluster shows.
pub(crate) fn facts(view: &View, leadership: Leadership, open: Vec<OpenIncident>) -> Facts<'_> {
    let mut remediators: BTreeMap<String, u32> = BTreeMap::new();
    for who in view.nodes().keys().filter_map(|node| view.others(node)?.remediator) {
        *remediators.entry(who.to_owned()).or_default() += 1;
    }
    let installation = if is_absent(view) {
        Installation::Absent
    } else if view.cell().is_none() && !is_unread(view, "cells") {
        Installation::WithoutCell
    } else {
        Installation::Present
    };
    Facts {
        engine: view.engine(),
        mode: view.mode_in_effect().unwrap_or_default(),
        installation,
        leadership,
        violation: view.violations().first().map(String::as_str),
        open,
        agents: (!is_unread(view, "nodereports")).then(|| view.engine().agents()),
        remediators,
    }
}

/// Open incidents, as the definition looks at them.
pub(super) fn open(view: &View, cases: &[IncidentView<'_>]) -> Vec<OpenIncident> {
    let of = |case: &IncidentView<'_>| OpenIncident {
        id: case.name.clone(),
        title: case.title(view),
        is_acknowledged: case.acknowledged.is_some(),
    };
    cases.iter().map(of).collect()
}

/// Whether the API server knows no kind of Mainstay.
pub(super) fn is_absent(view: &View) -> bool {
    let absent = view.unread().iter().filter(|unread| unread.why == mainstay_kube::SkipReason::NotInstalled);
    absent.count() >= OUR_KINDS
}

pub(super) fn is_unread(view: &View, kind: &str) -> bool {
    view.unread().iter().any(|unread| unread.kind == kind)
}
