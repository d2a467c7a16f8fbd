//! Our taints on a node: one JSON patch that tests uid and resource version. Taints, labels and annotations of others stay as they are.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_act::{Reply, TargetState};
use mainstay_api::{APPROVAL, AVOID_TAINT, DO_NOT_DISRUPT, EPOCH, FENCED, PLAN, SCALE_DOWN_DISABLED, TAINT};
use mainstay_model::{Effect, Epoch, Step};
use serde_json::{Value, json};

use super::{ClusterBackend, calls, replied};
use crate::execution::Capability;
use crate::node::{self, PartialNode, ReadResult};

/// Effects of our taints.
const NO_SCHEDULE: &str = "NoSchedule";
const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";
/// Annotation: which of the autoscalers' marks are ours, so that a mark of an operator stays.
const MARKS: &str = "mainstay.dev/marks";

/// A node as the server has it now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FreshNode {
    pub(super) name: String,
    pub(super) state: TargetState,
    uid: String,
    resource_version: String,
    labels: BTreeMap<String, Value>,
    annotations: BTreeMap<String, Value>,
    taints: Vec<Value>,
    has: Present,
}

/// Which of the maps and lists exist. A JSON patch cannot add to one that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Present {
    labels: bool,
    annotations: bool,
    taints: bool,
}

impl FreshNode {
    /// The node in this JSON; none if it cannot be decoded. The engine acts on nodes with GPUs only, so whether it has some is not
    /// looked at again.
    pub(super) fn of(value: Value) -> Option<Self> {
        let map = |path: &str| value.pointer(path).and_then(Value::as_object);
        let copied = |path: &str| -> BTreeMap<String, Value> {
            map(path).into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let taints = value.pointer("/spec/taints").and_then(Value::as_array);
        let (name, uid) = (text("/metadata/name")?, text("/metadata/uid")?);
        let resource_version = text("/metadata/resourceVersion")?;
        let (labels, annotations) = (copied("/metadata/labels"), copied("/metadata/annotations"));
        let has = Present {
            labels: map("/metadata/labels").is_some(),
            annotations: map("/metadata/annotations").is_some(),
            taints: taints.is_some(),
        };
        let taints = taints.cloned().unwrap_or_default();
        let parsed: PartialNode = serde_json::from_value(value).ok()?;
        let ReadResult::Ours(read) = node::read(&parsed, &BTreeMap::new(), 1, Capability::Act) else { return None };
        let state = TargetState {
            uid: read.facts.uid,
            schedulable: read.facts.schedulable,
            is_empty: None,
            treated_by: read.others.treated_by(),
        };
        Some(Self { name, state, uid, resource_version, labels, annotations, taints, has })
    }

    /// Whether the node is as the step leaves it.
    pub(super) fn has(&self, step: &Step) -> bool {
        match step {
            Step::Cordon => self.has_taint(TAINT),
            Step::Uncordon => !self.has_taint(TAINT),
            Step::Avoid => self.has_taint(AVOID_TAINT),
            Step::EndAvoid => !self.has_taint(AVOID_TAINT),
            Step::Store(_) | Step::Order(_) | Step::AskCheckpoint { .. } | Step::Stop { .. } => false,
            Step::PowerOff | Step::ReleasePods => false,
        }
    }

    fn has_taint(&self, key: &str) -> bool {
        self.taints.iter().any(|taint| taint["key"] == key)
    }

    /// The patch of a step. The label of the fence and the marks for autoscalers are on the node from the first patch of a treatment to
    /// the last. Epoch, action and plan stay: the fence reads them on the object that a patch leads to.
    fn patch(&self, effect: &Effect, epoch: Epoch) -> Vec<Value> {
        let mut after = self.clone();
        after.change_taints(effect);
        after.annotations.extend(signature(effect, epoch).map(|(key, value)| (key.to_owned(), Value::from(value))));
        if after.has_taint(TAINT) || after.has_taint(AVOID_TAINT) {
            after.begin_treatment();
        } else {
            after.end_treatment();
        }
        let mut patch = vec![
            json!({ "op": "test", "path": "/metadata/uid", "value": self.uid }),
            json!({ "op": "test", "path": "/metadata/resourceVersion", "value": self.resource_version }),
        ];
        patch.extend(map_changes("/metadata/labels", self.has.labels, &self.labels, &after.labels));
        let annotations =
            map_changes("/metadata/annotations", self.has.annotations, &self.annotations, &after.annotations);
        patch.extend(annotations);
        let op = if self.has.taints { "replace" } else { "add" };
        patch.push(if after.taints.is_empty() && self.has.taints {
            json!({ "op": "remove", "path": "/spec/taints" })
        } else {
            json!({ "op": op, "path": "/spec/taints", "value": after.taints })
        });
        patch
    }

    fn change_taints(&mut self, effect: &Effect) {
        let action = effect.id.to_string();
        let mut set = |key: &str, by: Option<&str>| {
            self.taints.retain(|taint| taint["key"] != key);
            self.taints.extend(by.map(|by| json!({ "key": key, "value": taint_value(&action), "effect": by })));
        };
        match &effect.step {
            // A quarantined node is avoided anyway.
            Step::Cordon => {
                set(AVOID_TAINT, None);
                set(TAINT, Some(NO_SCHEDULE));
            }
            Step::Uncordon => set(TAINT, None),
            Step::Avoid => set(AVOID_TAINT, Some(PREFER_NO_SCHEDULE)),
            Step::EndAvoid => set(AVOID_TAINT, None),
            Step::Store(_) | Step::Order(_) | Step::AskCheckpoint { .. } | Step::Stop { .. } => {}
            Step::PowerOff | Step::ReleasePods => {}
        }
    }

    fn begin_treatment(&mut self) {
        self.labels.insert(FENCED.to_owned(), Value::from(""));
        // An annotation that is there already is an operator's, and stays when the treatment ends.
        let known = self.annotations.get(MARKS).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut ours: Vec<&str> = known.split(',').filter(|mark| !mark.is_empty()).collect();
        for mark in [SCALE_DOWN_DISABLED, DO_NOT_DISRUPT] {
            if !self.annotations.contains_key(mark) {
                self.annotations.insert(mark.to_owned(), Value::from("true"));
                ours.push(mark);
            }
        }
        let ours = ours.join(",");
        self.annotations.insert(MARKS.to_owned(), Value::from(ours));
    }

    fn end_treatment(&mut self) {
        self.labels.remove(FENCED);
        let marks = self.annotations.remove(MARKS);
        let marks = marks.as_ref().and_then(Value::as_str).unwrap_or_default();
        for mark in [SCALE_DOWN_DISABLED, DO_NOT_DISRUPT] {
            if marks.split(',').any(|ours| ours == mark) {
                self.annotations.remove(mark);
            }
        }
    }
}

impl ClusterBackend {
    pub(super) async fn patch_node(&self, effect: &Effect, node: &FreshNode, within: Duration) -> Reply {
        let patch = node.patch(effect, self.epoch);
        replied(calls::json_patch(&self.client, ("/api/v1/nodes", &node.name), &patch, within).await)
    }
}

/// Epoch, approval and plan, as every write that acts carries them.
pub(super) fn signature(effect: &Effect, epoch: Epoch) -> [(&'static str, String); 3] {
    let plan = effect.claim.as_ref().map(ToString::to_string).unwrap_or_default();
    [(EPOCH, epoch.0.to_string()), (APPROVAL, effect.id.to_string()), (PLAN, plan)]
}

/// An action's id as the value of a taint, which has at most 63 characters of the alphabet of labels.
fn taint_value(action: &str) -> String {
    const TAINT_VALUE_MAX: usize = 63;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let text: String = action.chars().map(plain).collect();
    let from = text.len().saturating_sub(TAINT_VALUE_MAX);
    // The end has the number of the removal. A value begins and ends with a letter or digit.
    text[from..].trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

fn map_changes(
    path: &str,
    exists: bool,
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
) -> Vec<Value> {
    let place = |key: &str| format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
    let create = (!exists && !after.is_empty()).then(|| json!({ "op": "add", "path": path, "value": {} }));
    let changed = after.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let changed = changed.map(|(key, value)| json!({ "op": "add", "path": place(key), "value": value }));
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    let removed = removed.map(|key| json!({ "op": "remove", "path": place(key) }));
    create.into_iter().chain(changed).chain(removed).collect()
}

#[cfg(test)]
mod tests;
