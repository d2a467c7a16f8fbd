//! Events of a watch: one JSON object a line, passed on one by one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::stream::{self, Stream, StreamExt as _};
use serde_json::{Value, json};

use super::{Call, Shared, Turn};

/// No event is longer.
const LINE_BYTES_MAX: usize = 4 << 20;

/// What happens to an event of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFault {
    /// The event never arrives.
    Drop,
    /// The event arrives twice.
    Duplicate,
    /// The event arrives this much later, and so does everything after it on this watch.
    Delay(Duration),
    /// The event arrives with an object that cannot be decoded: its spec is a number.
    Garble,
    /// The watch ends cleanly before it.
    Close,
    /// An ERROR event with code 410 arrives instead, and the watch ends.
    Expire,
}

/// One event, as far as rules look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub kind: String,
    /// The resource of the watch, such as `nodes`.
    pub resource: String,
    /// Name of the object; empty for a bookmark.
    pub name: String,
}

/// A fault, and the events that it happens to.
pub struct EventRule {
    fault: EventFault,
    turn: Turn,
    about: Box<dyn Fn(&WatchEvent) -> bool + Send + Sync>,
    count: u64,
}

impl EventRule {
    /// The fault happens to the events of which `about` is true and whose turn it is.
    pub fn new(fault: EventFault, turn: Turn, about: impl Fn(&WatchEvent) -> bool + Send + Sync + 'static) -> Self {
        Self { fault, turn, about: Box::new(about), count: 0 }
    }

    fn due(&mut self, event: &WatchEvent) -> Option<EventFault> {
        if !(self.about)(event) {
            return None;
        }
        self.count += 1;
        self.turn.is_at(self.count).then_some(self.fault)
    }
}

impl fmt::Debug for EventRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, turn, count, about: _ } = self;
        f.debug_struct("EventRule")
            .field("fault", fault)
            .field("turn", turn)
            .field("count", count)
            .finish_non_exhaustive()
    }
}

/// What arrives in place of an event.
enum Arrival {
    Lines(Bytes),
    /// The watch ends with these lines.
    End(Bytes),
}

/// The body of a watch that passes the rules. Each event is passed on when it arrives.
pub(super) fn body(shared: &Arc<Shared>, call: &Call, body: Body) -> Body {
    let state = (Box::pin(lines(body.into_data_stream())), Arc::clone(shared), call.place.clone(), Watch::Open);
    Body::from_stream(stream::try_unfold(state, |(mut lines, shared, resource, watch)| async move {
        if watch == Watch::Ended {
            return Ok(None);
        }
        let Some(line) = lines.next().await.transpose()? else { return Ok(None) };
        let (bytes, watch) = match pass(&shared, &resource, line).await {
            Arrival::Lines(bytes) => (bytes, Watch::Open),
            Arrival::End(bytes) => (bytes, Watch::Ended),
        };
        Ok::<_, std::io::Error>(Some((bytes, (lines, shared, resource, watch))))
    }))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    Open,
    Ended,
}

async fn pass(shared: &Shared, resource: &str, line: Bytes) -> Arrival {
    shared.lag.over().await;
    shared.gate.open().await;
    let fault = event(resource, &line).and_then(|event| {
        let mut state = shared.state();
        let due: Vec<EventFault> = state.events.iter_mut().filter_map(|rule| rule.due(&event)).collect();
        due.into_iter().next()
    });
    match fault {
        None => Arrival::Lines(line),
        Some(EventFault::Drop) => Arrival::Lines(Bytes::new()),
        Some(EventFault::Duplicate) => Arrival::Lines([line.clone(), line].concat().into()),
        Some(EventFault::Delay(time)) => {
            tokio::time::sleep(time).await;
            Arrival::Lines(line)
        }
        Some(EventFault::Garble) => Arrival::Lines(garbled(&line)),
        Some(EventFault::Close) => Arrival::End(Bytes::new()),
        Some(EventFault::Expire) => Arrival::End(expired()),
    }
}

/// What a server sends when it no longer has the events since a resource version.
fn expired() -> Bytes {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired",
        "message": "too old resource version", "code": 410,
    });
    Bytes::from(format!("{}\n", json!({ "type": "ERROR", "object": status })))
}

fn event(resource: &str, line: &[u8]) -> Option<WatchEvent> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&value["object"]["metadata"]["name"]);
    Some(WatchEvent { kind: text(&value["type"]), resource: resource.to_owned(), name })
}

/// The same object with a spec that no type accepts.
fn garbled(line: &Bytes) -> Bytes {
    let Ok(mut value) = serde_json::from_slice::<Value>(line) else { return line.clone() };
    value["object"]["spec"] = Value::from(7);
    Bytes::from(format!("{value}\n"))
}

/// Whole lines, with their ends.
fn lines<E>(chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static) -> impl Stream<Item = std::io::Result<Bytes>>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let start = (Box::pin(chunks), Vec::<u8>::new());
    stream::try_unfold(start, |(mut chunks, mut kept)| async move {
        loop {
            if let Some(end) = kept.iter().position(|byte| *byte == b'\n') {
                let rest = kept.split_off(end + 1);
                return Ok(Some((Bytes::from(kept), (chunks, rest))));
            }
            if kept.len() > LINE_BYTES_MAX {
                return Err(std::io::Error::other("an event of more than 4 MiB"));
            }
            match chunks.next().await {
                Some(chunk) => kept.extend_from_slice(&chunk.map_err(std::io::Error::other)?),
                None if kept.is_empty() => return Ok(None),
                None => return Ok(Some((Bytes::from(std::mem::take(&mut kept)), (chunks, kept)))),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn chunks_become_whole_lines() {
        let chunks = ["{\"a\":", "1}\n{\"b\"", ":2}\n{", "}"].map(|text| Ok::<_, std::io::Error>(Bytes::from(text)));
        let all: Vec<Bytes> = lines(stream::iter(chunks)).map(Result::unwrap).collect().await;
        assert_eq!(all, ["{\"a\":1}\n", "{\"b\":2}\n", "{}"].map(Bytes::from));
    }

    #[test]
    fn a_garbled_object_keeps_its_name() {
        let line = Bytes::from("{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\"},\"spec\":{}}}\n");
        let garbled = garbled(&line);
        let event = event("nodes", &garbled).unwrap();
        assert_eq!((event.kind.as_str(), event.name.as_str()), ("MODIFIED", "a"));
        assert!(String::from_utf8_lossy(&garbled).contains("\"spec\":7"));
    }
}
