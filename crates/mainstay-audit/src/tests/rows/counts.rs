//! What the cell keeps of its rules.

use mainstay_model::{CellRecord, Epoch, RuleRecord, Span};

use super::{Row, as_it_is};
use crate::Invariant;
use crate::tests::world::{BEFORE, NOW, World, list, name};

/// One rule was right three times, and once more since.
fn counted() -> World {
    let mut world = World::calm();
    world.cell.record = CellRecord { rules: list([right(3)]), counted_to: BEFORE, ..CellRecord::default() };
    world.record_of_cell = Some(CellRecord { rules: list([right(4)]), counted_to: NOW, ..CellRecord::default() });
    world
}

fn right(confirmed: u64) -> RuleRecord {
    RuleRecord { confirmed, ..RuleRecord::new(name("xid-79")) }
}

fn write(world: &mut World, change: impl FnOnce(&mut CellRecord)) {
    world.record_of_cell.as_mut().map(change).unwrap();
}

pub(super) fn rows() -> Vec<Row> {
    let row = |says, change| Row::new(Invariant::CountsKept, says, counted, change);
    vec![
        row("counters written by a process that does not lead", [as_it_is, |world| world.cell.epoch = Epoch(0)]),
        row(
            "a rule that was right less often than before",
            [
                |world| {
                    let moved = RuleRecord { confirmed: 2, refuted: 1, ..right(0) };
                    write(world, |record| record.rules = list([moved]));
                },
                |world| write(world, |record| record.rules = list([right(2)])),
            ],
        ),
        row("a rule that is not there any more", [as_it_is, |world| write(world, |record| record.rules = list([]))]),
        row(
            "counting that goes back in time",
            [
                |world| write(world, |record| record.counted_to = BEFORE),
                |world| write(world, |record| record.counted_to = BEFORE - Span(1)),
            ],
        ),
        row(
            "counting of what has not happened",
            [as_it_is, |world| write(world, |record| record.counted_to = NOW + Span(1))],
        ),
    ]
}
