//! Small files of sysfs and procfs, read with a bound; and words of the machine, made to fit the model.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// A file of sysfs is one page; those of procfs that are read here are shorter.
const BYTES_MAX: u64 = 4096;
/// `/proc/vmstat` of a kernel with every option has 10 KiB.
const NAMED_BYTES_MAX: u64 = 64 * 1024;

/// The text of a file without the line break at its end. What is beyond the bound, and what is no UTF-8, is not looked at.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    read_up_to(path, BYTES_MAX)
}

fn read_up_to(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// A number in a file with one name and number per line, such as `/proc/vmstat`.
pub(crate) fn number_of(path: &Path, name: &str) -> Option<u64> {
    let text = read_up_to(path, NAMED_BYTES_MAX).ok()?;
    let numbers = text.lines().filter_map(|line| line.split_once(' '));
    numbers.filter(|(is, _)| *is == name).find_map(|(_, number)| number.trim().parse().ok())
}

/// A number in a file of its own.
pub(crate) fn number(path: &Path) -> Option<u64> {
    read(path).ok()?.trim().parse().ok()
}

/// The names in a folder, sorted, at most so many.
pub(crate) fn names(folder: &Path, most: usize) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)?.take(most) {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// A name as the model takes it: what it does not take becomes `-`, what is too long is cut.
pub(crate) fn token(text: &str, bytes_max: usize) -> String {
    let takes = |c: char| c.is_ascii_alphanumeric() || "._:/@+-".contains(c);
    let mut token: String = text.trim().chars().map(|c| if takes(c) { c } else { '-' }).collect();
    token.truncate(bytes_max);
    token.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

/// Words as the model takes them.
pub(crate) fn line(text: &str, bytes_max: usize) -> String {
    let plain = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '&' | '<' | '>' | '\\');
    let mut line: String = text.trim().chars().map(|c| if plain(c) { c } else { '?' }).collect();
    line.truncate(bytes_max);
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_machine_fit_the_model() {
        assert_eq!(token(" (To be filled by O.E.M.) ", 40), "To-be-filled-by-O.E.M.-");
        assert_eq!(token("0123456789", 4), "0123");
        assert_eq!(token("-()", 4), "");
        assert_eq!(line("5.15.0 <x>\u{1b}", 48), "5.15.0 ?x??");
    }
}
