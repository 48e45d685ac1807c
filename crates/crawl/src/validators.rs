//! What does a server need to hear to answer no more than "not modified"? The entity tag and the date that it gave the
//! version we have.
//!
//! They stand in the head of the stored answer and nowhere else: they are read when a batch is made, in the order in which
//! records lie on the disk, and travel with the page. A page whose record cannot be read is asked for without a condition.

use std::collections::HashMap;

use model::PageId;
use serde::{Deserialize, Serialize};
use store::{Collection, PageLocation, PageRecord, Result};

use crate::http_head::HttpHead;

/// What names a version to the server that it came from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Validators {
    /// Its entity tag, as the server wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When it was last modified, as the server wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// Longer ones are not worth carrying.
const VALUE_LIMIT_BYTES: usize = 256;

impl Validators {
    /// Whether there is nothing to make a condition of.
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    fn of(head: HttpHead<'_>) -> Validators {
        let value = |name| {
            let value = head.value(name)?;
            (value.len() <= VALUE_LIMIT_BYTES && value.is_ascii()).then(|| value.into_owned())
        };
        Validators { etag: value("ETag"), last_modified: value("Last-Modified") }
    }
}

/// The validators of the last stored versions of pages, for those that have some.
pub(crate) fn read(
    collection: &mut Collection,
    records: &HashMap<PageId, PageRecord>,
) -> Result<HashMap<PageId, Validators>> {
    let mut versions: Vec<(PageLocation, PageId)> = records
        .iter()
        // What is stored of a page without content is the answer to a request that was in vain.
        .filter(|(_, record)| record.content_hash != 0)
        .filter_map(|(page, record)| Some((record.stored?, *page)))
        .collect();
    versions.sort_unstable();
    let places: Vec<PageLocation> = versions.iter().map(|(place, _)| *place).collect();
    let mut found = HashMap::new();
    collection.bodies.heads(&places, |number, header, head| {
        // Who has only a part wants the whole; but what was too long will be again.
        let is_whole = header.get("WARC-Truncated").is_none_or(|why| why == "length");
        let validators = Validators::of(HttpHead(head));
        if is_whole && !validators.is_empty() {
            found.insert(versions[number].1, validators);
        }
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_dates_are_taken_as_they_are_and_nothing_else() {
        let of = |lines: &str| Validators::of(HttpHead(format!("HTTP/1.1 200 OK\r\n{lines}\r\n").as_bytes()));
        let both = of("etag: W/\"a\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n");
        assert_eq!(both.etag.as_deref(), Some("W/\"a\""));
        assert_eq!(both.last_modified.as_deref(), Some("Wed, 21 Oct 2015 07:28:00 GMT"));
        assert!(of("Content-Type: text/html\r\n").is_empty());
        assert!(of(&format!("ETag: \"{}\"\r\n", "x".repeat(300))).is_empty());
        assert!(of("ETag: \"ü\"\r\n").is_empty());
    }
}
