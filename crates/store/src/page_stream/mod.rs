//! How does somebody read all the pages of a commit, or some of them? One after the other, in an order that makes for few
//! reads, from any position on, alone or in parts.
//!
//! Everybody reads pages this way: exports, streams to other machines, the analysis, the index. Useful for many pages; one
//! page is [`PageStoreReader::read`](crate::PageStoreReader::read). A record that is corrupt does not end a stream: it is told of in
//! place of the page. Of each page the newest stored version counts.

mod cursor;
mod evaluator;
mod filter;
mod plan;
mod predicate;
mod read_ahead;

use std::io;
use std::ops::Range;

use model::PageId;

pub use cursor::{PageOrder, PageRef, StreamCursor, StreamPartition};
pub use filter::{PageFilter, SiteSet};
pub use predicate::{Predicate, PredicateError};

use crate::error::{Error, Result};
use crate::pages::StoredPage;
use crate::snapshot::Snapshot;
use cursor::StreamSortKey;
use evaluator::PageValues;
use plan::ScanPlan;
use read_ahead::ReadAhead;

/// What is wanted of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageStreamRequest {
    /// Which pages.
    pub filter: PageFilter,
    /// In which order.
    pub order: PageOrder,
    /// Which share of them.
    pub partition: StreamPartition,
    /// Only those behind this position.
    pub after: Option<StreamCursor>,
    /// No more pages than this.
    pub max_pages: u64,
    /// For so many pages places are kept in memory, 24 bytes each and twice as many for a moment.
    pub window_pages: usize,
}

impl PageStreamRequest {
    /// About 200 MB at the most, in which a scan is worth four million pages.
    pub const LARGE_WINDOW_PAGES: usize = 4 << 20;
}

impl Default for PageStreamRequest {
    fn default() -> PageStreamRequest {
        PageStreamRequest {
            filter: PageFilter::all(),
            order: PageOrder::Crawl,
            partition: StreamPartition::ALL,
            after: None,
            max_pages: u64::MAX,
            window_pages: PageStreamRequest::LARGE_WINDOW_PAGES,
        }
    }
}

/// What a stream gives.
#[derive(Debug)]
pub enum PageStreamItem<T> {
    /// A page.
    Page(PageRef, T),
    /// In place of a page: why it cannot be read.
    Corrupt(PageRef, Error),
}

/// The pages of a commit that somebody wants, one after the other.
pub struct PageStream<'s> {
    snapshot: &'s Snapshot,
    selection: PageFilter,
    plan: ScanPlan,
    window_pages: usize,
    /// The places that come next, and how many of them have been.
    places: Vec<PageRef>,
    next: usize,
    /// Whether there are none behind them.
    complete: bool,
    /// Behind the last page that was given.
    after: Option<StreamSortKey>,
    left: u64,
    read_ahead: ReadAhead,
}

impl<'s> PageStream<'s> {
    /// Begins a stream.
    pub fn open(snapshot: &'s Snapshot, request: &PageStreamRequest) -> Result<PageStream<'s>> {
        check_position(snapshot, request)?;
        let plan = ScanPlan {
            order: request.order,
            part: request.partition,
            sites: request.filter.find_sites(snapshot)?,
            pages: request.filter.find_languages(snapshot)?,
            judge: request.filter.compile_predicate(snapshot)?,
        };
        Ok(PageStream {
            snapshot,
            selection: request.filter.clone(),
            plan,
            window_pages: request.window_pages.max(1),
            places: Vec::new(),
            next: 0,
            complete: false,
            after: request.after.map(|position| position.key),
            left: request.max_pages,
            read_ahead: ReadAhead::default(),
        })
    }

    /// A stream of these pages, as far as they are stored, as they lie in their files.
    pub fn of_pages(snapshot: &'s Snapshot, pages: &[PageId]) -> Result<PageStream<'s>> {
        let mut stream = PageStream::open(snapshot, &PageStreamRequest::default())?;
        let records = snapshot.page_state.get_many(pages)?;
        let place = |(page, record): (&PageId, &crate::state::page::PageRecord)| {
            Some(PageRef { page: *page, site: record.site, location: record.record_location? })
        };
        stream.places = pages.iter().zip(&records).filter_map(place).collect();
        stream.places.sort_unstable_by_key(|place| place.key(PageOrder::Crawl));
        stream.complete = true;
        Ok(stream)
    }

    /// Where the stream is: behind the last page that it gave. None as long as it gave none and began at the beginning.
    pub fn cursor(&self) -> Option<StreamCursor> {
        let (generation, order) = (self.snapshot.manifest.generation, self.plan.order);
        self.after.map(|key| StreamCursor { generation, order, key })
    }

    /// The position behind a page of this stream.
    pub fn cursor_after(&self, place: &PageRef) -> StreamCursor {
        let (generation, order) = (self.snapshot.manifest.generation, self.plan.order);
        StreamCursor { generation, order, key: place.key(order) }
    }

    /// How long the record of the next page is, compressed; nothing if there is none, or if the selection must read it first.
    pub fn peek_record_bytes(&mut self) -> Result<Option<u64>> {
        if self.needs_record() {
            return Ok(None);
        }
        Ok(self.peek()?.map(|place| u64::from(place.location.length)))
    }

    /// How long the records of all pages are together that are still to come, compressed; nothing if the selection must read
    /// them first, or a maximum is set.
    pub fn member_bytes(&self) -> Result<Option<u64>> {
        if self.needs_record() || self.left < u64::MAX {
            return Ok(None);
        }
        self.plan.total_bytes(self.snapshot, self.after).map(Some)
    }

    /// The next page, without reading it if the selection can do without.
    pub fn next_ref(&mut self) -> Result<Option<PageStreamItem<()>>> {
        if self.needs_record() {
            return Ok(self.next_page()?.map(|streamed| match streamed {
                PageStreamItem::Page(place, _) => PageStreamItem::Page(place, ()),
                PageStreamItem::Corrupt(place, error) => PageStreamItem::Corrupt(place, error),
            }));
        }
        let Some(place) = self.peek()? else { return Ok(None) };
        self.emit(&place);
        Ok(Some(PageStreamItem::Page(place, ())))
    }

    /// The next page as it is stored: a gzip member with a WARC record, which may refer to another for its body. It is only
    /// decompressed, and damage noticed, if the selection needs that, or if `verify` says so.
    pub fn next_member(&mut self, verify: bool) -> Result<Option<PageStreamItem<&[u8]>>> {
        let judge = verify || self.needs_record();
        while let Some(place) = self.peek()? {
            let range = match self.member() {
                Ok(range) => range,
                Err(error) => return self.corrupt(place, error).map(Some),
            };
            if judge {
                match self.page(&place, range.clone()) {
                    Ok(page) if !self.matches(&place, &page)? => {
                        self.advance(&place);
                        continue;
                    }
                    Ok(_) => {}
                    Err(error) => return self.corrupt(place, error).map(Some),
                }
            }
            self.emit(&place);
            return Ok(Some(PageStreamItem::Page(place, self.read_ahead.bytes(range))));
        }
        Ok(None)
    }

    /// The next page, decompressed and with its body.
    pub fn next_page(&mut self) -> Result<Option<PageStreamItem<StoredPage>>> {
        while let Some(place) = self.peek()? {
            match self.member().and_then(|range| self.page(&place, range)) {
                Ok(page) if self.matches(&place, &page)? => {
                    self.emit(&place);
                    return Ok(Some(PageStreamItem::Page(place, page)));
                }
                Ok(_) => self.advance(&place),
                Err(error) => return self.corrupt(place, error).map(Some),
            }
        }
        Ok(None)
    }

    /// The next place, if there is one and it may still be given.
    fn peek(&mut self) -> Result<Option<PageRef>> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.next == self.places.len() && !self.complete {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX);
            // Those that a record turns out not to be wanted make room for others.
            let window = if self.needs_record() { self.window_pages } else { self.window_pages.min(most) };
            self.places = self.plan.window(self.snapshot, self.after, window)?;
            self.next = 0;
            self.complete = self.places.len() < window;
        }
        Ok(self.places.get(self.next).copied())
    }

    fn needs_record(&self) -> bool {
        self.selection.needs_record() || self.plan.judge.as_ref().is_some_and(|judge| judge.needs_record)
    }

    /// Whether a page whose record was read is wanted.
    fn matches(&self, place: &PageRef, stored: &StoredPage) -> Result<bool> {
        if !self.selection.matches_record(stored) {
            return Ok(false);
        }
        let judge = self.plan.judge.as_ref().filter(|judge| judge.needs_record);
        let Some(judge) = judge else { return Ok(true) };
        let Some(record) = self.snapshot.page_state.get(place.page)? else { return Ok(false) };
        let site = self.snapshot.urls.site_name(place.site).unwrap_or_default();
        Ok(judge.matches(&PageValues { page: place.page, record: &record, site, stored: Some(stored) }))
    }

    fn member(&mut self) -> Result<Range<usize>> {
        self.read_ahead.read_member(&self.snapshot.page_store, &self.places[self.next..])
    }

    fn page(&self, place: &PageRef, member: Range<usize>) -> Result<StoredPage> {
        self.snapshot.page_store.page_of_member(self.read_ahead.bytes(member), &place.location)
    }

    fn advance(&mut self, place: &PageRef) {
        self.next += 1;
        self.after = Some(place.key(self.plan.order));
    }

    fn emit(&mut self, place: &PageRef) {
        self.advance(place);
        self.left -= 1;
    }

    /// Goes on behind what is corrupt; any other error ends the stream.
    fn corrupt<T>(&mut self, place: PageRef, error: Error) -> Result<PageStreamItem<T>> {
        let is_damage = match &error {
            Error::Corrupt { .. } => true,
            Error::Io { source, .. } => source.kind() == io::ErrorKind::UnexpectedEof,
            _ => false,
        };
        if !is_damage {
            return Err(error);
        }
        self.advance(&place);
        Ok(PageStreamItem::Corrupt(place, error))
    }
}

fn check_position(snapshot: &Snapshot, request: &PageStreamRequest) -> Result<()> {
    let Some(position) = request.after else { return Ok(()) };
    let generation = snapshot.manifest.generation;
    let why = if position.generation != generation {
        format!("it is of commit {}, and this is commit {generation}", position.generation)
    } else if position.order != request.order {
        "it is of a stream in another order".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::InvalidCursor { cursor: position.to_string(), cause: why })
}
