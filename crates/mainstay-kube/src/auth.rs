//! Authenticates bearer tokens and checks that the caller may list the resources shown. No result is cached here.

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use mainstay_api::GROUP;
use tokio::time::timeout;

use crate::error::{CALL_WITHIN, Error};
use crate::slos::SLOS;
use crate::world::Kind;

/// Checks bearer tokens and list permissions against the API server.
pub struct Authenticator {
    client: Client,
    /// Audience that tokens must be issued for. None: the API server's own.
    audience: Option<String>,
}

/// Result of a token check: permitted, forbidden or not authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthDecision {
    /// The caller may list every kind that is shown.
    Welcome {
        /// User name of the caller.
        name: String,
    },
    /// The caller lacks permission for a kind that is shown.
    Forbidden {
        /// User name of the caller.
        name: String,
        /// First kind that the caller may not list.
        kind: &'static str,
    },
    /// The API server does not accept the token.
    Unknown,
}

// === impl Authenticator ===

impl Authenticator {
    /// Creates a gate that calls the API server as this client.
    #[must_use]
    pub const fn new(client: Client, audience: Option<String>) -> Self {
        Self { client, audience }
    }

    /// Checks a token against every kind that is shown, except the kinds that this server cannot read itself.
    ///
    /// # Errors
    /// [`Error::Server`] if the API server does not answer. The caller must then be rejected.
    pub async fn check(&self, token: &str, unread: &[String]) -> Result<AuthDecision, Error> {
        let Some(user) = self.owner(token).await? else { return Ok(AuthDecision::Unknown) };
        let name = user.username.clone().unwrap_or_default();
        for kind in shown_kinds().filter(|kind| !unread.iter().any(|unread| unread == kind)) {
            if !self.may_list(&user, kind).await? {
                return Ok(AuthDecision::Forbidden { name, kind });
            }
        }
        Ok(AuthDecision::Welcome { name })
    }

    async fn owner(&self, token: &str) -> Result<Option<UserInfo>, Error> {
        let audiences = self.audience.as_ref().map(|audience| vec![audience.clone()]);
        let spec = TokenReviewSpec { token: token.to_owned(), audiences };
        let asked = TokenReview { spec, ..TokenReview::default() };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let status = answered(reviews.create(&PostParams::default(), &asked)).await?.status.unwrap_or_default();
        // A server that knows nothing of audiences answers without any: then the token is its own, and not for us.
        let is_for_us = self
            .audience
            .as_ref()
            .is_none_or(|audience| status.audiences.as_ref().is_some_and(|audiences| audiences.contains(audience)));
        Ok(status.user.filter(|_| status.authenticated == Some(true) && is_for_us))
    }

    async fn may_list(&self, user: &UserInfo, kind: &str) -> Result<bool, Error> {
        let is_core = [Kind::Node, Kind::Pod].iter().any(|core| core.word() == kind);
        let attributes = ResourceAttributes {
            group: (!is_core).then(|| GROUP.to_owned()),
            resource: Some(kind.to_owned()),
            verb: Some("list".to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            user: user.username.clone(),
            groups: user.groups.clone(),
            uid: user.uid.clone(),
            extra: user.extra.clone(),
            ..SubjectAccessReviewSpec::default()
        };
        let asked = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = answered(reviews.create(&PostParams::default(), &asked)).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

/// Kinds that the web UI shows: those that the engine uses, and the objectives.
fn shown_kinds() -> impl Iterator<Item = &'static str> {
    Kind::ALL.into_iter().map(Kind::word).chain([SLOS])
}

async fn answered<T>(call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Error> {
    match timeout(CALL_WITHIN, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Error::of("a review of a token", &error)),
        Err(_) => Err(Error::late()),
    }
}
