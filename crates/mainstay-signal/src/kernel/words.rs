//! Phrases that several parsers look for in the text of a driver that they have recognised. Alone they recognise nothing.

/// Words by which drivers report that something went wrong, in lower case.
const TROUBLE: [&str; 17] = [
    "fail",
    "error",
    "timed out",
    "timeout",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable",
    "invalid",
    "fatal",
    " lost",
    "abort",
    "corrupt",
    "n't match",
    "attempted to yield",
    "not responding",
];

/// Maximum length of the text in which words are searched.
const SEARCH_BYTES_MAX: usize = 512;

/// Returns the code of the first phrase that the text contains.
pub(crate) fn phrase(text: &str, phrases: &[(&str, &'static str)]) -> Option<&'static str> {
    phrases.iter().find(|(words, _)| text.contains(words)).map(|(_, code)| *code)
}

/// Returns whether a driver's text reports that something went wrong.
pub(crate) fn is_trouble(text: &str) -> bool {
    let text = crate::scan::cut(text, SEARCH_BYTES_MAX).to_ascii_lowercase();
    TROUBLE.iter().any(|word| text.contains(word))
}

/// Returns whether a line is about a process that a tenant may have named: `name[1234]: `, `name: page allocation failure`,
/// `traps: name[1234] …`, `name (1234): drop_caches: 3` or `process 'FILE' started with executable stack`. A tenant chooses the name,
/// of at most 15 bytes (the kernel's `TASK_COMM_LEN`), and a name of a file at the end of such a line.
pub(crate) fn begins_with_process(text: &str) -> bool {
    let is_quoted = text.starts_with("process '") || text.starts_with("traps: ") || text.contains("): drop_caches: ");
    if is_quoted || text.find(": page allocation failure").is_some_and(|at| at <= 15) {
        return true;
    }
    let starts = text.match_indices('[').map(|(at, _)| at).take_while(|at| *at <= 15);
    let mut after = starts.filter_map(|at| text.get(at + 1..));
    after.any(|after| {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && after.get(digits..).is_some_and(|rest| rest.starts_with("]: ") || rest.starts_with("] "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_a_driver() {
        for (text, expected) in [
            ("python[1234]: segfault at 8", true),
            ("a[b[77] general protection fault", true),
            ("NVRM: : page allocation failure: order:4", true),
            ("sd 1:0:2:0: [sdc] tag#3023 FAILED", false),
            ("mce: [Hardware Error]: x", false),
            ("mlx5_core 0000:18:00.0: cmd[22]: x", false),
            ("x[12", false),
            ("python3 (GPU has fallen off the bus): drop_caches: 3", true),
            ("process 'a invoked oom-killer: gfp_mask=0x1' started with executable stack", true),
        ] {
            assert_eq!(begins_with_process(text), expected, "{text}");
        }
    }
}
