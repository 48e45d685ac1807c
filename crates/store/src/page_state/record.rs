//! What is known about one page, and how it lies in its record.
//!
//! A record has 109 bytes in ten columns, little-endian and without gaps, in the order of [`PageRecord`]'s fields. The
//! first nine columns have four bytes each and are what the manager looks through to choose the next batch; the last
//! holds everything that is only read together with the rest of a page's record:
//!
//! | column | fields |
//! |---|---|
//! | 0 `Site` | site `u32` |
//! | 1 `Marks` | depth `u8`, stage `u8`, reason `u8`, flags `u8` |
//! | 2 `NotBefore` | not before `u32` |
//! | 3 `LastVisit` | last visit `u32` |
//! | 4 `ChangeRate` | changes per day `f32` |
//! | 5 `InLinks` | in-links `u32` |
//! | 6 `Cash` | cash `f32` |
//! | 7 `CashHistory` | cash history `f32` |
//! | 8 `Merit` | relevance `u16`, location `u16` |
//! | 9 `Past` | status `u16`, visits `u16`, compared `u16`, changes `u16`, dated changes `u16`, false alarms `u8`, first visit `u32`, last content `u32`, last change `u32`, unchanged `u32`, changed `u32`, inherited rate `f32`, content hash `u64`, content length `u32`, text hash `u64`, stored: file `u32`, offset 48 bits, length `u32`; duplicate of `u32` (0 none, else page id + 1) |
//!
//! Times are Unix seconds in 32 bits, enough until 2106; 0 stands for never.

use model::{PageId, SiteId};

use crate::fields::{PutFields, TakeFields};
use crate::page_store::PageLocation;

/// A record's size.
pub(super) const ROW_BYTES: usize = 109;
/// The widths of the columns.
pub(super) const COLUMN_BYTES: [usize; 10] = [4, 4, 4, 4, 4, 4, 4, 4, 4, 73];

/// Everything that is known about a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageRecord {
    /// The site it belongs to.
    pub site: SiteId,
    /// Links away from a seed.
    pub depth: u8,
    /// How far the crawl has come with it.
    pub stage: Stage,
    /// Why it failed or was rejected, as a code of the crawl; 0 for no reason.
    pub reason: u8,
    /// What else it is.
    pub flags: PageFlags,
    /// It must not be visited before this time, in Unix seconds.
    pub not_before_s: u32,
    /// When it was last visited, in Unix seconds; 0 if never.
    pub last_visit_s: u32,
    /// How often it changes, as estimated; 0 as long as nothing is known.
    pub changes_per_day: f32,
    /// How many links from other pages lead to it.
    pub in_links: u32,
    /// OPIC: importance it has received and not passed on.
    pub cash: f32,
    /// OPIC: importance it has passed on so far.
    pub cash_history: f32,
    /// How well it meets the driving query, by its text or, as long as that is unknown, by the links to it; 65,535 is
    /// entirely.
    pub relevance: u16,
    /// How promising its URL is, by its host and its words; 65,535 is most.
    pub location: u16,
    /// HTTP status of the last visit; 0 if there was no answer.
    pub status: u16,
    /// How often it was visited; 65,535 stands for that many or more.
    pub visits: u16,
    /// How many of the visits could be compared with the one before: what its change rate is estimated from.
    pub compared: u16,
    /// At how many of those its content had changed; 65,535 stands for that many or more.
    pub changes: u16,
    /// Of how many of those somebody told the date.
    pub dated_changes: u16,
    /// How often its site told of a change that was none, less how often there was one; 255 stands for that many or more.
    pub false_alarms: u8,
    /// When it was first visited, in Unix seconds; 0 if never.
    pub first_visit_s: u32,
    /// When a visit last brought its content, or the news that it has not changed, in Unix seconds; 0 if never.
    pub last_content_s: u32,
    /// When its content was last seen to change, or was last modified by its own word or its site's, in Unix seconds; 0 if
    /// never.
    pub last_change_s: u32,
    /// Sum of the times in which it is known not to have changed: between contents that are the same, and from a dated change
    /// to the visit that found it.
    pub unchanged_s: u32,
    /// Sum of the times between contents at whose end it had changed, nobody tells when.
    pub changed_s: u32,
    /// How often it changed by what a crawl before knew; 0 if there was none.
    pub inherited_changes_per_day: f32,
    /// Hash of the body of the last version; 0 if there is none.
    pub content_hash: u64,
    /// Length of that body.
    pub content_bytes: u32,
    /// Hash of its main text, so that a new advertisement is no change.
    pub text_hash: u64,
    /// Where the last version is stored.
    pub stored: Option<PageLocation>,
    /// The page whose content it has, if its own is no news.
    pub duplicate_of: Option<PageId>,
}

/// How far the crawl has come with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Stage {
    /// Known by its URL only.
    #[default]
    New = 0,
    /// In a batch that is not finished.
    Queued = 1,
    /// The last visit brought content, or the news that it has not changed.
    Fetched = 2,
    /// The last visit brought nothing; there may be another.
    Failed = 3,
    /// It is not to be visited; the reason says why.
    Rejected = 4,
}

impl Stage {
    /// A checksum stands over the byte and a version over the file, so no other value is met; were it, then the page is
    /// left alone.
    fn from_byte(byte: u8) -> Stage {
        match byte {
            0 => Stage::New,
            1 => Stage::Queued,
            2 => Stage::Fetched,
            3 => Stage::Failed,
            _ => Stage::Rejected,
        }
    }
}

/// Yes-or-no facts about a page, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PageFlags(pub u8);

impl PageFlags {
    /// Its URL looks as if its content is made on request.
    pub const DYNAMIC: PageFlags = PageFlags(1);
    /// Its content is that of another page.
    pub const DUPLICATE: PageFlags = PageFlags(2);
    /// It was named by the user, not found by a link.
    pub const SEED: PageFlags = PageFlags(4);

    /// Its server says when it was modified.
    pub const DATED: PageFlags = PageFlags(64);
    /// Its site says that it has changed since the last visit.
    pub const STALE: PageFlags = PageFlags(128);

    /// Bits that count the redirects that led to it.
    const REDIRECTS: u8 = 0b0011_1000;

    /// How many redirects in a row led to it, up to 7.
    pub fn redirects(self) -> u8 {
        (self.0 & Self::REDIRECTS) >> Self::REDIRECTS.trailing_zeros()
    }

    /// Led to by so many redirects in a row; 7 stands for that many or more.
    #[must_use]
    pub fn with_redirects(self, count: u8) -> PageFlags {
        let bits = count.min(7) << Self::REDIRECTS.trailing_zeros();
        PageFlags(self.0 & !Self::REDIRECTS | bits)
    }

    /// Whether all of these are set.
    pub fn has(self, flags: PageFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// With these set, too.
    #[must_use]
    pub fn with(self, flags: PageFlags) -> PageFlags {
        PageFlags(self.0 | flags.0)
    }

    /// With these not set.
    #[must_use]
    pub fn without(self, flags: PageFlags) -> PageFlags {
        PageFlags(self.0 & !flags.0)
    }
}

impl PageRecord {
    /// Of a URL that says nothing.
    pub const NEUTRAL_LOCATION: u16 = 1 << 15;
    /// OPIC gives all pages the same cash at first: 1, so that nobody has to know how many there will be.
    pub const FIRST_CASH: f32 = 1.0;

    /// A page that was just heard of.
    pub fn new(site: SiteId, depth: u8, flags: PageFlags) -> PageRecord {
        let mut record = PageRecord::decode(&[0; ROW_BYTES]);
        (record.site, record.depth, record.flags) = (site, depth, flags);
        (record.cash, record.location) = (PageRecord::FIRST_CASH, PageRecord::NEUTRAL_LOCATION);
        record
    }

    pub(super) fn encode(&self) -> [u8; ROW_BYTES] {
        let mut row = [0; ROW_BYTES];
        let mut put = PutFields(&mut row);
        put.u32(self.site.0);
        put.bytes(&[self.depth, self.stage as u8, self.reason, self.flags.0]);
        put.u32(self.not_before_s);
        put.u32(self.last_visit_s);
        put.f32(self.changes_per_day);
        put.u32(self.in_links);
        put.f32(self.cash);
        put.f32(self.cash_history);
        put.u16(self.relevance);
        put.u16(self.location);
        put.u16(self.status);
        put.u16(self.visits);
        put.u16(self.compared);
        put.u16(self.changes);
        put.u16(self.dated_changes);
        put.bytes(&[self.false_alarms]);
        put.u32(self.first_visit_s);
        put.u32(self.last_content_s);
        put.u32(self.last_change_s);
        put.u32(self.unchanged_s);
        put.u32(self.changed_s);
        put.f32(self.inherited_changes_per_day);
        put.u64(self.content_hash);
        put.u32(self.content_bytes);
        put.u64(self.text_hash);
        let stored = self.stored.unwrap_or(PageLocation { file: 0, offset: 0, length: 0 });
        put.u32(stored.file);
        put.u48(stored.offset);
        put.u32(stored.length);
        put.u32(self.duplicate_of.map_or(0, |page| page.0 + 1));
        row
    }

    pub(super) fn decode(row: &[u8; ROW_BYTES]) -> PageRecord {
        let mut take = TakeFields(row);
        PageRecord {
            site: SiteId(take.u32()),
            depth: take.u8(),
            stage: Stage::from_byte(take.u8()),
            reason: take.u8(),
            flags: PageFlags(take.u8()),
            not_before_s: take.u32(),
            last_visit_s: take.u32(),
            changes_per_day: take.f32(),
            in_links: take.u32(),
            cash: take.f32(),
            cash_history: take.f32(),
            relevance: take.u16(),
            location: take.u16(),
            status: take.u16(),
            visits: take.u16(),
            compared: take.u16(),
            changes: take.u16(),
            dated_changes: take.u16(),
            false_alarms: take.u8(),
            first_visit_s: take.u32(),
            last_content_s: take.u32(),
            last_change_s: take.u32(),
            unchanged_s: take.u32(),
            changed_s: take.u32(),
            inherited_changes_per_day: take.f32(),
            content_hash: take.u64(),
            content_bytes: take.u32(),
            text_hash: take.u64(),
            stored: Some(PageLocation { file: take.u32(), offset: take.u48(), length: take.u32() })
                .filter(|stored| stored.length > 0),
            duplicate_of: take.u32().checked_sub(1).map(PageId),
        }
    }
}

/// Depth, stage, reason and flags from their column.
pub(super) fn marks([depth, stage, reason, flags]: [u8; 4]) -> (u8, Stage, u8, PageFlags) {
    (depth, Stage::from_byte(stage), reason, PageFlags(flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_comes_back() {
        let record = PageRecord {
            site: SiteId(1),
            depth: 2,
            stage: Stage::Failed,
            reason: 4,
            flags: PageFlags::DYNAMIC.with(PageFlags::DUPLICATE),
            not_before_s: 6,
            last_visit_s: 7,
            changes_per_day: 8.5,
            in_links: 9,
            cash: 10.5,
            cash_history: 11.5,
            relevance: 12,
            location: 13,
            status: 404,
            visits: 14,
            compared: 26,
            changes: 15,
            dated_changes: 27,
            false_alarms: 28,
            first_visit_s: 16,
            last_content_s: 29,
            last_change_s: 17,
            unchanged_s: 18,
            changed_s: 30,
            inherited_changes_per_day: 31.5,
            content_hash: u64::MAX - 19,
            content_bytes: 20,
            text_hash: u64::MAX - 21,
            stored: Some(PageLocation { file: 22, offset: (1 << 48) - 23, length: 24 }),
            duplicate_of: Some(PageId(25)),
        };
        assert_eq!(PageRecord::decode(&record.encode()), record);
        let new = PageRecord::new(SiteId(3), 1, PageFlags::SEED);
        assert_eq!(PageRecord::decode(&new.encode()), new);
        assert_eq!((new.stage, new.stored, new.duplicate_of), (Stage::New, None, None));
        assert_eq!(COLUMN_BYTES.iter().sum::<usize>(), ROW_BYTES);
    }

    #[test]
    fn flags_are_set_and_taken_back() {
        let flags = PageFlags::DYNAMIC.with(PageFlags::SEED);
        assert!(flags.has(PageFlags::SEED) && !flags.has(PageFlags::DUPLICATE));
        assert_eq!(flags.without(PageFlags::SEED), PageFlags::DYNAMIC);
        let led = flags.with_redirects(3);
        assert!((led.redirects(), led.with_redirects(200).redirects()) == (3, 7) && led.has(flags));
        assert_eq!(led.with_redirects(0), flags);
    }
}
