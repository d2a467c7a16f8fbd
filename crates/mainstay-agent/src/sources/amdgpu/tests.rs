//! Cards laid out as the kernel does: one folder each below the driver, with counters and sensors.

use std::fs;

use tempfile::TempDir;

use super::*;

fn readings(files: &[(&str, &str)]) -> Vec<String> {
    let sys = TempDir::new().unwrap();
    for (file, words) in files {
        let path = sys.path().join("bus/pci/drivers/amdgpu").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{words}\n")).unwrap();
    }
    let round = Cards::new(sys.path()).look();
    assert_eq!(round.trouble, None);
    round.readings.iter().map(|(place, reading)| format!("{place} {reading:?}")).collect()
}

#[test]
fn a_node_without_the_driver_has_no_reading() {
    assert!(readings(&[]).is_empty());
    assert!(readings(&[("new_id", "x"), ("module/version", "x")]).is_empty());
}

#[test]
fn errors_are_read_by_block_and_all_ones_are_no_count() {
    let read = readings(&[
        ("0000:c1:00.0/ras/umc_err_count", "ue: 1\nce: 20"),
        ("0000:c1:00.0/ras/gfx_err_count", "ue: 1048560\nce: x"),
        ("0000:c1:00.0/ras/features", "feature mask: 0x1"),
    ]);
    let expected =
        ["0000:c1:00.0 AmdUncorrected(AmdBlock(\"umc\"), 1)", "0000:c1:00.0 AmdCorrected(AmdBlock(\"umc\"), 20)"];
    assert_eq!(read, expected);
}

#[test]
fn a_sensor_at_its_limit_is_hot_and_a_limit_below_the_default_is_read() {
    let card = |temperature: &'static str| {
        readings(&[
            ("0000:c1:00.0/hwmon/hwmon3/temp1_input", "40000"),
            ("0000:c1:00.0/hwmon/hwmon3/temp1_crit", "100000"),
            ("0000:c1:00.0/hwmon/hwmon3/temp2_input", temperature),
            ("0000:c1:00.0/hwmon/hwmon3/temp2_crit", "110000"),
            ("0000:c1:00.0/hwmon/hwmon3/power1_cap", "500000000"),
            ("0000:c1:00.0/hwmon/hwmon3/power1_cap_default", "750000000"),
        ])
    };
    let limit = "0000:c1:00.0 AmdPowerLimit { enforced_watts: 500, default_watts: 750 }";
    assert_eq!(card("50000"), ["0000:c1:00.0 AmdTooHot(Clear)", limit]);
    assert_eq!(card("110000"), ["0000:c1:00.0 AmdTooHot(Set)", limit]);
}
