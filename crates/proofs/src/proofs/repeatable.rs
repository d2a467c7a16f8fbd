//! Objects of two runs of one scenario, without what differs in every run.

use serde_json::{Map, Value};

/// Fields that differ between two runs: identities, leaders and times.
const APART: [&str; 11] = [
    "uid",
    "resourceVersion",
    "generation",
    "managedFields",
    "creationTimestamp",
    "epoch",
    "newestHour",
    "selfLink",
    "nonce",
    "observedGeneration",
    "mainstay.dev/epoch",
];

/// An object without these fields, and without times in its texts.
pub(super) fn plain(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| !APART.contains(&name.as_str()));
            let kept = kept.map(|(name, value)| (name, plain(value)));
            // An object that an operator created has no annotation with the epoch, and perhaps no other.
            let is_empty = |name: &str, value: &Value| name == "annotations" && *value == Value::Object(Map::new());
            Value::Object(kept.filter(|(name, value)| !is_empty(name, value)).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        Value::String(text) => Value::String(timeless(&text)),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

/// A text without a moment, without the moment at the end of an incident's name, and without the one in a request's name.
fn timeless(text: &str) -> String {
    if text.parse::<jiff::Timestamp>().is_ok() {
        return "a moment".to_owned();
    }
    let is_hex = |part: &str| part.len() == 11 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let text: Vec<&str> = text.split('-').map(|part| if is_hex(part) { "then" } else { part }).collect();
    let text = text.join("-");
    let is_moment = |end: &str| end.len() == 15 && end.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match text.char_indices().rev().nth(14).map(|(at, _)| text.split_at(at)) {
        Some((start, end)) if is_moment(end) => format!("{start}then"),
        _ => text,
    }
}

/// What differs between two runs.
pub(super) fn difference(expected: &[Value], found: &[Value]) -> String {
    let only = |these: &[Value], those: &[Value]| -> Vec<String> {
        these.iter().filter(|one| !those.contains(one)).map(ToString::to_string).collect()
    };
    format!("missing {:?}, instead {:?}", only(expected, found), only(found, expected))
}
