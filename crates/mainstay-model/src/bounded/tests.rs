//! Bounded text refuses what its schema refuses, and costs one byte a character.

use proptest::prelude::*;

use super::{Alphabet, Bounded, Literal, TextError, TooMany};
use crate::{Detail, NodeName, Reason};

#[test]
fn a_name_is_not_empty_too_long_or_strange() {
    assert_eq!(NodeName::parse(""), Err(TextError::Empty { what: "NodeName" }));
    assert_eq!(NodeName::parse("-n1"), Err(TextError::Character { what: "NodeName", at: 0 }));
    assert_eq!(NodeName::parse("n\u{1b}[2J"), Err(TextError::Character { what: "NodeName", at: 1 }));
    assert_eq!(
        NodeName::parse(&"n".repeat(254)),
        Err(TextError::TooLong { what: "NodeName", bytes: 254, bytes_max: 253 })
    );
    assert!(NodeName::parse("r12n04.rack-7").is_ok());
}

#[test]
fn a_detail_may_be_empty_and_may_not_hold_what_json_escapes() {
    assert!(Detail::parse("").is_ok());
    for escaped in ["\"", "\\", "<", ">", "&", "\n", "é"] {
        assert!(Detail::parse(escaped).is_err(), "{escaped:?} was taken");
    }
}

#[test]
fn a_literal_is_the_text_that_its_type_parses() {
    const NAME: Literal<NodeName> = NodeName::literal("r12n04");
    const EMPTY: Literal<Detail> = Detail::literal("");
    assert_eq!(NodeName::parse(NAME.as_str()), Ok(NAME.get()));
    assert_eq!(Detail::parse(EMPTY.as_str()), Ok(EMPTY.into()));
    assert!(NAME.get() == NAME && NodeName::parse("r12n05") != Ok(NAME.get()));
    assert!(NAME == NodeName::literal("r12n04") && NAME != NodeName::literal("r12n05"));
}

#[test]
#[should_panic(expected = "the literal is no NodeName")]
fn a_wrong_literal_outside_of_a_constant_panics() {
    let _ = NodeName::literal("a b");
}

#[test]
fn any_text_becomes_a_reason_that_can_be_parsed() {
    assert_eq!(Reason::lossy("field \"a\" is\u{1b} <b> é").as_str(), "field a is b ");
    let long = Reason::lossy(&"é\"x".repeat(1_000));
    assert_eq!(long.as_str().len(), Reason::BYTES_MAX);
    assert_eq!(Reason::parse(long.as_str()), Ok(long));
}

#[test]
fn a_hostile_document_does_not_get_past_the_parser() {
    assert!(serde_json::from_str::<NodeName>("\"a b\"").is_err());
    assert!(serde_json::from_str::<Bounded<u8, 2>>("[1,2,3]").is_err());
    assert_eq!(serde_json::from_str::<Bounded<u8, 2>>("[1,2]").unwrap().as_slice(), [1, 2]);
}

#[test]
#[should_panic(expected = "3 items in a list of at most 2")]
fn more_items_than_can_be_are_a_defect() {
    let _ = Bounded::<u8, 2>::within([1, 2, 3]);
}

#[test]
fn a_full_history_forgets_its_oldest_and_a_full_list_refuses() {
    let mut list = Bounded::<u8, 2>::try_from(vec![1, 2]).unwrap();
    assert_eq!(list.try_push(3), Err(TooMany { len: 3, len_max: 2 }));
    list.push_forgetting_oldest(3);
    assert_eq!(list.as_slice(), [2, 3]);
}

proptest! {
    #[test]
    fn what_is_taken_costs_one_byte_a_character_in_json(text in "\\PC{0,80}") {
        if let Ok(detail) = Detail::parse(&text) {
            prop_assert_eq!(serde_json::to_string(&detail).unwrap().len(), text.chars().count() + 2);
        }
    }

    #[test]
    fn a_token_is_also_a_line(text in "[ -~]{0,40}") {
        if Alphabet::Token.check("t", &text, 40).is_ok() {
            prop_assert!(Alphabet::Line.check("t", &text, 40).is_ok());
        }
    }
}
