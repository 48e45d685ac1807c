//! Validators of stored pages, read from the heads of their records when a batch is created.

use std::collections::HashMap;

use harvest::item::http_head::HttpHead;
use harvest::item::validators::Validators;
use model::PageId;
use store::{Collection, PageRecord, RecordLocation, Result};

/// Validators of the last stored versions of pages, for those that have some.
pub(crate) fn read(
    collection: &mut Collection,
    records: &HashMap<PageId, PageRecord>,
) -> Result<HashMap<PageId, Validators>> {
    let mut versions: Vec<(RecordLocation, PageId)> = records
        .iter()
        // For a page without content, the stored record is an error response.
        .filter(|(_, record)| record.content_hash != 0)
        .filter_map(|(page, record)| Some((record.record_location?, *page)))
        .collect();
    versions.sort_unstable();
    let locations: Vec<RecordLocation> = versions.iter().map(|(location, _)| *location).collect();
    let mut validators_by_page = HashMap::new();
    collection.page_store.read_response_heads(&locations, |index, header, head| {
        // A truncated version should be fetched again completely, except if it exceeded the maximum size.
        let is_whole = header.get("WARC-Truncated").is_none_or(|why| why == "length");
        let validators = Validators::from_head(HttpHead(head));
        if is_whole && !validators.is_empty() {
            validators_by_page.insert(versions[index].1, validators);
        }
    })?;
    Ok(validators_by_page)
}
