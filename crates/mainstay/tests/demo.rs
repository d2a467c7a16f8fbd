//! `mainstay demo`: the real binary on a free port of the loopback, its calls, its stream, its end.

#![cfg(test)]

use std::collections::BTreeSet;
use std::io::Read as _;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use mainstay_api::http::{
    AcceptedResponse, Capacity, Fleet, Incident, IncidentDetail, IncidentEventKind, Job, JobDetail, JobState, Map,
    Method, NodeDetail, NodeLine, Page, Problem, ResponseFormat, Route, Series, SubjectKind,
};
use mainstay_model::{Span, Stage, Timestamp};
use reqwest::{Client, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::{SOON, TestProcess, eventually};

/// A running `mainstay demo` with an HTTP client for it.
struct DemoProcess {
    running: TestProcess,
    address: String,
    client: Client,
}

fn mainstay() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mainstay"))
}

fn start(arguments: &str) -> DemoProcess {
    let mut command = mainstay();
    command.args(["demo", "--port", "0", "-o", "json"]).args(arguments.split_whitespace());
    let running = TestProcess::start(&mut command).unwrap();
    let began = running.next_json().unwrap();
    assert_eq!(began["event"], "began");
    let address = began["address"].as_str().unwrap().to_owned();
    DemoProcess { running, address, client: Client::new() }
}

impl DemoProcess {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    async fn read<T: DeserializeOwned>(&self, path: &str) -> T {
        let response = self.client.get(self.url(path)).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> Response {
        self.client.post(self.url(path)).json(&body).send().await.unwrap()
    }

    async fn accepted(&self, path: &str, body: Value) -> AcceptedResponse {
        let response = self.post(path, body).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED, "{path}");
        response.json().await.unwrap()
    }

    /// Reads until it is as it should be.
    async fn until<T: DeserializeOwned>(&self, path: &str, is: impl Fn(&T) -> bool) -> T {
        let ask = async || Some(self.read(path).await).filter(&is);
        eventually(path, ask).await.unwrap()
    }

    fn word(&self, words: &str) -> Output {
        mainstay().arg("demo").args(words.split_whitespace()).args(["--address", &self.address]).output().unwrap()
    }
}

async fn problem(response: Response) -> (u16, Problem) {
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

fn steps(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == "step").collect()
}

#[test]
fn the_same_seed_tells_the_same_story_to_its_end() {
    let tell = |speed: &str| {
        let arguments = ["demo", "--port", "0", "--gpus", "512", "--exit-after-script", "-o", "json", "--speed", speed];
        mainstay().args(arguments).output().unwrap()
    };
    let (one, other) = (tell("3600"), tell("2400"));
    assert_eq!(steps(&one).len(), 6);
    assert_eq!(steps(&one), steps(&other), "however fast it goes");
    let last = String::from_utf8(one.stdout).unwrap().lines().last().map(ToOwned::to_owned).unwrap();
    let ended: Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&ended["event"], &ended["violations"]), (&json!("ended"), &json!(0)));
    assert!(ended["savedGpuSeconds"].as_u64().unwrap() > 0 && ended["lostGpuSeconds"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn every_call_of_the_document_is_served_and_nothing_else() {
    let demo = start("--gpus 256 --script none");
    let document: Value = demo.read("/openapi.json").await;
    assert_eq!(document["openapi"], "3.1.0");
    let mut calls = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        calls.extend(item.as_object().unwrap().keys().map(|verb| (verb.clone(), path.clone())));
    }
    assert_eq!(calls.len(), Route::ALL.len());
    let job: Page<Value> = demo.read("/api/v1/jobs").await;
    demo.accepted("/api/v1/demo/inject", json!({ "fault": "host-broken", "node": "r0001n01" })).await;
    let open: Page<Incident> = demo.until("/api/v1/incidents", |open: &Page<Incident>| !open.items.is_empty()).await;
    for route in Route::ALL {
        let (method, path) = route.call();
        let path = path.replace("{name}", "r0001n01").replace("{node}", "r0001n01");
        let id = if path.contains("/jobs/") { job.items[0]["id"].as_str().unwrap() } else { &open.items[0].id };
        let path = path.replace("{id}", id);
        let response = match method {
            Method::Get => demo.client.get(demo.url(&path)).send().await.unwrap(),
            // No body: it is understood that far and refused.
            Method::Post => demo.client.post(demo.url(&path)).send().await.unwrap(),
            Method::Put => demo.client.put(demo.url(&path)).send().await.unwrap(),
            Method::Delete => demo.client.delete(demo.url(&path)).send().await.unwrap(),
        };
        let status = response.status().as_u16();
        match (method, route.response_format()) {
            (Method::Get, ResponseFormat::Events) => assert_eq!(status, 200, "{path}"),
            (Method::Get, _) => {
                assert_eq!(status, 200, "{path}");
                assert!(!response.text().await.unwrap().is_empty());
            }
            (Method::Delete, _) => assert_eq!(status, 409, "nothing was asked: {path}"),
            (Method::Post | Method::Put, _) => assert_eq!(status, 415, "{path}"),
        }
    }
}

#[tokio::test]
async fn a_fault_that_is_planted_becomes_an_incident_that_people_can_follow() {
    let demo = start("--gpus 512 --script none --speed 120");
    let calm: Fleet = demo.read("/api/v1/fleet").await;
    assert_eq!((calm.gpus, calm.nodes, calm.incidents_open), (512, 64, 0));
    assert_eq!(calm.gpus_by_stage.get(&Stage::InService), Some(&512));
    let busy = "r0002n01";
    demo.accepted("/api/v1/demo/inject", json!({ "fault": "row-remap-pending", "node": busy })).await;
    let open: Page<Incident> = demo.until("/api/v1/incidents", |open: &Page<Incident>| !open.items.is_empty()).await;
    let incident = &open.items[0];
    assert_eq!(incident.subject.kind, SubjectKind::Part, "{incident:?}");
    let node: NodeDetail = demo.read(&format!("/api/v1/nodes/{busy}")).await;
    assert_eq!(node.record.incident.as_ref(), Some(&incident.id));
    assert!(node.record.gpus_list.iter().any(|gpu| !gpu.findings.is_empty()), "{node:?}");
    assert!(node.why.sentence.contains(busy) && !node.why.evidence.is_empty(), "{:?}", node.why);
    demo.accepted(&format!("/api/v1/incidents/{}/acknowledge", incident.id), json!({ "by": "ana" })).await;
    let path = format!("/api/v1/incidents/{}", incident.id);
    let told =
        |detail: &IncidentDetail| detail.record.timeline.iter().any(|event| event.kind == IncidentEventKind::Saved);
    let detail: IncidentDetail = demo.until(&path, told).await;
    assert_eq!(detail.incident.acknowledged_by.as_deref(), Some("ana"));
    assert!(detail.record.lines.iter().flatten().any(|line| line.contains("Xid")), "{detail:?}");
    let job: JobDetail = demo.read(&format!("/api/v1/jobs/{}", detail.record.jobs[0])).await;
    assert_eq!(job.nodes_list.len(), job.job.nodes as usize);
    let out = |page: &Page<NodeLine>| page.items.iter().any(|line| line.name == busy);
    demo.until("/api/v1/nodes?stage=Repairing&limit=5", out).await;
    let metrics = demo.client.get(demo.url("/metrics")).send().await.unwrap().text().await.unwrap();
    for line in
        ["mainstay_gpus{state=\"Repairing\"} 8\n", "mainstay_incidents_open 1\n", "mainstay_mode{mode=\"Act\"} 1\n"]
    {
        assert!(metrics.contains(line), "{line}");
    }
    let of_node = |line: &&str| line.starts_with("DCGM_FI_DEV_XID_ERRORS{") && line.contains("hostname=\"r0002n01\"");
    let xids = metrics.lines().filter(of_node).filter(|line| line.ends_with(" 63")).count();
    assert_eq!(xids, 1, "one of its GPUs");
    assert_eq!(metrics.lines().filter(|line| line.starts_with("DCGM_FI_DEV_GPU_TEMP{")).count() % 8, 0);
}

#[tokio::test]
async fn people_ask_stop_and_withdraw() {
    let demo = start("--gpus 256 --script none --speed 60");
    let asked = json!({ "kind": "hold", "reason": "a look at its fans", "by": "ana" });
    demo.accepted("/api/v1/nodes/r0000n02/request", asked).await;
    let held = |node: &NodeDetail| node.line.stage == Stage::Held;
    let node: NodeDetail = demo.until("/api/v1/nodes/r0000n02", held).await;
    assert_eq!(node.record.request.unwrap().by, "ana");
    let response = demo.client.delete(demo.url("/api/v1/nodes/r0000n02/request")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    demo.until("/api/v1/nodes/r0000n02", |node: &NodeDetail| node.record.request.is_none()).await;
    demo.accepted("/api/v1/stop", json!({ "by": "ana", "reason": "I want to look first" })).await;
    let fleet: Value = demo.read("/api/v1/fleet").await;
    assert_eq!(fleet["mode"], "Observe");
    let put = demo.client.put(demo.url("/api/v1/mode")).json(&json!({ "mode": "Propose" })).send().await.unwrap();
    assert_eq!(put.status(), StatusCode::ACCEPTED);
    assert_eq!(demo.read::<Value>("/api/v1/fleet").await["mode"], "Propose");
}

#[tokio::test]
async fn the_past_is_shown_and_cannot_be_changed() {
    let demo = start("--gpus 256 --script none --speed 600");
    let began: Fleet = demo.read("/api/v1/fleet").await;
    let first = began.demo.unwrap().oldest_snapshot;
    demo.accepted("/api/v1/demo/inject", json!({ "fault": "host-broken", "node": "r0003n01" })).await;
    demo.until("/api/v1/incidents", |open: &Page<Incident>| !open.items.is_empty()).await;
    demo.accepted("/api/v1/demo/scrub", json!({ "at": first })).await;
    let past: Fleet = demo.read("/api/v1/fleet").await;
    assert_eq!((past.now, past.incidents_open, past.demo.as_ref().unwrap().at), (first, 0, Some(first)));
    assert!(past.demo.unwrap().newest_snapshot > first);
    let refused = demo.post("/api/v1/demo/inject", json!({ "fault": "slow", "node": "r0003n01" })).await;
    let (status, said) = problem(refused).await;
    assert_eq!(status, 409);
    assert!(said.hint.contains("/demo/scrub"), "{said:?}");
    let (status, said) = problem(demo.post("/api/v1/demo/scrub", json!({ "at": 1 })).await).await;
    assert_eq!((status, said.what.as_str()), (404, "no snapshot of that time"));
    demo.accepted("/api/v1/demo/scrub", json!({ "at": null })).await;
    let now: Fleet = demo.read("/api/v1/fleet").await;
    assert!(now.now > first && now.demo.unwrap().at.is_none());
}

#[tokio::test]
async fn time_stands_still_where_it_is_told_to_and_what_was_is_told_by_the_minute() {
    let demo = start("--seed 7 --speed 60");
    let begin: Fleet = demo.read("/api/v1/fleet").await;
    let begin = Timestamp(begin.demo.unwrap().oldest_snapshot);
    let at = begin + Span::seconds(2_340);
    demo.accepted("/api/v1/demo", json!({ "paused": false, "speed": 3_600, "pauseAt": at.0 })).await;
    let fleet = demo.until("/api/v1/fleet", |fleet: &Fleet| fleet.now >= at.0).await;
    assert_eq!((fleet.now, fleet.demo.as_ref().unwrap().paused), (at.0, true));

    let series: Series = demo.read("/api/v1/series").await;
    assert_eq!((series.items.len(), series.items[0].at, series.items[39].at), (40, begin.0, at.0));
    let out = fleet.gpus - fleet.gpus_by_stage[&Stage::InService];
    assert_eq!((series.items[0].gpus_out, series.items[39].gpus_out), (0, out));

    // One GPU is in one part of the bar, and what is out of service is what the start page shows.
    let capacity: Capacity = demo.read("/api/v1/capacity").await;
    let total = capacity.total;
    let known = [total.allocated, total.free, total.held_back].map(Option::unwrap);
    assert_eq!((total.gpus, total.out_of_service), (fleet.gpus, fleet.gpus_out), "{total:?}");
    assert_eq!(known.iter().sum::<u32>() + total.out_of_service, total.gpus, "{total:?}");
    let waiting: Page<Job> = demo.read("/api/v1/jobs?limit=500").await;
    let waiting = waiting.items.iter().filter(|job| job.state == JobState::Waiting);
    let queues = capacity.queues.unwrap();
    assert_eq!(
        queues.iter().map(|line| (line.jobs, line.gpus)).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)),
        waiting.fold((0, 0), |sum, job| (sum.0 + 1, sum.1 + job.gpus.unwrap())),
        "{queues:?}"
    );
    assert!(queues.iter().all(|line| line.pods.is_none() && line.waiting_since <= at.0), "{queues:?}");
    let installed = capacity.inventory.unwrap();
    assert!(installed.rows.iter().all(|row| row.drivers_of_model == 2 && row.firmware.is_none()), "{installed:?}");
    assert_eq!(installed.rows.iter().map(|row| row.gpus).sum::<u32>() + installed.unlisted_gpus, fleet.gpus);

    let nodes: Page<NodeLine> = demo.read("/api/v1/nodes?stage=NotInService&limit=500").await;
    assert_eq!(nodes.items.iter().map(|node| node.gpus).sum::<u32>(), out);
    let incidents: Page<Incident> = demo.read("/api/v1/incidents").await;
    let rate: u64 = incidents.items.iter().map(|incident| incident.out_of_service_gpu_seconds_per_hour).sum();
    assert_eq!(fleet.out_of_service_gpu_seconds_per_hour, rate);
    let repaired: NodeDetail = demo.read("/api/v1/nodes/r0000n03").await;
    assert_eq!((repaired.line.risk_ppm, repaired.record.risk.parts.len()), (49_000, 2), "{:?}", repaired.record.risk);
}

#[tokio::test]
async fn the_map_has_a_place_for_every_node() {
    use base64::Engine as _;
    let demo = start("--gpus 1024 --script none");
    let map: Map = demo.read("/api/v1/map").await;
    let racks = map.spines.iter().flat_map(|spine| &spine.leaves).flat_map(|leaf| &leaf.racks);
    let names: Vec<&String> = racks.flat_map(|rack| &rack.nodes).collect();
    assert_eq!(names.len(), 128);
    let bytes = |column: &str| base64::engine::general_purpose::STANDARD.decode(column).unwrap();
    for column in [&map.stage, &map.wait, &map.version, &map.faulty_gpus, map.temperature.as_ref().unwrap()] {
        assert_eq!(bytes(column).len(), names.len());
    }
    let jobs: Vec<u16> = bytes(&map.job).chunks(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
    let large = map.jobs.iter().position(|job| job.name == "train-7").unwrap();
    assert_eq!(jobs.iter().filter(|job| usize::from(**job) == large + 1).count(), 64);
    assert_eq!(map.versions.len(), 2);
    // Pages of nodes follow the same order.
    let first: Page<NodeLine> = demo.read("/api/v1/nodes?limit=100").await;
    let next = first.next.clone().unwrap();
    let second: Page<NodeLine> = demo.read(&format!("/api/v1/nodes?limit=500&after={next}")).await;
    let listed: Vec<&String> = first.items.iter().chain(&second.items).map(|line| &line.name).collect();
    assert_eq!((listed, second.next), (names, None));
}

#[tokio::test]
async fn a_stream_tells_what_changes() {
    let demo = start("--gpus 256 --script none --speed 120");
    let mut response = demo.client.get(demo.url("/api/v1/stream")).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    demo.accepted("/api/v1/demo/inject", json!({ "fault": "gpu-off-the-bus", "node": "r0001n02" })).await;
    let mut text = String::new();
    let wanted = ["event: fleet\n", "event: nodes\n", "event: incidents\n", "event: map\n"];
    let began = Instant::now();
    while !wanted.iter().all(|event| text.contains(event)) {
        assert!(began.elapsed() < SOON, "{text}");
        let piece = tokio::time::timeout(SOON, response.chunk()).await.unwrap().unwrap().unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    let nodes = text.split("event: nodes\ndata: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    let lines: Vec<NodeLine> = serde_json::from_str(nodes).unwrap();
    assert!(lines.iter().any(|line| line.name == "r0001n02"), "{lines:?}");
    demo.accepted("/api/v1/demo/scrub", json!({ "at": null })).await;
    while !text.contains("event: reload\n") {
        let piece = tokio::time::timeout(SOON, response.chunk()).await.unwrap().unwrap().unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
}

#[tokio::test]
async fn whatever_is_refused_says_what_detail_and_hint() {
    let demo = start("--gpus 256 --script none");
    let get = async |path: &str| problem(demo.client.get(demo.url(path)).send().await.unwrap()).await;
    assert_eq!(get("/api/v1/nothing").await.0, 404);
    assert_eq!(get("/nothing.js").await.0, 404);
    assert_eq!(
        get("/api/v1/nodes/r9999n01").await,
        (
            404,
            Problem {
                what: "unknown node: r9999n01".into(),
                detail: "it does not exist at the time shown.".into(),
                hint: "GET /api/v1/nodes lists the known names.".into(),
            }
        )
    );
    assert_eq!(get("/api/v1/nodes?stage=Unwell").await.0, 400);
    assert_eq!(get("/api/v1/demo/inject").await.0, 405);
    let long = "x".repeat(20_000);
    let posts = [
        ("/api/v1/stop", json!({ "by": "ana" }), 400),
        ("/api/v1/stop", json!({ "by": "ana", "reason": "a\u{1b}[2J" }), 400),
        ("/api/v1/stop", json!({ "by": "ana", "reason": long }), 413),
        ("/api/v1/demo", json!({ "speed": 0 }), 400),
        ("/api/v1/demo/inject", json!({ "fault": "bad-luck", "node": "r0000n00" }), 404),
        ("/api/v1/incidents/none/acknowledge", json!({ "by": "ana" }), 404),
        ("/", json!({}), 405),
    ];
    for (path, body, status) in posts {
        let (found, said) = problem(demo.post(path, body.clone()).await).await;
        assert_eq!(found, status, "{path} {body}");
        assert!(![said.what, said.detail, said.hint].contains(&String::new()));
    }
    let (_, both) = problem(demo.post("/api/v1/stop", json!({})).await).await;
    assert_eq!(both.detail, "`by` is missing; `reason` is missing.", "all problems at once");
    let form = demo.client.post(demo.url("/api/v1/stop")).header("content-type", "text/plain").body("{}");
    assert_eq!(problem(form.send().await.unwrap()).await.0, 415);
    let strange = demo.client.get(demo.url("/api/v1/fleet")).header("host", "evil.example:7878");
    assert_eq!(problem(strange.send().await.unwrap()).await.0, 421);
    let other = demo.client.post(demo.url("/api/v1/demo")).header("origin", "http://evil.example").json(&json!({}));
    assert_eq!(problem(other.send().await.unwrap()).await.0, 403);
    let own = demo.client.post(demo.url("/api/v1/demo")).header("origin", &demo.address).json(&json!({}));
    assert_eq!(own.send().await.unwrap().status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn the_page_is_served_with_headers_that_keep_strangers_out_and_answers_travel_compressed() {
    let demo = start("--gpus 1024 --script none");
    let page = demo.client.get(demo.url("/")).send().await.unwrap();
    let header = |response: &Response, name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert!(header(&page, "content-type").starts_with("text/html"));
    assert!(header(&page, "content-security-policy").contains("default-src 'self'"));
    assert!(header(&page, "content-security-policy").contains("frame-ancestors 'none'"));
    assert_eq!(header(&page, "x-content-type-options"), "nosniff");
    assert!(page.text().await.unwrap().contains("Mainstay"));
    let map = demo.client.get(demo.url("/api/v1/map")).header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!((header(&map, "content-encoding"), header(&map, "cache-control")), ("gzip".into(), "no-store".into()));
}

#[tokio::test]
async fn a_demo_that_runs_is_told_from_the_command_line() {
    let demo = start("--gpus 256 --script none");
    let said = |output: Output| {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said(demo.word("pause")).starts_with("Paused, "));
    let paused: Fleet = demo.read("/api/v1/fleet").await;
    assert!(paused.demo.unwrap().paused);
    said(demo.word("resume"));
    said(demo.word("speed 600"));
    let fleet: Fleet = demo.read("/api/v1/fleet").await;
    assert_eq!((fleet.demo.as_ref().unwrap().speed, fleet.demo.unwrap().paused), (600, false));
    let taken: AcceptedResponse = serde_json::from_str(&said(demo.word("inject slow r0001n00 -o json"))).unwrap();
    assert!(taken.at > 0);
    let explained = said(demo.word("why r0002n00"));
    assert!(
        explained.starts_with("r0002n00\n") && explained.contains("  Action        No action needed"),
        "{explained}"
    );
    let unknown = demo.word("why nowhere");
    assert_eq!((unknown.status.code(), unknown.stdout.len()), (Some(1), 0));
    let refused = demo.word("inject bad-luck r0001n00");
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("hint:   use one of row-remap-pending, "));
    assert_eq!(demo.word("speed 0").status.code(), Some(2));
}

#[test]
fn nobody_answers_where_there_is_no_demo() {
    let output = mainstay().args(["demo", "pause", "--address", "http://127.0.0.1:9"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("cannot reach a demo at http://127.0.0.1:9")
            && said.contains("refused")
            && said.contains("`mainstay demo`"),
        "{said}"
    );
    let few = mainstay().args(["demo", "--gpus", "100", "--port", "0"]).output().unwrap();
    assert_eq!(few.status.code(), Some(1));
    assert!(String::from_utf8(few.stderr).unwrap().contains("hint:   use --gpus 256"));
}

#[test]
fn it_ends_within_a_second_and_leaves_one_line() {
    let mut demo = start("--gpus 256 --script none");
    // A stream that is open does not keep it.
    let address = demo.address.strip_prefix("http://").unwrap().to_owned();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    std::io::Write::write_all(
        &mut stream,
        format!("GET /api/v1/stream HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes(),
    )
    .unwrap();
    let mut first = [0; 64];
    assert!(stream.read(&mut first).unwrap() > 0);
    let began = Instant::now();
    assert!(demo.running.interrupt().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let rest = demo.running.remaining_lines();
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(serde_json::from_str::<Value>(&rest[0]).unwrap()["event"], "ended");
}

#[test]
fn every_word_explains_itself_with_examples() {
    for words in [
        &["demo"][..],
        &["demo", "inject"],
        &["demo", "why"],
        &["demo", "pause"],
        &["demo", "resume"],
        &["demo", "speed"],
    ] {
        let output = mainstay().args(words).arg("--help").output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains("Examples:"), "{words:?}");
    }
}

#[tokio::test]
async fn a_request_finds_its_demo_by_port_and_by_an_address_without_a_scheme() {
    let demo = start("--gpus 256 --script none");
    let host = demo.address.strip_prefix("http://").unwrap();
    let port = host.rsplit_once(':').unwrap().1;
    for to in [["--port", port], ["--address", host], ["--address", port]] {
        let output = mainstay().args(["demo", "inject", "slow", "r0001n00"]).args(to).output().unwrap();
        assert!(output.status.success(), "{to:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let wrong = mainstay().args(["demo", "inject", "slow", "r0001n00", "--address", "a b"]).output().unwrap();
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        said.contains("invalid address") && said.contains("HOST:PORT") && !said.contains("without a base"),
        "{said}"
    );
}

#[test]
fn a_binary_without_the_web_ui_says_so_and_how_to_get_it() {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/dist/index.html");
    let arguments = "demo --port 0 --gpus 256 --speed 3600 --exit-after-script";
    let output = mainstay().args(arguments.split(' ')).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let says_so = text.contains("does not include the web UI") && text.contains("npm run build");
    assert_eq!(says_so, !std::path::Path::new(built).exists(), "{text}");
}
