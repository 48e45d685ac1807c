//! Validators of a stored page for conditional requests (RFC 9110, section 8.8): entity tag and last-modified date.
//!
//! They are stored only in the head of the response: the manager reads them when it creates a batch, in disk order, and
//! they travel with the page. A page whose record cannot be read is requested without a condition.

use serde::{Deserialize, Serialize};

use crate::item::http_head::HttpHead;

/// Validators that the server sent with a version of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Validators {
    /// Entity tag, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Last-modified date, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// Longer values are dropped.
const MAX_VALUE_BYTES: usize = 256;

impl Validators {
    /// Whether there is no validator.
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    /// Reads the validators of a response head.
    pub fn from_head(head: HttpHead<'_>) -> Validators {
        let value = |name| {
            let value = head.value(name)?;
            (value.len() <= MAX_VALUE_BYTES && value.is_ascii()).then(|| value.into_owned())
        };
        Validators { etag: value("ETag"), last_modified: value("Last-Modified") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_dates_are_taken_verbatim_if_they_are_short_ascii() {
        let of = |lines: &str| {
            Validators::from_head(HttpHead(format!("HTTP/1.1 200 OK\r\n{lines}\r\n").as_bytes()))
        };
        let both = of("etag: W/\"a\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n");
        assert_eq!(both.etag.as_deref(), Some("W/\"a\""));
        assert_eq!(both.last_modified.as_deref(), Some("Wed, 21 Oct 2015 07:28:00 GMT"));
        assert!(of("Content-Type: text/html\r\n").is_empty());
        assert!(of(&format!("ETag: \"{}\"\r\n", "x".repeat(300))).is_empty());
        assert!(of("ETag: \"ü\"\r\n").is_empty());
    }
}
