//! Errors of the studio's interface.

use axum::Json as JsonBody;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use nowcast_room::StudioError;
use serde_json::json;

/// An error of the studio's interface: a status, a code for programs, and texts for people.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    cure: String,
    /// The present revision of a file that has changed.
    revision: Option<String>,
}

#[cfg(feature = "cluster")]
impl ApiError {
    /// The code for programs.
    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the error as JSON.
    pub(super) fn to_json(&self) -> serde_json::Value {
        json!({ "code": self.code, "message": self.message, "cure": self.cure })
    }
}

impl ApiError {
    pub(super) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self { status, code, message: message.into(), cure: cure.into(), revision: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message, "correct the request")
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message, "list what exists, and choose from it")
    }

    pub(super) fn no_role(message: impl Into<String>) -> Self {
        let cure = "use a token with the role (nowcast token --role editor)";
        Self::new(StatusCode::FORBIDDEN, "no_role", message, cure)
    }

    pub(super) fn read_only(message: impl Into<String>) -> Self {
        let cure = "serve the world from a folder that the server may write";
        Self::new(StatusCode::CONFLICT, "read_only", message, cure)
    }

    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unreadable", message, "correct the world, and try again")
    }

    pub(super) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message, "try again later")
    }

    pub(super) fn changed(path: &str, revision: Option<String>) -> Self {
        let message = format!("{path} has changed since it was read");
        let cure = "read the file again, and merge the changes";
        Self { revision, ..Self::new(StatusCode::PRECONDITION_FAILED, "changed", message, cure) }
    }
}

impl From<StudioError> for ApiError {
    fn from(error: StudioError) -> Self {
        let message = error.to_string();
        match error {
            StudioError::Invalid(_) => Self::invalid(message),
            StudioError::NotFound(_) => Self::not_found(message),
            StudioError::NotKept(_) => {
                let cure = "choose a step of the history, and serve with --data";
                Self::new(StatusCode::CONFLICT, "not_kept", message, cure)
            }
            StudioError::Unreadable(_) => Self::unreadable(message),
            StudioError::Refused(_) => {
                Self::new(StatusCode::CONFLICT, "refused", message, "change the request")
            }
            StudioError::Busy(_) => Self::busy(message),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { status, code, message, cure, revision } = self;
        let mut error = json!({ "code": code, "message": message, "cure": cure });
        if let Some(revision) = revision {
            error["revision"] = revision.into();
        }
        let mut response = (status, JsonBody(json!({ "error": error }))).into_response();
        if status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(RETRY_AFTER, "1".parse().expect("the text is a header"));
        }
        response
    }
}
