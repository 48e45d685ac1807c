//! Comparison of a fetch with the page record, and the update of the record.
//!
//! A page has changed if its text without the template, or one of the links in it, differs (`Document::change_hash` of `parse`), so
//! that a new menu or the time of day is no change; for a page without text and links the bytes are compared. A 304 response counts as unchanged. Dates of the last change come from `Last-Modified` and from
//! sitemaps, if they are later than the last content. Intervals are measured between fetches that returned the content: a failed
//! fetch or a redirect shows nothing about it.

use frontier::ChangeHistory;
use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::fetched_page::FetchedPage;
use harvest::item::gathered_page::GatheredPage;
use model::PageId;
use parse::ContentKind;
use store::{AppendResult, PageFlags, PageRecord, PageStage, RecordLocation};

/// Comparison of a fetch with the page record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VisitComparison {
    /// Whether it is later than all earlier fetches; imports may be older.
    pub(crate) is_newest: bool,
    /// Whether the page was never fetched before.
    pub(crate) is_first: bool,
    /// Whether the bytes equal those of the last fetch; `None` if there is nothing to compare.
    pub(crate) same_bytes: Option<bool>,
    /// Whether the page has changed; `None` if there is nothing to compare.
    pub(crate) changed: Option<bool>,
}

impl VisitComparison {
    /// Compares a fetch with the page record.
    pub(crate) fn new(record: &PageRecord, page: &GatheredPage) -> VisitComparison {
        let comparable = record.content_hash != 0;
        let same_bytes = match page.outcome {
            FetchOutcome::NotModified => Some(true),
            FetchOutcome::Success => comparable.then(|| is_same_content(record, page)),
            _ => None,
        };
        let same_content = record.change_hash != 0 && record.change_hash == change_hash(page);
        VisitComparison {
            is_newest: FetchedPage::seconds(page.fetched_ms) >= record.last_visit_s,
            is_first: record.fetch_count == 0,
            same_bytes,
            // An imported 304 may refer to content that the collection does not have.
            changed: same_bytes
                .filter(|_| record.last_success_s != 0)
                .map(|same_bytes| !same_bytes && !same_content),
        }
    }

    /// Applies the fetch to the page record.
    pub(crate) fn apply(self, record: &mut PageRecord, page: &GatheredPage, stored: Option<AppendResult>) {
        let now_s = FetchedPage::seconds(page.fetched_ms);
        record.fetch_count = record.fetch_count.saturating_add(1);
        record.first_visit_s = if self.is_first { now_s } else { record.first_visit_s.min(now_s) };
        if !self.is_newest {
            return;
        }
        self.record_change(record, page, now_s);
        record.last_visit_s = now_s;
        if page.outcome == FetchOutcome::Success || self.changed.is_some() {
            record.last_success_s = now_s;
        }
        record.status = page.status;
        record.stage = if page.outcome.is_success() { PageStage::Fetched } else { PageStage::Failed };
        record.flags = record.flags.without(PageFlags::REFETCH);
        if page.outcome.is_success() {
            record.flags = record.flags.without(PageFlags::REPORTED_STALE);
        }
        record.consecutive_failures =
            if page.outcome.is_success() { 0 } else { record.consecutive_failures.saturating_add(1) };
        if page.outcome == FetchOutcome::Success {
            record.content_hash = page.content_hash;
            record.content_bytes = u32::try_from(page.content_bytes).unwrap_or(u32::MAX);
            record.change_hash = change_hash(page);
            let is_feed = page.document.as_ref().is_some_and(|document| document.kind == ContentKind::Feed);
            record.flags = match is_feed {
                true => record.flags.with(PageFlags::FEED),
                false => record.flags.without(PageFlags::FEED),
            };
        }
        // Keep the last version with content rather than the last response.
        if page.outcome == FetchOutcome::Success || record.content_hash == 0 {
            record.record_location = stored.map(|stored| stored.location).or(record.record_location);
        }
    }

    /// Counts a change, or the time without one. If the date of a change is known, the time since then counts as unchanged.
    fn record_change(self, record: &mut PageRecord, page: &GatheredPage, now_s: u32) {
        let Some(changed) = self.changed else {
            record_first_date(record, page, now_s);
            return;
        };
        let interval_s = now_s.saturating_sub(record.last_success_s);
        let date_s = date_of_change(record, page, now_s);
        record_sitemap_accuracy(record, changed);
        record.comparable_visits = record.comparable_visits.saturating_add(1);
        if !changed {
            record.unchanged_time_s = record.unchanged_time_s.saturating_add(interval_s);
            // A reported later change was wrong.
            record.last_change_s = record.last_change_s.min(record.last_success_s);
            return;
        }
        record.change_count = record.change_count.saturating_add(1);
        record.last_change_s = date_s.unwrap_or(now_s);
        if let Some(date_s) = date_s {
            record.changes_with_date = record.changes_with_date.saturating_add(1);
            record.unchanged_time_s = record.unchanged_time_s.saturating_add(now_s - date_s);
            record.flags = record.flags.with(PageFlags::HAS_LAST_MODIFIED);
        } else {
            record.changed_time_s = record.changed_time_s.saturating_add(interval_s);
            record.flags = record.flags.without(PageFlags::HAS_LAST_MODIFIED);
        }
    }
}

/// Records the modification date of the first version of a page. The time since a date of the server counts as unchanged.
fn record_first_date(record: &mut PageRecord, page: &GatheredPage, now_s: u32) {
    if page.outcome != FetchOutcome::Success {
        return;
    }
    let document_s =
        page.document.as_ref().and_then(|document| document.modified_ms).map(FetchedPage::seconds);
    if let Some(modified_s) = page.modified_s.or(document_s).filter(|modified_s| *modified_s <= now_s) {
        record.last_change_s = record.last_change_s.max(modified_s);
    }
    match page.modified_s.filter(|modified_s| *modified_s <= now_s) {
        Some(modified_s) => {
            record.unchanged_time_s = record.unchanged_time_s.saturating_add(now_s - modified_s);
            record.flags = record.flags.with(PageFlags::HAS_LAST_MODIFIED);
        }
        None => record.flags = record.flags.without(PageFlags::HAS_LAST_MODIFIED),
    }
}

/// Counts whether the sitemap was right about a change. After false alarms its dates are trusted again when it was right equally
/// often.
fn record_sitemap_accuracy(record: &mut PageRecord, changed: bool) {
    if record.last_change_s > record.last_success_s {
        record.sitemap_false_alarms = match changed {
            true => record.sitemap_false_alarms.saturating_sub(1),
            false => record.sitemap_false_alarms.saturating_add(1),
        };
    }
}

/// Date of the observed change, from the server or the sitemap; dates before the last content are ignored as wrong.
fn date_of_change(record: &PageRecord, page: &GatheredPage, now_s: u32) -> Option<u32> {
    let server_s = page.modified_s.filter(|time_s| *time_s >= record.last_success_s);
    // A change observed at the last fetch may carry the time of that fetch.
    let sitemap_s = Some(record.last_change_s)
        .filter(|time_s| *time_s > record.last_success_s && record.sitemap_false_alarms == 0);
    server_s.or(sitemap_s).filter(|time_s| *time_s <= now_s)
}

/// Whether the copy of a page is stale, given the modification date of a sitemap that had no false alarms. For a page that
/// redirects, the time of the last fetch counts, since it has no newer content.
pub(crate) fn is_reported_stale(record: &PageRecord, modified_s: u32) -> bool {
    let redirects = FetchOutcome::from_status(record.status) == FetchOutcome::Redirect;
    let seen_s = if redirects { record.last_visit_s } else { record.last_success_s };
    record.content_hash != 0 && record.sitemap_false_alarms == 0 && modified_s > seen_s
}

/// Estimated changes per day of a page from its history. `prior` is the rate of similar pages; a rate carried over from an
/// earlier crawl takes precedence over it.
pub(crate) fn changes_per_day(record: &PageRecord, prior: f32) -> f32 {
    let history = ChangeHistory {
        comparable_visits: u32::from(record.comparable_visits),
        changes: u32::from(record.change_count),
        changes_with_date: u32::from(record.changes_with_date),
        unchanged_days: f64::from(record.unchanged_time_s) / DAY_S,
        changed_days: f64::from(record.changed_time_s) / DAY_S,
    };
    let carried_over = Some(record.carried_over_changes_per_day).filter(|rate| *rate > 0.0);
    history.changes_per_day(carried_over.or(Some(prior)))
}

const DAY_S: f64 = 86_400.0;

/// Sets the page that has the same content.
pub(crate) fn set_duplicate_of(record: &mut PageRecord, original: Option<PageId>) {
    record.duplicate_of = original;
    record.flags = match original {
        Some(_) => record.flags.with(PageFlags::DUPLICATE),
        None => record.flags.without(PageFlags::DUPLICATE),
    };
}

/// Location of the previous version, if its content may be the same.
pub(crate) fn previous_version(record: &PageRecord, page: &GatheredPage) -> Option<RecordLocation> {
    record.record_location.filter(|_| is_same_content(record, page))
}

fn is_same_content(record: &PageRecord, page: &GatheredPage) -> bool {
    record.content_hash == page.content_hash && u64::from(record.content_bytes) == page.content_bytes
}

fn change_hash(page: &GatheredPage) -> u64 {
    page.document.as_ref().map_or(0, |document| document.change_hash)
}

#[cfg(test)]
mod tests {
    use model::{SiteId, UrlRules};

    use super::*;
    use harvest::gatherer::Gatherer;
    use harvest::settings::gather_settings::GatherSettings;

    const DAY: u32 = 86_400;
    /// Arbitrary start, long after 1970.
    const START: u32 = 20_000 * DAY;

    /// Response with a status, a text and a Last-Modified date.
    fn response(now_s: u32, status: u16, text: &str, modified_s: Option<u32>) -> GatheredPage {
        let fetched = FetchedPage {
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
        GatheredPage { modified_s, ..Gatherer::new(&GatherSettings::default()).gather(&fetched) }
    }

    fn visit(record: &mut PageRecord, page: &GatheredPage) -> VisitComparison {
        let visit = VisitComparison::new(record, page);
        visit.apply(record, page, None);
        visit
    }

    fn record() -> PageRecord {
        PageRecord::new(SiteId(0), 0, PageFlags::default())
    }

    /// Page that changed at each of ten weekly fetches.
    fn weekly() -> (PageRecord, u32) {
        let (mut record, mut now_s) = (record(), START);
        for week in 0..11 {
            now_s = START + week * 7 * DAY;
            visit(&mut record, &response(now_s, 200, &format!("<p>week {week}</p>"), None));
        }
        (record, now_s)
    }

    #[test]
    fn a_change_with_a_date_counts_like_the_others() {
        let (mut record, last_s) = weekly();
        let before = changes_per_day(&record, 1.0 / 30.0);
        let now_s = last_s + 7 * DAY;
        assert!(is_reported_stale(&record, now_s - DAY / 4));
        record.last_change_s = now_s - DAY / 4;
        visit(&mut record, &response(now_s, 200, "<p>at last</p>", None));
        assert_eq!((record.comparable_visits, record.change_count, record.changes_with_date), (11, 11, 1));
        assert_eq!((record.changed_time_s, record.unchanged_time_s), (70 * DAY, DAY / 4));
        let after = changes_per_day(&record, 1.0 / 30.0);
        assert!(after > before && after < 1.5 * before, "{before} {after}");
    }

    #[test]
    fn the_age_of_the_first_version_is_evidence_of_a_low_change_rate() {
        let rate = |modified_s| {
            let mut record = record();
            visit(&mut record, &response(START, 200, "<p>version 0</p>", modified_s));
            for number in 1..6 {
                let text = format!("<p>version {number}</p>");
                visit(&mut record, &response(START + number * 60, 200, &text, None));
            }
            changes_per_day(&record, 1.0 / 30.0)
        };
        assert!(rate(None) > 1.0, "{}", rate(None));
        assert!(rate(Some(START - 168 * DAY)) < 0.1, "{}", rate(Some(START - 168 * DAY)));
    }

    #[test]
    fn failed_fetches_do_not_shorten_the_interval_between_contents() {
        for (status, changed) in [(503, false), (503, true), (301, false), (301, true)] {
            let mut record = record();
            visit(&mut record, &response(START, 200, "<p>one</p>", None));
            visit(&mut record, &response(START + 9 * DAY, status, "", None));
            let text = if changed { "<p>two</p>" } else { "<p>one</p>" };
            visit(&mut record, &response(START + 10 * DAY, 200, text, None));
            let expected = if changed { (0, 10 * DAY) } else { (10 * DAY, 0) };
            assert_eq!((record.unchanged_time_s, record.changed_time_s), expected, "{status}");
            assert_eq!(record.last_success_s, record.last_visit_s);
        }
    }

    #[test]
    fn a_change_before_a_failed_fetch_keeps_its_date_and_is_reported() {
        let mut record = record();
        visit(&mut record, &response(START, 200, "<p>one</p>", None));
        visit(&mut record, &response(START + 9 * DAY, 503, "", None));
        assert!(is_reported_stale(&record, START + 4 * DAY), "the copy is older");
        visit(&mut record, &response(START + 10 * DAY, 200, "<p>two</p>", Some(START + 4 * DAY)));
        assert_eq!((record.changes_with_date, record.unchanged_time_s), (1, 6 * DAY));
        // A redirect counts as seen at the last fetch.
        visit(&mut record, &response(START + 20 * DAY, 301, "", None));
        assert!(
            !is_reported_stale(&record, START + 15 * DAY) && is_reported_stale(&record, START + 21 * DAY)
        );
    }

    #[test]
    fn a_sitemap_with_false_alarms_is_ignored_until_it_was_right_equally_often() {
        let (mut record, mut now_s) = (record(), START);
        // Fetches the page after a reported change; returns the false alarms, and whether a further report counts.
        let mut fetch_reported = |text: &str| {
            now_s += 7 * DAY;
            record.last_change_s = record.last_change_s.max(now_s - 3_600);
            visit(&mut record, &response(now_s, 200, text, None));
            (record.sitemap_false_alarms, is_reported_stale(&record, now_s + DAY))
        };
        fetch_reported("<p>one</p>");
        assert_eq!(fetch_reported("<p>one</p>"), (1, false));
        assert_eq!(fetch_reported("<p>one</p>"), (2, false));
        assert_eq!(fetch_reported("<p>two</p>"), (1, false));
        assert_eq!(fetch_reported("<p>three</p>"), (0, true));
        assert_eq!(fetch_reported("<p>four</p>"), (0, true));
        // Only the last of these changes has a date: the reports of the others were ignored.
        assert_eq!((record.change_count, record.changes_with_date), (3, 1));
    }

    #[test]
    fn a_carried_over_rate_outlasts_the_first_comparisons() {
        let rate_after = |inherited: f32| {
            let mut record = record();
            record.carried_over_changes_per_day = inherited;
            for day in 0..4 {
                visit(&mut record, &response(START + day * DAY, 200, "<p>one</p>", None));
            }
            changes_per_day(&record, 1.0)
        };
        let (carried_over, other) = (rate_after(1e-3), rate_after(0.0));
        assert!(carried_over > 0.9e-3 && carried_over < 1.1e-3, "{carried_over}");
        assert!(other > 0.2, "{other}");
    }

    #[test]
    fn a_304_for_unknown_content_is_not_counted() {
        let mut record = record();
        assert_eq!(visit(&mut record, &response(START, 304, "", None)).changed, None);
        assert_eq!((record.comparable_visits, record.unchanged_time_s, record.last_success_s), (0, 0, 0));
    }
}
