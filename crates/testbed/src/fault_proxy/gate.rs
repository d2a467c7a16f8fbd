//! What keeps every call and event of a proxy waiting: a pause for a stated time, or a held call.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Closed {
    is_held: bool,
    paused_until: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Gate(watch::Sender<Closed>);

impl Default for Gate {
    fn default() -> Self {
        Self(watch::Sender::new(Closed::default()))
    }
}

impl Gate {
    /// Nothing passes until [`Gate::release`].
    pub(super) fn hold(&self) {
        self.0.send_modify(|closed| closed.is_held = true);
    }

    pub(super) fn release(&self) {
        self.0.send_modify(|closed| closed.is_held = false);
    }

    pub(super) fn is_held(&self) -> bool {
        self.0.borrow().is_held
    }

    pub(super) async fn wait_until_held(&self) {
        // The sender lives as long as the proxy.
        let _ = self.0.subscribe().wait_for(|closed| closed.is_held).await;
    }

    /// Nothing passes for this time, from now on.
    pub(super) fn pause_for(&self, time: Duration) {
        self.0.send_modify(|closed| closed.paused_until = Some(Instant::now() + time));
    }

    pub(super) fn resume(&self) {
        self.0.send_modify(|closed| closed.paused_until = None);
    }

    /// Returns when no pause is on.
    pub(super) async fn unpaused(&self) {
        let mut changes = self.0.subscribe();
        loop {
            let until = changes.borrow_and_update().paused_until;
            let Some(until) = until.filter(|until| *until > Instant::now()) else { return };
            tokio::select! {
                () = sleep_until(until) => {}
                _ = changes.changed() => {}
            }
        }
    }

    /// Returns when no call is held and no pause is on.
    pub(super) async fn open(&self) {
        loop {
            self.unpaused().await;
            let _ = self.0.subscribe().wait_for(|closed| !closed.is_held).await;
            if self.0.borrow().paused_until.is_none_or(|until| until <= Instant::now()) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn a_gate_opens_when_the_pause_is_over_and_the_held_call_is_released() {
        let gate = Gate::default();
        gate.open().await;
        gate.hold();
        gate.pause_for(Duration::from_millis(50));
        assert!(gate.open().now_or_never().is_none());
        gate.release();
        let began = Instant::now();
        gate.open().await;
        assert!(began.elapsed() >= Duration::from_millis(40), "{:?}", began.elapsed());
    }
}
