//! Waiting with a limit for what a cluster or a program does in its own time.

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::time::{sleep, timeout};

/// Limit of a wait for anything that takes seconds on a busy machine.
pub const SOON: Duration = Duration::from_secs(60);

const ASK_EVERY: Duration = Duration::from_millis(100);

/// Answer to a question that is repeated: a value, or nothing yet. `true` is the value `()`; an error ends the wait.
pub trait Answer {
    /// Value that ends the wait.
    type Value;

    /// The value, if there is one already.
    fn value(self) -> Result<Option<Self::Value>>;
}

impl Answer for bool {
    type Value = ();

    fn value(self) -> Result<Option<()>> {
        Ok(self.then_some(()))
    }
}

impl<T> Answer for Option<T> {
    type Value = T;

    fn value(self) -> Result<Self> {
        Ok(self)
    }
}

impl<A: Answer> Answer for Result<A> {
    type Value = A::Value;

    fn value(self) -> Result<Option<A::Value>> {
        self?.value()
    }
}

/// Repeats a question until it has an answer, for [`SOON`] at most. The error names what was waited for.
pub async fn eventually<A: Answer>(what: &str, ask: impl AsyncFn() -> A) -> Result<A::Value> {
    eventually_within(SOON, what, ask).await
}

/// Repeats a question until it has an answer, within another limit than [`SOON`].
pub async fn eventually_within<A: Answer>(limit: Duration, what: &str, ask: impl AsyncFn() -> A) -> Result<A::Value> {
    let answer = async {
        loop {
            if let Some(value) = ask().await.value()? {
                return Ok(value);
            }
            sleep(ASK_EVERY).await;
        }
    };
    timeout(limit, answer).await.with_context(|| format!("{what}: not within {limit:?}"))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn a_question_is_repeated_until_its_answer_an_error_or_the_limit() {
        let asked = AtomicU32::new(0);
        let third = async || (asked.fetch_add(1, Ordering::Relaxed) == 2).then_some("here");
        assert_eq!(eventually("the third", third).await.unwrap(), "here");
        assert_eq!(asked.load(Ordering::Relaxed), 3);

        let failed: Result<()> = eventually("an error", async || Err::<bool, _>(anyhow::anyhow!("refused"))).await;
        assert_eq!(failed.unwrap_err().to_string(), "refused");

        let never = eventually_within(Duration::from_millis(250), "rain", async || Ok(false)).await;
        assert_eq!(never.unwrap_err().to_string(), "rain: not within 250ms");
    }
}
