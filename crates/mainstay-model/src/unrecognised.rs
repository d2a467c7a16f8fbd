//! Error lines that no parser knows, counted by template. They are not evidence: only a pool's policy makes them one.

use serde::{Deserialize, Serialize};

use crate::bounded::text;
use crate::{Code, Timestamp};

text!(
    /// A log line without its values: `#` replaces a number, an address or an id, `*` replaces a name or a path.
    Template, Line, 120
);

/// The kind of hardware whose driver or service printed a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Component {
    /// A GPU, its links or an NVSwitch.
    Gpu,
    /// A network adapter.
    Nic,
    /// The PCI bus, or a device on it without a component of its own.
    Pcie,
    /// The host's processors and memory, and the kernel itself.
    Host,
    /// Disks and file systems.
    Storage,
}

// === impl Component ===

impl Component {
    /// Returns the name of the component, as reports show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Nic => "NIC",
            Self::Pcie => "PCIe",
            Self::Host => "host",
            Self::Storage => "storage",
        }
    }
}

/// Lines with one template, counted since boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnrecognisedLine {
    /// The driver and a digest of the template. A pool's policy refers to the template by this code.
    pub code: Code,
    /// The lines without their values.
    pub template: Template,
    /// The kind of hardware that the lines are about.
    pub component: Component,
    /// Number of lines.
    pub count: u64,
    /// Time of the first line, by the agent's clock.
    pub first_seen_at: Timestamp,
    /// Time of the last line, by the agent's clock.
    pub last_seen_at: Timestamp,
}
