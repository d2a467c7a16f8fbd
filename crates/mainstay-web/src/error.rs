//! Error responses: a status code, and problem, detail and hint. Every error of a call has this one shape.

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use mainstay_api::http::{Problem, RequestBody};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::server::BODY_BYTES_MAX;

/// A status code with problem, detail and hint as JSON.
#[derive(Debug)]
pub struct ErrorResponse {
    status: StatusCode,
    problem: Problem,
}

impl ErrorResponse {
    /// Creates a response from its status and the three texts.
    pub fn new(
        status: StatusCode,
        what: impl Into<String>,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { status, problem: Problem { what: what.into(), detail: detail.into(), hint: hint.into() } }
    }

    /// Creates a response from a problem that another module described.
    #[must_use]
    pub const fn of(status: StatusCode, problem: Problem) -> Self {
        Self { status, problem }
    }

    /// Status 404 for a name that does not exist; `list` is the call that returns known names.
    #[must_use]
    pub fn unknown(what: &str, name: &str, list: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            format!("unknown {what}: {}", shown(name)),
            "it does not exist at the time shown.",
            format!("GET /api/v1/{list} lists the known names."),
        )
    }

    /// Status 404 for a call that only a demo answers.
    #[must_use]
    pub fn not_a_demo() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not a demo",
            "this server shows a real cluster; clock and fault injection exist in a demo only.",
            "start a demo with `mainstay demo`.",
        )
    }

    pub(super) fn no_such_call(path: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            format!("not found: {}", shown(path)),
            "this server has no such path.",
            "GET /openapi.json lists every call.",
        )
    }

    pub(super) fn not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method not allowed",
            "the path exists, but not for this HTTP method.",
            "GET /openapi.json lists every call with its method.",
        )
    }

    fn bad(detail: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "invalid request",
            format!("{detail}"),
            "GET /openapi.json describes the parameters of each call.",
        )
    }
}

/// The name that the client sent, short and printable.
fn shown(name: &str) -> String {
    const LONGEST: usize = 80;
    let printable = |letter: char| if letter.is_control() { '?' } else { letter };
    name.chars().take(LONGEST).map(printable).collect()
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        (self.status, Json(self.problem)).into_response()
    }
}

/// Extracts the JSON body of a call. The Content-Type must be JSON, which a form on a page of another origin cannot send
/// without a preflight request.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: RequestBody, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ErrorResponse> {
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = content_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(ErrorResponse::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the Content-Type is not JSON",
                "calls that change something accept JSON only.",
                "send the header Content-Type: application/json.",
            ));
        }
        let bytes = to_bytes(request.into_body(), BODY_BYTES_MAX).await.map_err(|_| {
            ErrorResponse::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is too large",
                format!("the limit is {BODY_BYTES_MAX} bytes."),
                "use a shorter reason.",
            )
        })?;
        // Only an object: serde would also read a struct from a list of its values.
        let mut fields: serde_json::Map<String, Value> = serde_json::from_slice(&bytes).map_err(ErrorResponse::bad)?;
        fields.values_mut().for_each(whole);
        T::from_fields(&fields).map(Self).map_err(|problems| ErrorResponse::bad(format!("{}.", problems.join("; "))))
    }
}

/// Largest integer that a floating-point number represents exactly.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Turns 60.0 into 60, because JSON has one kind of number.
fn whole(value: &mut Value) {
    let written = value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0 && number.abs() <= EXACT_MAX);
    if let Some(number) = written.and_then(|number| format!("{number:.0}").parse::<i64>().ok()) {
        *value = number.into();
    }
}

/// Extracts the query parameters of a call. Unknown parameters are ignored.
pub(super) struct QueryParams<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        Query::try_from_uri(&parts.uri)
            .map(|Query(asked)| Self(asked))
            .map_err(|rejection| ErrorResponse::bad(rejection.body_text()))
    }
}

/// Extracts the name or id from the request path.
pub(super) struct PathParam(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for PathParam {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        path.map(|Path(name)| Self(name)).map_err(|rejection| ErrorResponse::bad(rejection.body_text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_may_have_a_point_and_stays_what_it_is() {
        let read = |text: &str| {
            let mut value: Value = serde_json::from_str(text).unwrap();
            whole(&mut value);
            value.to_string()
        };
        assert_eq!(read("60.0"), "60");
        assert_eq!(read("-7"), "-7");
        assert_eq!(read("60.5"), "60.5");
        assert!(read("-9223372036854775809").contains('e'), "it is no i64, and does not become one");
        assert_eq!(read("\"60.0\""), "\"60.0\"");
    }
}
