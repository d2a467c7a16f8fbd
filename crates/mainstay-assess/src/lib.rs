//! Assesses a fleet from data that already exists: what happened, and what Mainstay would have done. Sources fill one
//! input, the production engine replays it in Observe mode, and one [`Report`] is shown as text, JSON or HTML.
//!
//! It changes nothing and prints nothing. Arguments, progress bars and exit codes belong to the caller.

mod assessment;
mod cluster;
mod dropped;
mod html;
mod input;
mod logs;
mod nodes;
mod prometheus;
mod replay;
mod report;
mod table;
mod text;
mod tickets;
mod timestamp;
mod unrecognised;

pub use assessment::{Assessment, Progress};
pub use logs::Log;
pub use report::Report;
pub use table::CsvTable;
pub use timestamp::{Zone, parse_time};
pub use unrecognised::UnrecognisedList;
