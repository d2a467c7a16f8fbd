//! Every setting that a run accepts, with its default, unit and meaning, for `mainstay sim settings`.

use serde::Serialize;

use super::Policies;
use super::setting::{POLICIES, format_policy};
use crate::model::ALL_RATES;
use crate::{FailureModel, FaultClass, Parameter, Rates};

/// The kind of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingKind {
    /// A policy of the operator.
    Policy,
    /// A fault rate of the failure model.
    Rate,
    /// Another parameter of the failure model.
    Parameter,
}

/// One setting that a run accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    /// Its name, as in `name=value`.
    pub name: &'static str,
    /// What kind of setting it is.
    pub kind: SettingKind,
    /// Its value in a run that does not set it.
    pub default: String,
    /// The unit of its value, or the values that it may have.
    pub unit: &'static str,
    /// Its meaning in a few words.
    pub meaning: &'static str,
}

/// Every setting, with the defaults of these rates.
#[must_use]
pub fn settings(rates: Rates) -> Vec<Setting> {
    let model = FailureModel::built_in(rates);
    let defaults = Policies::default();
    let policies = POLICIES.iter().map(|(name, unit, meaning)| Setting {
        name,
        kind: SettingKind::Policy,
        default: format_policy(&defaults, name),
        unit,
        meaning,
    });
    let all = Setting {
        name: ALL_RATES,
        kind: SettingKind::Rate,
        default: "x1".to_owned(),
        unit: "factor",
        meaning: "All fault rates at once",
    };
    let classes = FaultClass::ALL.into_iter().map(|class| Setting {
        name: class.word(),
        kind: SettingKind::Rate,
        default: model.rate_per_day(class).to_string(),
        unit: model.unit(class).words(),
        meaning: class.meaning(),
    });
    let known: Vec<&str> = model.names().collect();
    let parameters = Parameter::ALL.into_iter().filter(|parameter| known.contains(&parameter.word()));
    let parameters = parameters.map(|parameter| Setting {
        name: parameter.word(),
        kind: SettingKind::Parameter,
        default: model.get(parameter).to_string(),
        unit: FailureModel::parameter_unit(parameter),
        meaning: parameter.meaning(),
    });
    policies.chain([all]).chain(classes).chain(parameters).collect()
}
