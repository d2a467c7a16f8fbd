use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use serde_json::Value;
use tracing::{debug, error, info, warn};

use super::*;

/// An output that a test reads.
struct Output(Sender<String>);

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(String::from_utf8_lossy(bytes).into_owned()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An output that takes nothing until the test drops the other end.
struct StuckOutput(Receiver<()>, Output);

impl io::Write for StuckOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a process with these options writes while `logs` runs.
fn written(log_format: LogFormat, log_level: LogLevel, logs: impl FnOnce()) -> String {
    let (out, lines) = channel();
    let queue = Queue::start(log_format, Output(out)).unwrap();
    let subscriber = LogOptions { log_format, log_level }.subscriber(queue.clone());
    tracing::subscriber::with_default(subscriber, logs);
    queue.flush(Duration::from_secs(20));
    lines.try_iter().collect()
}

fn json(logs: impl FnOnce()) -> Vec<Value> {
    let text = written(LogFormat::Json, LogLevel::Info, logs);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn a_json_line_has_time_level_target_message_and_typed_fields() {
    let lines = json(|| {
        let place: Option<&str> = None;
        warn!(epoch = 7_u64, change = -1_i64, leads = true, node = "n1", path = %"/a b", stage = ?Some(1), place, "moved");
    });
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    let at: jiff::Timestamp = line["time"].as_str().unwrap().parse().unwrap();
    assert!(at.duration_since(jiff::Timestamp::now()).abs().as_secs() < 60, "{line}");
    let expected = serde_json::json!({
        "time": line["time"], "level": "warn", "target": module_path!(), "message": "moved", "epoch": 7, "change": -1,
        "leads": true, "node": "n1", "path": "/a b", "stage": "Some(1)",
    });
    assert_eq!(*line, expected);
}

#[test]
fn a_text_line_quotes_only_what_needs_quotes() {
    let text =
        written(LogFormat::Text, LogLevel::Info, || info!(node = "n1:3", path = "/a b", empty = "", n = 3, "moved"));
    let (time, rest) = text.split_once(' ').unwrap();
    assert!(time.parse::<jiff::Timestamp>().is_ok(), "{text}");
    assert_eq!(rest, format!("INFO  {}: moved node=n1:3 path=\"/a b\" empty=\"\" n=3\n", module_path!()));
}

#[test]
fn no_value_can_begin_a_second_line_or_steer_a_terminal() {
    let hostile = "a\nb\r\n{\"level\":\"error\"}\u{1b}[2J\u{85}\u{9b}\u{2028}\u{202e}\\\0\u{7f}";
    let logs = || {
        info!(why = hostile, shown = %hostile, debugged = ?hostile, "told");
        info!("{hostile}");
        info!(error = &io::Error::other(hostile) as &dyn std::error::Error, "failed");
    };
    for format in [LogFormat::Text, LogFormat::Json] {
        let text = written(format, LogLevel::Info, logs);
        assert_eq!(text.matches('\n').count(), 3, "{text:?}");
        assert!(!text.trim_end().replace('\n', "").contains(char::is_control), "{text:?}");
        assert!(!text.contains(['\u{2028}', '\u{202e}']), "{text:?}");
    }
    let lines = json(logs);
    for value in [&lines[0]["why"], &lines[0]["shown"], &lines[1]["message"], &lines[2]["error"]] {
        assert_eq!(*value, hostile, "a reader gets the value back");
    }
}

#[test]
fn a_long_value_is_cut_and_a_field_cannot_take_the_name_of_a_fixed_one() {
    let lines = json(|| info!(why = "é".repeat(5_000), level = "error", time = 1, target = "x", "long"));
    let why = lines[0]["why"].as_str().unwrap();
    assert_eq!((why.chars().count(), why.ends_with("é…")), (1_025, true));
    assert_eq!((&lines[0]["level"], &lines[0]["field.level"]), (&"info".into(), &"error".into()));
    assert_eq!((&lines[0]["field.time"], &lines[0]["field.target"]), (&1.into(), &"x".into()));
}

#[test]
fn libraries_log_only_warnings_and_errors_and_our_crates_the_chosen_level() {
    let logs = || {
        debug!("ours debug");
        info!("ours info");
        error!("ours error");
        info!(target: "hyper", "theirs info");
        warn!(target: "hyper", "theirs warn");
    };
    for (level, expected) in [
        (LogLevel::Debug, &["ours debug", "ours info", "ours error", "theirs warn"][..]),
        (LogLevel::Info, &["ours info", "ours error", "theirs warn"]),
        (LogLevel::Warn, &["ours error", "theirs warn"]),
        (LogLevel::Error, &["ours error"]),
    ] {
        let text = written(LogFormat::Json, level, logs);
        let messages: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["message"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(messages, expected, "{level:?}");
    }
}

#[test]
fn a_reader_that_takes_nothing_delays_no_task_and_dropped_lines_are_counted() {
    let ((go, wait), (out, lines)) = (channel(), channel());
    let queue = Queue::start(LogFormat::Json, StuckOutput(wait, Output(out))).unwrap();
    let began = Instant::now();
    for number in 0..1_000 {
        queue.push(format!("{{\"number\":{number}}}\n"));
    }
    drop(LogGuard(queue.clone()));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(lines.try_iter().count(), 0);

    drop(go);
    queue.flush(Duration::from_secs(20));
    let all: Vec<Value> = lines.try_iter().map(|line| serde_json::from_str(&line).unwrap()).collect();
    let kept: Vec<u64> = all.iter().filter_map(|line| line["number"].as_u64()).collect();
    let dropped: u64 =
        all.iter().filter(|line| line["level"] == "warn").filter_map(|line| line["lines"].as_u64()).sum();
    assert!((256..=257).contains(&kept.len()), "{kept:?}");
    assert!(kept.is_sorted(), "{kept:?}");
    assert_eq!(kept.len() as u64 + dropped, 1_000, "{all:?}");
}
