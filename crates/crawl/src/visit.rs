//! What does a visit change about a page? Its record before, the fetch, and the record after.
//!
//! A page has changed if its main text is another, so that a new advertisement or the time of day is no change; a page
//! without text if its bytes are. What was told beside counts, too: a server's word that nothing has changed (304), its
//! date of the last change (`Last-Modified`), and that of the site's list of pages, if that is later than the content before.
//! Times are counted between visits that brought the content: one that failed or led elsewhere has shown nothing.

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
            // Archives may tell that a page has not changed which nobody has.
            changed: same_bytes
                .filter(|_| record.last_content_s != 0)
                .map(|same_bytes| !same_bytes && !same_text),
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
        if page.outcome == Outcome::Ok || self.changed.is_some() {
            record.last_content_s = now_s;
        }
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
        let interval_s = now_s.saturating_sub(record.last_content_s);
        let dated_s = date_of_change(record, page, now_s);
        note_alarm(record, changed);
        record.compared = record.compared.saturating_add(1);
        if !changed {
            record.unchanged_s = record.unchanged_s.saturating_add(interval_s);
            // Whoever told of a later change was mistaken.
            record.last_change_s = record.last_change_s.min(record.last_content_s);
            return;
        }
        record.changes = record.changes.saturating_add(1);
        record.last_change_s = dated_s.unwrap_or(now_s);
        if let Some(dated_s) = dated_s {
            record.dated_changes = record.dated_changes.saturating_add(1);
            record.unchanged_s = record.unchanged_s.saturating_add(now_s - dated_s);
            record.flags = record.flags.with(PageFlags::DATED);
        } else {
            record.changed_s = record.changed_s.saturating_add(interval_s);
            record.flags = record.flags.without(PageFlags::DATED);
        }
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

/// Whether the site's list of pages was right when it told of a change. A page of which it was wrong is believed again when it
/// was right as often.
fn note_alarm(record: &mut PageRecord, changed: bool) {
    if record.last_change_s > record.last_content_s {
        record.false_alarms = match changed {
            true => record.false_alarms.saturating_sub(1),
            false => record.false_alarms.saturating_add(1),
        };
    }
}

/// When the change happened that is seen now, by the word of the server or of the site's list of pages: since the content
/// before, or somebody is mistaken.
fn date_of_change(record: &PageRecord, page: &Gathered, now_s: u32) -> Option<u32> {
    let told_s = page.modified_s.filter(|time_s| *time_s >= record.last_content_s);
    // A change that was seen at the visit before may have the time of that visit.
    let listed_s = Some(record.last_change_s)
        .filter(|time_s| *time_s > record.last_content_s && record.false_alarms == 0);
    told_s.or(listed_s).filter(|time_s| *time_s <= now_s)
}

/// Whether the copy of a page is stale if it was modified then, as its site says, whose word counts as long as it was right. A page that leads elsewhere by now has no
/// newer content to be had than when that was seen.
pub(crate) fn is_told_stale(record: &PageRecord, modified_s: u32) -> bool {
    let leads_elsewhere = Outcome::of(record.status) == Outcome::Redirect;
    let seen_s = if leads_elsewhere { record.last_visit_s } else { record.last_content_s };
    record.content_hash != 0 && record.false_alarms == 0 && modified_s > seen_s
}

/// How often a page changes, by all that its record tells; `prior` is how often its like do. What a crawl before knew about the
/// page itself says more than that.
pub(crate) fn changes_per_day(record: &PageRecord, prior: f32) -> f32 {
    let history = ChangeHistory {
        compared: u32::from(record.compared),
        changes: u32::from(record.changes),
        dated_changes: u32::from(record.dated_changes),
        unchanged_days: f64::from(record.unchanged_s) / DAY_S,
        changed_days: f64::from(record.changed_s) / DAY_S,
    };
    let inherited = Some(record.inherited_changes_per_day).filter(|rate| *rate > 0.0);
    history.changes_per_day(inherited.or(Some(prior)))
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

#[cfg(test)]
mod tests {
    use model::{SiteId, UrlRules};

    use super::*;
    use crate::gatherer::{GatherSettings, Gatherer};

    const DAY: u32 = 86_400;
    /// A day long after 1970.
    const START: u32 = 20_000 * DAY;

    /// An answer at a time: its status, its text, and when it was modified by its server's word.
    fn answer(now_s: u32, status: u16, text: &str, modified_s: Option<u32>) -> Gathered {
        let fetched = Fetched {
            url: UrlRules::default().canonical("http://a.test/").unwrap(),
            fetched_ms: i64::from(now_s) * 1_000,
            address: None,
            protocols: Vec::new(),
            status,
            head: format!("HTTP/1.1 {status} x\r\nContent-Type: text/html\r\n\r\n").into_bytes(),
            body: text.as_bytes().to_vec(),
            truncated: None,
            request: Vec::new(),
            failure: None,
            latency_ms: None,
            duration_ms: None,
        };
        Gathered { modified_s, ..Gatherer::new(&GatherSettings::default()).read(&fetched) }
    }

    fn visit(record: &mut PageRecord, page: &Gathered) -> Visit {
        let visit = Visit::new(record, page);
        visit.note(record, page, None);
        visit
    }

    fn record() -> PageRecord {
        PageRecord::new(SiteId(0), 0, PageFlags::default())
    }

    /// A page that has changed at each of ten weekly visits.
    fn weekly() -> (PageRecord, u32) {
        let (mut record, mut now_s) = (record(), START);
        for week in 0..11 {
            now_s = START + week * 7 * DAY;
            visit(&mut record, &answer(now_s, 200, &format!("<p>week {week}</p>"), None));
        }
        (record, now_s)
    }

    #[test]
    fn a_dated_change_is_one_among_others() {
        let (mut record, last_s) = weekly();
        let before = changes_per_day(&record, 1.0 / 30.0);
        let now_s = last_s + 7 * DAY;
        assert!(is_told_stale(&record, now_s - DAY / 4));
        record.last_change_s = now_s - DAY / 4;
        visit(&mut record, &answer(now_s, 200, "<p>at last</p>", None));
        assert_eq!((record.compared, record.changes, record.dated_changes), (11, 11, 1));
        assert_eq!((record.changed_s, record.unchanged_s), (70 * DAY, DAY / 4));
        let after = changes_per_day(&record, 1.0 / 30.0);
        assert!(after > before && after < 1.5 * before, "{before} {after}");
    }

    #[test]
    fn visits_in_vain_do_not_shorten_the_time_between_contents() {
        for (status, changed) in [(503, false), (503, true), (301, false), (301, true)] {
            let mut record = record();
            visit(&mut record, &answer(START, 200, "<p>one</p>", None));
            visit(&mut record, &answer(START + 9 * DAY, status, "", None));
            let text = if changed { "<p>two</p>" } else { "<p>one</p>" };
            visit(&mut record, &answer(START + 10 * DAY, 200, text, None));
            let expected = if changed { (0, 10 * DAY) } else { (10 * DAY, 0) };
            assert_eq!((record.unchanged_s, record.changed_s), expected, "{status}");
            assert_eq!(record.last_content_s, record.last_visit_s);
        }
    }

    #[test]
    fn a_change_before_a_visit_in_vain_is_dated_and_told() {
        let mut record = record();
        visit(&mut record, &answer(START, 200, "<p>one</p>", None));
        visit(&mut record, &answer(START + 9 * DAY, 503, "", None));
        assert!(is_told_stale(&record, START + 4 * DAY), "the copy is older");
        visit(&mut record, &answer(START + 10 * DAY, 200, "<p>two</p>", Some(START + 4 * DAY)));
        assert_eq!((record.dated_changes, record.unchanged_s), (1, 6 * DAY));
        // Who leads elsewhere has been seen to.
        visit(&mut record, &answer(START + 20 * DAY, 301, "", None));
        assert!(!is_told_stale(&record, START + 15 * DAY) && is_told_stale(&record, START + 21 * DAY));
    }

    #[test]
    fn who_tells_of_changes_that_are_none_is_not_believed_until_right_as_often() {
        let (mut record, mut now_s) = (record(), START);
        // What a visit finds whose page was said to have changed an hour ago, and whether such a word counts afterwards.
        let mut told = |text: &str| {
            now_s += 7 * DAY;
            record.last_change_s = record.last_change_s.max(now_s - 3_600);
            visit(&mut record, &answer(now_s, 200, text, None));
            (record.false_alarms, is_told_stale(&record, now_s + DAY))
        };
        told("<p>one</p>");
        assert_eq!(told("<p>one</p>"), (1, false));
        assert_eq!(told("<p>one</p>"), (2, false));
        assert_eq!(told("<p>two</p>"), (1, false));
        assert_eq!(told("<p>three</p>"), (0, true));
        assert_eq!(told("<p>four</p>"), (0, true));
        // Only the last of these changes has a date: nobody believed those of the others.
        assert_eq!((record.changes, record.dated_changes), (3, 1));
    }

    #[test]
    fn what_a_crawl_before_knew_outlasts_a_comparison() {
        let rate_after = |inherited: f32| {
            let mut record = record();
            record.inherited_changes_per_day = inherited;
            for day in 0..4 {
                visit(&mut record, &answer(START + day * DAY, 200, "<p>one</p>", None));
            }
            changes_per_day(&record, 1.0)
        };
        let (heir, other) = (rate_after(1e-3), rate_after(0.0));
        assert!(heir > 0.9e-3 && heir < 1.1e-3, "{heir}");
        assert!(other > 0.2, "{other}");
    }

    #[test]
    fn that_a_page_nobody_has_is_unchanged_tells_nothing() {
        let mut record = record();
        assert_eq!(visit(&mut record, &answer(START, 304, "", None)).changed, None);
        assert_eq!((record.compared, record.unchanged_s, record.last_content_s), (0, 0, 0));
    }
}
