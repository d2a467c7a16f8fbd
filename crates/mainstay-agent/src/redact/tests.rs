use super::*;

#[track_caller]
fn becomes(line: &str, wanted: &str) {
    assert_eq!(Rules::default().line(line).0, wanted, "{line}");
}

#[test]
fn names_of_processes_are_taken_out_of_lines_of_the_kernel() {
    for (line, wanted) in [
        (
            "NVRM: Xid (PCI:0000:b5:00): 31, pid=2079991, name=pt_main_thread, Ch 00000007, intr 00000000. MMU Fault",
            "NVRM: Xid (PCI:0000:b5:00): 31, pid=2079991, name=[redacted], Ch 00000007, intr 00000000. MMU Fault",
        ),
        (
            "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=[redacted], GPU has fallen off the bus.",
        ),
        (
            "[  12.5] Memory cgroup out of memory: Killed process 11433 (java) total-vm:25004420kB, anon-rss:91796kB",
            "[  12.5] Memory cgroup out of memory: Killed process 11433 ([redacted]) total-vm:25004420kB, anon-rss:91796kB",
        ),
        (
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-0a.scope,mems_allowed=0,oom_memcg=/kubepods.slice/pod1,task_memcg=/kubepods.slice/pod1/c,task=train.py,pid=7,uid=0",
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=[redacted],mems_allowed=0,oom_memcg=[redacted],task_memcg=[redacted],task=[redacted],pid=7,uid=0",
        ),
        (
            "Nov 17 10:00:00 n1 kernel: train.py invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0",
            "Nov 17 10:00:00 n1 kernel: [redacted] invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0",
        ),
        (
            "[  99.000001] [   1234]  1000  1234   98765  4321  98304  0  -997 my job",
            "[  99.000001] [   1234]  1000  1234   98765  4321  98304  0  -997 [redacted]",
        ),
        (
            "[  1.0] train.py[1234]: segfault at 8 ip 00007f sp 00007f error 4 in secret.so[7f00+1000]",
            "[  1.0] [redacted][1234]: segfault at 8 ip 00007f sp 00007f error 4 in [redacted]",
        ),
        (
            "traps: train.py[1] trap divide error ip:401136 sp:7ffe error:0 in a.out[401000+1000]",
            "traps: [redacted][1] trap divide error ip:401136 sp:7ffe error:0 in [redacted]",
        ),
        (
            "CPU: 3 UID: 0 PID: 77 Comm: train.py Not tainted 6.8.0-31-generic #31",
            "CPU: 3 UID: 0 PID: 77 Comm: [redacted] Not tainted 6.8.0-31-generic #31",
        ),
        (
            "INFO: task train.py:4242 blocked for more than 120 seconds.",
            "INFO: task [redacted]:4242 blocked for more than 120 seconds.",
        ),
        ("task:train.py       state:D stack:0     pid:4242", "task:[redacted] state:D stack:0     pid:4242"),
        (
            "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [train.py:4242]",
            "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [[redacted]:4242]",
        ),
        (
            "audit: type=1326 auid=0 pid=9 comm=\"train.py\" exe=\"/opt/x/bin/python3\" sig=31",
            "audit: type=1326 auid=0 pid=9 comm=[redacted] exe=[redacted] sig=31",
        ),
        ("Tasks in /kubepods.slice/a/b are going to be killed", "Tasks in [redacted] are going to be killed"),
    ] {
        becomes(line, wanted);
    }
}

#[test]
fn a_name_with_the_sign_that_ends_names_is_taken_out_whole() {
    becomes("31, pid=1, name=a, b, secret, Ch 0", "31, pid=1, name=[redacted], Ch 0");
    becomes("Killed process 7 (a) b) secr) total-vm:1kB", "Killed process 7 ([redacted]) total-vm:1kB");
    becomes(r"31, pid=1, name=a, \x1b\x1b\x1bsecret, Ch 0", "31, pid=1, name=[redacted], Ch 0");
    becomes("INFO: task a:b:c:4242 blocked for", "INFO: task [redacted]:4242 blocked for");
}

#[test]
fn a_name_with_a_line_break_does_not_leave_its_tail_in_the_next_line() {
    let mut rules = Rules::default();
    assert_eq!(
        rules.line("n1 kernel: NVRM: Xid (PCI:0): 31, pid=1, name=first").0,
        "n1 kernel: NVRM: Xid (PCI:0): 31, pid=1, name=[redacted]"
    );
    assert_eq!(rules.line("           second, Ch 0").0, MARK);
    assert_eq!(rules.line("n1 kernel: another").0, "n1 kernel: another");
}

#[test]
fn names_are_taken_out_of_what_nvidia_smi_says() {
    let mut rules = Rules::default();
    let xml = "\t\t\t\t<pid>4242</pid>\n\t\t\t\t<process_name>/opt/a --key=x</process_name>\n<process_name>two\nlines</process_name> <b/>";
    let said: Vec<String> = xml.lines().map(|line| rules.line(line).0.into_owned()).collect();
    assert_eq!(
        said,
        [
            "\t\t\t\t<pid>4242</pid>",
            "\t\t\t\t<process_name>[redacted]</process_name>",
            "<process_name>[redacted]",
            "[redacted]</process_name> <b/>",
        ]
    );
    becomes(
        "            Name                      : /usr/bin/python3 x",
        "            Name                      :[redacted]",
    );
    becomes(
        "    Product Name                          : NVIDIA H100 80GB HBM3",
        "    Product Name                          : NVIDIA H100 80GB HBM3",
    );
}

#[test]
fn lines_of_programs_that_are_not_about_the_machine_are_taken_out_whole() {
    becomes("Nov 17 10:00:00 n1 kubelet[7]: pod secret-llm nvidia-device-plugin", MARK);
    becomes("Nov 17 10:00:00 n1 nvidia-container-runtime[7]: container secret-llm", MARK);
    becomes("2026-11-17T10:00:00.123456+00:00 n1 python3[12]: nvidia- x", MARK);
    for kept in [
        "Nov  7 10:00:00 n1 kernel: NVRM: GPU 0000:1b:00.0: RmInitAdapter failed!",
        "Nov 17 10:00:00 n1 nvidia-persistenced[7]: started",
        "2026-11-17T10:00:00+00:00 n1 nv-fabricmanager[7]: NVLink down",
        "Jan 01 some words of a text",
    ] {
        becomes(kept, kept);
    }
}

#[test]
fn what_holds_no_name_stays_as_it_is() {
    for line in [
        "[   12.345678] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05",
        "pcieport 0000:00:01.0: AER: Correctable error message received from 0000:01:00.0",
        "mlx5_core 0000:17:00.0: Port module event: module 0, Cable unplugged",
        "\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)",
        "[ 99.0] [    12] something in brackets",
        "Process of elimination",
        "",
    ] {
        becomes(line, line);
    }
}

#[test]
fn a_stream_is_cut_at_a_whole_line_and_says_so() -> io::Result<()> {
    let mut out = Vec::new();
    let mut redactor = Redactor::new(&mut out, 20);
    assert_eq!(redactor.take(b"0123456")?, Capacity::More);
    assert_eq!(redactor.take(b"78\nabcdefgh\nmore\n")?, Capacity::Full);
    assert_eq!(redactor.finish()?, RedactionSummary { bytes: 19, names: 0, cut: true });
    assert_eq!(out, b"012345678\nabcdefgh\n");
    Ok(())
}

#[test]
fn a_name_in_two_pieces_is_taken_out_and_an_endless_line_takes_no_memory() -> io::Result<()> {
    let mut out = Vec::new();
    let mut redactor = Redactor::new(&mut out, 1 << 20);
    for piece in [&b"31, pid=1, na"[..], b"me=sec", b"ret, Ch 0\n"] {
        redactor.take(piece)?;
    }
    for _ in 0..100 {
        redactor.take(&[b'x'; 4096])?;
    }
    assert!(redactor.line.len() <= LINE_BYTES_MAX);
    let sum = redactor.finish()?;
    let text = String::from_utf8_lossy(&out);
    assert!(text.starts_with("31, pid=1, name=[redacted], Ch 0\nxxx") && !text.contains("secret"));
    assert!(text.ends_with("[the rest of this line was omitted]\n"), "{}", sum.bytes);
    Ok(())
}

proptest::proptest! {
    /// Whatever a process is called, no word of its name of three letters or more is left where the kernel puts it.
    #[test]
    fn no_name_is_left(name in "[a-z]{4,9}[ ,:()']{0,3}[a-z]{0,3}") {
        for line in [
            format!("[ 1.5] NVRM: Xid (PCI:0000:b5:00): 31, pid=20, name={name}, Ch 00000007"),
            format!("[ 1.5] {name} invoked oom-killer: gfp_mask=0xcc0"),
            format!("[ 1.5] Memory cgroup out of memory: Killed process 11 ({name}) total-vm:2kB"),
            format!("[ 1.5] INFO: task {name}:4242 blocked for more than 120 seconds."),
            format!("[ 1.5] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [{name}:4242]"),
            format!("[ 1.5] {name}[12]: segfault at 8 ip 0 sp 0 error 4 in {name}[7f+1]"),
            format!("[ 1.5] [  1234]  10  1234  9  4  9  0  0 {name}"),
            format!("CPU: 3 PID: 77 Comm: {name} Not tainted 6.8.0"),
        ] {
            let word: String = name.chars().take_while(char::is_ascii_alphabetic).collect();
            let plain = line.replace(&name, "");
            let left = Rules::default().line(&line).0.into_owned();
            proptest::prop_assert!(plain.contains(&word) || !left.contains(&word), "{line} -> {left}");
        }
    }
}
