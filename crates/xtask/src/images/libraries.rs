//! The shared libraries that a program needs, from the Debian packages of this machine. Only the loader, the C library
//! and the compiler's own library are allowed: a program that needs another fails the build.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use super::layer::Entry;
use super::sbom::Component;
use crate::command;
use crate::dist::Architecture;

const LIMIT: Duration = Duration::from_mins(1);
/// NVML needs these libraries by name. They are empty since glibc 2.34, but the loader refuses NVML without them.
const FOR_NVML: [&str; 3] = ["libdl.so.2", "libpthread.so.0", "librt.so.1"];
const C_LIBRARY: &str = "LGPL-2.1-or-later";
const COMPILER: &str = "GPL-3.0-or-later WITH GCC-exception-3.1";

/// Where an architecture has its libraries.
struct Place {
    /// On this machine.
    here: &'static str,
    /// In the image, where the loader looks.
    inside: &'static str,
    /// Path of the loader, fixed by the ABI.
    loader: &'static str,
    /// The packages that may be in an image, and their licences as SPDX expressions.
    packages: [(&'static str, &'static str); 2],
    /// Architecture of the packages.
    debian: &'static str,
}

const fn place(arch: Architecture) -> Place {
    match arch {
        Architecture::X86_64 => Place {
            here: "/lib/x86_64-linux-gnu",
            inside: "lib/x86_64-linux-gnu",
            loader: "lib64/ld-linux-x86-64.so.2",
            packages: [("libc6", C_LIBRARY), ("libgcc-s1", COMPILER)],
            debian: "amd64",
        },
        Architecture::Aarch64 => Place {
            here: "/usr/aarch64-linux-gnu/lib",
            inside: "lib/aarch64-linux-gnu",
            loader: "lib/ld-linux-aarch64.so.1",
            packages: [("libc6-arm64-cross", C_LIBRARY), ("libgcc-s1-arm64-cross", COMPILER)],
            debian: "all",
        },
    }
}

/// Libraries of one program.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// Path in the image, and file on this machine.
    files: BTreeMap<String, PathBuf>,
    packages: BTreeMap<&'static str, (String, &'static str)>,
    debian: &'static str,
}

/// Finds the libraries that a program is linked with, and theirs.
pub(crate) async fn of(program: &Path, arch: Architecture) -> anyhow::Result<Libraries> {
    let place = place(arch);
    let here = Path::new(place.here);
    let loader = Path::new(place.loader).file_name().context("a loader without a name")?.to_owned();
    let mut files = BTreeMap::from([(place.loader.to_owned(), here.join(&loader))]);
    let mut unread = vec![program.to_owned()];
    unread.extend(FOR_NVML.map(|name| here.join(name)));
    files.extend(FOR_NVML.map(|name| (format!("{}/{name}", place.inside), here.join(name))));
    while let Some(file) = unread.pop() {
        for name in needed(&file).await? {
            let inside = format!("{}/{name}", place.inside);
            // A library may list the loader, which has its own path.
            if loader != *name && !files.contains_key(&inside) {
                unread.push(here.join(&name));
                files.insert(inside, here.join(&name));
            }
        }
    }
    let mut packages = BTreeMap::new();
    for file in files.values() {
        let owner = command::text(command::program("dpkg", Path::new("/")).arg("-S").arg(file), LIMIT).await?;
        let owner = owner.split(": ").next().unwrap_or_default();
        let bare = owner.split(':').next().unwrap_or_default();
        let Some((name, licence)) = place.packages.into_iter().find(|(name, _)| *name == bare) else {
            bail!("{} is of {owner}, which is not among the packages that an image may have", file.display());
        };
        let mut query = command::program("dpkg-query", Path::new("/"));
        let version = command::text(query.args(["-W", "-f", "${Version}", owner]), LIMIT).await?;
        ensure!(!version.is_empty(), "{owner} has no version");
        packages.insert(name, (version, licence));
    }
    Ok(Libraries { files, packages, debian: place.debian })
}

/// Names of the libraries that an ELF file needs, of any architecture.
async fn needed(file: &Path) -> anyhow::Result<Vec<String>> {
    let mut readelf = command::program("readelf", Path::new("/"));
    let text = command::text(readelf.args(["--dynamic", "--wide"]).arg(file), LIMIT).await?;
    Ok(names(&text))
}

fn names(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.contains("(NEEDED)"));
    lines.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned())).collect()
}

impl Libraries {
    /// The files at the places where the program looks for them, and the licences of their packages.
    pub(crate) fn entries(&self) -> anyhow::Result<Vec<Entry>> {
        let files = self.files.iter().map(|(inside, file)| Entry::program(inside, file));
        let licences = self.packages.keys().map(|name| format!("usr/share/doc/{name}/copyright"));
        let licences = licences.map(|path| Entry::file(&path, 0o644, &Path::new("/").join(&path)));
        files.chain(licences).collect()
    }

    pub(crate) fn packages(&self) -> Vec<Component> {
        let all = self.packages.iter();
        all.map(|(name, (version, licence))| Component::of_debian(name, version, licence, self.debian)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_libraries_are_read_from_the_output_of_readelf() {
        let text = " 0x1 (NEEDED)   Shared library: [libgcc_s.so.1]\n 0x1 (NEEDED)  Shared library: [libc.so.6]\n \
                    0xe (SONAME)  Library soname: [libx.so.1]\n";
        assert_eq!(names(text), ["libgcc_s.so.1", "libc.so.6"]);
    }
}
