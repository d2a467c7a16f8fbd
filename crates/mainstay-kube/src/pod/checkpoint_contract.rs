//! Annotations of a pod about checkpoints. An invalid value counts as no annotation.

use std::collections::BTreeMap;

use mainstay_model::{Checkpoints, Contract, Span};

/// Annotation: `on-request` if the pod answers a CheckpointRequest, `on-stop` if it saves when it is stopped.
const SAVES: &str = "mainstay.dev/saves";
/// Annotation: time it needs to save when it is stopped, for example `90s`.
const SAVES_WITHIN: &str = "mainstay.dev/saves-within";
/// Annotation: time between its own checkpoints, for example `30m`.
const SAVES_EVERY: &str = "mainstay.dev/saves-every";
/// Annotation: time that one checkpoint takes.
const SAVE_TAKES: &str = "mainstay.dev/save-takes";
/// Longest time that an annotation may ask for.
const SPAN_MAX: Span = Span::hours(24);

/// How a pod saves when it is stopped, and how often it saves by itself.
pub(super) type CheckpointContract = (Contract, Checkpoints);

/// Checkpoint contract in these annotations.
pub(super) fn promise(annotations: Option<&BTreeMap<String, String>>) -> CheckpointContract {
    let Some(annotations) = annotations else { return CheckpointContract::default() };
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

    fn promised(pairs: &[(&str, &str)]) -> CheckpointContract {
        promise(Some(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()))
    }

    #[test]
    fn a_pod_promises_what_it_says_and_nothing_where_it_cannot_be_understood() {
        assert_eq!(promise(None), CheckpointContract::default());
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
