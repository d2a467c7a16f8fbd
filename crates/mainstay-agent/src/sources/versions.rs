//! Versions and serials as files tell them: driver, firmware, kernel, CUDA, NCCL, container runtime, the board. What a job
//! brings in its own image is not seen here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{PollResult, SourceError};
use crate::settings::Settings;
use crate::text;

/// The list of installed packages is a few megabytes; more is not looked at.
const PACKAGES_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// More GPUs than any node has.
const GPUS_MAX: usize = 64;

/// More libraries than any folder of them that is of interest has.
const LIBRARIES_MAX: usize = 8192;

/// Where NCCL is installed on the host, if it is.
const LIBRARY_FOLDERS: [&str; 5] =
    ["usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/local/lib", "usr/local/cuda/lib64"];

/// Packages whose version is told, under which name.
const PACKAGES: [(&str, &str); 6] = [
    ("containerd", "containerd"),
    ("containerd.io", "containerd"),
    ("cri-o", "cri-o"),
    ("docker-ce", "docker"),
    ("nvidia-container-toolkit", "nvidia-container-toolkit"),
    ("datacenter-gpu-manager", "dcgm"),
];

/// What is installed. A version that no file tells is not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The baseboard's serial.
    pub board: Option<String>,
    /// The GPU model.
    pub product: Option<String>,
    /// The GPU driver.
    pub driver: Option<String>,
    /// The GPU's firmware.
    pub firmware: Option<String>,
    /// The kernel.
    pub kernel: Option<String>,
    /// Everything else, by name.
    pub more: BTreeMap<String, String>,
}

/// Reads them all.
pub fn look(settings: &Settings) -> PollResult {
    let (sys, proc, root) = (&settings.sys, &settings.proc, &settings.root);
    let (product, firmware) = gpu(proc);
    let mut more = BTreeMap::new();
    more.extend(cuda(root).map(|version| ("cuda".to_owned(), version)));
    more.extend(nccl(root).map(|version| ("nccl".to_owned(), version)));
    more.extend(packages(root));
    more.extend(text::read(&sys.join("module/mlx5_core/version")).ok().map(|text| ("mlx5_core".to_owned(), text)));
    more.extend(adapters(sys));
    let kernel = text::read(&proc.join("sys/kernel/osrelease")).ok();
    let trouble = kernel.is_none().then(|| SourceError::partial(format!("{}: no kernel version", proc.display())));
    let versions = Versions { board: board(sys), product, driver: driver(sys, proc), firmware, kernel, more };
    PollResult { versions: Some(versions), trouble, ..PollResult::default() }
}

/// The machine's boot, which sequences and counters belong to.
///
/// # Errors
/// Where the kernel does not tell.
pub fn boot_id(proc: &Path) -> std::io::Result<String> {
    text::read(&proc.join("sys/kernel/random/boot_id"))
}

/// Of the board, else of the machine. Makers that stamped nothing write so in words.
fn board(sys: &Path) -> Option<String> {
    ["board_serial", "product_serial"].iter().find_map(|file| {
        let serial = text::token(&text::read(&sys.join("class/dmi/id").join(file)).ok()?, 40);
        let words = serial.to_ascii_lowercase();
        let stamped = !["none", "not-", "to-be-filled", "default", "0000000"].iter().any(|no| words.starts_with(no));
        (stamped && !serial.is_empty()).then_some(serial)
    })
}

/// `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ...`: the first word that is a version.
fn driver(sys: &Path, proc: &Path) -> Option<String> {
    let loaded = text::read(&proc.join("driver/nvidia/version")).ok();
    let version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let told = loaded.and_then(|text| Some(text.lines().next()?.split_whitespace().find(version)?.to_owned()));
    told.or_else(|| text::read(&sys.join("module/nvidia/version")).ok())
}

/// Model and firmware, from what the driver's module says of the first GPU: `Model: NVIDIA H100 80GB HBM3`.
fn gpu(proc: &Path) -> (Option<String>, Option<String>) {
    let folder = proc.join("driver/nvidia/gpus");
    let Some(first) = text::names(&folder, GPUS_MAX).ok().and_then(|names| names.into_iter().next()) else {
        return (None, None);
    };
    let Ok(text) = text::read(&folder.join(first).join("information")) else { return (None, None) };
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().to_owned()).filter(|value| !value.is_empty() && !value.contains('?'))
    };
    (field("Model"), field("Video BIOS"))
}

/// `{"cuda": {"name": "CUDA SDK", "version": "12.8.1"}, ...}`.
fn cuda(root: &Path) -> Option<String> {
    let text = text::read(&root.join("usr/local/cuda/version.json")).ok()?;
    // Only the beginning is read, and it may end in the middle: the first version is that of CUDA itself.
    let (_, after) = text.split_once("\"cuda\"")?;
    let (_, version) = after.split_once("\"version\"")?;
    version.split('"').nth(1).map(|version| text::line(version, 48))
}

/// `libnccl.so.2.27.5`.
fn nccl(root: &Path) -> Option<String> {
    LIBRARY_FOLDERS.iter().find_map(|folder| {
        let names = text::names(&root.join(folder), LIBRARIES_MAX).ok()?;
        let versions = names.iter().filter_map(|name| name.strip_prefix("libnccl.so."));
        versions.filter(|version| version.contains('.')).max().map(|version| text::line(version, 48))
    })
}

/// Of Debian's and Ubuntu's list of packages. Other systems keep theirs in a database that is not read here.
fn packages(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let Ok(file) = File::open(root.join("var/lib/dpkg/status")) else { return found };
    let mut wanted = None;
    for line in BufReader::new(file.take(PACKAGES_BYTES_MAX)).lines().map_while(Result::ok) {
        if let Some(name) = line.strip_prefix("Package: ") {
            wanted = PACKAGES.iter().find(|(package, _)| *package == name).map(|(_, word)| *word);
        } else if let (Some(word), Some(version)) = (wanted, line.strip_prefix("Version: ")) {
            found.insert(word.to_owned(), text::line(version, 48));
        }
    }
    found
}

/// Firmware of adapters, where all have the same one; else each of them.
fn adapters(sys: &Path) -> BTreeMap<String, String> {
    let class = sys.join("class/infiniband");
    let names = text::names(&class, GPUS_MAX).unwrap_or_default();
    let versions: BTreeMap<String, String> = names
        .into_iter()
        .filter_map(|name| Some((format!("firmware of {name}"), text::read(&class.join(&name).join("fw_ver")).ok()?)))
        .collect();
    match versions.values().next().cloned() {
        Some(first) if versions.values().all(|version| *version == first) => {
            BTreeMap::from([("firmware of adapters".to_owned(), first)])
        }
        _ => versions,
    }
}

#[cfg(test)]
mod tests;
