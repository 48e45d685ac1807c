//! Plan of the update of each page, by comparison with its last indexed state. Pure: reads and writes nothing.

use std::collections::HashMap;

use model::PageId;
use store::{PageRecord, PageStage, RecordLocation};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::index::exclusion::Exclusion;
use crate::indexing::page_state::{IndexedState, PageStatus};

/// A page to read.
#[derive(Debug, Clone)]
pub(crate) struct ReadTask {
    pub(crate) page: PageId,
    pub(crate) record: PageRecord,
    pub(crate) location: RecordLocation,
    pub(crate) url: String,
    /// Anchor texts of its inlinks, one per line.
    pub(crate) anchors: String,
    pub(crate) kind: ReadKind,
    /// Its new state, except for the outcome of the read.
    pub(crate) state: IndexedState,
}

/// Kind of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadKind {
    /// The page is not in the index.
    Add,
    /// The indexed content or anchor texts are outdated.
    Update,
    /// The content is unchanged; the response headers may have a new `X-Robots-Tag`.
    CheckHeaders,
}

/// Step of the plan for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanStep {
    /// The index is up to date.
    Keep,
    /// Read the page.
    Read(ReadKind, RecordLocation, IndexedState),
    /// Remove the page from the index, if it is there.
    Remove(Option<Exclusion>),
}

/// Plans the update of a page. `anchors` are the anchor texts of its inlinks, `None` if they are unchanged since the last run;
/// `is_duplicate` means that another page represents it.
pub(crate) fn plan_page(
    record: &PageRecord,
    last: IndexedState,
    anchors: Option<&str>,
    is_duplicate: bool,
    now_s: i64,
) -> PlanStep {
    let Some(location) = content_location(record) else {
        let was_fetched = record.fetch_count > 0;
        return PlanStep::Remove(was_fetched.then_some(Exclusion::NoContent));
    };
    if is_duplicate {
        return PlanStep::Remove(Some(Exclusion::Duplicate));
    }
    let now = IndexedState {
        content_hash: fold_hash(xxh3_64_with_seed(
            &record.content_hash.to_le_bytes(),
            record.content_bytes.into(),
        )),
        anchor_hash: anchors.map_or(last.anchor_hash, hash_anchors),
        record_bytes: location.length,
        ..last
    };
    let same_content = now.content_hash == last.content_hash;
    let same_head = now.record_bytes == last.record_bytes;
    match last.status {
        // A damaged page may have been fetched again.
        PageStatus::Absent | PageStatus::Damaged => PlanStep::Read(ReadKind::Add, location, now),
        PageStatus::Indexed
            if !same_content || now.anchor_hash != last.anchor_hash || last.is_expired(now_s) =>
        {
            PlanStep::Read(ReadKind::Update, location, now)
        }
        PageStatus::Indexed if !same_head => PlanStep::Read(ReadKind::CheckHeaders, location, now),
        PageStatus::Noindex if !same_content || !same_head => PlanStep::Read(ReadKind::Add, location, now),
        PageStatus::NotText if !same_content => PlanStep::Read(ReadKind::Add, location, now),
        PageStatus::Indexed | PageStatus::Noindex | PageStatus::NotText => PlanStep::Keep,
    }
}

/// Location of the content of a page, if it was successfully fetched and the last response does not show that it is gone.
pub(crate) fn content_location(record: &PageRecord) -> Option<RecordLocation> {
    let is_fetched = matches!(record.stage, PageStage::Fetched | PageStage::Queued | PageStage::Failed);
    let is_there = is_fetched && !is_gone(record.status);
    record.record_location.filter(|_| is_there && record.content_hash != 0)
}

/// Whether a status shows that the content is no longer at its URL: a redirect or a client error. The others are passing:
/// server errors, requests to slow down, and failures without a response (0).
fn is_gone(status: u16) -> bool {
    matches!(status, 300..=303 | 305..=399 | 400..=407 | 409..=424 | 426..=428 | 430..=499)
}

/// Hash of anchor texts as in [`IndexedState`]; 0 for none.
pub(crate) fn hash_anchors(anchors: &str) -> u32 {
    if anchors.is_empty() { 0 } else { fold_hash(xxh3_64(anchors.as_bytes())).max(1) }
}

fn fold_hash(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

/// Returns for each page its original, if that still has the same content and is no duplicate itself.
pub(crate) fn originals_of(
    pages: &[(PageId, PageRecord)],
    originals: &HashMap<PageId, PageRecord>,
) -> Vec<Option<PageId>> {
    let represents = |record: &PageRecord, original: &PageRecord| {
        content_location(original).is_some()
            && original.duplicate_of.is_none()
            && original.content_hash == record.content_hash
    };
    let original_of = |(_, record): &(PageId, PageRecord)| {
        record
            .duplicate_of
            .filter(|page| originals.get(page).is_some_and(|original| represents(record, original)))
    };
    pages.iter().map(original_of).collect()
}
