//! Watches against a server that answers from a script, for what a real API server does at rare moments only.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Status and body for a request, by its path with query. None: the request stays open.
type Script = fn(&str) -> Option<(u16, String)>;

/// Paths of the requests so far.
type Requests = tokio::sync::watch::Receiver<Vec<String>>;

async fn server(script: Script) -> (Client, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = tokio::sync::watch::channel(Vec::new());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, script, sender.clone()));
        }
    });
    (Client::try_from(Config::new(address.parse().unwrap())).unwrap(), requests)
}

async fn answer(mut stream: TcpStream, script: Script, requests: tokio::sync::watch::Sender<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let Some((code, body)) = script(&path) else { return std::future::pending().await };
    requests.send_modify(|all| all.push(path));
    let length = body.len();
    let head = format!("HTTP/1.1 {code} -\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n");
    let _ = stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).await;
}

fn object(name: &str, version: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "a", "resourceVersion": version.to_string() },
    })
}

fn line(type_: &str, object: &Value) -> String {
    format!("{}\n", json!({ "type": type_, "object": object }))
}

fn bookmark(version: u32, annotations: &Value) -> String {
    let metadata = json!({ "resourceVersion": version.to_string(), "annotations": annotations });
    line("BOOKMARK", &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }))
}

fn status(code: u16) -> Option<(u16, String)> {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "no" });
    Some((code, status.to_string()))
}

fn page(names: &[&str], token: &str) -> Option<(u16, String)> {
    let items: Vec<Value> = names.iter().map(|name| object(name, 1)).collect();
    let list = json!({
        "apiVersion": "v1", "kind": "ConfigMapList", "items": items,
        "metadata": { "resourceVersion": "5", "continue": token },
    });
    Some((200, list.to_string()))
}

/// Starts a watch on the server.
fn follow(client: Client) -> (mpsc::Receiver<Message<WatchEvent<ConfigMap>>>, Arc<WatchCounters>) {
    let (out, messages) = mpsc::channel(64);
    let pulse = Arc::new(WatchCounters::default());
    let watched = Watch { api: Api::all(client), fields: None, pulse: Arc::clone(&pulse) };
    tokio::spawn(watch(watched, out, Box::new(|event| event)));
    (messages, pulse)
}

/// What the next messages say: kind of the event, name, and phase.
async fn next(messages: &mut mpsc::Receiver<Message<WatchEvent<ConfigMap>>>, count: usize) -> Vec<String> {
    let mut said = Vec::new();
    for _ in 0..count {
        let Message { phase, event, .. } =
            timeout(Duration::from_secs(10), messages.recv()).await.expect("a message").unwrap();
        let what = match event {
            WatchEvent::Is(object) => object.metadata.name.unwrap_or_default(),
            WatchEvent::Gone(key) => format!("-{}", key.name),
            WatchEvent::Listed => "listed".to_owned(),
            WatchEvent::Bookmark => "bookmark".to_owned(),
        };
        said.push(format!("{what} {phase:?}"));
    }
    said
}

#[tokio::test]
async fn a_streamed_list_ends_with_the_time_of_its_request_and_a_bookmark_is_a_message() {
    let (client, _) = server(|path| {
        if !path.contains("sendInitialEvents=true") {
            return None;
        }
        let listed = bookmark(4, &json!({ INITIAL_EVENTS_END: "true" }));
        let calm = bookmark(7, &json!({}));
        let changed = line("MODIFIED", &object("one", 8));
        Some((200, line("ADDED", &object("one", 3)) + &listed + &calm + &changed))
    })
    .await;
    let begun_at = now();
    let (mut messages, _) = follow(client);
    let first = messages.recv().await.unwrap();
    assert_eq!(first.phase, Phase::Listing);
    let listed = messages.recv().await.unwrap();
    assert!(matches!(listed.event, WatchEvent::Listed) && listed.phase == Phase::Following);
    assert!(
        begun_at <= listed.heard_at && listed.heard_at <= first.heard_at,
        "the list shows the state at its request"
    );
    assert_eq!(next(&mut messages, 2).await, ["bookmark Following", "one Following"]);
}

#[tokio::test]
async fn a_server_that_closes_every_watch_at_once_is_asked_less_and_less_often() {
    let (client, requests) = server(|path| {
        let is_list = path.contains("sendInitialEvents=true");
        Some((200, if is_list { bookmark(4, &json!({ INITIAL_EVENTS_END: "true" })) } else { String::new() }))
    })
    .await;
    let (mut messages, pulse) = follow(client);
    assert_eq!(next(&mut messages, 1).await, ["listed Following"]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    // Pauses of at least 50, 100, 200, 400 and 800 ms: at most six watches within two seconds.
    let asked = requests.borrow().len() - 1;
    assert!((1..=7).contains(&asked), "{asked} requests");
    assert_eq!(pulse.failures.load(Ordering::Relaxed), 0, "a closed watch is no failure");
}

#[tokio::test]
async fn pages_that_expire_are_replaced_by_one_list_without_a_limit() {
    let (client, requests) = server(|path| {
        if path.contains("watch=true") {
            // It has no streaming lists, and nothing happens afterwards.
            return path.contains("sendInitialEvents=true").then(|| status(422)).flatten();
        }
        if path.contains("continue=") {
            return status(410);
        }
        if path.contains("limit=") { page(&["one", "gone"], "more") } else { page(&["one", "two"], "") }
    })
    .await;
    let (mut messages, pulse) = follow(client);
    let said = next(&mut messages, 6).await;
    let expected = ["one Listing", "gone Listing", "one Listing", "two Listing", "-gone Listing", "listed Following"];
    assert_eq!(said, expected);
    assert_eq!(pulse.lists.load(Ordering::Relaxed), 1);
    let lists = requests.borrow().iter().filter(|path| !path.contains("watch=true")).count();
    assert_eq!(lists, 3, "{:?}", requests.borrow());
}
