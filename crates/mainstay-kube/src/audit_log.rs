//! The audit log: one JSON line per stage change, dry-run action and incident, in files that are rotated by size.
//! Reports and postmortems need it, because the current state does not contain the past.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;

use mainstay_model::{Epoch, Execution, NodeName, OrderId, Persisted, RuleName, Stage, Timestamp, WaitingOn};
use mainstay_text::{JsonLine, Lines};
use serde::{Deserialize, Serialize};

use crate::rotation::Rotation;

/// Format version that this build writes.
pub const FORMAT: u32 = 1;
/// File size at which the log is rotated.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Number of files that are kept: at most half a gigabyte in total.
const FILES_MAX: u32 = 8;
/// Number of files that are read, from all leaders that wrote to one directory.
const FILES_READ_MAX: usize = 64;
/// Longest line that is read. The longest that is written has a whole incident, which the API server bounds at 1.5 MiB.
const LINE_BYTES_MAX: usize = 2 * 1024 * 1024;
const CURRENT: &str = "audit.jsonl";
const NAME: (&str, &str) = ("audit", "jsonl");
const EPOCH_SEEN: &str = "epoch-seen";

/// One entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
pub enum Entry {
    /// A leadership began, with the epoch of its line.
    Led {
        /// Identity of the new leader.
        identity: String,
    },
    /// A node changed its stage.
    Stage {
        /// Name of the node.
        node: NodeName,
        /// Stage before the change.
        from: Stage,
        /// Stage after the change.
        to: Stage,
        /// Rule that led to the change.
        rule: RuleName,
        /// What the node waits for now.
        waiting_on: WaitingOn,
    },
    /// An action that was not executed: a dry run, or one that waits for approval.
    DryRun {
        /// Node that the action is for.
        node: NodeName,
        /// Kind of action.
        step: String,
        /// Id of the action.
        action: OrderId,
        /// Rule that led to the action.
        rule: RuleName,
        /// Whether it is a dry run or waits for approval.
        execution: Execution,
    },
    /// An action that was executed, or that was refused when it should have been.
    Acted {
        /// Node that the action is for.
        node: NodeName,
        /// Kind of action.
        step: String,
        /// Id of the action.
        action: OrderId,
        /// Rule that led to the action.
        rule: RuleName,
        /// What became of it: applied, started, conflict, refused or unknown.
        outcome: String,
        /// Why it was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// An incident was opened or closed.
    Incident {
        /// Name of the incident.
        name: String,
        /// What happened: opened or closed.
        what: String,
        /// Summary of the incident.
        summary: String,
    },
    /// A closed incident, before its object was deleted.
    Exported {
        /// The whole object as JSON.
        incident: Box<serde_json::Value>,
    },
    /// A node that is gone, before its stored state was deleted.
    Forgotten {
        /// Name of the node.
        node: NodeName,
        /// Its last stored state.
        state: Box<Persisted>,
    },
    /// A decision violated an invariant and was not executed, or a leadership ended.
    Violation {
        /// What happened, as a sentence.
        what: String,
    },
}

#[derive(Serialize)]
struct Line<'a> {
    format: u32,
    at: Timestamp,
    epoch: Epoch,
    #[serde(flatten)]
    entry: &'a Entry,
}

/// One line of the audit log, as it is read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AuditLine {
    /// Time of the entry.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
}

/// Append-only JSON-lines file of stage changes, dry-run actions and incidents, rotated by size.
#[derive(Debug)]
pub struct AuditLog {
    files: Option<Rotation>,
    file: Option<BufWriter<File>>,
    bytes: u64,
    bytes_max: u64,
    written: u64,
    /// Highest epoch that this process has seen.
    epoch: Epoch,
}

// === impl AuditLog ===

impl AuditLog {
    /// Opens the audit log in a directory, which is created if missing. Without a directory nothing is written.
    ///
    /// # Errors
    /// If the directory cannot be written.
    pub fn open(folder: Option<&Path>) -> std::io::Result<Self> {
        Self::with(folder, FILE_BYTES_MAX)
    }

    fn with(folder: Option<&Path>, bytes_max: u64) -> std::io::Result<Self> {
        let files = folder.map(|folder| Rotation::new(folder, NAME, FILES_MAX));
        let mut journal = Self { files, file: None, bytes: 0, bytes_max, written: 0, epoch: Epoch(0) };
        if let Some(files) = journal.files.clone() {
            std::fs::create_dir_all(files.folder())?;
            journal.reopen(&files)?;
        }
        Ok(journal)
    }

    /// Reads all lines in a directory, in the order of time. Lines that this version does not understand are skipped, and so
    /// is a line that a power cut has cut.
    ///
    /// # Errors
    /// If the directory has no audit log, or a file cannot be read.
    pub fn read(folder: &Path) -> std::io::Result<Vec<AuditLine>> {
        let listed = std::fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
        let files: Vec<_> = listed.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
        if files.is_empty() {
            return Err(std::io::Error::other(format!("no {CURRENT} is in it")));
        }
        let mut all = Vec::new();
        for path in files.iter().take(FILES_READ_MAX) {
            let mut lines = Lines::new(BufReader::new(File::open(path)?), LINE_BYTES_MAX);
            while let Some(line) = lines.next_json::<AuditLine>()? {
                match line {
                    JsonLine::Value(line) => all.push(line),
                    JsonLine::Invalid | JsonLine::TooLong => {}
                }
            }
        }
        all.sort_by_key(|line| line.at);
        Ok(all)
    }

    /// Number of lines written.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Appends one line.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, at: Timestamp, epoch: Epoch, entry: &Entry) -> std::io::Result<()> {
        let Some(files) = &self.files else { return Ok(()) };
        if self.bytes >= self.bytes_max {
            let files = files.clone();
            self.flush()?;
            files.put_aside()?;
            self.reopen(&files)?;
        }
        let mut line = serde_json::to_vec(&Line { format: FORMAT, at, epoch, entry })?;
        line.push(b'\n');
        if let Some(file) = &mut self.file {
            file.write_all(&line)?;
        }
        self.bytes = self.bytes.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        self.written += 1;
        Ok(())
    }

    /// Hands buffered lines to the kernel. A power cut can lose the last moments.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), std::io::Write::flush)
    }

    /// Highest epoch seen by any user of this directory. A Cell below it comes from a restored etcd.
    #[must_use]
    pub fn epoch_seen(&self) -> Epoch {
        let path = self.files.as_ref().map(|files| files.folder().join(EPOCH_SEEN));
        let text = path.and_then(|path| std::fs::read_to_string(path).ok());
        Epoch(text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)).max(self.epoch)
    }

    /// Stores the highest epoch seen.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep_epoch(&mut self, epoch: Epoch) -> std::io::Result<()> {
        self.epoch = self.epoch.max(epoch);
        let Some(folder) = self.files.as_ref().map(Rotation::folder) else { return Ok(()) };
        let fresh = folder.join(format!("{EPOCH_SEEN}.new"));
        std::fs::write(&fresh, epoch.0.to_string())?;
        std::fs::rename(fresh, folder.join(EPOCH_SEEN))
    }

    fn reopen(&mut self, files: &Rotation) -> std::io::Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(files.current())?;
        self.bytes = file.metadata()?.len();
        self.file = Some(BufWriter::new(file));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(what: &str) -> Entry {
        Entry::Violation { what: what.to_owned() }
    }

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = AuditLog::with(Some(folder.path()), 10).unwrap();
        for number in 0..20 {
            journal.write(Timestamp(number), Epoch(1), &violation("w")).unwrap();
        }
        journal.flush().unwrap();
        let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names.len(), FILES_MAX as usize, "{names:?}");
        let newest = std::fs::read_to_string(folder.path().join(CURRENT)).unwrap();
        assert_eq!(newest, "{\"format\":1,\"at\":19,\"epoch\":1,\"kind\":\"violation\",\"what\":\"w\"}\n");
    }

    #[test]
    fn a_record_is_continued_and_the_highest_epoch_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let mut journal = AuditLog::open(Some(folder.path())).unwrap();
            journal.write(Timestamp(0), Epoch(1), &violation("w")).unwrap();
            journal.flush().unwrap();
            journal.keep_epoch(Epoch(7)).unwrap();
        }
        assert_eq!(std::fs::read_to_string(folder.path().join(CURRENT)).unwrap().lines().count(), 2);
        assert_eq!(AuditLog::open(Some(folder.path())).unwrap().epoch_seen(), Epoch(7));
        assert_eq!(AuditLog::open(None).unwrap().epoch_seen(), Epoch(0));
    }

    #[test]
    fn lines_are_read_by_time_from_all_files_and_a_cut_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        assert!(AuditLog::read(folder.path()).unwrap_err().to_string().contains("no audit.jsonl"));
        let mut journal = AuditLog::with(Some(folder.path()), 100).unwrap();
        for number in 0..4 {
            journal.write(Timestamp(number), Epoch(1), &violation("w")).unwrap();
        }
        journal.flush().unwrap();
        assert!(folder.path().join("audit.1.jsonl").exists(), "one file only");
        let mut file = OpenOptions::new().append(true).open(folder.path().join(CURRENT)).unwrap();
        file.write_all(b"{\"format\":1,\"at\":9,\"kind\":\"vio").unwrap();
        let lines = AuditLog::read(folder.path()).unwrap();
        assert_eq!(lines.iter().map(|line| line.at.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(lines.iter().all(|line| line.entry == violation("w")));
    }
}
