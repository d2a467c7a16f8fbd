//! What an object weighs in the store: the bytes that etcd holds, which the API server does not tell. Reads only.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

const ANSWERS_AT_MOST: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<KeyValue>,
}

#[derive(Deserialize)]
struct KeyValue {
    key: String,
    #[serde(default)]
    value: String,
    /// The gateway writes 64-bit numbers as text.
    mod_revision: String,
}

/// Where the API server stores a cluster-scoped object of a CRD.
pub fn custom_key(group: &str, plural: &str, name: &str) -> String {
    format!("/registry/{group}/{plural}/{name}")
}

/// Every key that begins so, with the revision of its last change.
pub async fn revisions(etcd_url: &str, prefix: &str) -> Result<BTreeMap<String, u64>> {
    // The first key that no longer begins so; prefixes end with a slash.
    let end = format!("{}0", prefix.trim_end_matches('/'));
    let query = json!({"key": STANDARD.encode(prefix), "range_end": STANDARD.encode(end), "keys_only": true});
    let found = range(etcd_url, &query).await?.kvs.into_iter().map(|found| {
        let key = STANDARD.decode(&found.key).context("etcd's key is not base64")?;
        Ok((String::from_utf8(key)?, found.mod_revision.parse()?))
    });
    found.collect()
}

/// The stored value of one key, exactly as the API server wrote it (JSON for our kinds, protobuf for most others).
pub async fn stored(etcd_url: &str, key: &str) -> Result<Option<Vec<u8>>> {
    let range = range(etcd_url, &json!({"key": STANDARD.encode(key)})).await?;
    range.kvs.first().map(|found| STANDARD.decode(&found.value).context("etcd's value is not base64")).transpose()
}

async fn range(etcd_url: &str, query: &Value) -> Result<Range> {
    // A proxy of the environment must not see loopback traffic.
    let client = reqwest::Client::builder().no_proxy().timeout(ANSWERS_AT_MOST).build()?;
    let answer = client
        .post(format!("{etcd_url}/v3/kv/range"))
        .json(query)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .with_context(|| format!("etcd does not answer at {etcd_url}"))?;
    answer.json().await.context("etcd's answer is not a range")
}

/// How many bytes that value has.
pub async fn stored_bytes(etcd_url: &str, key: &str) -> Result<Option<usize>> {
    Ok(stored(etcd_url, key).await?.map(|value| value.len()))
}
