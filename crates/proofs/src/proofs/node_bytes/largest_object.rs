//! The largest object that a schema accepts: every list and string at its bound, every number at its maximum. Made from
//! the schema, so that a new field is counted without anybody thinking of it.

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

pub(super) fn of(kind: &str) -> Result<Value> {
    let crds = mainstay_api::crds();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == kind).with_context(|| format!("no kind {kind}"))?;
    let version = crd.spec.versions.first().context("a version")?;
    let schema = serde_json::to_value(version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref()))?;
    let mut object = json!({
        "apiVersion": format!("{}/{}", crd.spec.group, version.name),
        "kind": kind,
        "metadata": {"name": "n".repeat(253), "annotations": {(mainstay_api::EPOCH): i64::MAX.to_string()}},
    });
    for part in ["spec", "status"] {
        if let Some(schema) = schema["properties"].get(part) {
            object[part] = fullest(schema, 0)?;
        }
    }
    // CEL allows an order only one of the two; the larger one is kept.
    for order in object.pointer_mut("/status/orders").and_then(Value::as_array_mut).into_iter().flatten() {
        order.as_object_mut().context("an order")?.remove("step");
    }
    // What was found is said with Return or Hold only; with the word, Return is longer than any kind without it.
    if let Some(request) = object.pointer_mut("/spec/request") {
        request["kind"] = json!("Return");
    }
    Ok(object)
}

fn fullest(schema: &Value, item: usize) -> Result<Value> {
    let bound = |key: &str| schema[key].as_u64().and_then(|bound| usize::try_from(bound).ok());
    let value = match schema["type"].as_str().unwrap_or_default() {
        "object" => {
            let properties = schema["properties"].as_object().context("an object without properties")?;
            let filled = properties.iter().map(|(name, schema)| Ok((name.clone(), fullest(schema, item)?)));
            Value::Object(filled.collect::<Result<Map<_, _>>>()?)
        }
        "array" => {
            let items = bound("maxItems").context("a list without a bound")?;
            (0..items).map(|item| fullest(&schema["items"], item)).collect::<Result<_>>()?
        }
        // The schema carries bounds as floats; the text of one is the shortest exact way out.
        "integer" if schema.get("maximum").is_some() => {
            json!(format!("{:.0}", schema["maximum"].as_f64().context("a bound")?).parse::<i64>()?)
        }
        "integer" if schema["format"] == "int32" => json!(i32::MAX),
        "integer" => json!(i64::MAX),
        "string" if schema.get("enum").is_some() => {
            let words = schema["enum"].as_array().context("an enum")?.iter().filter_map(Value::as_str);
            json!(words.max_by_key(|word| word.len()).context("an enum without words")?)
        }
        "string" if schema["format"] == "date-time" => json!("2026-11-15T03:00:00.123456789Z"),
        "string" => {
            // Distinct in each item of a list, because some lists are maps by a key.
            let distinct = format!("{item}-");
            let rest = bound("maxLength").context("a string without a bound")?.saturating_sub(distinct.len());
            json!(distinct + &"z".repeat(rest))
        }
        other => bail!("no fullest value of type \"{other}\""),
    };
    Ok(value)
}
