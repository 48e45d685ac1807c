//! Record of a page and its layout on disk.
//!
//! A record has 110 bytes in ten columns, little-endian and without gaps, in the order of [`PageRecord`]'s fields. The
//! first nine columns have four bytes each and are scanned by the manager to choose the next batch; the last has the
//! fields that are only read with the whole record:
//!
//! | column | fields |
//! |---|---|
//! | 0 `Site` | site `u32` |
//! | 1 `StageAndFlags` | depth `u8`, stage (3 low bits) and flags 8 to 12 `u8`, reason `u8`, flags 0 to 7 `u8` |
//! | 2 `EarliestVisit` | earliest visit `u32` |
//! | 3 `LastVisit` | last visit `u32` |
//! | 4 `ChangeRate` | changes per day `f32` |
//! | 5 `Inlinks` | inlinks `u32` |
//! | 6 `Cash` | cash `f32` |
//! | 7 `CashHistory` | cash history `f32` |
//! | 8 `Scores` | topic relevance `u16`, URL score `u16` |
//! | 9 `History` | status `u16`, fetch count `u16`, comparable visits `u16`, change count `u16`, changes with date `u16`, sitemap false alarms `u8`, consecutive failures `u8`, first visit `u32`, last success `u32`, last change `u32`, unchanged time `u32`, changed time `u32`, carried-over change rate `f32`, content hash `u64`, content length `u32`, change hash `u64`, record location: file `u32`, offset 48 bits, length `u32`; duplicate of `u32` (0 none, else page id + 1) |
//!
//! Times are Unix seconds in 32 bits, sufficient until 2106; 0 means never.

use model::{PageId, Reason, SiteId};

use crate::file::fields::{FieldReader, FieldWriter};
use crate::pages::RecordLocation;

/// Size of a record.
pub(crate) const ROW_BYTES: usize = 110;
/// Widths of the columns.
pub(crate) const COLUMN_BYTES: [usize; 10] = [4, 4, 4, 4, 4, 4, 4, 4, 4, 74];

/// State of a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageRecord {
    /// Site of the page.
    pub site: SiteId,
    /// Link depth from a seed.
    pub depth: u8,
    /// Stage.
    pub stage: PageStage,
    /// Reason of a failure or rejection.
    pub reason: Option<Reason>,
    /// Flags.
    pub flags: PageFlags,
    /// Earliest time of the next fetch in Unix seconds. Not used for fetched pages: there the current settings decide,
    /// from the last fetch on.
    pub earliest_visit_s: u32,
    /// Time of the last fetch in Unix seconds; 0 if never fetched.
    pub last_visit_s: u32,
    /// Estimated change rate; 0 without observations.
    pub changes_per_day: f32,
    /// Number of links from other pages.
    pub inlinks: u32,
    /// OPIC cash: importance received and not yet distributed.
    pub cash: f32,
    /// OPIC history: importance distributed so far.
    pub cash_history: f32,
    /// Relevance to the driving query, by its text or, before it is fetched, by the links to it; 65,535 is the maximum.
    pub topic_relevance: u16,
    /// Score of the URL, by its host and words; 65,535 is the maximum.
    pub url_score: u16,
    /// HTTP status of the last fetch; 0 without a response.
    pub status: u16,
    /// Number of fetches; 65,535 stands for that many or more.
    pub fetch_count: u16,
    /// Number of revisits that could be compared with the fetch before; basis of the change rate.
    pub comparable_visits: u16,
    /// Number of these at which the content had changed; 65,535 stands for that many or more.
    pub change_count: u16,
    /// Number of these changes with a known date.
    pub changes_with_date: u16,
    /// False change reports of the sitemap minus correct ones; 255 stands for that many or more.
    pub sitemap_false_alarms: u8,
    /// Number of failed fetches since the last success; 255 stands for that many or more.
    pub consecutive_failures: u8,
    /// Time of the first fetch in Unix seconds; 0 if never fetched.
    pub first_visit_s: u32,
    /// Time of the last successful fetch (content or 304) in Unix seconds; 0 if none.
    pub last_success_s: u32,
    /// Time of the last observed change, or of the last modification that the page or its sitemap declares, in Unix
    /// seconds; 0 if none.
    pub last_change_s: u32,
    /// Total time without a change: between equal contents, and from a dated change to the fetch that found it.
    pub unchanged_time_s: u32,
    /// Total time of intervals with a change of unknown date.
    pub changed_time_s: u32,
    /// Change rate carried over from an earlier crawl; 0 if there is none.
    pub carried_over_changes_per_day: f32,
    /// Hash of the body of the last version; 0 if there is none.
    pub content_hash: u64,
    /// Length of that body.
    pub content_bytes: u32,
    /// Hash of the content of that version without template, clocks and counters, for the detection of changes; 0 without any.
    pub change_hash: u64,
    /// Location of the last stored version.
    pub record_location: Option<RecordLocation>,
    /// First page with the same content.
    pub duplicate_of: Option<PageId>,
}

/// Stage of a page in the crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum PageStage {
    /// Discovered; not in a batch.
    #[default]
    Discovered = 0,
    /// In an open batch.
    Queued = 1,
    /// The last fetch succeeded (content or 304).
    Fetched = 2,
    /// The last fetch failed; it may be retried.
    Failed = 3,
    /// Not to be fetched, for the stored reason.
    Rejected = 4,
}

impl PageStage {
    /// Decodes a stage. Other values cannot occur, because the block has a checksum and the file a version; they are
    /// treated as rejected, so that the page is not fetched.
    fn from_byte(byte: u8) -> PageStage {
        match byte & 0b111 {
            0 => PageStage::Discovered,
            1 => PageStage::Queued,
            2 => PageStage::Fetched,
            3 => PageStage::Failed,
            _ => PageStage::Rejected,
        }
    }
}

/// Boolean properties and small counts of a page, in the 12 low bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PageFlags(pub u16);

impl PageFlags {
    /// The URL has a query or names a program.
    pub const DYNAMIC: PageFlags = PageFlags(1);
    /// The content equals that of another page.
    pub const DUPLICATE: PageFlags = PageFlags(2);
    /// The page is a seed.
    pub const SEED: PageFlags = PageFlags(4);

    /// The server sends Last-Modified.
    pub const HAS_LAST_MODIFIED: PageFlags = PageFlags(64);
    /// The sitemap reports a change since the last fetch.
    pub const REPORTED_STALE: PageFlags = PageFlags(128);
    /// The user has requested a fetch; cleared by the next one.
    pub const REFETCH: PageFlags = PageFlags(256);
    /// The page lists other pages (feed or sitemap) and is polled.
    pub const FEED: PageFlags = PageFlags(4096);

    /// Bits of the number of redirects that lead to the page.
    const REDIRECTS: u16 = 0b0011_1000;
    /// Bits of the number of links outside of the scope that lead to the page.
    const HOPS_OUTSIDE: u16 = 0b0000_1110_0000_0000;

    /// Number of consecutive redirects that lead to the page, up to 7.
    pub fn redirects(self) -> u8 {
        ((self.0 & Self::REDIRECTS) >> Self::REDIRECTS.trailing_zeros()) as u8
    }

    /// Sets the number of consecutive redirects; 7 stands for that many or more.
    #[must_use]
    pub fn with_redirects(self, count: u8) -> PageFlags {
        let bits = u16::from(count.min(7)) << Self::REDIRECTS.trailing_zeros();
        PageFlags(self.0 & !Self::REDIRECTS | bits)
    }

    /// Number of consecutive links to URLs that are not accepted by the scope, up to 7; 0 for a page in scope.
    pub fn hops_outside(self) -> u8 {
        ((self.0 & Self::HOPS_OUTSIDE) >> Self::HOPS_OUTSIDE.trailing_zeros()) as u8
    }

    /// Sets the number of links outside of the scope; 7 stands for that many or more.
    #[must_use]
    pub fn with_hops_outside(self, count: u8) -> PageFlags {
        let bits = u16::from(count.min(7)) << Self::HOPS_OUTSIDE.trailing_zeros();
        PageFlags(self.0 & !Self::HOPS_OUTSIDE | bits)
    }

    /// The two bytes of a record: the high bits share theirs with the stage.
    fn encode_with(self, stage: PageStage) -> (u8, u8) {
        let [high, low] = self.0.to_be_bytes();
        (stage as u8 | high << 3, low)
    }

    fn decode(stage: u8, low: u8) -> PageFlags {
        PageFlags(u16::from_be_bytes([stage >> 3, low]))
    }

    /// Whether all of `flags` are set.
    pub fn has(self, flags: PageFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Sets `flags`.
    #[must_use]
    pub fn with(self, flags: PageFlags) -> PageFlags {
        PageFlags(self.0 | flags.0)
    }

    /// Clears `flags`.
    #[must_use]
    pub fn without(self, flags: PageFlags) -> PageFlags {
        PageFlags(self.0 & !flags.0)
    }
}

impl PageRecord {
    /// Score of a URL without evidence.
    pub const NEUTRAL_URL_SCORE: u16 = 1 << 15;
    /// Initial OPIC cash of every page: 1 instead of 1/n, so that the number of pages need not be known.
    pub const INITIAL_CASH: f32 = 1.0;

    /// Creates the record of a discovered page.
    pub fn new(site: SiteId, depth: u8, flags: PageFlags) -> PageRecord {
        let mut record = PageRecord::decode(&[0; ROW_BYTES]);
        (record.site, record.depth, record.flags) = (site, depth, flags);
        (record.cash, record.url_score) = (PageRecord::INITIAL_CASH, PageRecord::NEUTRAL_URL_SCORE);
        record
    }

    pub(crate) fn encode(&self) -> [u8; ROW_BYTES] {
        let mut row = [0; ROW_BYTES];
        let mut put = FieldWriter(&mut row);
        put.u32(self.site.0);
        let (stage, flags) = self.flags.encode_with(self.stage);
        put.bytes(&[self.depth, stage, self.reason.map_or(0, Reason::code), flags]);
        put.u32(self.earliest_visit_s);
        put.u32(self.last_visit_s);
        put.f32(self.changes_per_day);
        put.u32(self.inlinks);
        put.f32(self.cash);
        put.f32(self.cash_history);
        put.u16(self.topic_relevance);
        put.u16(self.url_score);
        put.u16(self.status);
        put.u16(self.fetch_count);
        put.u16(self.comparable_visits);
        put.u16(self.change_count);
        put.u16(self.changes_with_date);
        put.bytes(&[self.sitemap_false_alarms, self.consecutive_failures]);
        put.u32(self.first_visit_s);
        put.u32(self.last_success_s);
        put.u32(self.last_change_s);
        put.u32(self.unchanged_time_s);
        put.u32(self.changed_time_s);
        put.f32(self.carried_over_changes_per_day);
        put.u64(self.content_hash);
        put.u32(self.content_bytes);
        put.u64(self.change_hash);
        let stored = self.record_location.unwrap_or(RecordLocation { file: 0, offset: 0, length: 0 });
        put.u32(stored.file);
        put.u48(stored.offset);
        put.u32(stored.length);
        put.u32(self.duplicate_of.map_or(0, |page| page.0 + 1));
        row
    }

    pub(crate) fn decode(row: &[u8; ROW_BYTES]) -> PageRecord {
        let mut take = FieldReader(row);
        let site = SiteId(take.u32());
        let (depth, stage, reason, flags) =
            decode_stage_and_flags([take.u8(), take.u8(), take.u8(), take.u8()]);
        PageRecord {
            site,
            depth,
            stage,
            reason,
            flags,
            earliest_visit_s: take.u32(),
            last_visit_s: take.u32(),
            changes_per_day: take.f32(),
            inlinks: take.u32(),
            cash: take.f32(),
            cash_history: take.f32(),
            topic_relevance: take.u16(),
            url_score: take.u16(),
            status: take.u16(),
            fetch_count: take.u16(),
            comparable_visits: take.u16(),
            change_count: take.u16(),
            changes_with_date: take.u16(),
            sitemap_false_alarms: take.u8(),
            consecutive_failures: take.u8(),
            first_visit_s: take.u32(),
            last_success_s: take.u32(),
            last_change_s: take.u32(),
            unchanged_time_s: take.u32(),
            changed_time_s: take.u32(),
            carried_over_changes_per_day: take.f32(),
            content_hash: take.u64(),
            content_bytes: take.u32(),
            change_hash: take.u64(),
            record_location: Some(RecordLocation {
                file: take.u32(),
                offset: take.u48(),
                length: take.u32(),
            })
            .filter(|stored| stored.length > 0),
            duplicate_of: take.u32().checked_sub(1).map(PageId),
        }
    }
}

/// Decodes depth, stage, reason and flags from their column.
pub(crate) fn decode_stage_and_flags(
    [depth, stage, reason, flags]: [u8; 4],
) -> (u8, PageStage, Option<Reason>, PageFlags) {
    (depth, PageStage::from_byte(stage), Reason::from_code(reason), PageFlags::decode(stage, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_encoded_and_decoded() {
        let record = PageRecord {
            site: SiteId(1),
            depth: 2,
            stage: PageStage::Failed,
            reason: Some(Reason::TooDeep),
            flags: PageFlags::DYNAMIC.with(PageFlags::REFETCH).with(PageFlags::FEED).with_hops_outside(5),
            earliest_visit_s: 6,
            last_visit_s: 7,
            changes_per_day: 8.5,
            inlinks: 9,
            cash: 10.5,
            cash_history: 11.5,
            topic_relevance: 12,
            url_score: 13,
            status: 404,
            fetch_count: 14,
            comparable_visits: 26,
            change_count: 15,
            changes_with_date: 27,
            sitemap_false_alarms: 28,
            consecutive_failures: 32,
            first_visit_s: 16,
            last_success_s: 29,
            last_change_s: 17,
            unchanged_time_s: 18,
            changed_time_s: 30,
            carried_over_changes_per_day: 31.5,
            content_hash: u64::MAX - 19,
            content_bytes: 20,
            change_hash: u64::MAX - 21,
            record_location: Some(RecordLocation { file: 22, offset: (1 << 48) - 23, length: 24 }),
            duplicate_of: Some(PageId(25)),
        };
        assert_eq!(PageRecord::decode(&record.encode()), record);
        let new = PageRecord::new(SiteId(3), 1, PageFlags::SEED);
        assert_eq!(PageRecord::decode(&new.encode()), new);
        assert_eq!((new.stage, new.record_location, new.duplicate_of), (PageStage::Discovered, None, None));
        assert_eq!(COLUMN_BYTES.iter().sum::<usize>(), ROW_BYTES);
    }

    #[test]
    fn flags_are_set_and_cleared() {
        let flags = PageFlags::DYNAMIC.with(PageFlags::SEED);
        assert!(flags.has(PageFlags::SEED) && !flags.has(PageFlags::DUPLICATE));
        assert_eq!(flags.without(PageFlags::SEED), PageFlags::DYNAMIC);
        let led = flags.with_redirects(3);
        assert!((led.redirects(), led.with_redirects(200).redirects()) == (3, 7) && led.has(flags));
        let outside = led.with_hops_outside(2);
        assert_eq!((outside.hops_outside(), outside.redirects(), led.hops_outside()), (2, 3, 0));
        assert_eq!(led.with_redirects(0), flags);
    }
}
