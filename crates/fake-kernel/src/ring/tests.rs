//! The rules of `/dev/kmsg`, one by one.

use proptest::prelude::*;

use super::*;

fn read(ring: &Ring, reader: &mut Reader) -> Result<String, Errno> {
    ring.read(reader, 8192).map(|record| String::from_utf8(record).unwrap())
}

#[test]
fn a_read_is_one_record_with_its_properties() {
    let mut ring = Ring::new(1_000);
    ring.write(Line {
        priority: 3,
        at_micros: 339,
        text: b"a \\ b\n\xff".to_vec(),
        subsystem: Some("pci".to_owned()),
        device: Some("+pci:0000:1b:00.0".to_owned()),
        fragment: true,
    });
    ring.write(Line::text("next"));
    let mut reader = ring.open();
    assert_eq!(
        read(&ring, &mut reader).unwrap(),
        "3,0,339,c;a \\x5c b\\x0a\\xff\n SUBSYSTEM=pci\n DEVICE=+pci:0000:1b:00.0\n"
    );
    assert_eq!(read(&ring, &mut reader).unwrap(), "4,1,0,-;next\n");
    assert_eq!(read(&ring, &mut reader), Err(Errno::AGAIN));
}

#[test]
fn who_was_too_slow_is_told_once_and_goes_on_with_what_is_there() {
    let mut ring = Ring::new(10);
    ring.write(Line::text("12345"));
    let mut reader = ring.open();
    for text in ["abcde", "fghij", "klmno"] {
        ring.write(Line::text(text));
    }
    assert_eq!(ring.poll(&reader), PollFlags::IN | PollFlags::RDNORM | PollFlags::ERR | PollFlags::PRI);
    assert_eq!(read(&ring, &mut reader), Err(Errno::PIPE));
    assert_eq!(ring.poll(&reader), PollFlags::IN | PollFlags::RDNORM);
    assert_eq!(read(&ring, &mut reader).unwrap(), "4,2,0,-;fghij\n");
    assert_eq!(read(&ring, &mut reader).unwrap(), "4,3,0,-;klmno\n");
    assert_eq!(ring.poll(&reader), PollFlags::empty());
}

#[test]
fn a_record_that_does_not_fit_is_passed_over() {
    let mut ring = Ring::new(1_000);
    ring.write(Line::text("long"));
    ring.write(Line::text("s"));
    let mut reader = ring.open();
    assert_eq!(ring.read(&mut reader, 10), Err(Errno::INVAL));
    assert_eq!(read(&ring, &mut reader).unwrap(), "4,1,0,-;s\n");
}

#[test]
fn a_seek_goes_to_the_first_the_cleared_and_the_last() {
    let mut ring = Ring::new(1_000);
    ring.write(Line::text("a"));
    ring.clear();
    ring.write(Line::text("b"));
    let mut reader = ring.open();
    for (whence, expected) in [
        (SeekTarget::Data, Ok("4,1,0,-;b\n".to_owned())),
        (SeekTarget::Set, Ok("4,0,0,-;a\n".to_owned())),
        (SeekTarget::End, Err(Errno::AGAIN)),
    ] {
        assert_eq!(ring.seek(&mut reader, 0, whence), Ok(0));
        assert_eq!(read(&ring, &mut reader), expected, "{whence:?}");
    }
    assert_eq!(ring.seek(&mut reader, 1, SeekTarget::Set), Err(Errno::SPIPE));
    assert_eq!(ring.seek(&mut reader, 0, SeekTarget::Current), Err(Errno::INVAL));
}

proptest! {
    #[test]
    fn what_is_read_and_what_the_numbers_leave_out_is_all_that_was_written(
        steps in proptest::collection::vec((0..5_usize, 0..5_usize), 1..60)
    ) {
        let mut ring = Ring::new(40);
        let mut reader = ring.open();
        let (mut seen, mut lost, mut expected) = (0_u64, 0_u64, 0_u64);
        for (writes, reads) in steps.into_iter().chain([(0, 1_000)]) {
            for _ in 0..writes {
                ring.write(Line::text("0123456789"));
            }
            for _ in 0..reads {
                match read(&ring, &mut reader) {
                    Ok(record) => {
                        let seq: u64 = record.split(',').nth(1).unwrap().parse().unwrap();
                        lost += seq - expected;
                        expected = seq + 1;
                        seen += 1;
                    }
                    Err(Errno::PIPE) => {}
                    Err(other) => {
                        prop_assert_eq!(other, Errno::AGAIN);
                        break;
                    }
                }
            }
        }
        prop_assert_eq!(seen + lost, ring.next_seq);
    }
}
