use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Knows one token, and fails for another.
#[derive(Default)]
struct Server {
    asked: AtomicUsize,
}

impl TokenLookup for Server {
    fn ask<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<AuthDecision, Error>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(match token {
            "right" => Ok(AuthDecision::Welcome { name: "mira".to_owned() }),
            "poor" => Ok(AuthDecision::Forbidden { name: "tom".to_owned(), kind: "gpunodes" }),
            "silent" => Err(Error::Server("gone".to_owned())),
            _ => Ok(AuthDecision::Unknown),
        }))
    }
}

#[tokio::test]
async fn an_answer_is_remembered_and_silence_is_not() {
    let tokens = TokenCache::new(Server::default());
    let asked = || tokens.gate.asked.load(Ordering::Relaxed);
    for _ in 0..3 {
        assert_eq!(tokens.validate("right").await, TokenStatus::Welcome);
    }
    assert_eq!(asked(), 1);
    assert!(
        matches!(tokens.validate("poor").await, TokenStatus::Forbidden(why) if why.contains("tom may not list gpunodes"))
    );
    for _ in 0..2 {
        assert!(matches!(tokens.validate("silent").await, TokenStatus::Unanswered(_)));
    }
    assert_eq!(asked(), 4, "what was not answered is asked again");
}

#[test]
fn what_is_remembered_ends_and_is_bounded() {
    let mut kept = CacheEntries::default();
    let now = Instant::now();
    let hash = |number: usize| -> Hash { Sha256::digest(number.to_le_bytes()).into() };
    kept.keep(hash(0), TokenStatus::Welcome, now);
    kept.keep(hash(0), TokenStatus::Welcome, now + WELCOME_FOR / 2);
    assert_eq!(
        kept.worth.get(&hash(0)).map(|(until, _)| *until),
        Some(now + WELCOME_FOR),
        "asking does not prolong it"
    );
    for number in 1..2 * KEPT_MAX {
        kept.keep(hash(number), TokenStatus::Unknown, now);
    }
    assert_eq!(kept.worth.len(), KEPT_MAX);
    assert!(kept.worth.contains_key(&hash(0)), "whoever was let in is forgotten last");
    kept.keep(hash(0), TokenStatus::Unknown, now + WELCOME_FOR);
    assert_eq!(kept.worth.len(), 1, "what is over is forgotten");
}
