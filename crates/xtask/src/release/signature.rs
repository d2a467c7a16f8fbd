//! Signatures of releases, by `minisign`. The key is an argument and is never part of the repository.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::ensure;

use crate::command;
use crate::exit::Exit;

/// The operator may have to type a password.
const LIMIT: Duration = Duration::from_mins(5);

/// Checks before the build that the key and the program exist.
pub(super) fn check(key: Option<&Path>) -> anyhow::Result<()> {
    let Some(key) = key else { return Ok(()) };
    ensure!(
        key.is_file(),
        "cannot sign the release\n  detail: {} is not a file.\n  hint:   create a key with `minisign -G -s FILE`.",
        key.display()
    );
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("minisign").is_file());
    ensure!(
        found,
        "cannot sign the release\n  detail: the program minisign is not in PATH.\n  hint:   install the Debian package \
         minisign."
    );
    Ok(())
}

/// Signs a file of the folder; the signature is next to it, with the suffix `.minisig`.
pub(super) async fn sign(folder: &Path, name: &str, key: &Path, comment: &str) -> anyhow::Result<()> {
    let key = std::path::absolute(key)?;
    let mut minisign = command::program("minisign", folder);
    // For the password of the key.
    minisign.stdin(Stdio::inherit());
    minisign.arg("-S").arg("-s").arg(key).args(["-m", name, "-t", comment]);
    let signed = command::holds(&mut minisign, LIMIT).await?;
    ensure!(signed == Exit::Holds, "the sums cannot be signed; see the output of minisign above");
    Ok(())
}
