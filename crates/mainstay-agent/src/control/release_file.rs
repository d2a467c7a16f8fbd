//! Stores a request to close NVML in a file next to the socket, so that it survives a restart of the agent. It is a
//! file beside the socket, of this boot alone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mainstay_model::{BootId, Timestamp};

use crate::sources::nvml::RELEASE_MAX;

/// A boot id and a number; more is none of ours.
const BYTES_MAX: u64 = 256;

/// File that stores until when NVML stays closed in this boot.
#[derive(Debug, Clone)]
pub(crate) struct ReleaseFile {
    path: PathBuf,
    boot: BootId,
}

// === impl ReleaseFile ===

impl ReleaseFile {
    /// Beside the socket.
    pub(crate) fn next_to(socket: &Path, boot: BootId) -> Self {
        Self { path: socket.with_extension("released"), boot }
    }

    /// How long NVML is still to stay closed by an order that an agent before this one took.
    pub(crate) fn remaining(&self, now: Timestamp) -> Option<Duration> {
        let file = std::fs::File::open(&self.path).ok()?;
        let text = std::io::read_to_string(std::io::Read::take(file, BYTES_MAX)).ok()?;
        let (boot, until) = text.trim_end().split_once(' ')?;
        let left = Timestamp(until.parse().ok()?).since(now);
        let left = Duration::from_millis(left.0);
        // A clock that was set back must not send the agent away for longer than anybody may ask.
        (boot == self.boot.as_str() && !left.is_zero() && left <= RELEASE_MAX).then_some(left)
    }

    /// Writes an order down, or that there is none. Where that fails the order holds all the same, as long as the agent lives.
    pub(super) fn store(&self, length: Option<Duration>, now: Timestamp) {
        let millis = |length: Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        let _ = match length {
            Some(length) => {
                std::fs::write(&self.path, format!("{} {}\n", self.boot, now.0.saturating_add(millis(length))))
            }
            None => std::fs::remove_file(&self.path),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_of_its_time_and_its_boot() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("state.sock");
        let boot = BootId::parse("one").unwrap();
        let order = ReleaseFile::next_to(&socket, boot);
        let now = Timestamp(1_794_700_800_000);
        assert_eq!(order.remaining(now), None);
        order.store(Some(Duration::from_secs(60)), now);
        assert_eq!(order.remaining(now), Some(Duration::from_secs(60)));
        assert_eq!(order.remaining(Timestamp(now.0 + 59_000)), Some(Duration::from_secs(1)));
        assert_eq!(order.remaining(Timestamp(now.0 + 60_000)), None, "it is over");
        assert_eq!(order.remaining(Timestamp(now.0 - 7_200_000)), None, "the clock was set back");
        assert_eq!(ReleaseFile::next_to(&socket, BootId::parse("two").unwrap()).remaining(now), None, "another boot");
        order.store(None, now);
        assert_eq!(order.remaining(now), None);
        for wrong in ["", "one", "one x", "one 99999999999999999999", "\u{fffd}"] {
            std::fs::write(folder.path().join("state.released"), wrong).unwrap();
            assert_eq!(order.remaining(now), None, "{wrong}");
        }
    }
}
