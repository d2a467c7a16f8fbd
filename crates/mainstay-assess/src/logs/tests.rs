use std::io::Write as _;

use proptest::prelude::*;

use super::*;
use crate::input::EventKind;

const XID: &str = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
/// 2026-03-05T10:11:12Z.
const AT: i64 = 1_772_705_472_000;

fn told() -> ReadOptions {
    ReadOptions {
        node: None,
        offset_minutes: 0,
        since: None,
        until: Some(Timestamp(AT + 86_400_000)),
        booted: None,
        booted_by_node: BTreeMap::new(),
        now: Timestamp(AT),
        unpacked_bytes_max: 1_000_000,
    }
}

fn gather(name: &str, bytes: &[u8], told: &ReadOptions) -> Input {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    File::create(&path).unwrap().write_all(bytes).unwrap();
    let mut gathered = read(Log::find(&[folder.path().to_owned()]).unwrap(), told, &|_| {});
    gathered.settle();
    gathered
}

fn signals(gathered: &Input) -> Vec<(String, i64, String)> {
    let of = |event: &crate::input::Event| match event.what {
        EventKind::Boot => None,
        EventKind::Signal(number, _) => {
            let signal = &gathered.signals[number as usize];
            Some((
                gathered.nodes[event.node as usize].to_string(),
                event.at.0,
                format!("{} {}", signal.code, signal.place),
            ))
        }
    };
    gathered.events.iter().filter_map(of).collect()
}

fn skipped(gathered: &Input) -> Vec<(DropReason, u64)> {
    gathered.skipped.lines().iter().map(|line| (line.why, line.count)).collect()
}

fn one(node: &str) -> Vec<(String, i64, String)> {
    vec![(node.to_owned(), AT, "79 0000:1b:00.0".to_owned())]
}

fn export(message: &[u8], transport: &str) -> Vec<u8> {
    let mut entry = format!(
        "__CURSOR=s=1\n__REALTIME_TIMESTAMP={AT}000\n_BOOT_ID=b1\n_TRANSPORT={transport}\n_HOSTNAME=r1n1\nCOREDUMP\n"
    )
    .into_bytes();
    entry.extend_from_slice(&5_u64.to_le_bytes());
    entry.extend_from_slice(b"\0a\nb=\nMESSAGE\n");
    entry.extend_from_slice(&u64::try_from(message.len()).unwrap().to_le_bytes());
    entry.extend_from_slice(message);
    entry.extend_from_slice(b"\n\n");
    entry
}

#[test]
fn text_is_read_with_any_of_its_times_and_the_host_is_the_node() {
    for (line, node) in [
        (format!("[Thu Mar  5 10:11:12 2026] {XID}"), "r9n9"),
        (format!("2026-03-05T10:11:12,000000+00:00 {XID}"), "r9n9"),
        (format!("2026-03-05T10:11:12+0000 r1n1 kernel: {XID}"), "r1n1"),
        (format!("Mar  5 10:11:12 r1n1 kernel: [  99.123456] {XID}"), "r1n1"),
    ] {
        let gathered = gather("r9n9.dmesg.txt", format!("{line}\n").as_bytes(), &told());
        assert_eq!(signals(&gathered), one(node), "{line}");
        assert_eq!(skipped(&gathered), [], "{line}");
    }
}

#[test]
fn seconds_since_boot_are_counted_from_the_boot_or_back_from_the_end() {
    let line = format!("[   12.000000] {XID}\n");
    let end = AT + 86_400_000;
    let later = format!("{line}[   20.000000] x\n");
    let gathered = gather("r9n9.log", later.as_bytes(), &told());
    assert_eq!(signals(&gathered), [("r9n9".to_owned(), end - 8_000, "79 0000:1b:00.0".to_owned())]);
    assert_eq!(gathered.volumes["kernel log as text"].estimated, 2);
    let booted = Some(Timestamp(AT - 12_000));
    assert_eq!(signals(&gather("r9n9.log", line.as_bytes(), &ReadOptions { booted, ..told() })), one("r9n9"));
    let by_node = BTreeMap::from([(NodeName::parse("r9n9").unwrap(), Timestamp(AT - 12_000))]);
    let told = ReadOptions { booted_by_node: by_node, ..told() };
    let twice = format!("{line}[ 5000.0] x\n[    1.0] {XID}\n");
    let gathered = gather("r9n9.log", twice.as_bytes(), &told);
    let second = ("r9n9".to_owned(), end, "79 0000:1b:00.0".to_owned());
    assert_eq!((signals(&gathered), skipped(&gathered)), ([one("r9n9"), vec![second]].concat(), vec![]));
}

#[test]
fn a_line_without_a_time_has_that_of_the_line_before_it() {
    let text = format!("Mar  5 10:11:12 r1n1 kernel: x\n{XID}\n");
    let gathered = gather("r1n1.log", text.as_bytes(), &told());
    assert_eq!((signals(&gathered), skipped(&gathered)), (one("r1n1"), vec![]));
    assert_eq!(gathered.volumes["kernel log as text"].estimated, 1);
}

#[test]
fn a_record_of_several_lines_is_one_signal() {
    let lines = [
        "[Thu Mar  5 10:11:12 2026] NVRM: The NVIDIA GPU 0000:1b:00.0\n",
        "                           NVRM: (PCI ID: 10de:26b5) installed in this system has\n",
        "                           NVRM: fallen off the bus and is not responding to commands.\n",
    ];
    let expected = vec![("r1n1".to_owned(), AT, "gpu-lost 0000:1b:00.0".to_owned())];
    assert_eq!(signals(&gather("r1n1.log", lines.concat().as_bytes(), &told())), expected);
    let shipped = "2026-03-05T10:11:12+00:00 r1n1 kernel: NVRM: The NVIDIA GPU 0000:1b:00.0#012NVRM: (PCI ID: 10de:26b5) \
                   installed in this system has#012NVRM: fallen off the bus and is not responding to commands.\n";
    assert_eq!(signals(&gather("r9n9.log", shipped.as_bytes(), &told())), expected);
}

#[test]
fn objects_of_log_shippers_are_read_and_those_of_pods_are_not() {
    let at = "2026-03-05T10:11:12Z";
    for object in [
        serde_json::json!({ "log": format!("{XID}\n"), "stream": "stdout", "time": at }),
        serde_json::json!({ "date": 1_772_705_472.0, "MESSAGE": XID, "_TRANSPORT": "kernel", "_HOSTNAME": "r1n1" }),
        serde_json::json!({ "appname": "kernel", "hostname": "r1n1", "message": XID, "timestamp": at }),
        serde_json::json!({ "@timestamp": at, "host": "r1n1", "message": format!("[  99.1] {XID}") }),
    ] {
        assert_eq!(signals(&gather("r1n1.json", format!("{object}\n").as_bytes(), &told())), one("r1n1"), "{object}");
    }
    let pod = serde_json::json!({ "log": XID, "time": at, "kubernetes": { "pod_name": "train-0" } });
    let gathered = gather("r1n1.json", format!("{pod}\n").as_bytes(), &told());
    assert_eq!((signals(&gathered), skipped(&gathered)), (vec![], vec![(DropReason::NotTheKernel, 1)]));
}

#[test]
fn the_journal_is_read_as_export_and_as_json_and_only_what_the_kernel_said() {
    let mut bytes = export(XID.as_bytes(), "kernel");
    bytes.extend(export(XID.as_bytes(), "stdout"));
    let gathered = gather("journal.export", &bytes, &told());
    assert_eq!((signals(&gathered), skipped(&gathered)), (one("r1n1"), vec![(DropReason::NotTheKernel, 1)]));
    let entry = |message: serde_json::Value, transport: &str, boot: &str| {
        let at = format!("{AT}000");
        serde_json::json!({ "__REALTIME_TIMESTAMP": at, "_HOSTNAME": "r1n1", "_BOOT_ID": boot, "_TRANSPORT": transport,
            "MESSAGE": message })
        .to_string()
            + "\n"
    };
    let text = entry(XID.into(), "kernel", "b1")
        + &entry(XID.into(), "syslog", "b1")
        + &entry(XID.as_bytes().into(), "kernel", "b2")
        + "{ no json\n";
    let gathered = gather("journal.json", text.as_bytes(), &told());
    assert_eq!(signals(&gathered), one("r1n1"));
    assert_eq!(skipped(&gathered), [(DropReason::NotTheKernel, 1), (DropReason::NotUnderstood, 1)]);
    assert_eq!(gathered.events.iter().filter(|event| event.what == EventKind::Boot).count(), 1);
}

#[test]
fn loki_is_read_as_an_answer_and_line_by_line() {
    let nanoseconds = format!("{AT}000000");
    let stream = |line: &str| {
        serde_json::json!({ "status": "success", "data": { "resultType": "streams", "result": [
            { "stream": { "node_name": "r1n1", "job": "kernel" }, "values": [[nanoseconds, line]] }] } })
    };
    for line in [XID.to_owned(), serde_json::json!({ "MESSAGE": XID, "_TRANSPORT": "kernel" }).to_string()] {
        assert_eq!(signals(&gather("loki.json", stream(&line).to_string().as_bytes(), &told())), one("r1n1"), "{line}");
    }
    let line = serde_json::json!({ "labels": { "host": "r1n1" }, "line": XID, "timestamp": "2026-03-05T10:11:12Z" });
    assert_eq!(signals(&gather("loki.jsonl", format!("{line}\n").as_bytes(), &told())), one("r1n1"));
    let pod = serde_json::json!({ "labels": { "host": "r1n1", "pod": "x" }, "line": XID, "timestamp": "2026-03-05T10:11:12Z" });
    let gathered = gather("loki.jsonl", format!("{pod}\n").as_bytes(), &told());
    assert_eq!((signals(&gathered), skipped(&gathered)), (vec![], vec![(DropReason::NotTheKernel, 1)]));
    assert_eq!(skipped(&gather("loki.json", b"{ \"status\":", &told())), [(DropReason::NotUnderstood, 1)]);
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_is_read_whole_and_no_further_than_its_bound() {
    let line = format!("[Thu Mar  5 10:11:12 2026] {XID}\n");
    let mut twice = gzipped(line.as_bytes());
    twice.extend(gzipped(b"[Thu Mar  5 10:11:13 2026] eth0: up\n"));
    let gathered = gather("r1n1.log.gz", &twice, &told());
    assert_eq!((signals(&gathered), skipped(&gathered)), (one("r1n1"), vec![]));
    assert_eq!(gathered.volumes["kernel log as text"].entries, 2);
    let export = gather("r9n9.export.gz", &gzipped(&export(XID.as_bytes(), "kernel")), &told());
    assert_eq!(signals(&export), one("r1n1"));
    let cut = gather("r1n1.log.gz", &twice[..twice.len() - 8], &told());
    assert_eq!((signals(&cut), skipped(&cut)), (one("r1n1"), vec![(DropReason::NoFile, 1)]));
    let large = gzipped(format!("{line}{}", "x\n".repeat(1_000_000)).as_bytes());
    let large = gather("r1n1.log.gz", &large, &told());
    assert_eq!(signals(&large), one("r1n1"));
    assert!(skipped(&large).contains(&(DropReason::TooLarge, 1)), "{:?}", skipped(&large));
    let nested = gather("r1n1.log.gz", &gzipped(&gzipped(line.as_bytes())), &told());
    assert_eq!((signals(&nested), skipped(&nested)), (vec![], vec![(DropReason::Compressed, 1)]));
}

#[test]
fn what_cannot_be_read_is_counted_and_the_rest_is_read() {
    let long = format!("{}\n[Thu Mar  5 10:11:12 2026] {XID}\nno time\n", "x".repeat(100_000));
    let gathered = gather("r1n1.log", long.as_bytes(), &told());
    assert_eq!((signals(&gathered), skipped(&gathered)), (one("r1n1"), vec![(DropReason::LineTooLong, 1)]));
    assert_eq!(skipped(&gather("r1n1.journal", b"LPKSHHRH\0\0\0\0 x", &told())), [(DropReason::Binary, 1)]);
    let truncated = format!("{}\n[Thu Mar  5 10:11:12 2026] {XID}\n", "\0".repeat(1_000));
    assert_eq!(signals(&gather("r1n1.log", truncated.as_bytes(), &told())), one("r1n1"));
    assert_eq!(skipped(&gather("r1n1.log.zst", b"\x28\xb5\x2f\xfd", &told())), [(DropReason::Compressed, 1)]);
    let window = ReadOptions { since: Some(Timestamp(AT + 1)), ..told() };
    let gathered = gather("r1n1.log", format!("[Thu Mar  5 10:11:12 2026] {XID}\n").as_bytes(), &window);
    assert_eq!((signals(&gathered), skipped(&gathered)), (vec![], vec![(DropReason::OutsideWindow, 1)]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..600), kind in 0_usize..6) {
        let start: [&[u8]; 6] = [
            b"",
            b"__CURSOR=x\n",
            b"{\"__REALTIME_TIMESTAMP\":",
            b"{\"data\":{\"result\":[",
            b"[Thu Mar  5 10:11:12 2026] ",
            b"{\"log\":\"x\",\"time\":1}\n{\"log\":",
        ];
        let all: Vec<u8> = start[kind].iter().copied().chain(bytes).collect();
        let _ = gather("r1n1.log", &all, &told());
    }

    #[test]
    fn an_export_that_breaks_off_is_read_up_to_there(cut in 0_usize..400) {
        let mut bytes = export(XID.as_bytes(), "kernel");
        bytes.extend(export(XID.as_bytes(), "kernel"));
        bytes.truncate(cut);
        let gathered = gather("journal.export", &bytes, &told());
        prop_assert!(signals(&gathered).len() <= 1);
    }
}

#[test]
fn a_followed_unit_is_read_from_the_journal_and_a_tenant_is_not() {
    let entry = |unit: &str, identifier: &str, more: &str, message: &str| {
        format!(
            "__CURSOR=s=1\n__REALTIME_TIMESTAMP={AT}000\n_BOOT_ID=b1\n_TRANSPORT=stdout\n_HOSTNAME=r1n1\nPRIORITY=6\n\
             _SYSTEMD_UNIT={unit}\nSYSLOG_IDENTIFIER={identifier}\n{more}MESSAGE={message}\n\n"
        )
    };
    let klog = "E1116 09:14:05.123456    4242 manager.go:99] frobnicating GPU";
    let entries = [
        entry("kubelet.service", "kubelet", "", &format!("{klog} 7 failed")),
        entry("kubelet.service", "kubelet", "", &format!("{klog} 8 failed")),
        entry("session-1.scope", "kubelet", "", &format!("{klog} 9 failed")),
        entry("init.scope", "systemd", "_PID=77\nUNIT=kubelet.service\n", "the GPU failed"),
    ];
    let gathered = gather("j.export", entries.concat().as_bytes(), &told());
    let section = gathered.unrecognised.section();
    let templates: Vec<(&str, u64)> = section.templates.iter().map(|line| (&*line.template, line.lines)).collect();
    assert_eq!(templates, [("frobnicating GPU # failed", 2)]);
    assert_eq!(skipped(&gathered), [(DropReason::NotTheKernel, 2)]);
}

#[test]
fn an_unknown_line_of_a_followed_service_in_a_text_log_is_a_template_and_a_tenants_is_not() {
    let line = |program: &str| format!("2026-03-05T10:11:12+0000 r1n1 {program}[7]: frobnicating GPU 7 failed\n");
    let gathered = gather("r1n1.log", (line("kubelet") + &line("python3")).as_bytes(), &told());
    let section = gathered.unrecognised.section();
    let templates: Vec<(&str, u64)> = section.templates.iter().map(|line| (&*line.template, line.lines)).collect();
    assert_eq!(templates, [("frobnicating GPU # failed", 1)]);
    assert_eq!(skipped(&gathered), [(DropReason::NotTheKernel, 1)]);
}

#[test]
fn templates_of_two_files_are_counted_together_and_the_list_names_no_host() {
    let folder = tempfile::tempdir().unwrap();
    for node in ["r1n1", "r1n2"] {
        let line =
            |lane: u32| format!("2026-03-05T10:11:12+0000 {node} kernel: newdriver 0000:1b:00.0: lane {lane} failed\n");
        std::fs::write(folder.path().join(format!("{node}.log")), line(1) + &line(2)).unwrap();
    }
    let gathered = read(Log::find(&[folder.path().to_owned()]).unwrap(), &told(), &|_| {});
    let section = gathered.unrecognised.section();
    let [only] = section.templates.as_slice() else { panic!("{section:?}") };
    assert_eq!((only.nodes, only.lines, only.template.as_str()), (2, 4, "newdriver #: lane # failed"));
    let shared = serde_json::to_string(&section.list()).unwrap();
    assert!(shared.contains("\"template\":\"newdriver #: lane # failed\"") && !shared.contains("r1n"), "{shared}");
    assert!(section.text(5).contains("newdriver-"), "{}", section.text(5));
}
