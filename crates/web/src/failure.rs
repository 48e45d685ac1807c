//! What is said to somebody whose question cannot be answered?
//!
//! A handler returns a [`Failure`]; whoever knows whether a person or a program has asked makes words or JSON of it.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Failure {
    /// What is asked for is not there.
    #[error("{0}")]
    NotThere(String),
    /// The question makes no sense; the sentence says what would.
    #[error("{0}")]
    WrongQuestion(String),
    /// A query that cannot be understood from this character on, counted from 1; also as lines with a mark.
    #[error("{sentence}")]
    WrongQuery { pointed: String, column: usize, sentence: String },
    /// Who asks may not.
    #[error("{0}")]
    Forbidden(String),
    /// Who asks has not said who they are.
    #[error("this server wants to know the token: send it as `Authorization: Bearer TOKEN`")]
    WhoAreYou,
    /// The name in the request is none of ours.
    #[error("this server is not asked by the name `{0}`; web.names in weir.toml allows more names")]
    WrongName(String),
    /// Something has to be done before.
    #[error("{0}")]
    NotReady(String),
    /// Too many ask at once.
    #[error("too many questions at once; try again in a moment")]
    Busy,
    /// It took too long.
    #[error("this takes too long, and was given up; ask for less")]
    TooLong,
    /// Something is broken here.
    #[error("{0}")]
    Broken(String),
}

impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Failure::NotThere(_) => StatusCode::NOT_FOUND,
            Failure::WrongQuestion(_) | Failure::WrongQuery { .. } => StatusCode::BAD_REQUEST,
            Failure::Forbidden(_) => StatusCode::FORBIDDEN,
            Failure::WhoAreYou => StatusCode::UNAUTHORIZED,
            Failure::WrongName(_) => StatusCode::MISDIRECTED_REQUEST,
            Failure::NotReady(_) => StatusCode::CONFLICT,
            Failure::Busy | Failure::TooLong => StatusCode::SERVICE_UNAVAILABLE,
            Failure::Broken(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// One word for programs.
    fn word(&self) -> &'static str {
        match self {
            Failure::NotThere(_) => "not-there",
            Failure::WrongQuestion(_) => "wrong-question",
            Failure::WrongQuery { .. } => "wrong-query",
            Failure::Forbidden(_) => "forbidden",
            Failure::WhoAreYou => "who-are-you",
            Failure::WrongName(_) => "wrong-name",
            Failure::NotReady(_) => "not-ready",
            Failure::Busy => "busy",
            Failure::TooLong => "too-long",
            Failure::Broken(_) => "broken",
        }
    }

    /// As programs get it.
    pub(crate) fn answer(&self) -> FailureAnswer {
        let column = match self {
            Failure::WrongQuery { column, .. } => Some(*column),
            _ => None,
        };
        FailureAnswer { error: self.word(), sentence: self.to_string(), column }
    }
}

/// Scripts rely on the names.
#[derive(Serialize)]
pub(crate) struct FailureAnswer {
    error: &'static str,
    sentence: String,
    /// The character of the query from which on it cannot be understood, counted from 1.
    column: Option<usize>,
}

/// Without words yet: those are made where it is known who asked.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Failure {
        match error {
            // Nothing is broken: another program can read it.
            store::Error::OtherColumns { .. } => Failure::NotReady(error.to_string()),
            error => Failure::Broken(error.to_string()),
        }
    }
}

impl From<analysis::Error> for Failure {
    fn from(error: analysis::Error) -> Failure {
        match error {
            analysis::Error::Store(error) => error.into(),
            error => Failure::Broken(error.to_string()),
        }
    }
}

impl From<crawl::Error> for Failure {
    fn from(error: crawl::Error) -> Failure {
        match error {
            crawl::Error::Store(error) => error.into(),
            error => Failure::Broken(error.to_string()),
        }
    }
}

impl From<search::Error> for Failure {
    fn from(error: search::Error) -> Failure {
        use search::Error::{NoPositions, NotAnalysed, NotIndexed, TooFar, Unreadable};
        match error {
            NoPositions | NotAnalysed { .. } | NotIndexed { .. } | Unreadable { .. } => {
                Failure::NotReady(error.to_string())
            }
            TooFar { .. } => Failure::WrongQuestion(error.to_string()),
            error => Failure::Broken(error.to_string()),
        }
    }
}

impl From<askama::Error> for Failure {
    fn from(error: askama::Error) -> Failure {
        Failure::Broken(error.to_string())
    }
}
