//! What does a visit change about a page? Its record before, the fetch, and the record after.

use model::PageId;
use store::{Appended, PageFlags, PageLocation, PageRecord, Stage};

use crate::fetched::Fetched;
use crate::gathered::Gathered;
use crate::outcome::Outcome;

/// What a visit meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visit {
    /// It is later than all visits before; archives may bring older ones.
    pub(crate) newest: bool,
    /// The page was never visited before.
    pub(crate) first: bool,
    /// Whether the bytes differ from those of the visit before; nothing where there is nothing to compare.
    pub(crate) changed: Option<bool>,
}

impl Visit {
    /// Compares a fetch with what was known.
    pub(crate) fn new(record: &PageRecord, page: &Gathered) -> Visit {
        let comparable = page.outcome == Outcome::Ok && record.content_hash != 0;
        let changed = match page.outcome {
            Outcome::NotModified => Some(false),
            _ => comparable.then(|| !is_same_content(record, page)),
        };
        Visit {
            newest: Fetched::seconds(page.fetched_ms) >= record.last_visit_s,
            first: record.visits == 0,
            changed,
        }
    }

    /// Writes a visit into the page's record.
    pub(crate) fn note(self, record: &mut PageRecord, page: &Gathered, stored: Option<Appended>) {
        let now_s = Fetched::seconds(page.fetched_ms);
        record.visits = record.visits.saturating_add(1);
        record.first_visit_s = if self.first { now_s } else { record.first_visit_s.min(now_s) };
        if !self.newest {
            return;
        }
        self.note_change(record, page, now_s);
        record.last_visit_s = now_s;
        record.status = page.status;
        record.stage = if page.outcome.is_success() { Stage::Fetched } else { Stage::Failed };
        if page.outcome == Outcome::Ok {
            record.content_hash = page.content_hash;
            record.content_bytes = u32::try_from(page.content_bytes).unwrap_or(u32::MAX);
            record.text_hash = text_hash(page);
        }
        // The last version with content is worth more than the last answer.
        if page.outcome == Outcome::Ok || record.content_hash == 0 {
            record.stored = stored.map(|stored| stored.location).or(record.stored);
        }
    }

    /// A change of the frame alone is none.
    fn note_change(self, record: &mut PageRecord, page: &Gathered, now_s: u32) {
        let same_text = record.text_hash != 0 && record.text_hash == text_hash(page);
        match self.changed {
            Some(true) if !same_text => {
                record.changes = record.changes.saturating_add(1);
                record.last_change_s = now_s;
            }
            Some(_) => {
                let interval_s = now_s.saturating_sub(record.last_visit_s);
                record.unchanged_s = record.unchanged_s.saturating_add(interval_s);
            }
            None => {
                let modified = page.document.as_ref().and_then(|document| document.modified_ms);
                let modified_s = modified.map_or(0, Fetched::seconds);
                if modified_s <= now_s {
                    record.last_change_s = record.last_change_s.max(modified_s);
                }
            }
        }
    }
}

/// Marks a page by whose content it has.
pub(crate) fn note_original(record: &mut PageRecord, original: Option<PageId>) {
    record.duplicate_of = original;
    record.flags = match original {
        Some(_) => record.flags.with(PageFlags::DUPLICATE),
        None => record.flags.without(PageFlags::DUPLICATE),
    };
}

/// Where the version before is, if this one may be the same.
pub(crate) fn previous(record: &PageRecord, page: &Gathered) -> Option<PageLocation> {
    record.stored.filter(|_| is_same_content(record, page))
}

fn is_same_content(record: &PageRecord, page: &Gathered) -> bool {
    record.content_hash == page.content_hash && u64::from(record.content_bytes) == page.content_bytes
}

fn text_hash(page: &Gathered) -> u64 {
    page.document.as_ref().map_or(0, |document| document.text_hash)
}
