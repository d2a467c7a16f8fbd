//! `qualify` as it ships: the suite `host` as it is, the others with scripts in place of NVIDIA's programs, and tests that hang,
//! flood, crash and break their limits.

#[path = "qualify/node.rs"]
mod node;

use std::time::{Duration, Instant};

use node::{Node, TestResult, test};
use serde_json::{Value, json};

const DCGM_4: &str = include_str!("said/dcgm4-pass.json");
const DCGM_4_FAIL: &str = include_str!("said/dcgm4-fail.json");
const NCCL: &str = include_str!("said/nccl-h100.txt");
const H100: &str = "NVIDIA H100 80GB HBM3";

#[test]
fn the_suite_host_runs_here_and_passes() -> TestResult {
    let node = Node::new()?;
    let (code, said) = node.qualify("host", &["--nonce", "7-abc"])?;
    let results = said["results"].as_array().ok_or("no results")?;
    assert_eq!((said["tests"].as_u64(), results.len()), (Some(3), 3));
    // The suite has limits of speed. A busy machine may miss one of them, and nothing else.
    let of_speed = |detail: &str| ["mbps", "slowest-percent"].iter().any(|figure| detail.contains(figure));
    let is_slow = |result: &Value| result["detail"].as_str().is_some_and(of_speed);
    for result in results {
        assert!(result["verdict"] == "Passed" || is_slow(result), "{result:#}");
        assert_eq!((&result["nonce"], &result["figures"]["mismatches"]), (&json!("7-abc"), &json!(0)), "{result:#}");
    }
    let expected =
        if results.iter().all(|result| result["verdict"] == "Passed") { (0, "Passed") } else { (4, "Failed") };
    assert_eq!((code, said["verdict"].as_str()), (expected.0, Some(expected.1)), "{said:#}");
    assert!(node.scratch_is_empty()?);
    Ok(())
}

#[test]
fn a_diagnosis_is_read_and_a_lost_gpu_fails_it() -> TestResult {
    let node = Node::new()?;
    node.driver(H100, 8)?;
    node.says("dcgmi", DCGM_4, "test \"$*\" = 'diag -r 3 -j' || exit 9")?;
    let (code, said) = node.qualify("dcgm", &[])?;
    assert_eq!((code, &said["results"][0]["detail"]), (0, &json!("gpus 8")), "{said:#}");
    // As it is with the failing document, which comes with an exit code of its own.
    node.says("dcgmi", DCGM_4_FAIL, "code=226")?;
    let (code, said) = node.qualify("dcgm", &[])?;
    assert_eq!((code, &said["verdict"]), (4, &json!("Failed")));
    assert!(said["results"][0]["detail"].as_str().is_some_and(|detail| detail.starts_with("memory GPU 3: GPU 3 has")));
    let seven = DCGM_4.replace("\"entity_id\": 7", "\"entity_id\": 6");
    node.says("dcgmi", &seven, "")?;
    let (code, said) = node.qualify("dcgm", &[])?;
    assert_eq!((code, &said["results"][0]["detail"]), (4, &json!("gpus 7, at least 8")));
    Ok(())
}

#[test]
fn bandwidth_is_measured_on_all_gpus_and_judged_by_the_model() -> TestResult {
    let node = Node::new()?;
    node.driver(H100, 8)?;
    node.says("all_reduce_perf", NCCL, "case \"$*\" in *'-g 8'*) ;; *) exit 9;; esac")?;
    let (code, said) = node.qualify("nccl", &[])?;
    assert_eq!((code, &said["results"][0]["figures"]["bus-bandwidth-mbps"]), (0, &json!(481_670)), "{said:#}");
    // No threshold is known: a measured figure is no pass.
    let (code, said) = node.qualify("nccl", &["--product", "NVIDIA B200"])?;
    assert_eq!((code, &said["verdict"]), (5, &json!("Unknown")), "{said:#}");
    node.says("all_reduce_perf", &NCCL.replace("481.67", "181.67"), "")?;
    assert_eq!(node.qualify("nccl", &[])?.0, 4);
    Ok(())
}

#[test]
fn without_the_tool_or_without_gpus_nothing_passes() -> TestResult {
    let node = Node::new()?;
    let detail = |said: &Value| said["results"][0]["detail"].clone();
    let (code, said) = node.qualify("dcgm", &[])?;
    assert_eq!((code, detail(&said)), (5, json!("tool not found: dcgmi")));
    node.says("all_reduce_perf", NCCL, "")?;
    let (code, said) = node.qualify("nccl", &[])?;
    assert_eq!((code, detail(&said)), (5, json!("the driver lists no GPU")));
    Ok(())
}

#[test]
fn tests_that_hang_flood_crash_or_leave_children_end_and_every_test_is_named() -> TestResult {
    let node = Node::new()?;
    node.tool("hangs", "trap '' TERM; sleep 1000 & echo $! >> $MARKS/pids; while :; do sleep 1; done")?;
    node.tool(
        "floods",
        "while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789; done",
    )?;
    node.tool("crashes", "kill -SEGV $$")?;
    node.tool("leaves", "sleep 1000 & echo $! >> $MARKS/pids; echo figure x 1")?;
    node.tool("fails", "echo the reason >&2; exit 3")?;
    let suite = [
        test("hangs", 1, "", "exit-code"),
        test("floods", 60, "", "exit-code"),
        test("crashes", 10, "", "exit-code"),
        test("leaves", 10, "", "figures"),
        test("fails", 10, "", "exit-code"),
        test("missing", 10, "", "exit-code"),
    ];
    node.suite("bad", &suite)?;
    let begun = Instant::now();
    let (code, said) = node.qualify("bad", &[])?;
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let told: Vec<(&str, &str, &str)> = said["results"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|result| {
            let word = |key: &str| result[key].as_str().unwrap_or_default();
            (word("test"), word("verdict"), word("detail"))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("hangs", "Unknown", "timed out after 1 s"),
            ("floods", "Unknown", "more than 4194304 bytes of output"),
            ("crashes", "Unknown", "ended by signal 11"),
            ("leaves", "Passed", "x 1"),
            ("fails", "Failed", "exit code 3"),
            ("missing", "Unknown", "tool not found: missing"),
        ]
    );
    assert_eq!((code, said["tests"].as_u64()), (4, Some(6)));
    let flood = &said["results"][1]["log"];
    assert!(
        flood["leftOut"].as_u64() > Some(1 << 20) && flood["tail"].as_str().is_some_and(|tail| tail.len() <= 16_384)
    );
    assert_eq!(said["results"][4]["log"]["head"], "the reason\n");
    assert_eq!(node.marked_processes()?, Vec::<String>::new());
    assert!(node.scratch_is_empty()?);
    Ok(())
}

#[test]
fn limits_hold_from_the_first_instruction_and_for_children() -> TestResult {
    let node = Node::new()?;
    let told = "echo figure memory $(ulimit -v); echo figure files $(ulimit -n); echo figure nice $(nice); echo figure core $(ulimit -c)";
    node.tool("tells", &format!("sh -c '{told}'; echo figure x 1"))?;
    node.tool("burns", "while :; do :; done")?;
    node.tool("fills", "head -c 5000000 /dev/zero > file; test $(stat -c %s file) -gt 1048576")?;
    node.suite(
        "limits",
        &[
            test("tells", 10, "nice = 7, memory_mib = 512, open_files = 99", "figures"),
            test("burns", 60, "cpu_seconds = 1", "exit-code"),
            test("fills", 10, "file_mib = 1", "exit-code"),
        ],
    )?;
    let (_, said) = node.qualify("limits", &[])?;
    let figures = &said["results"][0]["figures"];
    assert_eq!(
        (&figures["memory"], &figures["files"], &figures["core"]),
        (&json!(524_288), &json!(99), &json!(0)),
        "{said:#}"
    );
    // Not in front of who started it, should that be nice itself.
    assert!(figures["nice"].as_i64() >= Some(7), "{figures}");
    let burns = said["results"][1]["detail"].as_str().unwrap_or_default();
    assert!(burns.starts_with("ended by signal"), "{burns}");
    assert_eq!(said["results"][2]["verdict"], "Failed");
    Ok(())
}

#[test]
fn a_stop_leaves_no_test_out() -> TestResult {
    let node = Node::new()?;
    node.tool("first", "echo figure x 1")?;
    node.tool("waits", "touch $MARKS/begun; sleep 1000")?;
    node.suite(
        "stops",
        &[test("first", 10, "", "figures"), test("waits", 60, "", "exit-code"), test("never", 60, "", "exit-code")],
    )?;
    let (code, said) = node.qualify_stopped_at("stops", "begun")?;
    let verdicts: Vec<&Value> =
        said["results"].as_array().into_iter().flatten().map(|result| &result["verdict"]).collect();
    assert_eq!((code, verdicts), (5, vec![&json!("Passed"), &json!("Unknown"), &json!("Unknown")]), "{said:#}");
    assert_eq!(said["verdict"], "Unknown");
    Ok(())
}

#[test]
fn where_the_agent_is_killed_its_test_ends_as_well() -> TestResult {
    let node = Node::new()?;
    node.tool("waits", "echo $$ >> $MARKS/pids; echo $$ >> $MARKS/pids; touch $MARKS/begun; exec sleep 1000")?;
    node.suite("killed", &[test("waits", 600, "", "exit-code")])?;
    node.killed_at("killed", "begun")?;
    let begun = Instant::now();
    while !node.marked_processes()?.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it is still there");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    Ok(())
}

#[test]
fn a_suite_that_is_none_is_refused_with_a_hint() -> TestResult {
    let node = Node::new()?;
    let output = node.command("nothing", &[]).output()?;
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing is not one of dcgm, nccl, host"));
    Ok(())
}
