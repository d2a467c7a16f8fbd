//! What exporters say, and what is made of it.

use super::*;

const DCGM: &str = r#"
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",pci_bus_id="00000000:1B:00.0",device="nvidia0",Hostname="n"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-2",pci_bus_id="00000000:2C:00.0",device="nvidia1",Hostname="n"} 0
DCGM_FI_DEV_XID_ERRORS{gpu="0",pci_bus_id="00000000:1B:00.0",err_code="79"} 79
DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu="0",pci_bus_id="00000000:1B:00.0"} 2
DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{gpu="0",pci_bus_id="00000000:1B:00.0"} 9223372036854775794
DCGM_FI_DEV_ROW_REMAP_PENDING{gpu="0",pci_bus_id="00000000:1B:00.0"} 1
problem_counter{reason="OOMKilling"} 3
problem_counter{reason="no code!"} 3
node_disk_io_errors_total{device="a"} 4
node_disk_io_errors_total{device="b"} 5
"#;

#[test]
fn dcgm_is_read_in_its_own_words_and_a_blank_is_nothing() {
    let counter: CounterMapping = "node_disk_io_errors_total=disk-io-errors".parse().unwrap();
    let scraper = Scraper::new(Vec::new(), vec![counter]);
    let (mut round, mut totals) = (PollResult::default(), BTreeMap::new());
    scraper.read(DCGM, &mut round, &mut totals);
    let readings: Vec<_> = round.readings.iter().map(|(place, reading)| format!("{place} {reading:?}")).collect();
    assert_eq!(readings, ["0000:1b:00.0 EccUncorrected(Dram, 2)", "0000:1b:00.0 RemapPending(Set)"]);
    let loads: Vec<_> = round.loads.iter().map(|(address, load)| format!("{address} {load:?}")).collect();
    assert_eq!(loads, ["0000:1b:00.0 Busy", "0000:2c:00.0 Idle"]);
    let totals: Vec<_> = totals.iter().map(|(code, total)| format!("{code} {total}")).collect();
    assert_eq!(totals, ["OOMKilling 3", "disk-io-errors 9"]);
}

#[test]
fn an_exporter_that_is_not_there_is_told() {
    let endpoint: Endpoint = "http://127.0.0.1:1/metrics".parse().unwrap();
    let round = Scraper::new(vec![endpoint], Vec::new()).look();
    assert!(
        round
            .trouble
            .is_some_and(|trouble| trouble.unavailable && trouble.what.starts_with("http://127.0.0.1:1/metrics"))
    );
}

#[test]
fn only_counts_are_counts() {
    for (value, expected) in [
        (3.0, Some(3)),
        (3.7, Some(3)),
        (-1.0, None),
        (f64::NAN, None),
        (f64::INFINITY, None),
        (9_223_372_036_854_775_794.0, None),
    ] {
        assert_eq!(whole(value), expected, "{value}");
    }
}
