//! The API server's audit log, read one event at a time: at 100,000 nodes it has hundreds of thousands of events.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};

use anyhow::Result;
use serde_json::Value;

use crate::{Cluster, NAMESPACE};

const READS: [&str; 3] = ["get", "list", "watch"];

/// A write request in the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedWrite {
    /// API group and resource, and the subresource if there is one: `mainstay.dev/gpunodes/status`.
    pub place: String,
    /// Name of the object.
    pub name: String,
    /// Verb of the request, such as `patch`.
    pub verb: String,
    /// HTTP status code of the response; 0 where the log has none.
    pub code: u64,
}

impl Cluster {
    /// Every event of the audit log so far.
    pub fn audit_events(&self) -> Result<impl Iterator<Item = Result<Value>>> {
        let lines = BufReader::new(File::open(self.audit_log())?).lines();
        Ok(lines.map(|line| Ok(serde_json::from_str(&line?)?)))
    }

    /// Every write of a service account in `mainstay-system`, refused ones as well.
    pub fn audited_writes(&self, account: &str) -> Result<impl Iterator<Item = Result<AuditedWrite>>> {
        let user = format!("system:serviceaccount:{NAMESPACE}:{account}");
        let write = move |event: Result<Value>| event.map(|event| AuditedWrite::of(&event, &user)).transpose();
        Ok(self.audit_events()?.filter_map(write))
    }

    /// Number of writes of a service account in `mainstay-system`, by place.
    pub fn audited_write_counts(&self, account: &str) -> Result<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        for write in self.audited_writes(account)? {
            *counts.entry(write?.place).or_default() += 1;
        }
        Ok(counts)
    }
}

impl AuditedWrite {
    fn of(event: &Value, user: &str) -> Option<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verb = text(&event["verb"]);
        if event["user"]["username"] != user || READS.contains(&verb.as_str()) {
            return None;
        }
        let object = &event["objectRef"];
        let mut place = format!("{}/{}", text(&object["apiGroup"]), text(&object["resource"]));
        if let Some(subresource) = object["subresource"].as_str() {
            place = format!("{place}/{subresource}");
        }
        let code = event["responseStatus"]["code"].as_u64().unwrap_or(0);
        Some(Self { place, name: text(&object["name"]), verb, code })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_write_has_its_place_and_a_read_or_another_user_is_none() {
        let event = |verb: &str| {
            json!({
                "verb": verb, "user": { "username": "a" }, "responseStatus": { "code": 403 },
                "objectRef": { "apiGroup": "mainstay.dev", "resource": "cells", "subresource": "status", "name": "cell" },
            })
        };
        let write = AuditedWrite::of(&event("patch"), "a").unwrap();
        assert_eq!((write.place.as_str(), write.name.as_str(), write.code), ("mainstay.dev/cells/status", "cell", 403));
        assert_eq!(AuditedWrite::of(&event("watch"), "a"), None);
        assert_eq!(AuditedWrite::of(&event("patch"), "b"), None);
    }
}
