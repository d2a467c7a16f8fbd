//! The reader against a log with the behaviour of the device, and against this machine's own.

use fake_kernel::{Files, Line};
use proptest::prelude::*;

use super::*;

const XID: &str = "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.";

/// Everything that is there: numbers, and how many were lost.
fn drain(log: &mut Kmsg) -> (Vec<u64>, u64) {
    let (mut numbers, mut lost_in_all) = (Vec::new(), 0);
    loop {
        match log.read().unwrap() {
            ReadResult::Record { record, lost } => {
                numbers.push(record.number);
                lost_in_all += lost;
            }
            ReadResult::Unreadable => panic!("a record of ours"),
            ReadResult::Nothing => return (numbers, lost_in_all),
        }
    }
}

#[test]
fn records_are_read_one_by_one_and_gaps_are_counted() {
    let files = Files::serve(500).unwrap();
    let mut log = Kmsg::open(&files.log_path(), StartPosition::Oldest).unwrap();
    files.write(Line::text(XID));
    assert_eq!(drain(&mut log), (vec![0], 0));
    for _ in 0..100 {
        files.write(Line::text(XID));
    }
    let (numbers, lost) = drain(&mut log);
    assert_eq!(numbers.len() as u64 + lost, 100);
    assert!(lost > 0 && numbers.ends_with(&[99, 100]), "{numbers:?} {lost}");
}

#[test]
fn a_reader_that_comes_back_counts_nothing_twice_and_knows_what_it_missed() {
    let files = Files::serve(500).unwrap();
    for _ in 0..4 {
        files.write(Line::text(XID));
    }
    let mut again = Kmsg::open(&files.log_path(), StartPosition::After(1)).unwrap();
    assert_eq!(drain(&mut again), (vec![2, 3], 0));
    for _ in 0..100 {
        files.write(Line::text(XID));
    }
    let mut late = Kmsg::open(&files.log_path(), StartPosition::After(3)).unwrap();
    let (numbers, lost) = drain(&mut late);
    assert_eq!(numbers.len() as u64 + lost, 100);
}

#[test]
fn one_may_begin_where_the_log_was_cleared_or_now() {
    let files = Files::serve(5_000).unwrap();
    files.write(Line::text("old"));
    files.clear();
    files.write(Line::text("new"));
    let mut cleared = Kmsg::open(&files.log_path(), StartPosition::Cleared).unwrap();
    let mut now = Kmsg::open(&files.log_path(), StartPosition::Now).unwrap();
    assert_eq!(drain(&mut cleared), (vec![1], 0));
    assert_eq!(drain(&mut now), (vec![], 0));
    files.write(Line::text("newer"));
    assert_eq!(drain(&mut now), (vec![2], 0));
}

#[test]
fn properties_and_escapes_are_the_kernels() {
    let record =
        b"3,1234,5678,-,caller=T12;caf\\xc3\\xa9 \\x5cx41 \\xzz\\x0aNVRM\n SUBSYSTEM=pci\n DEVICE=+pci:0000:1b:00.0\n";
    let record = Record::parse(record).unwrap();
    assert_eq!((record.number, record.at_micros), (1234, 5678));
    assert_eq!(record.text, "caf\u{e9} \\x41 \\xzz\nNVRM");
    assert_eq!(Record::parse(b"no record"), None);
    assert_eq!(Record::parse(b"6,x,2,-;text\n"), None);
}

fn signal(record: &[u8]) -> Option<mainstay_signal::Signal> {
    mainstay_signal::parse(Record::parse(record).unwrap().line()?)
}

#[test]
fn what_a_tenant_can_put_into_a_line_is_no_signal() {
    let forged = format!("6,7,8,-;python[123]: segfault at 0 ip 0 sp 0 error 4 in lib\\x0a{XID}[1000+1]\n");
    assert_eq!(signal(forged.as_bytes()), None);
    let fragment = format!("6,7,8,c;{XID}\n");
    assert_eq!(signal(fragment.as_bytes()), None);
    let plain = format!("6,7,8,-;{XID}\n");
    assert!(signal(plain.as_bytes()).is_some());
}

#[test]
fn a_plain_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kern.log");
    for text in ["", "[Thu Mar  5 10:11:12 2026] a saved log\n", "6,0,1,-;one record\n"] {
        std::fs::write(&path, text).unwrap();
        let mut log = Kmsg::open(&path, StartPosition::Oldest).unwrap();
        let reads: Vec<_> = (0..2).map(|_| log.read()).collect();
        assert!(matches!(reads.last(), Some(Err(_))), "{text:?}: {reads:?}");
    }
}

#[test]
fn this_machines_own_log_is_read() {
    let path = Path::new("/dev/kmsg");
    let mut log = match Kmsg::open(path, StartPosition::Oldest) {
        Ok(log) => log,
        Err(error) => {
            // Not everybody may read it; that the refusal is told is then all that can be tested.
            assert!(matches!(error.raw_os_error(), Some(1 | 2 | 13)), "{error}");
            return;
        }
    };
    let (numbers, lost) = drain(&mut log);
    assert!(numbers.is_sorted() && lost == 0, "{lost} lost of {} while reading", numbers.len());
    let Some(last) = numbers.last() else { return };
    let mut again = Kmsg::open(path, StartPosition::After(*last)).unwrap();
    let (more, lost) = drain(&mut again);
    assert!(more.iter().all(|number| number > last) && lost == 0);
    log.wait(Duration::from_millis(1)).unwrap();
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Some(record) = Record::parse(&bytes) {
            let _ = record.line().map(mainstay_signal::parse);
        }
        let with_head = [b"6,1,2,-;".as_slice(), &bytes].concat();
        prop_assert!(Record::parse(&with_head).is_some_and(|record| record.text.len() <= 3 * 1024));
    }
}
