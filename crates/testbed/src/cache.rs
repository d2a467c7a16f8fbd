//! Where Mainstay keeps what outlives a checkout: built servers and the state of named clusters.

use std::path::PathBuf;

use anyhow::Result;

use crate::problem::problem;

/// `$XDG_CACHE_HOME/mainstay`, else `~/.cache/mainstay`.
pub(crate) fn root() -> Result<PathBuf> {
    from(std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from), std::env::home_dir())
}

fn from(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Result<PathBuf> {
    // The XDG specification says that a relative path is to be ignored.
    xdg.filter(|path| path.is_absolute())
        .or_else(|| home.filter(|path| path.is_absolute()).map(|path| path.join(".cache")))
        .map(|path| path.join("mainstay"))
        .ok_or_else(|| problem("no cache directory", "neither XDG_CACHE_HOME nor HOME is an absolute path", "set HOME"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xdg_comes_first_and_a_relative_one_is_ignored() {
        let home = Some(PathBuf::from("/h/me"));
        assert_eq!(from(Some("/x".into()), home.clone()).unwrap(), PathBuf::from("/x/mainstay"));
        assert_eq!(from(Some("x".into()), home.clone()).unwrap(), PathBuf::from("/h/me/.cache/mainstay"));
        assert_eq!(from(None, home).unwrap(), PathBuf::from("/h/me/.cache/mainstay"));
        assert!(from(None, None).is_err());
    }
}
