//! One call to the API server: its verb and the object that it is about.

use axum::http::Method;
use axum::http::request::Parts;
use serde_json::Value;

#[cfg(test)]
pub(super) mod tests;

/// What a call does, in the words of Kubernetes' RBAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a collection, or a page of it.
    List,
    /// Follows a collection.
    Watch,
    /// Creates an object or a subresource such as an eviction.
    Create,
    /// Replaces an object.
    Update,
    /// Changes parts of an object.
    Patch,
    /// Deletes one object.
    Delete,
    /// Deletes a collection.
    DeleteCollection,
    /// Anything else, such as OPTIONS.
    Other,
}

/// A call as it arrived at the proxy, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What the call does.
    pub verb: Verb,
    /// Path, such as `/apis/mainstay.dev/v1alpha1/gpunodes/n1/status`.
    pub path: String,
    /// Query without the question mark; empty where there is none.
    pub query: String,
    /// Resource and subresource, such as `gpunodes/status`; empty for a path that is no resource.
    pub place: String,
    /// Namespace of the object; empty where there is none.
    pub namespace: String,
    /// Name of the object, that of a new object included; empty for a collection.
    pub name: String,
}

/// The parts of a path below `/api/v1` or `/apis/GROUP/VERSION`.
#[derive(Debug, Default, PartialEq, Eq)]
struct ObjectPath<'a> {
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
    subresource: &'a str,
}

impl<'a> ObjectPath<'a> {
    fn of(path: &'a str) -> Self {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let below = match segments.as_slice() {
            ["api", _, below @ ..] | ["apis", _, _, below @ ..] => below,
            _ => &[],
        };
        let (namespace, below) = match below {
            // The subresources of a namespace itself.
            ["namespaces", _, "status" | "finalize"] => ("", below),
            ["namespaces", namespace, below @ ..] if !below.is_empty() => (*namespace, below),
            _ => ("", below),
        };
        let segment = |number: usize| below.get(number).copied().unwrap_or_default();
        Self { resource: segment(0), namespace, name: segment(1), subresource: segment(2) }
    }
}

impl Call {
    pub(super) fn of(parts: &Parts, body: &[u8]) -> Self {
        let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().unwrap_or_default().to_owned());
        let at = ObjectPath::of(&path);
        let is_watch = matches!(parameter(&query, "watch"), Some("true" | "1"));
        let verb = match (&parts.method, at.name.is_empty()) {
            (&Method::GET, _) if is_watch => Verb::Watch,
            (&Method::GET, true) => Verb::List,
            (&Method::GET, false) => Verb::Get,
            (&Method::POST, _) => Verb::Create,
            (&Method::PUT, _) => Verb::Update,
            (&Method::PATCH, _) => Verb::Patch,
            (&Method::DELETE, true) => Verb::DeleteCollection,
            (&Method::DELETE, false) => Verb::Delete,
            _ => Verb::Other,
        };
        let name = if verb == Verb::Create && at.name.is_empty() { name_in(body) } else { at.name.to_owned() };
        let slash = if at.subresource.is_empty() { "" } else { "/" };
        let place = format!("{}{slash}{}", at.resource, at.subresource);
        let namespace = at.namespace.to_owned();
        Self { verb, path, query, place, namespace, name }
    }

    /// Whether it is a watch.
    pub fn is_watch(&self) -> bool {
        self.verb == Verb::Watch
    }

    /// Whether it reads objects, as a watch does too.
    pub fn is_read(&self) -> bool {
        matches!(self.verb, Verb::Get | Verb::List | Verb::Watch)
    }

    /// Whether it changes an object other than a Lease.
    pub fn is_write(&self) -> bool {
        !self.is_read() && !self.is_review() && !self.is_lease() && self.parameter("dryRun").is_none()
    }

    /// Whether it is a question, such as a SelfSubjectAccessReview, which is created and not stored.
    fn is_review(&self) -> bool {
        self.place.ends_with("reviews")
    }

    /// Whether it is about a Lease.
    pub fn is_lease(&self) -> bool {
        self.place == "leases"
    }

    /// Whether it is a further page of a list.
    pub fn is_next_page(&self) -> bool {
        self.parameter("continue").is_some()
    }

    /// The value of a query parameter, as it was sent.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        parameter(&self.query, name)
    }
}

fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The name in a new object; empty where the server chooses it.
fn name_in(body: &[u8]) -> String {
    let object: Value = serde_json::from_slice(body).unwrap_or_default();
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// Calls chosen by place, and optionally by verb and name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct CallFilter {
    place: String,
    verb: Option<Verb>,
    name: Option<String>,
}

impl CallFilter {
    /// Chooses every call on a place: `nodes`, or with a subresource `pods/eviction`.
    pub fn on(place: &str) -> Self {
        Self { place: place.to_owned(), verb: None, name: None }
    }

    /// Keeps only calls with this verb.
    pub fn verb(self, verb: Verb) -> Self {
        Self { verb: Some(verb), ..self }
    }

    /// Keeps only calls about the object of this name.
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Whether this call is one of them.
    pub fn matches(&self, call: &Call) -> bool {
        let is_verb = self.verb.is_none_or(|verb| verb == call.verb);
        self.place == call.place && is_verb && self.name.as_ref().is_none_or(|name| *name == call.name)
    }
}
