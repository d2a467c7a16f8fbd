//! What a pod's annotations promise about saving its work. Whoever says something that cannot be understood promises nothing.

use std::collections::BTreeMap;

use mainstay_model::{Checkpoints, Contract, Span};

/// `on-request`: it answers a CheckpointRequest. `on-stop`: it saves when it is told to stop.
const SAVES: &str = "mainstay.dev/saves";
/// How long it takes to save when it is told to stop: `90s`, `5m`.
const SAVES_WITHIN: &str = "mainstay.dev/saves-within";
/// How often it saves by itself: `30m`.
const SAVES_EVERY: &str = "mainstay.dev/saves-every";
/// How long that takes.
const SAVE_TAKES: &str = "mainstay.dev/save-takes";
/// Nobody waits longer than this for one pod, whatever it promises.
const SPAN_MAX: Span = Span::hours(24);

/// What is promised.
pub(super) type Promise = (Contract, Checkpoints);

/// What these annotations promise.
pub(super) fn promise(annotations: Option<&BTreeMap<String, String>>) -> Promise {
    let Some(annotations) = annotations else { return Promise::default() };
    let span = |key: &str| annotations.get(key).and_then(|text| read(text));
    let contract = match (annotations.get(SAVES).map(String::as_str), span(SAVES_WITHIN)) {
        (Some("on-request"), _) => Contract::OnRequest,
        (Some("on-stop"), Some(within)) => Contract::OnStop { within },
        (Some(_) | None, _) => Contract::None,
    };
    (contract, Checkpoints { last: None, every: span(SAVES_EVERY), save: span(SAVE_TAKES) })
}

fn read(text: &str) -> Option<Span> {
    let read: jiff::SignedDuration = text.parse().ok()?;
    let span = u64::try_from(read.as_millis()).ok().map(Span)?;
    (Span::ZERO < span && span <= SPAN_MAX).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promised(pairs: &[(&str, &str)]) -> Promise {
        promise(Some(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()))
    }

    #[test]
    fn a_pod_promises_what_it_says_and_nothing_where_it_cannot_be_understood() {
        assert_eq!(promise(None), Promise::default());
        assert_eq!(promised(&[(SAVES, "on-request")]).0, Contract::OnRequest);
        let within = Span::seconds(90);
        assert_eq!(promised(&[(SAVES, "on-stop"), (SAVES_WITHIN, "90s")]).0, Contract::OnStop { within });
        let checkpoints = Checkpoints { last: None, every: Some(Span::minutes(30)), save: Some(Span::minutes(2)) };
        assert_eq!(promised(&[(SAVES_EVERY, "30m"), (SAVE_TAKES, "2 minutes")]).1, checkpoints);
        for within in ["", "-90s", "0s", "soon", "25h", "99999999999999999999s"] {
            assert_eq!(promised(&[(SAVES, "on-stop"), (SAVES_WITHIN, within)]).0, Contract::None, "{within}");
        }
    }
}
