//! What tokens are worth, asked of the API server and remembered for a moment, so that a page that makes ten calls is not ten
//! questions. No token is kept, only its hash; what was not answered is not remembered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use mainstay_kube::{AuthDecision, Authenticator, Error};
use mainstay_web::access::{TokenStatus, TokenValidator};
use mainstay_web::published::Hub;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

/// Whoever loses their rights sees nothing more after this.
const WELCOME_FOR: Duration = Duration::from_secs(30);
/// Whoever is given rights need not wait for longer.
const REFUSED_FOR: Duration = Duration::from_secs(5);
/// Tokens that are remembered: more people than look at one fleet.
const KEPT_MAX: usize = 1_024;
/// Tokens that the server is asked about at one time; strangers with made-up ones must not keep it busy.
const ASKED_MAX: usize = 8;
/// So long a call waits for its turn, and for the answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);

type Hash = [u8; 32];

/// Caches decisions about tokens by hash, for seconds.
pub(super) struct TokenCache<G = ApiServerLookup> {
    gate: G,
    turns: Semaphore,
    kept: Mutex<CacheEntries>,
}

/// Asks an authority what a token permits.
pub(super) trait TokenLookup: Send + Sync {
    fn ask<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<AuthDecision, Error>>;
}

/// Has the API server review a token for the kinds that the current snapshot contains.
pub(super) struct ApiServerLookup {
    pub(super) gate: Authenticator,
    pub(super) board: Arc<Hub>,
}

impl TokenLookup for ApiServerLookup {
    fn ask<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<AuthDecision, Error>> {
        Box::pin(async move {
            // What is read may have become more since the page began.
            let shown = self.board.current();
            let seen = shown.snapshot.cluster.iter().flat_map(|seen| &seen.unreadable);
            let unread: Vec<String> = seen.map(|unread| unread.kind.clone()).collect();
            self.gate.check(token, &unread).await
        })
    }
}

/// Decisions by token hash, each with its expiry.
#[derive(Default)]
struct CacheEntries {
    worth: BTreeMap<Hash, (Instant, TokenStatus)>,
}

impl<G: TokenLookup> TokenCache<G> {
    pub(super) fn new(gate: G) -> Self {
        Self { gate, turns: Semaphore::new(ASKED_MAX), kept: Mutex::default() }
    }

    async fn known(&self, hash: &Hash, now: Instant) -> Option<TokenStatus> {
        let kept = self.kept.lock().await;
        kept.worth.get(hash).filter(|(until, _)| now < *until).map(|(_, token)| token.clone())
    }

    async fn asks(&self, token: &str, hash: Hash) -> TokenStatus {
        let asked = async {
            let _turn = self.turns.acquire().await;
            // Another call with the same token may have been answered meanwhile.
            match self.known(&hash, Instant::now()).await {
                Some(known) => Ok(known),
                None => self.gate.ask(token).await.map(worth),
            }
        };
        match timeout(ANSWER_WITHIN, asked).await {
            Ok(Ok(token)) => {
                self.kept.lock().await.keep(hash, token.clone(), Instant::now());
                token
            }
            Ok(Err(trouble)) => TokenStatus::Unanswered(format!("{trouble}.")),
            Err(_) => TokenStatus::Unanswered(format!(
                "no response from the API server within {} s.",
                ANSWER_WITHIN.as_secs()
            )),
        }
    }
}

impl<G: TokenLookup> TokenValidator for TokenCache<G> {
    fn validate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, TokenStatus> {
        Box::pin(async move {
            let hash: Hash = Sha256::digest(token.as_bytes()).into();
            match self.known(&hash, Instant::now()).await {
                Some(known) => known,
                None => self.asks(token, hash).await,
            }
        })
    }
}

impl CacheEntries {
    fn keep(&mut self, hash: Hash, token: TokenStatus, now: Instant) {
        if self.worth.get(&hash).is_some_and(|(until, _)| now < *until) {
            // It is remembered from when it was answered, not from when it was last asked for.
            return;
        }
        self.worth.retain(|_, (until, _)| now < *until);
        if self.worth.len() >= KEPT_MAX
            && let Some(soonest) = self.worth.iter().min_by_key(|(_, (until, _))| *until).map(|(hash, _)| *hash)
        {
            self.worth.remove(&soonest);
        }
        let lasts = if token == TokenStatus::Welcome { WELCOME_FOR } else { REFUSED_FOR };
        self.worth.insert(hash, (now + lasts, token));
    }
}

fn worth(worth: AuthDecision) -> TokenStatus {
    match worth {
        AuthDecision::Welcome { .. } => TokenStatus::Welcome,
        AuthDecision::Forbidden { name, kind } => {
            TokenStatus::Forbidden(format!("{name} may not list {kind} in this cluster."))
        }
        AuthDecision::Unknown => TokenStatus::Unknown,
    }
}

#[cfg(test)]
mod tests;
