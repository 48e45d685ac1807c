//! How did a fetch go? By the status alone; why there was no answer is for the one who asked to tell.

use serde::{Deserialize, Serialize};

/// What a visit brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Content.
    Ok,
    /// The news that nothing has changed.
    NotModified,
    /// The way to another page.
    Redirect,
    /// The request was in vain: the page is gone, forbidden, or never was.
    ClientError,
    /// The server is in trouble.
    ServerError,
    /// A status that answers no request for a page.
    Unexpected,
    /// Nothing.
    NoAnswer,
}

impl Outcome {
    /// All there are, in their order.
    pub const ALL: [Outcome; 7] = [
        Outcome::Ok,
        Outcome::NotModified,
        Outcome::Redirect,
        Outcome::ClientError,
        Outcome::ServerError,
        Outcome::Unexpected,
        Outcome::NoAnswer,
    ];

    /// What a status means; 0 stands for none.
    pub fn of(status: u16) -> Outcome {
        match status {
            0 => Outcome::NoAnswer,
            200..=299 => Outcome::Ok,
            304 => Outcome::NotModified,
            300..=303 | 307 | 308 => Outcome::Redirect,
            400..=499 => Outcome::ClientError,
            500..=599 => Outcome::ServerError,
            _ => Outcome::Unexpected,
        }
    }

    /// Its name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::NotModified => "not_modified",
            Outcome::Redirect => "redirect",
            Outcome::ClientError => "client_error",
            Outcome::ServerError => "server_error",
            Outcome::Unexpected => "unexpected",
            Outcome::NoAnswer => "no_answer",
        }
    }

    /// Whether the visit was of use.
    pub fn is_success(self) -> bool {
        matches!(self, Outcome::Ok | Outcome::NotModified | Outcome::Redirect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_outcome() {
        for (status, name) in [
            (0, "no_answer"),
            (200, "ok"),
            (206, "ok"),
            (301, "redirect"),
            (304, "not_modified"),
            (404, "client_error"),
            (503, "server_error"),
            (101, "unexpected"),
            (999, "unexpected"),
        ] {
            assert_eq!(Outcome::of(status).as_str(), name);
        }
        assert!(Outcome::ALL.into_iter().enumerate().all(|(number, outcome)| outcome as usize == number));
    }
}
