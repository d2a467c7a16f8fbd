use super::*;

const RATES: &str = include_str!("../../tables/rates.tsv");
const PARAMETERS: &str = include_str!("../../tables/parameters.tsv");

fn base() -> FailureModel {
    FailureModel::built_in(Rates::Base)
}

#[test]
fn the_built_in_tables_are_sound_under_all_rates() {
    for rates in Rates::ALL {
        assert_eq!(table::read(RATES, PARAMETERS, rates), Ok(FailureModel::built_in(rates)));
        assert_eq!(Rates::of(rates.word()), Some(rates));
    }
}

#[test]
fn a_table_that_is_not_sound_is_refused_with_the_reason() {
    let rates_without = |word: &str| {
        RATES.lines().filter(|line| !line.starts_with(word)).map(|line| format!("{line}\n")).collect::<String>()
    };
    let refused = |rates: &str, parameters: &str| table::read(rates, parameters, Rates::Base).unwrap_err();
    assert_eq!(refused(&rates_without("link-flap"), PARAMETERS), "link-flap is missing");
    assert_eq!(refused(&RATES.replace("link-flap\t", "rack-power\t"), PARAMETERS), "rack-power is there twice");
    assert_eq!(refused(&RATES.replace("link-flap\t", "link-flip\t"), PARAMETERS), "no class is called link-flip");
    assert_eq!(refused(&RATES.replace("\track\t", "\tshelf\t"), PARAMETERS), "rack-power: no unit is called shelf");
    let falling = RATES.replace("1.0e-3\t1.0e-2", "1.0e-1\t1.0e-2");
    assert_eq!(refused(&falling, PARAMETERS), "link-flap: low, base and high do not rise");
    let nonsense = RATES.replace("1.673e-4", "NaN");
    assert_eq!(refused(&nonsense, PARAMETERS), "gpu-hard-fault: NaN is no number from zero up");
    assert!(refused(&RATES.replace("\tunchecked", ""), PARAMETERS).starts_with("6 columns instead of 7: leaf-switch"));
    let lemons = PARAMETERS.replace("lemon_share\t0.012", "lemon_share\t1.2");
    assert_eq!(refused(RATES, &lemons), "lemon_share: 1.2 is not between 0 and 1");
    let unsourced = PARAMETERS.replace("days\t0\t365\tassumption", "days\t0\t365\t");
    assert_eq!(refused(RATES, &unsourced), "rma_days_min: a figure without a source");
}

#[test]
fn stress_is_every_base_rate_scaled_to_twenty_stops() {
    let stress = FailureModel::built_in(Rates::Stress);
    for class in FaultClass::ALL {
        let expected = base().rate_per_day(class) * 20.0 / 3.79;
        assert!((stress.rate_per_day(class) - expected).abs() <= 1e-12, "{}", class.word());
    }
}

#[test]
fn rates_rise_from_low_to_high() {
    let [low, base, high, _] = Rates::ALL.map(FailureModel::built_in);
    for class in FaultClass::ALL {
        assert!(low.rate_per_day(class) < base.rate_per_day(class), "{}", class.word());
        assert!(base.rate_per_day(class) < high.rate_per_day(class), "{}", class.word());
    }
}

#[test]
fn everything_that_has_a_name_can_be_scaled_and_does_change() {
    let names: Vec<&str> = base().names().collect();
    assert_eq!(names.len(), 1 + FaultClass::ALL.len() + Parameter::ALL.len() - 4);
    for name in names {
        for factor in [0.3, 3.0] {
            let mut model = base();
            model.scale(name, factor).unwrap();
            assert_ne!(model, base(), "{name} x {factor}");
        }
    }
}

#[test]
fn a_share_that_is_scaled_stays_a_share() {
    let mut model = base();
    model.scale("sensor_hard_recall", 3.0).unwrap();
    assert_eq!(model.get(Parameter::SensorHardRecall).to_bits(), 1.0_f64.to_bits());
    model.scale("delivery-defect", 300.0).unwrap();
    assert_eq!(model.rate_per_day(FaultClass::DeliveryDefect).to_bits(), 1.0_f64.to_bits());
}

#[test]
fn a_logarithm_is_scaled_by_what_it_stands_for() {
    let mut model = base();
    model.scale("repair_ln_minutes_mu", 3.0).unwrap();
    let ratio =
        libm::exp(model.get(Parameter::RepairLnMinutesMu)) / libm::exp(base().get(Parameter::RepairLnMinutesMu));
    assert!((ratio - 3.0).abs() < 1e-9, "{ratio}");
}

#[test]
fn all_rates_are_scaled_at_once_and_no_parameter_is() {
    let mut model = base();
    model.scale(ALL_RATES, 2.0).unwrap();
    for class in FaultClass::ALL {
        assert_eq!(model.rate_per_day(class).to_bits(), (base().rate_per_day(class) * 2.0).to_bits());
    }
    assert_eq!(model.parameters, base().parameters);
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut model = base();
    assert_eq!(model.set("lemons", 1.0), Err(BadSetting::Unknown("lemons".to_owned())));
    assert_eq!(model.scale("lemons", 1.0), Err(BadSetting::Unknown("lemons".to_owned())));
    assert_eq!(model.set("stop_rate_base", 3.79), Err(BadSetting::Fixed("stop_rate_base".to_owned())));
    assert_eq!(model.set(ALL_RATES, 1.0), Err(BadSetting::NoOneValue));
    assert_eq!(model.scale("lemon_share", 0.0), Err(BadSetting::NoFactor(0.0)));
    assert!(model.scale("lemon_share", f64::NAN).is_err());
    assert!(model.set("lemon_share", f64::NAN).is_err());
    let refused = model.set("lemon_share", 1.5).unwrap_err();
    assert_eq!(refused.to_string(), "lemon_share = 1.5 is out of range; allowed: 0 to 1");
    assert_eq!(model, base());
    model.set("lemon_share", 0.5).unwrap();
    model.set("link-flap", 0.0).unwrap();
    assert_eq!((model.get(Parameter::LemonShare), model.rate_per_day(FaultClass::LinkFlap)), (0.5, 0.0));
}
