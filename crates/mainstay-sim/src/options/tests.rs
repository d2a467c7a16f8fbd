//! What may be set, and what somebody is told who sets something else.

use mainstay_model::{Mode, Ppm, Span};
use mainstay_text::Problem;

use super::{CheckpointPolicy, DrainTool, Options, Policies};
use crate::{Rates, Setting, SettingKind, settings};

fn options() -> Options {
    Options::new(1_024, 30, 7, Rates::Base).unwrap()
}

fn refused(setting: &str) -> Problem {
    options().set(setting).unwrap_err()
}

#[test]
fn a_large_fleet_gets_two_jobs_per_gpu_in_thirty_days() {
    assert_eq!(Options::new(100_000, 30, 1, Rates::Base).unwrap().jobs, 200_000);
    assert_eq!(Options::new(8, 1, 1, Rates::Base).unwrap().jobs, 0);
    assert_eq!(Options::new(1_000_000, 366, 1, Rates::Base).unwrap().jobs, 24_400_000);
}

#[test]
fn a_fleet_is_made_of_whole_nodes_within_bounds() {
    for gpus in [0, 4, 12, 1_000_008, u32::MAX] {
        assert!(Options::new(gpus, 1, 1, Rates::Base).unwrap_err().detail.contains("nodes have 8 GPUs"), "{gpus}");
    }
    assert_eq!(Options::new(1_001, 1, 1, Rates::Base).unwrap_err().hint, "use --gpus 1000");
    assert_eq!(Options::new(0, 1, 1, Rates::Base).unwrap_err().hint, "use --gpus 8");
    for days in [0, 367] {
        assert!(Options::new(8, days, 1, Rates::Base).unwrap_err().detail.contains("1 to 366"), "{days}");
    }
    assert!(options().submit(25_000_001).unwrap_err().what.contains("too many"));
}

#[test]
fn every_policy_can_be_set_and_is_told_in_one_wording() {
    let mut options = options();
    for setting in ["checkpoint=at-once", "mode=propose", "rack-out-max=04", " fleet-out-max = 2.50% "] {
        options.set(setting).unwrap();
    }
    let expected = Policies {
        mode: Mode::Propose,
        checkpoint: CheckpointPolicy::AtOnce,
        rack_nodes_out_max: 4,
        fleet_out_max: Ppm(25_000),
        drain_tool: None,
    };
    assert_eq!(options.policies, expected);
    let told: Vec<_> = options.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(told, ["checkpoint=at-once", "fleet-out-max=2.5%", "mode=propose", "rack-out-max=4"]);
}

#[test]
fn what_is_set_to_its_default_leaves_no_trace_and_is_still_set() {
    let mut options = options();
    for setting in ["checkpoint=wait", "mode=act", "rack-out-max=2", "fleet-out-max=3.0%", "link-flap=x1.0"] {
        options.set(setting).unwrap();
    }
    assert!(options.settings.is_empty(), "{:?}", options.settings);
    assert_eq!(options.set("checkpoint=at-once").unwrap_err().what, "checkpoint is set twice");
}

#[test]
fn a_rate_is_set_or_multiplied() {
    let mut by_factor = options();
    by_factor.set("link-flap=x3.0").unwrap();
    assert_ne!(by_factor.model, options().model);
    assert_eq!(by_factor.settings.get("link-flap").unwrap(), "x3");
    let mut by_value = options();
    by_value.set("link-flap=0.250").unwrap();
    assert_ne!(by_value.model, options().model);
    assert_eq!(by_value.settings.get("link-flap").unwrap(), "0.25");
}

#[test]
fn all_rates_are_scaled_before_single_ones_so_that_the_order_needs_no_telling() {
    let mut options = options();
    options.set("all-rates=x3").unwrap();
    options.set("link-flap=x2").unwrap();
    let mut other = self::options();
    other.set("link-flap=x2").unwrap();
    assert_eq!(other.set("all-rates=x3").unwrap_err().what, "all-rates must come before single rates");
    assert!(refused("all-rates=1").detail.contains("can be scaled but not set"));
}

#[test]
fn who_mistypes_a_name_is_told_the_nearest_ones() {
    let problem = refused("chekpoint=wait");
    assert_eq!(problem.what, "unknown setting: \"chekpoint\"");
    assert!(problem.detail.contains("the nearest names are checkpoint, "), "{}", problem.detail);
    assert!(refused("link-flop=x3").detail.contains(" link-flap, "));
}

#[test]
fn a_value_that_cannot_be_is_refused_with_those_that_can() {
    assert_eq!(refused("checkpoint=now").detail, "allowed: wait, ask or at-once.");
    assert_eq!(refused("checkpoint=x3").hint, "omit it for the default, wait");
    assert_eq!(refused("mode=Act").detail, "allowed: observe, propose or act.");
    assert_eq!(refused("fleet-out-max=3").hint, "omit it for the default, 3%");
    for setting in ["fleet-out-max=101%", "fleet-out-max=-1%", "fleet-out-max=1.%", "fleet-out-max=1.00001%"] {
        assert!(refused(setting).what.starts_with("invalid value for fleet-out-max"), "{setting}");
    }
    for setting in ["rack-out-max=-1", "rack-out-max=1001", "rack-out-max=x2"] {
        assert!(refused(setting).what.starts_with("invalid value for rack-out-max"), "{setting}");
    }
    for setting in ["link-flap=", "link-flap=many", "link-flap=-1", "link-flap=NaN", "link-flap=inf", "link-flap=x0"] {
        assert!(refused(setting).what.starts_with("invalid value for link-flap"), "{setting}");
    }
}

#[test]
fn what_is_no_setting_at_all_is_refused_and_shown_short() {
    for setting in ["", "checkpoint", "a\u{1b}[31m=1", &format!("a={}", "9".repeat(200))] {
        let problem = refused(setting);
        assert!(problem.what.starts_with("invalid setting: ") && problem.what.len() < 150, "{}", problem.what);
        assert!(!problem.what.contains('\u{1b}'));
    }
}

#[test]
fn every_setting_is_listed_with_a_default_a_unit_and_a_meaning_and_can_be_set() {
    let all = settings(Rates::Base);
    assert_eq!(all.len(), 63);
    for Setting { name, kind, default, unit, meaning } in &all {
        assert!(!unit.is_empty() && meaning.split(' ').count() >= 2, "{name}");
        let value = match kind {
            SettingKind::Policy => default.clone(),
            SettingKind::Rate | SettingKind::Parameter => "x1".to_owned(),
        };
        options().set(&format!("{name}={value}")).unwrap();
    }
}

#[test]
fn a_drain_tool_has_a_timer_or_waits_and_needs_a_mainstay_that_observes() {
    let mut options = Options::new(64, 1, 1, Rates::Base).unwrap();
    assert!(options.set("drain-tool=5").unwrap_err().hint.contains("mode=observe"));
    for (value, stops_jobs_after) in [("wait", None), ("0", Some(Span::ZERO)), ("1440", Some(Span::hours(24)))] {
        let mut options = Options::new(64, 1, 1, Rates::Base).unwrap();
        options.set("mode=observe").unwrap();
        options.set(&format!("drain-tool={value}")).unwrap();
        assert_eq!(options.policies.drain_tool, Some(DrainTool { stops_jobs_after }));
        assert_eq!(options.settings["drain-tool"], value);
    }
    let mut options = Options::new(64, 1, 1, Rates::Base).unwrap();
    options.set("mode=observe").unwrap();
    assert!(options.set("drain-tool=1441").is_err());
    options.set("drain-tool=none").unwrap();
    assert_eq!(options.policies.drain_tool, None);
}
