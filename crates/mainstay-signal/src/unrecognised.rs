//! Error lines that no parser knows: turns each into a template without values and counts templates. It decides nothing;
//! a template is not evidence until a pool's policy makes it one.
//!
//! Lines are untrusted input, as for the parsers. A template keeps the driver's words and removes what a tenant or an
//! operator can choose as far as its form shows it: numbers, addresses, ids, quoted text, paths, process names.

mod component;
mod counts;
mod severity;
mod template;

use std::borrow::Cow;

use mainstay_model::{Code, Component, Template};

pub use counts::{TEMPLATES_MAX, UnrecognisedCounts};

use crate::kernel::{self, LINE_BYTES_MAX};
use crate::{Writer, scan};

/// The template of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineTemplate {
    /// The driver and a digest of the template.
    pub code: Code,
    /// The line without its values.
    pub template: Template,
    /// The kind of hardware that the line is about.
    pub component: Component,
}

/// Returns the template of a line that no parser knows; none for a line that reports no error, or that is about other
/// hardware. `priority` is that of syslog, 0 to 7, if the log has it. Call it for [`Recognition::Unknown`](crate::Recognition::Unknown) only.
#[must_use]
pub fn unrecognised(line: &str, writer: Writer<'_>, priority: Option<u8>) -> Option<LineTemplate> {
    let (text, own_level) = match writer {
        Writer::Kernel => (kernel::text_of(line), None),
        Writer::Program(_) => {
            let (text, level) = severity::message(scan::cut(line, LINE_BYTES_MAX));
            (Cow::Borrowed(text), level)
        }
        Writer::Unstated => {
            let text = kernel::text_of(line);
            let level = severity::message(&text).1;
            (text, level)
        }
    };
    let (driver, component) = component::of(&text, writer)?;
    if !severity::is_error(&text, writer, priority, own_level) {
        return None;
    }
    let template = Template::parse(&template::of(&text)).ok()?;
    let code = Code::parse(&template::code(&driver, template.as_str())).ok()?;
    Some(LineTemplate { code, template, component })
}

/// Returns whether lines of a program are read: services that report faults of GPUs, and those that run the jobs.
#[must_use]
pub fn is_followed_service(name: &str) -> bool {
    component::service(name).is_some()
}

#[cfg(test)]
mod tests;
