//! Entries of the journal, however they are written: the few fields that matter, and `journalctl -o json`, an object a
//! line. Only entries of the kernel and of followed services are taken: a program of a tenant may write into the journal what
//! it likes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead};

use mainstay_model::Timestamp;
use mainstay_signal::{Writer, is_followed_service};
use mainstay_text::{JsonLine, Lines};
use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};

use super::LogReader;
use crate::dropped::DropReason;

/// An entry with all its fields.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// A message; the kernel's are shorter.
const MESSAGE_BYTES_MAX: usize = 8 * 1024;
/// Hosts of one file whose boots are followed.
const HOSTS_MAX: usize = 100_000;

/// The last boot that each host of a file was seen in.
pub(super) type Boots = BTreeMap<String, String>;

/// What is taken of an entry.
#[derive(Debug, Default)]
pub(super) struct Entry {
    microseconds: Option<u64>,
    host: Option<String>,
    boot: Option<String>,
    transport: Option<String>,
    priority: Option<u8>,
    identifier: Option<String>,
    /// The unit of the process, which journald sets.
    unit: Option<String>,
    /// The unit that a message of systemd is about, and the process that wrote it.
    about_unit: Option<String>,
    process: Option<String>,
    message: Option<String>,
}

impl Entry {
    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"__REALTIME_TIMESTAMP" => self.microseconds = text().parse().ok(),
            b"_HOSTNAME" => self.host = Some(text()),
            b"_BOOT_ID" => self.boot = Some(text()),
            b"_TRANSPORT" => self.transport = Some(text()),
            b"PRIORITY" => self.priority = text().parse().ok(),
            b"SYSLOG_IDENTIFIER" => self.identifier = Some(text()),
            b"_SYSTEMD_UNIT" => self.unit = Some(text()),
            b"UNIT" => self.about_unit = Some(text()),
            b"_PID" => self.process = Some(text()),
            b"MESSAGE" => {
                let cut = value.get(..MESSAGE_BYTES_MAX).unwrap_or(value);
                self.message = Some(String::from_utf8_lossy(cut).into_owned());
            }
            _ => {}
        }
    }

    /// The followed service that wrote the entry, by the name under which it logs. The unit decides, because a program chooses
    /// its name itself. What systemd reports about such a unit counts as well.
    fn service(&self) -> Option<&str> {
        match followed(self.unit.as_ref()) {
            Some(unit) => followed(self.identifier.as_ref()).or_else(|| unit.strip_suffix(".service")),
            None if self.process.as_deref() == Some("1") => followed(self.about_unit.as_ref()).map(|_| "systemd"),
            None => None,
        }
    }

    /// Hands it on where it is the kernel's or a followed service's. An entry of any program shows a new boot of its host.
    pub(super) fn write_to(self, reading: &mut LogReader<'_>, boots: &mut Boots) {
        reading.volume.entries += 1;
        let Some(at) = self.microseconds.and_then(|at| i64::try_from(at / 1_000).ok()).map(Timestamp) else {
            return reading.skip(DropReason::NoTime, 1);
        };
        let host = self.host.as_deref();
        if let (Some(boot), true) = (&self.boot, boots.len() < HOSTS_MAX) {
            let before = boots.insert(host.unwrap_or_default().to_owned(), boot.clone());
            if before.is_some_and(|before| before != *boot) {
                // As the kernel itself would say it.
                reading.line(host, at, "Linux version unknown");
            }
        }
        let writer = match self.transport.as_deref() {
            Some("kernel") => Some(Writer::Kernel),
            Some(_) | None => self.service().map(Writer::Program),
        };
        match (writer, &self.message) {
            (Some(writer), Some(message)) => reading.line_of(host, at, message, writer, self.priority),
            (Some(_), None) => reading.skip(DropReason::NotUnderstood, 1),
            (None, _) => reading.skip(DropReason::NotTheKernel, 1),
        }
    }
}

fn followed(name: Option<&String>) -> Option<&str> {
    name.map(String::as_str).filter(|name| is_followed_service(name))
}

#[derive(Deserialize)]
struct Json<'a> {
    #[serde(rename = "__REALTIME_TIMESTAMP", borrow)]
    microseconds: Option<Cow<'a, str>>,
    #[serde(rename = "_HOSTNAME", borrow)]
    host: Option<Cow<'a, str>>,
    #[serde(rename = "_BOOT_ID", borrow)]
    boot: Option<Cow<'a, str>>,
    #[serde(rename = "_TRANSPORT", borrow)]
    transport: Option<Cow<'a, str>>,
    #[serde(rename = "PRIORITY", borrow)]
    priority: Option<Cow<'a, str>>,
    #[serde(rename = "SYSLOG_IDENTIFIER", default)]
    identifier: Message,
    #[serde(rename = "_SYSTEMD_UNIT", default)]
    unit: Message,
    #[serde(rename = "UNIT", default)]
    about_unit: Message,
    #[serde(rename = "_PID", default)]
    process: Message,
    #[serde(rename = "MESSAGE", default)]
    message: Message,
}

/// A text, or its bytes where it is none; nothing where the journal left it out.
#[derive(Default)]
struct Message(Option<String>);

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Accepts a journal message as text, as bytes or as null.
        struct MessageVisitor;
        impl<'de> Visitor<'de> for MessageVisitor {
            type Value = Message;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or its bytes")
            }

            fn visit_str<E>(self, text: &str) -> Result<Message, E> {
                let end = text.floor_char_boundary(MESSAGE_BYTES_MAX);
                Ok(Message(text.get(..end).map(str::to_owned)))
            }

            fn visit_unit<E>(self) -> Result<Message, E> {
                Ok(Message(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Message, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element::<u8>()? {
                    if bytes.len() < MESSAGE_BYTES_MAX {
                        bytes.push(byte);
                    }
                }
                Ok(Message(Some(String::from_utf8_lossy(&bytes).into_owned())))
            }
        }
        deserializer.deserialize_any(MessageVisitor)
    }
}

pub(super) fn read(reading: &mut LogReader<'_>, from: &mut impl BufRead) -> io::Result<()> {
    let mut lines = Lines::new(from, LINE_BYTES_MAX);
    let mut boots = Boots::default();
    while let Some(line) = lines.next_json::<Json<'_>>()? {
        let json = match line {
            JsonLine::Value(json) => json,
            JsonLine::TooLong => {
                reading.skip(DropReason::LineTooLong, 1);
                continue;
            }
            JsonLine::Invalid => {
                reading.volume.entries += 1;
                reading.skip(DropReason::NotUnderstood, 1);
                continue;
            }
        };
        let entry = Entry {
            microseconds: json.microseconds.and_then(|at| at.parse().ok()),
            host: json.host.map(Cow::into_owned),
            boot: json.boot.map(Cow::into_owned),
            transport: json.transport.map(Cow::into_owned),
            priority: json.priority.and_then(|priority| priority.parse().ok()),
            identifier: json.identifier.0,
            unit: json.unit.0,
            about_unit: json.about_unit.0,
            process: json.process.0,
            message: json.message.0,
        };
        entry.write_to(reading, &mut boots);
    }
    reading.volume.bytes = lines.bytes();
    Ok(())
}
