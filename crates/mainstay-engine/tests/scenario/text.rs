//! The text of a scenario: a sentence, its rule, the setting, then events with the output that followed below `----`.

/// A scenario as written.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) rule: String,
    /// Lines before the first `at`.
    pub(crate) setting: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

/// Events that happen together, then one decision.
#[derive(Debug)]
pub(crate) struct Step {
    /// Since the scenario's midnight.
    pub(crate) at_seconds: i64,
    pub(crate) events: Vec<String>,
}

pub(crate) fn parse(text: &str) -> Result<Scenario, String> {
    let mut lines = text.lines();
    let title = lines.next().filter(|line| line.starts_with("# ")).ok_or("the first line is a sentence behind #")?;
    if !title.ends_with('.') {
        return Err(format!("not a sentence: {title}"));
    }
    let mut scenario = Scenario { rule: String::new(), setting: Vec::new(), steps: Vec::new() };
    let mut in_output = false;
    for line in lines {
        if let Some(event) = line.strip_prefix("at ") {
            in_output = false;
            let (time, event) = event.split_once(' ').ok_or_else(|| format!("no event: {line}"))?;
            let at_seconds = seconds(time).ok_or_else(|| format!("not a time: {line}"))?;
            match scenario
                .steps
                .last_mut()
                .filter(|step| step.at_seconds == at_seconds && step.events.last().is_some_and(|last| last != "----"))
            {
                Some(step) => step.events.push(event.to_owned()),
                None => scenario.steps.push(Step { at_seconds, events: vec![event.to_owned()] }),
            }
        } else if line == "----" {
            in_output = true;
            if let Some(step) = scenario.steps.last_mut() {
                step.events.push("----".to_owned());
            }
        } else if in_output || line.is_empty() || line.starts_with('#') {
        } else if let Some(rule) = line.strip_prefix("rule ") {
            scenario.rule = rule.trim().to_owned();
        } else {
            scenario.setting.push(line.to_owned());
        }
    }
    for step in &mut scenario.steps {
        step.events.retain(|event| event != "----");
    }
    if scenario.rule.is_empty() { Err("no rule".to_owned()) } else { Ok(scenario) }
}

fn seconds(time: &str) -> Option<i64> {
    let mut parts = time.split(':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = parts.next().unwrap_or(Some(0))?;
    Some(hours * 3_600 + minutes * 60 + seconds)
}

/// The text with the outputs replaced, one for each `----`.
pub(crate) fn with_output(text: &str, outputs: &[String]) -> String {
    let mut outputs = outputs.iter();
    let mut result = String::new();
    let mut in_output = false;
    for line in text.lines() {
        if line.starts_with("at ") && in_output {
            result.push('\n');
            in_output = false;
        }
        if in_output {
            continue;
        }
        result.push_str(line);
        result.push('\n');
        if line == "----" {
            result.push_str(outputs.next().map_or("", String::as_str));
            in_output = true;
        }
    }
    result
}
