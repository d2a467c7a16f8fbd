//! The C compilers and other programs that a release build runs, as Debian packages them. They are looked up before a
//! build.
//!
//! The static build for aarch64 uses the GNU cross compiler. rustc brings musl's start files and library. The C code of
//! aws-lc uses only types that have the same layout in the headers of both C libraries on this architecture:
//! `pthread_rwlock_t`, `pthread_once_t`, `stat`, `tm`, `addrinfo`, `time_t` and `off_t`. `pthread_mutex_t` has 48 bytes in
//! GNU's headers and 40 in musl's, and is initialised with zeros in both.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use anyhow::anyhow;

use super::{Architecture, Program};

/// A program that a build runs, and the Debian packages that contain it.
struct Tool {
    name: &'static str,
    packages: &'static str,
}

const MUSL: Tool = Tool { name: "musl-gcc", packages: "musl-tools" };
const NATIVE: Tool = Tool { name: "cc", packages: "gcc libc6-dev" };
const CROSS: Tool = Tool { name: "aarch64-linux-gnu-gcc", packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" };
const NPM: Tool = Tool { name: "npm", packages: "npm (Node 20.19 or newer)" };

/// The C compiler for a program.
const fn compiler(program: Program, arch: Architecture) -> Tool {
    match (program, arch) {
        (Program::Mainstay, Architecture::X86_64) => MUSL,
        (Program::Agent, Architecture::X86_64) => NATIVE,
        (Program::Mainstay | Program::Agent, Architecture::Aarch64) => CROSS,
    }
}

/// Environment variables that select compilers and linkers, for all builds the same. A build script on this machine that looks
/// at one of them would otherwise run again with every other target, and with it most of the crates.
pub(super) fn settings() -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for (program, arch) in Program::ALL.into_iter().flat_map(|program| Architecture::ALL.map(|arch| (program, arch))) {
        let target = program.target(arch).replace('-', "_");
        let compiler = compiler(program, arch).name.to_owned();
        settings.push((format!("CC_{target}"), compiler.clone()));
        if arch == Architecture::Aarch64 {
            settings.push((format!("CARGO_TARGET_{}_LINKER", target.to_uppercase()), compiler));
        }
    }
    settings
}

/// Fails with what is missing, the detail and a hint, in three lines.
pub(super) fn check(builds: &[(Program, Architecture)]) -> anyhow::Result<()> {
    check_in(builds, &env::var_os("PATH").unwrap_or_default())
}

fn check_in(builds: &[(Program, Architecture)], path: &OsStr) -> anyhow::Result<()> {
    // Build scripts run on this machine, so its own compiler is always needed.
    let mut needed = vec![NATIVE];
    for (program, arch) in builds {
        if *program == Program::Mainstay {
            needed.push(NPM);
        }
        needed.push(compiler(*program, *arch));
    }
    let is_missing = |tool: &Tool| !env::split_paths(path).any(|folder| is_program(&folder.join(tool.name)));
    let mut missing: Vec<Tool> = needed.into_iter().filter(is_missing).collect();
    missing.sort_by_key(|tool| tool.name);
    missing.dedup_by_key(|tool| tool.name);
    if missing.is_empty() {
        return Ok(());
    }
    let list = |part: fn(&Tool) -> &'static str, by: &str| missing.iter().map(part).collect::<Vec<_>>().join(by);
    let targets: Vec<&str> = builds.iter().map(|(program, arch)| program.target(*arch)).collect();
    Err(anyhow!(
        "missing programs for a release build: {}\n  detail: needed to build for {}.\n  hint:   install the Debian \
         packages {}.",
        list(|tool| tool.name, ", "),
        targets.join(", "),
        list(|tool| tool.packages, " ")
    ))
}

fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_compiler_is_three_lines_with_its_package() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["cc", "npm"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let builds = [(Program::Mainstay, Architecture::Aarch64), (Program::Agent, Architecture::Aarch64)];
        let error = check_in(&builds, folder.path().as_os_str()).unwrap_err().to_string();
        assert_eq!(
            error,
            "missing programs for a release build: aarch64-linux-gnu-gcc\n  detail: needed to build for \
             aarch64-unknown-linux-musl, aarch64-unknown-linux-gnu.\n  hint:   install the Debian packages \
             gcc-aarch64-linux-gnu libc6-dev-arm64-cross."
        );
        std::fs::write(folder.path().join("aarch64-linux-gnu-gcc"), "").unwrap();
        check_in(&builds, folder.path().as_os_str()).unwrap();
    }

    #[test]
    fn only_a_foreign_architecture_needs_another_linker() {
        let names: Vec<String> = settings().into_iter().map(|(key, _)| key).collect();
        assert_eq!(
            names,
            [
                "CC_x86_64_unknown_linux_musl",
                "CC_aarch64_unknown_linux_musl",
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER",
                "CC_x86_64_unknown_linux_gnu",
                "CC_aarch64_unknown_linux_gnu",
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
            ]
        );
    }
}
