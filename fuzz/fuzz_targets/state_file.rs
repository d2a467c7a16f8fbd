//! The state file, which a full disk or a person may have spoiled, and what is counted on top of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_agent::sources::lines::Lines;
use mainstay_agent::sources::{Batch, SourceMessage};
use mainstay_agent::store::{StoredState, Store};
use mainstay_fuzz::{LATER, boot, settle};

fuzz_target!(|input: &[u8]| {
    let Ok(kept) = serde_json::from_slice::<StoredState>(input) else { return };
    let after = Store::after(&kept, boot());
    for store in [Some(after), Store::of(kept, &boot())].into_iter().flatten() {
        let mut store = store;
        let xid = mainstay_signal::parse("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.").expect("an XID");
        let signals = vec![(xid, LATER.0)];
        let lines = Lines { signals, ..Lines::default() };
        let batch = Batch { lines, counted_to: Some(u64::MAX), read: 1, lost: 1, ..Batch::default() };
        store.fold(SourceMessage::Batch(batch), LATER);
        settle(&mut store);
    }
});
