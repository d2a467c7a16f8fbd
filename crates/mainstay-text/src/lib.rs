//! Text that users read and text that comes from outside: numbers, tables and wrapped lines, problems with a detail and a
//! hint, escaping for HTML and SVG, and bounded lines of files. It opens no file and prints nothing.

mod html;
mod lines;
mod plain_text;
mod problem;

pub use html::escape_html;
pub use lines::{JsonLine, Line, Lines};
pub use mainstay_model::{counted, thousands};
pub use plain_text::{
    Align, Table, bar, capital, cut, duration, few, gpu_hours, gpu_hours_beside, hung, percent, sparkline, wrapped,
};
pub use problem::{Problem, root_cause};
