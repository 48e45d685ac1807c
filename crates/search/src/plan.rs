//! What has to be done about each page? It is compared with what was seen of it last; nothing is read or written here.

use std::collections::HashMap;

use model::PageId;
use store::{PageLocation, PageRecord, Stage};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::left_out::LeftOut;
use crate::seen::{Seen, State};

/// A page to read.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) page: PageId,
    pub(crate) record: PageRecord,
    pub(crate) location: PageLocation,
    pub(crate) url: String,
    /// The words by which others link to it.
    pub(crate) anchors: String,
    pub(crate) work: Work,
    /// What is noted of it, but for what will come of it.
    pub(crate) seen: Seen,
}

/// How a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// It is not in the index.
    Add,
    /// What is in the index is not what it says now.
    Change,
    /// Its content is as before; its head may ask for something else.
    LookAtHead,
}

/// What to do about a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Keep,
    /// To read it.
    Read(Work, PageLocation, Seen),
    /// To take it out of the index, if it is there.
    Remove(Option<LeftOut>),
}

/// Judges a page at a moment. `anchors` are the words by which others link to it; `None` if those have not changed since the
/// last time. `is_duplicate` tells whether another page stands for it.
pub(crate) fn judge(
    record: &PageRecord,
    last: Seen,
    anchors: Option<&str>,
    is_duplicate: bool,
    now_s: i64,
) -> Step {
    let Some(location) = content_of(record) else {
        let was_visited = record.visits > 0;
        return Step::Remove(was_visited.then_some(LeftOut::NoContent));
    };
    if is_duplicate {
        return Step::Remove(Some(LeftOut::Duplicate));
    }
    let now = Seen {
        content: fold(xxh3_64_with_seed(&record.content_hash.to_le_bytes(), record.content_bytes.into())),
        anchors: anchors.map_or(last.anchors, hash_of_anchors),
        record_bytes: location.length,
        ..last
    };
    let same_content = now.content == last.content;
    let same_head = now.record_bytes == last.record_bytes;
    match last.state {
        // What was damaged may have been put right.
        State::Absent | State::Damaged => Step::Read(Work::Add, location, now),
        State::Indexed if !same_content || now.anchors != last.anchors || last.is_over(now_s) => {
            Step::Read(Work::Change, location, now)
        }
        State::Indexed if !same_head => Step::Read(Work::LookAtHead, location, now),
        State::Noindex if !same_content || !same_head => Step::Read(Work::Add, location, now),
        State::NotText if !same_content => Step::Read(Work::Add, location, now),
        State::Indexed | State::Noindex | State::NotText => Step::Keep,
    }
}

/// Where the content of a page is that its last visit brought, or found unchanged.
pub(crate) fn content_of(record: &PageRecord) -> Option<PageLocation> {
    let is_success = matches!(record.status, 200..=299 | 304);
    let is_there = matches!(record.stage, Stage::Fetched | Stage::Queued) && is_success;
    record.stored.filter(|_| is_there && record.content_hash != 0)
}

/// A page's anchors as [`Seen`] has them; 0 for none.
pub(crate) fn hash_of_anchors(anchors: &str) -> u32 {
    if anchors.is_empty() { 0 } else { fold(xxh3_64(anchors.as_bytes())).max(1) }
}

fn fold(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

/// For each of these pages the one whose content it has, if that has its content still and may stand for both.
pub(crate) fn originals_of(
    pages: &[(PageId, PageRecord)],
    originals: &HashMap<PageId, PageRecord>,
) -> Vec<Option<PageId>> {
    let stands = |record: &PageRecord, original: &PageRecord| {
        content_of(original).is_some()
            && original.duplicate_of.is_none()
            && original.content_hash == record.content_hash
    };
    let original_of = |(_, record): &(PageId, PageRecord)| {
        record
            .duplicate_of
            .filter(|page| originals.get(page).is_some_and(|original| stands(record, original)))
    };
    pages.iter().map(original_of).collect()
}
