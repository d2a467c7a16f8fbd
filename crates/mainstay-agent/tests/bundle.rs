//! `bundle` as it ships, with tools that are real scripts: they hang, flood, fail, and leave children behind.

#[path = "bundle/machine.rs"]
mod machine;

use std::time::{Duration, Instant};

use machine::{Machine, TestResult};

const SMI: &str = r#"cat <<'XML'
<nvidia_smi_log>
	<gpu id="00000000:1B:00.0">
		<processes>
			<process_info>
				<pid>4242</pid>
				<process_name>/opt/tenant/secret-llm --key hunter2</process_name>
			</process_info>
		</processes>
	</gpu>
</nvidia_smi_log>
XML
"#;

/// The script writes gzip in pieces, as NVIDIA's does.
const BUG_REPORT: &str = r#"
log=nvidia-bug-report.log.gz
printf 'Start of NVIDIA bug report log file.\n' | gzip -c >> $log
printf '[  12.5] NVRM: Xid (PCI:0000:1b:00): 31, pid=7, name=secret-llm, Ch 00000008\n' | gzip -c >> $log
printf '            Name                              : secret-llm\n' | gzip -c >> $log
"#;

fn whole(machine: &Machine) -> TestResult {
    machine.tool(
        "journalctl",
        "echo \"2026-11-17T10:00:00+00:00 n1 kernel: secret-llm invoked oom-killer: x\"; echo \"$@\" >&2",
    )?;
    machine.tool("lspci", "echo LnkSta: Speed 32GT/s")?;
    machine.tool("ipmitool", "echo 1 | sed s/1/SEL/")?;
    machine.tool("nvidia-smi", SMI)?;
    machine.tool("dcgmi", "echo '{}'")?;
    machine.tool("nvidia-bug-report.sh", BUG_REPORT)
}

#[test]
fn a_machine_with_every_tool_gives_a_complete_bundle_without_names() -> TestResult {
    let machine = Machine::new()?;
    whole(&machine)?;
    machine.adapter("mlx5_0", "ib0")?;
    for tool in ["ibstat", "mlxlink", "perfquery", "ethtool"] {
        machine.tool(tool, "echo $0 $@")?;
    }
    let (code, said) = machine.bundle(&[])?;
    assert_eq!((code, &said["complete"]), (0, &true.into()), "{said:#}");
    let entries = machine.unpack(&said)?;
    for name in
        ["kernel.log", "store.json", "report.json", "scan.json", "mlxlink-mlx5_0.txt", "optics-ib0.txt", "lspci.txt"]
    {
        assert!(entries.contains_key(name), "{name}: {:?}", entries.keys());
    }
    // The kinds of names that tenants choose, in everything that was gathered.
    for (name, text) in &entries {
        assert!(!text.contains("secret") && !text.contains("hunter2"), "{name}: {text}");
    }
    assert!(entries["nvidia-smi.xml"].contains("<process_name>[redacted]</process_name>"));
    assert!(entries["nvidia-bug-report.log"].contains("31, pid=7, name=[redacted], Ch 00000008"));
    assert!(entries["kernel.log"].contains("Xid (PCI:0000:1b:00): 79, pid=9, name=[redacted], GPU has fallen"));
    assert!(entries["mlxlink-mlx5_0.txt"].contains("-d mlx5_0 -m -c"));
    Ok(())
}

#[test]
fn what_cannot_be_had_is_named_and_keeps_nothing_else_away() -> TestResult {
    let machine = Machine::new()?;
    whole(&machine)?;
    machine.without("lspci")?;
    machine.tool("ipmitool", "echo Could not open device >&2; exit 1")?;
    machine.tool("dcgmi", "while :; do echo 0123456789012345678901234567890123456789; done")?;
    let (code, said) = machine.bundle(&[])?;
    assert_eq!(code, 5, "{said:#}");
    let ended = |name: &str| machine::entry(&said, name);
    assert_eq!(ended("lspci.txt")["ended"], "no-tool");
    assert_eq!(ended("ipmi-events.txt")["ended"], "failed");
    assert_eq!(ended("ipmi-events.txt")["detail"], "exit code 1: Could not open device");
    assert_eq!(
        (&ended("dcgm-diag.json")["ended"], &ended("dcgm-diag.json")["detail"]),
        (&"cut".into(), &"truncated at 4194304 bytes".into())
    );
    assert_eq!(ended("nvidia-smi.xml")["ended"], "complete");
    let entries = machine.unpack(&said)?;
    assert!(entries["dcgm-diag.json"].len() <= 4 << 20);
    assert!(entries["manifest.json"].contains("no-tool"));
    Ok(())
}

#[test]
fn tools_that_hang_are_ended_with_their_children_and_the_limit_holds() -> TestResult {
    let machine = Machine::new()?;
    whole(&machine)?;
    // Deaf to being asked, with a child that sleeps on; and one that goes away and leaves its child with the output.
    machine.tool("nvidia-smi", "trap '' TERM; echo begun; sleep 1000 & echo $! >> $MARKS/pids; wait; sleep 1000")?;
    machine.tool("lspci", "sleep 1000 & echo $! >> $MARKS/pids; echo first")?;
    let begun = Instant::now();
    let (code, said) = machine.bundle(&["--limit", "10s"])?;
    let took = begun.elapsed();
    assert_eq!(code, 5, "{said:#}");
    assert!(took < Duration::from_secs(11), "{took:?}");
    assert_eq!(machine::entry(&said, "nvidia-smi.xml")["ended"], "out-of-time");
    assert_eq!(machine::entry(&said, "lspci.txt")["ended"], "complete");
    let entries = machine.unpack(&said)?;
    assert_eq!((entries["nvidia-smi.xml"].as_str(), entries["lspci.txt"].as_str()), ("begun\n", "first\n"));
    let left = machine.marked_processes()?;
    assert!(left.is_empty(), "still there: {left:?}");
    Ok(())
}

#[test]
fn a_file_that_hangs_is_left_and_said_to_hang() -> TestResult {
    let machine = Machine::new()?;
    whole(&machine)?;
    let files = fake_kernel::Files::serve(1 << 16)?;
    files.hang();
    let log = files.text_path().display().to_string();
    let (code, said) = machine.bundle(&["--kmsg", &log, "--limit", "12s"])?;
    assert_eq!(code, 5);
    assert_eq!(machine::entry(&said, "kernel.log")["ended"], "hangs", "{said:#}");
    assert_eq!(machine::entry(&said, "nvidia-smi.xml")["ended"], "complete");
    Ok(())
}

#[test]
fn a_stop_ends_what_runs_and_writes_what_there_is() -> TestResult {
    let machine = Machine::new()?;
    whole(&machine)?;
    machine.tool("nvidia-bug-report.sh", &format!("{BUG_REPORT}\ntouch $MARKS/begun; sleep 1000"))?;
    let (code, said) = machine.bundle_stopped_at("begun")?;
    assert_eq!(code, 5, "{said:#}");
    assert_eq!(machine::entry(&said, "nvidia-bug-report.log")["ended"], "stopped");
    assert!(machine.unpack(&said)?["nvidia-bug-report.log"].contains("Start of NVIDIA"));
    Ok(())
}

#[test]
fn a_limit_in_which_nothing_can_be_done_is_refused() -> TestResult {
    let output = Machine::new()?.command(&["--limit", "9s"]).output()?;
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("hint:   use --limit 10s or more."));
    Ok(())
}

#[test]
fn nothing_but_the_archive_is_left_in_the_folder_also_after_a_killed_run() -> TestResult {
    let machine = Machine::new()?;
    whole(&machine)?;
    std::fs::create_dir_all(machine.out().join(".mainstay-agent-1-1/0"))?;
    let (code, said) = machine.bundle(&[])?;
    assert_eq!(code, 0, "{said:#}");
    let names: Vec<_> = std::fs::read_dir(machine.out())?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    assert_eq!(names.len(), 1, "{names:?}");
    Ok(())
}
