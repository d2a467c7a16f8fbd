//! One line of the Prometheus text format: `name{label="value",...} number [time]`. Comments and lines that are none are
//! nothing; types and help are not looked at.

/// A line longer than this is no sample of ours.
const LINE_BYTES_MAX: usize = 4096;

/// Labels of one sample.
const LABELS_MAX: usize = 64;

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) name: &'a str,
    labels: Vec<(&'a str, &'a str)>,
    pub(super) value: f64,
}

// === impl Sample ===

impl<'a> Sample<'a> {
    /// Reads a line.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.len() > LINE_BYTES_MAX {
            return None;
        }
        let name_end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))?;
        let (name, rest) = line.split_at(name_end);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inside) => labels(inside)?,
            None => (Vec::new(), rest),
        };
        let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
        (!name.is_empty()).then_some(Self { name, labels, value })
    }

    /// The value of a label. One with an escape is as it was written; none of those that are read here has any.
    pub(super) fn label(&self, name: &str) -> Option<&'a str> {
        self.labels.iter().find(|(label, _)| *label == name).map(|(_, value)| *value)
    }
}

/// Labels up to the brace, and what follows it. A quote inside a value stands behind a backslash.
fn labels(mut rest: &str) -> Option<(Vec<(&str, &str)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once("=\"")?;
        let mut escaped = false;
        let end = after.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        let (value, after) = (after.get(..end)?, after.get(end + 1..)?);
        if labels.len() >= LABELS_MAX {
            return None;
        }
        labels.push((name.trim(), value));
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sample_has_a_name_labels_and_a_value() {
        let sample = Sample::parse(r#"x:y_z{a="1",b="q\"}, r",} 1.5e3 1700000000"#).unwrap();
        assert_eq!((sample.name, sample.value), ("x:y_z", 1500.0));
        assert_eq!((sample.label("a"), sample.label("b"), sample.label("c")), (Some("1"), Some(r#"q\"}, r"#), None));
        assert_eq!(Sample::parse("up 1").map(|sample| sample.value), Some(1.0));
        assert!(Sample::parse("up NaN").is_some_and(|sample| sample.value.is_nan()));
    }

    #[test]
    fn what_is_no_sample_is_nothing() {
        for line in ["", "# HELP up x", "up", "up x", "{a=\"b\"} 1", "up{a=\"b} 1", "up{a} 1"] {
            assert_eq!(Sample::parse(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_without_harm(line in "\\PC{0,120}", labels in "[a-z\"\\\\{},= ]{0,60}") {
            let _ = Sample::parse(&line);
            let _ = Sample::parse(&format!("up{{{labels}}} 1"));
        }
    }
}
