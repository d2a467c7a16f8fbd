//! Programs of others, built from a Go module of `tools/` that pins them.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::process::Command;

use crate::problem::problem;

/// The slowest program takes five minutes on two busy cores; the first build also downloads every module.
const BUILD_AT_MOST: Duration = Duration::from_mins(40);

/// No C compiler needed; and a `go.work` of the caller must not change what is built.
pub(crate) const BUILD_ENV: [(&str, &str); 2] = [("CGO_ENABLED", "0"), ("GOWORK", "off")];

/// Name, Go package and build arguments of a program.
#[derive(Debug)]
pub(crate) struct BuildTarget<'a> {
    pub(crate) name: &'a str,
    pub(crate) package: &'a str,
    pub(crate) args: &'a [String],
}

impl BuildTarget<'_> {
    /// Builds the program into a folder, unless an earlier run finished it there. `begin` runs before a build.
    pub(crate) async fn once(&self, module: &Path, folder: &Path, begin: impl FnOnce()) -> Result<()> {
        let (program, partial) = (folder.join(self.name), folder.join(format!("{}.partial", self.name)));
        if program.is_file() {
            return Ok(());
        }
        begin();
        // Go refuses to replace the rest of an interrupted link, which is not an object file.
        if partial.exists() {
            std::fs::remove_file(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
        }
        self.from(module, &partial).await?;
        std::fs::rename(&partial, &program).with_context(|| format!("cannot move {} to its place", self.name))
    }

    async fn from(&self, module: &Path, to: &Path) -> Result<()> {
        let name = self.name;
        let output = Command::new("go")
            .args(self.args)
            .arg("-o")
            .arg(to)
            .arg(self.package)
            .current_dir(module)
            .envs(BUILD_ENV)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let hint = "install Go 1.26 or newer (https://go.dev/dl), and check that modules can be downloaded";
        let output = tokio::time::timeout(BUILD_AT_MOST, output)
            .await
            .map_err(|_| problem(format!("building {name} took too long"), format!("over {BUILD_AT_MOST:?}"), hint))?
            .map_err(|error| problem(format!("cannot build {name}"), format!("go: {error}"), hint))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(problem(format!("cannot build {name}"), last_lines(&said, 20), hint))
    }
}

/// A short name for what a build depends on.
pub(crate) fn digest(text: &str) -> String {
    short_sha256(text.as_bytes())
}

/// The first 16 hexadecimal digits of the SHA-256.
pub(crate) fn short_sha256(bytes: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The end of a program's output, for errors.
pub(crate) fn last_lines(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n          ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_finished_program_is_kept_and_a_partial_one_is_built_again() {
        let folder = crate::process::tests::scratch("once");
        let module = folder.join("module");
        std::fs::create_dir_all(&module).unwrap();
        std::fs::write(module.join("go.mod"), "module example.org/once\n\ngo 1.26\n").unwrap();
        std::fs::write(module.join("main.go"), "package main\n\nfunc main() { println(\"built\") }\n").unwrap();
        std::fs::write(folder.join("once.partial"), "interrupted").unwrap();
        let args = ["build".to_owned()];
        let built = BuildTarget { name: "once", package: ".", args: &args };
        let (mut first, mut second) = (false, false);
        built.once(&module, &folder, || first = true).await.unwrap();
        let output = std::process::Command::new(folder.join("once")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "built\n");
        assert!(!folder.join("once.partial").exists());
        built.once(&module, &folder, || second = true).await.unwrap();
        assert!(first && !second, "it was built {}", if second { "twice" } else { "never" });
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_the_end_of_a_long_output_is_shown() {
        assert_eq!(last_lines("a\nb\nc", 2), "b\n          c");
        assert_eq!(last_lines("a", 2), "a");
    }
}
