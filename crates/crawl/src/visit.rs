//! What does a visit change about a page? Its record before, the fetch, and the record after.
//!
//! A page has changed if its main text is another, so that a new advertisement or the time of day is no change; a page
//! without text if its bytes are. What was told beside counts, too: a server's word that nothing has changed (304), its
//! date of the last change (`Last-Modified`), and that of the site's list of pages, if that is later than the visit before.

use frontier::ChangeHistory;
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
    /// Whether the bytes are those of the visit before; nothing where there is nothing to compare.
    pub(crate) same_bytes: Option<bool>,
    /// Whether the page has changed; nothing where there is nothing to compare.
    pub(crate) changed: Option<bool>,
}

impl Visit {
    /// Compares a fetch with what was known.
    pub(crate) fn new(record: &PageRecord, page: &Gathered) -> Visit {
        let comparable = record.content_hash != 0;
        let same_bytes = match page.outcome {
            Outcome::NotModified => Some(true),
            Outcome::Ok => comparable.then(|| is_same_content(record, page)),
            _ => None,
        };
        let same_text = record.text_hash != 0 && record.text_hash == text_hash(page);
        Visit {
            newest: Fetched::seconds(page.fetched_ms) >= record.last_visit_s,
            first: record.visits == 0,
            same_bytes,
            changed: same_bytes.map(|same_bytes| !same_bytes && !same_text),
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
        if page.outcome.is_success() {
            record.flags = record.flags.without(PageFlags::STALE);
        }
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

    /// Counts a change, or the time without one. Of a change whose date is known, the time since then counts as well: the
    /// page did not change in it.
    fn note_change(self, record: &mut PageRecord, page: &Gathered, now_s: u32) {
        let Some(changed) = self.changed else {
            note_first_date(record, page, now_s);
            return;
        };
        let unchanged_s = if changed {
            let dated_s = date_of_change(record, page, now_s);
            record.changes = record.changes.saturating_add(1);
            record.last_change_s = dated_s.unwrap_or(now_s);
            record.flags = match dated_s {
                Some(_) => record.flags.with(PageFlags::DATED),
                None => record.flags.without(PageFlags::DATED),
            };
            dated_s.map_or(0, |dated_s| now_s - dated_s)
        } else {
            now_s.saturating_sub(record.last_visit_s)
        };
        record.compared = record.compared.saturating_add(1);
        record.unchanged_s = record.unchanged_s.saturating_add(unchanged_s);
    }
}

/// The first version of a page tells at most when it was made.
fn note_first_date(record: &mut PageRecord, page: &Gathered, now_s: u32) {
    if page.outcome != Outcome::Ok {
        return;
    }
    let own_s = page.document.as_ref().and_then(|document| document.modified_ms).map(Fetched::seconds);
    if let Some(modified_s) = page.modified_s.or(own_s).filter(|modified_s| *modified_s <= now_s) {
        record.last_change_s = record.last_change_s.max(modified_s);
    }
    record.flags = match page.modified_s {
        Some(modified_s) if modified_s <= now_s => record.flags.with(PageFlags::DATED),
        _ => record.flags.without(PageFlags::DATED),
    };
}

/// When the change happened that is seen now, by the word of the server or of the site's list of pages: since the visit
/// before, or somebody is mistaken.
fn date_of_change(record: &PageRecord, page: &Gathered, now_s: u32) -> Option<u32> {
    let told_s = page.modified_s.filter(|time_s| *time_s >= record.last_visit_s);
    // A change that was seen at the visit before may have the time of that visit.
    let listed_s = Some(record.last_change_s).filter(|time_s| *time_s > record.last_visit_s);
    told_s.or(listed_s).filter(|time_s| *time_s <= now_s)
}

/// How often a page changes, by all that its record tells; `prior` is how often its like do.
pub(crate) fn changes_per_day(record: &PageRecord, prior: f32) -> f32 {
    let known_s = record.last_visit_s.saturating_sub(record.first_visit_s);
    let history = ChangeHistory {
        compared: u32::from(record.compared),
        changes: u32::from(record.changes),
        unchanged_days: f64::from(record.unchanged_s) / DAY_S,
        changed_days: f64::from(known_s.saturating_sub(record.unchanged_s)) / DAY_S,
        dated: record.flags.has(PageFlags::DATED),
    };
    history.changes_per_day(Some(prior))
}

const DAY_S: f64 = 86_400.0;

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
