//! Output of a container as its node has written it to disk: `/var/log/pods/NAMESPACE_POD_UID/CONTAINER/N.log`, in the format
//! of the container runtime interface.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Output of all runs of a container, oldest first. Empty where nothing was written yet.
pub(super) fn read(var_log: &Path, namespace: &str, pod: &str, container: &str) -> Result<String> {
    let prefix = format!("{namespace}_{pod}_");
    let pods = entries(&var_log.join("pods"));
    let pods = pods.into_iter().filter(|path| name(path).starts_with(&prefix));
    let mut files: Vec<PathBuf> = pods.flat_map(|pod| entries(&pod.join(container))).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort_by_key(|path| path.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok()));
    let mut text = String::new();
    for file in files {
        let lines = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        text += &output(&String::from_utf8_lossy(&lines));
    }
    Ok(text)
}

/// Text of the log's lines `TIME STREAM TAG TEXT`. A line with the tag P is continued by the next one.
fn output(log: &str) -> String {
    let mut text = String::new();
    for line in log.lines() {
        let mut words = line.splitn(4, ' ').skip(2);
        let (tag, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        text += rest;
        if tag != "P" {
            text.push('\n');
        }
    }
    text
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_in_order_and_a_long_line_is_one_line() {
        let dir = crate::process::tests::scratch("container-log");
        let folder = dir.join("pods/default_work_uid/box");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(dir.join("pods/default_work-2_uid/box")).unwrap();
        std::fs::write(dir.join("pods/default_work-2_uid/box/0.log"), "t stdout F another pod\n").unwrap();
        std::fs::write(folder.join("10.log"), "t stderr F last words\n").unwrap();
        std::fs::write(folder.join("9.log"), "t stdout P one \nt stdout F line\nt stdout F \n").unwrap();
        assert_eq!(read(&dir, "default", "work", "box").unwrap(), "one line\n\nlast words\n");
        assert_eq!(read(&dir, "default", "none", "box").unwrap(), "");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
