//! A point in time in the API: RFC 3339 in UTC with milliseconds, bounded in length.

use mainstay_model::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A point in time. The model counts milliseconds, so the API carries no finer precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub jiff::Timestamp);

impl JsonSchema for Moment {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time", "maxLength": 32 })
    }
}

impl From<Moment> for Timestamp {
    fn from(moment: Moment) -> Self {
        Self(moment.0.as_millisecond())
    }
}

impl From<Timestamp> for Moment {
    /// A moment outside the calendar's range becomes the range's end, so that "never" stays a date.
    fn from(timestamp: Timestamp) -> Self {
        let bounded = timestamp.0.clamp(jiff::Timestamp::MIN.as_millisecond(), jiff::Timestamp::MAX.as_millisecond());
        Self(jiff::Timestamp::from_millisecond(bounded).unwrap_or(jiff::Timestamp::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_goes_to_the_model_and_back() {
        let moment: Moment = serde_json::from_str("\"2026-11-15T03:00:00.250Z\"").unwrap();
        assert_eq!(Moment::from(Timestamp::from(moment)), moment);
        assert_eq!(serde_json::to_string(&moment).unwrap(), "\"2026-11-15T03:00:00.25Z\"");
    }

    #[test]
    fn a_moment_past_the_calendar_is_its_end() {
        assert_eq!(Timestamp::from(Moment::from(Timestamp(i64::MAX))).0, jiff::Timestamp::MAX.as_millisecond());
    }
}
