//! Errors of requests.
//!
//! A handler returns an [`ApiError`]; the router renders it as a page or as JSON, depending on the path of the request.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Error of a request, with its message.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ApiError {
    /// The requested object does not exist.
    #[error("{0}")]
    NotFound(String),
    /// A parameter is missing or invalid.
    #[error("{0}")]
    BadRequest(String),
    /// Syntax error of a query at a character, counted from 1; `pointer` is the query with a caret below that character.
    #[error("{message}")]
    InvalidQuery { pointer: String, column: usize, message: String },
    /// The path exists, but not with this method.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// The client has no permission.
    #[error("{0}")]
    Forbidden(String),
    /// The client has not sent the token.
    #[error("missing or invalid token: send `Authorization: Bearer TOKEN`")]
    Unauthorized,
    /// The Host header names a host that is not allowed.
    #[error("unknown host `{0}` in the Host header; add it to web.allowed_hosts")]
    UnknownHost(String),
    /// Another command has to be run first.
    #[error("{0}")]
    NotReady(String),
    /// No worker thread became free in time.
    #[error("too many concurrent requests; try again later")]
    Overloaded,
    /// The request took too long; the limit in seconds.
    #[error("request timed out after {0} s")]
    Timeout(u64),
    /// Internal error of the server: damaged files, I/O errors.
    #[error("{0}")]
    Internal(String),
}

impl ApiError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            ApiError::NotFound(_) => StatusCode::NOT_FOUND,
            ApiError::BadRequest(_) | ApiError::InvalidQuery { .. } => StatusCode::BAD_REQUEST,
            ApiError::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ApiError::Forbidden(_) => StatusCode::FORBIDDEN,
            ApiError::Unauthorized => StatusCode::UNAUTHORIZED,
            ApiError::UnknownHost(_) => StatusCode::MISDIRECTED_REQUEST,
            ApiError::NotReady(_) => StatusCode::CONFLICT,
            ApiError::Overloaded | ApiError::Timeout(_) => StatusCode::SERVICE_UNAVAILABLE,
            ApiError::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Stable code of the error in JSON.
    fn code(&self) -> &'static str {
        match self {
            ApiError::NotFound(_) => "not-found",
            ApiError::BadRequest(_) => "bad-request",
            ApiError::InvalidQuery { .. } => "invalid-query",
            ApiError::MethodNotAllowed => "method-not-allowed",
            ApiError::Forbidden(_) => "forbidden",
            ApiError::Unauthorized => "unauthorized",
            ApiError::UnknownHost(_) => "unknown-host",
            ApiError::NotReady(_) => "not-ready",
            ApiError::Overloaded => "overloaded",
            ApiError::Timeout(_) => "timeout",
            ApiError::Internal(_) => "internal-error",
        }
    }

    pub(crate) fn body(&self) -> ErrorBody {
        let column = match self {
            ApiError::InvalidQuery { column, .. } => Some(*column),
            _ => None,
        };
        ErrorBody { error: self.code(), message: self.to_string(), column }
    }
}

/// JSON body of an error. The field names are part of the API.
#[derive(Serialize)]
pub(crate) struct ErrorBody {
    error: &'static str,
    message: String,
    /// The character of the query where the syntax error is, counted from 1.
    column: Option<usize>,
}

/// A response with the status alone; the router adds the body.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> ApiError {
        match error {
            // The files are intact, but written by another version.
            store::Error::SchemaMismatch { .. } => ApiError::NotReady(error.to_string()),
            error => ApiError::Internal(error.to_string()),
        }
    }
}

impl From<analysis::Error> for ApiError {
    fn from(error: analysis::Error) -> ApiError {
        match error {
            analysis::Error::Store(error) => error.into(),
            error => ApiError::Internal(error.to_string()),
        }
    }
}

impl From<crawl::Error> for ApiError {
    fn from(error: crawl::Error) -> ApiError {
        match error {
            crawl::Error::Store(error) => error.into(),
            error => ApiError::Internal(error.to_string()),
        }
    }
}

impl From<inspect::Error> for ApiError {
    fn from(error: inspect::Error) -> ApiError {
        match error {
            inspect::Error::Store(error) => error.into(),
            inspect::Error::Crawl(error) => error.into(),
            error => ApiError::Internal(error.to_string()),
        }
    }
}

impl From<search::Error> for ApiError {
    fn from(error: search::Error) -> ApiError {
        use search::Error::{NoPositions, NotAnalysed, NotIndexed, OffsetTooLarge, Unreadable};
        match error {
            NoPositions | NotAnalysed { .. } | NotIndexed { .. } | Unreadable { .. } => {
                ApiError::NotReady(error.to_string())
            }
            OffsetTooLarge { .. } => ApiError::BadRequest(error.to_string()),
            error => ApiError::Internal(error.to_string()),
        }
    }
}

impl From<askama::Error> for ApiError {
    fn from(error: askama::Error) -> ApiError {
        ApiError::Internal(error.to_string())
    }
}
