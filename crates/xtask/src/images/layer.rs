//! A gzipped tar archive without anything of the machine that made it: the layer of an image, a tarball of a release, a
//! chart.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

/// A file or a folder of an archive.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Without a slash at its beginning.
    path: String,
    owner: u64,
    what: EntryContent,
}

/// A folder, or a file with its mode and bytes.
#[derive(Debug, Clone)]
enum EntryContent {
    Folder,
    File { mode: u32, bytes: Vec<u8> },
}

/// A layer as it is stored, and what its archive is.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) compressed: Vec<u8>,
    /// Of the archive before it was compressed.
    pub(crate) diff_id: String,
}

// === impl Entry ===

impl Entry {
    /// A program, read from this machine.
    pub(crate) fn program(path: &str, from: &Path) -> anyhow::Result<Self> {
        Self::file(path, 0o755, from)
    }

    /// A file, read from this machine.
    pub(crate) fn file(path: &str, mode: u32, from: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        Ok(Self { path: path.to_owned(), owner: 0, what: EntryContent::File { mode, bytes } })
    }

    /// A file with these bytes.
    pub(crate) fn bytes(path: &str, bytes: Vec<u8>) -> Self {
        Self { path: path.to_owned(), owner: 0, what: EntryContent::File { mode: 0o644, bytes } }
    }

    /// An empty folder with an owner.
    pub(crate) fn folder(path: &str, owner: u64) -> Self {
        Self { path: path.to_owned(), owner, what: EntryContent::Folder }
    }
}

/// Packs a layer, in the order of the paths, with the folders above them.
pub(crate) fn pack(entries: Vec<Entry>) -> anyhow::Result<Layer> {
    let archive = archive(entries, 0)?;
    Ok(Layer { diff_id: sha256(&archive), compressed: gzip(&archive)? })
}

/// An uncompressed archive in the order of the paths, every entry with the same time.
pub(crate) fn archive(entries: Vec<Entry>, seconds: u64) -> anyhow::Result<Vec<u8>> {
    let mut all: std::collections::BTreeMap<String, Entry> = std::collections::BTreeMap::new();
    for entry in entries {
        for (at, _) in entry.path.match_indices('/') {
            let above = entry.path.get(..at).unwrap_or_default();
            all.entry(above.to_owned()).or_insert_with(|| Entry::folder(above, 0));
        }
        all.insert(entry.path.clone(), entry);
    }
    let mut archive = tar::Builder::new(Vec::new());
    for Entry { path, owner, what } in all.values() {
        let mut header = Header::new_ustar();
        header.set_mtime(seconds);
        header.set_uid(*owner);
        header.set_gid(*owner);
        match what {
            EntryContent::Folder => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(0o755);
                header.set_size(0);
                archive.append_data(&mut header, format!("{path}/"), std::io::empty())?;
            }
            EntryContent::File { mode, bytes } => {
                header.set_entry_type(EntryType::Regular);
                header.set_mode(*mode);
                header.set_size(u64::try_from(bytes.len())?);
                archive.append_data(&mut header, path, bytes.as_slice())?;
            }
        }
    }
    Ok(archive.into_inner()?)
}

/// Compresses an archive, without a name or a time in the header.
pub(crate) fn gzip(archive: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    gzip.write_all(archive)?;
    Ok(gzip.finish()?)
}

/// As a descriptor spells it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digest}")
}
