//! Tickets of operators: node, period and suspected cause. They are compared with the findings; no decision depends on them.

mod kind;

use mainstay_model::{NodeName, Timestamp};
use mainstay_text::Problem;

use super::dropped::{DropReason, DroppedInput};
use super::table::CsvTable;
use super::timestamp::{self, Zone};

pub(super) use kind::FaultKind;

/// A cause is shown up to this length.
const CAUSE_CHARS_MAX: usize = 120;

/// One ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) id: String,
    pub(super) node: NodeName,
    pub(super) opened_at: Timestamp,
    pub(super) closed_at: Option<Timestamp>,
    pub(super) cause: String,
    pub(super) kind: FaultKind,
}

const NODE: [&str; 6] = ["node", "host", "hostname", "server", "machine", "asset"];
const OPENED: [&str; 6] = ["opened_at", "opened", "created_at", "created", "start", "reported"];
const CLOSED: [&str; 6] = ["closed_at", "closed", "resolved_at", "resolved", "end", "done"];
const ID: [&str; 5] = ["id", "ticket", "key", "number", "issue"];
const CAUSE: [&str; 7] = ["cause", "root_cause", "title", "summary", "subject", "description", "fault"];

/// Reads tickets, in the order of time.
pub(super) fn read(table: &CsvTable, zone: Zone, skipped: &mut DroppedInput) -> Result<Vec<Ticket>, Problem> {
    if !table.has(&NODE) || !table.has(&OPENED) {
        return Err(Problem {
            what: format!("{} is not a ticket list", table.name()),
            detail: format!("columns for the node and the opening time are required; found {}.", table.header()),
            hint: "name the columns id, node, opened_at, closed_at, cause; time format: 2026-03-05T10:11:12Z.".into(),
        });
    }
    let mut tickets = Vec::new();
    for (place, row) in table.rows().enumerate() {
        let node = row.get(&NODE).and_then(|name| NodeName::parse(name).ok());
        let opened = row.get(&OPENED).and_then(|at| timestamp::rfc3339(at, zone));
        let (Some(node), Some(opened_at)) = (node, opened) else {
            skipped.add(DropReason::NotATicket, 1, table.name());
            continue;
        };
        let plain = |text: &str| text.chars().filter(|c| !c.is_control()).take(CAUSE_CHARS_MAX).collect::<String>();
        let cause = plain(row.get(&CAUSE).unwrap_or_default());
        tickets.push(Ticket {
            id: row.get(&ID).map_or_else(|| format!("row {}", place + 2), plain),
            node,
            opened_at,
            closed_at: row.get(&CLOSED).and_then(|at| timestamp::rfc3339(at, zone)),
            kind: FaultKind::of_words(&cause),
            cause,
        });
    }
    tickets.sort_by(|a, b| (a.opened_at, &a.id).cmp(&(b.opened_at, &b.id)));
    Ok(tickets)
}
