//! The OpenAPI 3.1 document, made from [`Route`] and the types. Its schemas are JSON Schema 2020-12, which OpenAPI 3.1 uses
//! and which the derive already produces for the custom resources. So no second set of annotations is needed.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::route::{Method, QueryParameter, RequestFormat, ResponseFormat, Route, accepted};
use super::{MapChanges, Problem, ScriptStep};

/// Builds the OpenAPI document.
#[must_use]
pub fn openapi() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let refusal = generator.subschema_for::<Problem>();
    let refusal = json!({
        "description": "The call was rejected. The body has what, detail and hint.",
        "content": { "application/json": { "schema": refusal } },
    });
    let mut paths: Map<String, Value> = Map::new();
    for route in Route::ALL {
        let (method, path) = route.call();
        let item = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(method.word().to_owned(), operation(route, &refusal, &mut generator));
        }
    }
    // Only events of the stream carry these types.
    generator.subschema_for::<MapChanges>();
    generator.subschema_for::<ScriptStep>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Mainstay",
            "version": "v1",
            "description": "Times are whole milliseconds since the Unix epoch, by the fleet's clock. GPU time is in whole \
                            GPU-seconds, shares are in parts per million. Clients must ignore unknown fields.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
        // A demo on the loopback address needs no token; a cluster does.
        "security": [{}, { "token": [] }],
    })
}

fn operation(route: Route, refusal: &Value, generator: &mut SchemaGenerator) -> Value {
    let (_, path) = route.call();
    let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    let mut operation = Map::new();
    operation.insert("operationId".into(), format!("{route:?}").into());
    operation.insert("summary".into(), route.summary().into());
    match route.request_format() {
        RequestFormat::Nothing => {}
        RequestFormat::Query(words) => parameters.extend(words.iter().map(|QueryParameter(name, says, schema)| {
            json!({ "name": name, "in": "query", "description": says, "schema": schema(generator) })
        })),
        RequestFormat::Body(body) => {
            let content = json!({ "application/json": { "schema": body(generator) } });
            operation.insert("requestBody".into(), json!({ "required": true, "content": content }));
        }
    }
    if !parameters.is_empty() {
        operation.insert("parameters".into(), parameters.into());
    }
    let (status, answer) = match route.response_format() {
        ResponseFormat::Body(body) => ("200", json!({ "application/json": { "schema": body(generator) } })),
        ResponseFormat::Accepted => ("202", json!({ "application/json": { "schema": accepted(generator) } })),
        ResponseFormat::Events => ("200", json!({ "text/event-stream": { "schema": { "type": "string" } } })),
        ResponseFormat::Metrics => {
            let text = json!({ "schema": { "type": "string" } });
            ("200", json!({ "text/plain": text, "application/openmetrics-text": text }))
        }
        ResponseFormat::Document => ("200", json!({ "application/json": { "schema": { "type": "object" } } })),
    };
    let description = if status == "202" { "The call was accepted." } else { "The requested data." };
    let answers = json!({ status: { "description": description, "content": answer }, "4XX": refusal, "5XX": refusal });
    operation.insert("responses".into(), answers);
    Value::Object(operation)
}

impl Method {
    /// Name of the method in the document.
    const fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
            Self::Delete => "delete",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every reference in a document.
    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(to)) = fields.get("$ref") {
                    found.insert(to);
                }
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_call_is_documented_once() {
        let document = openapi();
        let calls: BTreeSet<_> = Route::ALL.map(Route::call).into();
        assert_eq!(calls.len(), Route::ALL.len());
        let items = document["paths"].as_object().unwrap().values();
        assert_eq!(items.map(|item| item.as_object().unwrap().len()).sum::<usize>(), calls.len());
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = openapi();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 20, "{found:?}");
        for to in found {
            assert!(document.pointer(to.strip_prefix('#').unwrap()).is_some(), "{to}");
        }
    }

    #[test]
    fn values_of_the_model_are_listed_with_their_meaning() {
        let stages = openapi()["components"]["schemas"]["Stage"].to_string();
        assert!(stages.contains("InService") && stages.contains("In service: the node gets jobs."), "{stages}");
    }
}
