//! Outcome of a fetch, by the status code alone.

use model::Reason;
use serde::{Deserialize, Serialize};

/// Outcome of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchOutcome {
    /// Content (2xx).
    #[serde(rename = "ok")]
    Success,
    /// Not modified (304).
    NotModified,
    /// Redirect to another page (300 to 303, 307, 308).
    Redirect,
    /// Client error (4xx).
    ClientError,
    /// Server error (5xx).
    ServerError,
    /// Status that is not valid as the response to a page request.
    UnexpectedStatus,
    /// Content (2xx) whose transfer broke off: the connection closed or stalled, or the framing is invalid.
    Incomplete,
    /// No response.
    NoResponse,
}

impl FetchOutcome {
    /// All outcomes, in the order of their discriminants.
    pub const ALL: [FetchOutcome; 8] = [
        FetchOutcome::Success,
        FetchOutcome::NotModified,
        FetchOutcome::Redirect,
        FetchOutcome::ClientError,
        FetchOutcome::ServerError,
        FetchOutcome::UnexpectedStatus,
        FetchOutcome::Incomplete,
        FetchOutcome::NoResponse,
    ];

    /// Outcome for a status code; 0 stands for no response.
    pub fn from_status(status: u16) -> FetchOutcome {
        match status {
            0 => FetchOutcome::NoResponse,
            200..=299 => FetchOutcome::Success,
            304 => FetchOutcome::NotModified,
            300..=303 | 307 | 308 => FetchOutcome::Redirect,
            400..=499 => FetchOutcome::ClientError,
            // RFC 9110, section 15: a status above 599 is processed like 5xx.
            500.. => FetchOutcome::ServerError,
            _ => FetchOutcome::UnexpectedStatus,
        }
    }

    /// Outcome of a fetch with a status code; `failure` is the reason for an incomplete response. An incomplete 304 confirms
    /// nothing. Content that broke off is a failure; content that was cut at a limit of this side is not.
    pub fn of_fetch(status: u16, failure: Option<Reason>) -> FetchOutcome {
        match FetchOutcome::from_status(status) {
            FetchOutcome::NotModified if failure.is_some() => FetchOutcome::UnexpectedStatus,
            FetchOutcome::Success if failure.is_some_and(is_broken_transfer) => FetchOutcome::Incomplete,
            outcome => outcome,
        }
    }

    /// Name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            FetchOutcome::Success => "ok",
            FetchOutcome::NotModified => "not_modified",
            FetchOutcome::Redirect => "redirect",
            FetchOutcome::ClientError => "client_error",
            FetchOutcome::ServerError => "server_error",
            FetchOutcome::UnexpectedStatus => "unexpected_status",
            FetchOutcome::Incomplete => "incomplete",
            FetchOutcome::NoResponse => "no_response",
        }
    }

    /// Whether the response has content, complete or not.
    pub fn has_content(self) -> bool {
        matches!(self, FetchOutcome::Success | FetchOutcome::Incomplete)
    }

    /// Whether the fetch succeeded.
    pub fn is_success(self) -> bool {
        matches!(self, FetchOutcome::Success | FetchOutcome::NotModified | FetchOutcome::Redirect)
    }
}

/// Whether the reason is that the server or the network ended the transfer early.
fn is_broken_transfer(reason: Reason) -> bool {
    matches!(reason, Reason::ConnectionClosed | Reason::InvalidBody | Reason::TooSlow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_outcome() {
        for (status, name) in [
            (0, "no_response"),
            (200, "ok"),
            (206, "ok"),
            (301, "redirect"),
            (304, "not_modified"),
            (404, "client_error"),
            (503, "server_error"),
            (101, "unexpected_status"),
            (999, "server_error"),
        ] {
            assert_eq!(FetchOutcome::from_status(status).as_str(), name);
        }
        for (failure, name) in [
            (Reason::ConnectionClosed, "incomplete"),
            (Reason::InvalidBody, "incomplete"),
            (Reason::TooSlow, "incomplete"),
            (Reason::TotalTimeout, "ok"),
            (Reason::MimeType, "ok"),
        ] {
            assert_eq!(FetchOutcome::of_fetch(200, Some(failure)).as_str(), name);
            assert_eq!(FetchOutcome::of_fetch(404, Some(failure)).as_str(), "client_error");
            assert_eq!(FetchOutcome::of_fetch(301, Some(failure)).as_str(), "redirect");
        }
        assert!(
            FetchOutcome::ALL.into_iter().enumerate().all(|(number, outcome)| outcome as usize == number)
        );
    }
}
