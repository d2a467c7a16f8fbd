//! A file of journald, as the agent finds it below the root of its host.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mainstay_agent::journal::{Journal, JournalStart};
use mainstay_fuzz::Tree;

static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::new(&[], &[], &["var/log/journal/m/system.journal"]));

fuzz_target!(|input: &[u8]| {
    TREE.fill(input);
    let boot = mainstay_fuzz::boot();
    for start in [JournalStart::ThisBoot, JournalStart::Now] {
        if let Ok(mut journal) = Journal::open(TREE.path(), boot.as_str(), &start) {
            let _ = journal.read(64);
        }
    }
});
