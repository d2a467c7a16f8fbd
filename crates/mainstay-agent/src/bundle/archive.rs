//! The archive: tar in zstd, each part as a file, then `manifest.json` that says how each ended, and last `SHA256SUMS`, which
//! `sha256sum -c` understands. It is written beside its place and moved there when it is whole.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::gather::CollectedItem;
use super::{Bundle, Entry, EntryStatus, Plan};
use crate::text;

/// zstd's own default: half a gigabyte a second or so, and logs shrink to a tenth.
const LEVEL: i32 = 3;

/// The longest name of a node that becomes part of a file's name.
const NODE_BYTES_MAX: usize = 63;

/// What is in the archive, for who has only the archive.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    node: &'a str,
    boot_id: &'a str,
    begun_at: Timestamp,
    agent_version: &'a str,
    entries: &'a [Entry],
}

/// Counts bytes and computes their SHA-256 while passing them through.
struct HashingWriter<T> {
    inner: T,
    hash: Sha256,
    bytes: u64,
}

/// Writes the archive of what was gathered.
pub(super) fn write(plan: &Plan, gathered: Vec<CollectedItem>, begun: Instant) -> io::Result<Bundle> {
    let now = Timestamp::now();
    let begun_at = now - begun.elapsed();
    let node = text::read(&plan.settings.proc.join("sys/kernel/hostname")).unwrap_or_default();
    let node = match text::token(&node, NODE_BYTES_MAX).replace(['/', ':', '@'], "-") {
        node if node.is_empty() => "node".to_owned(),
        node => node,
    };
    let stamp = format!("{now:.0}").replace([':', '-'], "");
    let folder = format!("mainstay-bundle-{node}-{stamp}");
    let path = plan.options.out.join(format!("{folder}.tar.zst"));
    let beside = plan.options.out.join(format!(".{folder}.part"));
    let written = pack(&beside, &folder, plan, &node, begun_at, gathered);
    let (entries, bytes, sha256) = match written.and_then(|written| moved(&beside, &path).map(|()| written)) {
        Ok(written) => written,
        Err(error) => {
            let _ = std::fs::remove_file(&beside);
            return Err(error);
        }
    };
    Ok(Bundle {
        path: path.display().to_string(),
        bytes,
        sha256,
        seconds: begun.elapsed().as_secs_f64(),
        complete: entries.iter().all(|entry| entry.ended == EntryStatus::Complete),
        entries,
    })
}

fn pack(
    path: &Path,
    folder: &str,
    plan: &Plan,
    node: &str,
    begun_at: Timestamp,
    gathered: Vec<CollectedItem>,
) -> io::Result<(Vec<Entry>, u64, String)> {
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let out = BufWriter::with_capacity(1 << 18, HashingWriter::new(file));
    let mut tar = tar::Builder::new(zstd::Encoder::new(out, LEVEL)?);
    let at = u64::try_from(begun_at.as_second()).unwrap_or(0);
    let mut entries = Vec::with_capacity(gathered.len());
    for part in gathered {
        let mut entry = Entry {
            command: part.item.command(),
            name: part.item.name,
            ended: part.ended,
            detail: part.detail,
            bytes: 0,
            sha256: None,
            seconds: part.took.as_secs_f64(),
            redacted: part.redacted,
        };
        if let Some((bytes, sha256)) = append(&mut tar, &format!("{folder}/{}", entry.name), at, &part.file)? {
            (entry.bytes, entry.sha256) = (bytes, Some(sha256));
        }
        entries.push(entry);
    }
    let manifest = Manifest {
        node,
        boot_id: plan.boot.as_str(),
        begun_at,
        agent_version: env!("CARGO_PKG_VERSION"),
        entries: &entries,
    };
    let manifest = serde_json::to_vec_pretty(&manifest)?;
    append_text(&mut tar, &format!("{folder}/manifest.json"), at, &manifest)?;
    let mut sums = String::new();
    let files = entries.iter().filter_map(|entry| Some((entry.sha256.clone()?, entry.name.as_str())));
    for (sha256, name) in files.chain([(hex(&Sha256::digest(&manifest)), "manifest.json")]) {
        sums.push_str(&format!("{sha256}  {name}\n"));
    }
    append_text(&mut tar, &format!("{folder}/SHA256SUMS"), at, sums.as_bytes())?;
    let out = tar.into_inner()?.finish()?;
    let HashingWriter { inner, hash, bytes } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    inner.sync_all()?;
    Ok((entries, bytes, hex(&hash.finalize())))
}

/// A part's file, as long as it is now; none where it is not there or empty.
fn append(tar: &mut tar::Builder<impl Write>, name: &str, at: u64, path: &Path) -> io::Result<Option<(u64, String)>> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(None);
    }
    // Who was left hanging may still write.
    let mut hashed = HashingWriter::new(file.take(length));
    tar.append_data(&mut header(length, at), name, &mut hashed)?;
    Ok(Some((length, hex(&hashed.hash.finalize()))))
}

fn append_text(tar: &mut tar::Builder<impl Write>, name: &str, at: u64, text: &[u8]) -> io::Result<()> {
    tar.append_data(&mut header(u64::try_from(text.len()).unwrap_or(u64::MAX), at), name, text)
}

fn header(bytes: u64, at: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(at);
    header
}

/// The whole archive or none.
fn moved(from: &Path, to: &PathBuf) -> io::Result<()> {
    std::fs::rename(from, to)?;
    match to.parent() {
        Some(folder) if folder != Path::new("") => File::open(folder)?.sync_all(),
        Some(_) | None => File::open(".")?.sync_all(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

// === impl HashingWriter ===

impl<T> HashingWriter<T> {
    fn new(inner: T) -> Self {
        Self { inner, hash: Sha256::new(), bytes: 0 }
    }

    fn saw(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += u64::try_from(bytes.len()).unwrap_or(0);
    }
}

impl<T: Read> Read for HashingWriter<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.saw(buffer.get(..bytes).unwrap_or_default());
        Ok(bytes)
    }
}

impl<T: Write> Write for HashingWriter<T> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let bytes = self.inner.write(buffer)?;
        self.saw(buffer.get(..bytes).unwrap_or_default());
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
