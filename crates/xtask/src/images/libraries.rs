//! The shared libraries that a program needs, from the Debian packages of this machine. The loader, the C library and the
//! compiler's own are all that is known here: a program that needs another fails the build.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use super::layer::Entry;
use super::sbom::Component;
use crate::command;

const LIMIT: Duration = Duration::from_mins(1);
/// NVML asks for them by name. They are empty since glibc 2.34, and a library that names them is not loaded without them.
const FOR_NVML: [&str; 3] = ["libdl.so.2", "libpthread.so.0", "librt.so.1"];
/// The packages that may be in an image, and their licences in SPDX's words.
const LICENCES: [(&str, &str); 2] =
    [("libc6", "LGPL-2.1-or-later"), ("libgcc-s1", "GPL-3.0-or-later WITH GCC-exception-3.1")];

/// What a program needs.
#[derive(Debug)]
pub(crate) struct Libraries {
    files: Vec<PathBuf>,
    packages: BTreeMap<&'static str, (String, &'static str)>,
}

/// Asks the loader of this machine.
pub(crate) async fn of(program: &Path) -> anyhow::Result<Libraries> {
    let here = Path::new("/");
    let said = command::text(command::program("ldd", here).arg(program), LIMIT).await?;
    let mut files: Vec<PathBuf> = said
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
        .map(Into::into)
        .collect();
    let c = files.iter().find(|file| file.ends_with("libc.so.6")).context("ldd names no C library")?;
    let folder = c.parent().context("a library lies in a folder")?.to_owned();
    files.extend(FOR_NVML.map(|name| folder.join(name)));
    files.sort();
    files.dedup();
    let mut packages = BTreeMap::new();
    for file in &files {
        let owner = command::text(command::program("dpkg", here).arg("-S").arg(file), LIMIT).await?;
        let owner = owner.split(": ").next().unwrap_or_default();
        let bare = owner.split(':').next().unwrap_or_default();
        let Some((name, licence)) = LICENCES.iter().find(|(name, _)| *name == bare) else {
            bail!("{} is of {owner}, which is not among the packages that an image may have", file.display());
        };
        let mut query = command::program("dpkg-query", here);
        let version = command::text(query.args(["-W", "-f", "${Version}", owner]), LIMIT).await?;
        ensure!(!version.is_empty(), "{owner} has no version");
        packages.insert(*name, (version, *licence));
    }
    Ok(Libraries { files, packages })
}

impl Libraries {
    /// The files at the places where the program looks for them, and the licences of their packages.
    pub(crate) fn entries(&self) -> anyhow::Result<Vec<Entry>> {
        let licences = self.packages.keys().map(|name| PathBuf::from(format!("/usr/share/doc/{name}/copyright")));
        let inside = |path: &Path| path.to_string_lossy().trim_start_matches('/').to_owned();
        let files = self.files.iter().map(|file| Entry::program(&inside(file), file));
        files.chain(licences.map(|file| Entry::file(&inside(&file), 0o644, &file))).collect()
    }

    pub(crate) fn packages(&self) -> Vec<Component> {
        let all = self.packages.iter();
        all.map(|(name, (version, licence))| Component::of_debian(name, version, licence)).collect()
    }
}
