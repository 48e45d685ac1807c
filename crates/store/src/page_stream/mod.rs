//! Stream of the stored pages of a commit: filtered, in an order with few disk reads, resumable, and divisible into
//! partitions.
//!
//! Used for exports, streams to other machines, the analysis and the text index. For a single page, use
//! [`PageStoreReader::read`](crate::PageStoreReader::read). A corrupt record does not end a stream; it is returned as an error item.
//! Of each page the newest stored version is returned.

mod condition;
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

use crate::cancellation::Cancellation;
use crate::error::{Error, Result};
use crate::pages::StoredPage;
use crate::snapshot::Snapshot;
use cursor::StreamSortKey;
use evaluator::PageValues;
use plan::ScanPlan;
use read_ahead::ReadAhead;

/// Parameters of a page stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageStreamRequest {
    /// Filter of the pages.
    pub filter: PageFilter,
    /// Order of the pages.
    pub order: PageOrder,
    /// Partition of the pages.
    pub partition: StreamPartition,
    /// Cursor after which the stream begins.
    pub after: Option<StreamCursor>,
    /// Maximum number of pages.
    pub max_pages: u64,
    /// Number of page references in memory, 24 bytes each, and temporarily twice as many.
    pub window_pages: usize,
}

impl PageStreamRequest {
    /// Large window: four million pages per scan, in up to 200 MB of memory.
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

/// Item of a page stream.
#[derive(Debug)]
pub enum PageStreamItem<T> {
    /// Page.
    Page(PageRef, T),
    /// Page that cannot be read.
    Corrupt(PageRef, Error),
}

/// Stream of the pages of a commit that match a request.
pub struct PageStream<'s> {
    snapshot: &'s Snapshot,
    filter: PageFilter,
    plan: ScanPlan,
    window_pages: usize,
    /// Current window of pages, and the index of the next one.
    refs: Vec<PageRef>,
    next: usize,
    /// Whether this is the last window.
    complete: bool,
    /// Sort key of the last page.
    after: Option<StreamSortKey>,
    remaining: u64,
    read_ahead: ReadAhead,
    cancellation: Cancellation,
    pages_examined: u64,
}

impl<'s> PageStream<'s> {
    /// Opens a stream.
    pub fn open(snapshot: &'s Snapshot, request: &PageStreamRequest) -> Result<PageStream<'s>> {
        PageStream::open_cancellable(snapshot, request, &Cancellation::default())
    }

    /// Opens a stream that ends with [`Error::Cancelled`] at the next page after it was cancelled, also while no page matches.
    pub fn open_cancellable(
        snapshot: &'s Snapshot,
        request: &PageStreamRequest,
        cancellation: &Cancellation,
    ) -> Result<PageStream<'s>> {
        check_cursor(snapshot, request)?;
        let plan = ScanPlan {
            order: request.order,
            partition: request.partition,
            sites: request.filter.find_sites_until(snapshot, cancellation)?,
            pages: request.filter.find_languages(snapshot, cancellation)?,
            predicate: request.filter.compile_predicate(snapshot, cancellation)?,
        };
        Ok(PageStream {
            snapshot,
            filter: request.filter.clone(),
            plan,
            window_pages: request.window_pages.max(1),
            refs: Vec::new(),
            next: 0,
            complete: false,
            after: request.after.map(|cursor| cursor.key),
            remaining: request.max_pages,
            read_ahead: ReadAhead::default(),
            cancellation: cancellation.clone(),
            pages_examined: 0,
        })
    }

    /// Opens a stream of those of these pages that are stored, in crawl order.
    pub fn from_pages(snapshot: &'s Snapshot, pages: &[PageId]) -> Result<PageStream<'s>> {
        let mut stream = PageStream::open(snapshot, &PageStreamRequest::default())?;
        let records = snapshot.page_state.get_many(pages)?;
        let page_ref = |(page, record): (&PageId, &crate::state::page::PageRecord)| {
            Some(PageRef { page: *page, site: record.site, location: record.record_location? })
        };
        stream.refs = pages.iter().zip(&records).filter_map(page_ref).collect();
        stream.refs.sort_unstable_by_key(|page| page.key(PageOrder::Crawl));
        stream.complete = true;
        Ok(stream)
    }

    /// Number of pages that were considered so far, whether they matched or not.
    pub fn pages_examined(&self) -> u64 {
        self.pages_examined
    }

    /// Cursor after the last page; `None` at the start.
    pub fn cursor(&self) -> Option<StreamCursor> {
        let (generation, order) = (self.snapshot.manifest.generation, self.plan.order);
        self.after.map(|key| StreamCursor { generation, order, key })
    }

    /// Cursor after a page of this stream.
    pub fn cursor_after(&self, page_ref: &PageRef) -> StreamCursor {
        let (generation, order) = (self.snapshot.manifest.generation, self.plan.order);
        StreamCursor { generation, order, key: page_ref.key(order) }
    }

    /// Compressed size of the next record; `None` at the end, or if the filter must read the record first.
    pub fn peek_record_bytes(&mut self) -> Result<Option<u64>> {
        if self.needs_record() {
            return Ok(None);
        }
        Ok(self.peek()?.map(|page_ref| u64::from(page_ref.location.length)))
    }

    /// Total compressed size of all remaining records; `None` if the filter must read them first, or if a maximum is set.
    pub fn member_bytes(&self) -> Result<Option<u64>> {
        if self.needs_record() || self.remaining < u64::MAX {
            return Ok(None);
        }
        self.plan.total_bytes(self.snapshot, self.after, &self.cancellation).map(Some)
    }

    /// Returns the next page, without reading it unless the filter needs its record.
    pub fn next_ref(&mut self) -> Result<Option<PageStreamItem<()>>> {
        if self.needs_record() {
            return Ok(self.next_page()?.map(|streamed| match streamed {
                PageStreamItem::Page(page_ref, _) => PageStreamItem::Page(page_ref, ()),
                PageStreamItem::Corrupt(page_ref, error) => PageStreamItem::Corrupt(page_ref, error),
            }));
        }
        let Some(page_ref) = self.peek()? else { return Ok(None) };
        self.emit(&page_ref);
        Ok(Some(PageStreamItem::Page(page_ref, ())))
    }

    /// Returns the next page as stored: the gzip member of its WARC record, which may be a revisit record. It is decompressed,
    /// and corruption detected, only if the filter needs it or `verify` is set.
    pub fn next_member(&mut self, verify: bool) -> Result<Option<PageStreamItem<&[u8]>>> {
        let decode = verify || self.needs_record();
        while let Some(page_ref) = self.peek()? {
            let range = match self.member() {
                Ok(range) => range,
                Err(error) => return self.corrupt(page_ref, error).map(Some),
            };
            if decode {
                match self.page(&page_ref, range.clone()) {
                    Ok(page) if !self.matches(&page_ref, &page)? => {
                        self.advance(&page_ref);
                        continue;
                    }
                    Ok(_) => {}
                    Err(error) => return self.corrupt(page_ref, error).map(Some),
                }
            }
            self.emit(&page_ref);
            return Ok(Some(PageStreamItem::Page(page_ref, self.read_ahead.bytes(range))));
        }
        Ok(None)
    }

    /// Returns the next page, decompressed and with its body.
    pub fn next_page(&mut self) -> Result<Option<PageStreamItem<StoredPage>>> {
        while let Some(page_ref) = self.peek()? {
            match self.member().and_then(|range| self.page(&page_ref, range)) {
                Ok(page) if self.matches(&page_ref, &page)? => {
                    self.emit(&page_ref);
                    return Ok(Some(PageStreamItem::Page(page_ref, page)));
                }
                Ok(_) => self.advance(&page_ref),
                Err(error) => return self.corrupt(page_ref, error).map(Some),
            }
        }
        Ok(None)
    }

    /// Reference to the next page; loads the next window if needed.
    fn peek(&mut self) -> Result<Option<PageRef>> {
        if self.remaining == 0 {
            return Ok(None);
        }
        self.cancellation.check()?;
        if self.next == self.refs.len() && !self.complete {
            let limit = usize::try_from(self.remaining).unwrap_or(usize::MAX);
            // If records are needed, some pages of the window may not match: the limit does not bound the window.
            let window = if self.needs_record() { self.window_pages } else { self.window_pages.min(limit) };
            self.refs = self.plan.window(self.snapshot, self.after, window, &self.cancellation)?;
            self.next = 0;
            self.complete = self.refs.len() < window;
        }
        Ok(self.refs.get(self.next).copied())
    }

    fn needs_record(&self) -> bool {
        self.filter.needs_record()
            || self.plan.predicate.as_ref().is_some_and(|predicate| predicate.needs_record)
    }

    /// Whether a page whose record was read matches.
    fn matches(&self, page_ref: &PageRef, stored: &StoredPage) -> Result<bool> {
        if !self.filter.matches_record(stored) {
            return Ok(false);
        }
        let predicate = self.plan.predicate.as_ref().filter(|predicate| predicate.needs_record);
        let Some(predicate) = predicate else { return Ok(true) };
        let Some(record) = self.snapshot.page_state.get(page_ref.page)? else { return Ok(false) };
        let site = self.snapshot.urls.site_name(page_ref.site).unwrap_or_default();
        Ok(predicate.matches(&PageValues {
            page: page_ref.page,
            record: &record,
            site,
            stored: Some(stored),
        }))
    }

    fn member(&mut self) -> Result<Range<usize>> {
        self.read_ahead.read_member(&self.snapshot.page_store, &self.refs[self.next..])
    }

    fn page(&self, page_ref: &PageRef, member: Range<usize>) -> Result<StoredPage> {
        self.snapshot.page_store.page_of_member(self.read_ahead.bytes(member), &page_ref.location)
    }

    fn advance(&mut self, page_ref: &PageRef) {
        self.next += 1;
        self.pages_examined += 1;
        self.after = Some(page_ref.key(self.plan.order));
    }

    fn emit(&mut self, page_ref: &PageRef) {
        self.advance(page_ref);
        self.remaining -= 1;
    }

    /// Skips a corrupt page and returns it as an item; any other error ends the stream.
    fn corrupt<T>(&mut self, page_ref: PageRef, error: Error) -> Result<PageStreamItem<T>> {
        let is_corruption = match &error {
            Error::Corrupt { .. } => true,
            // The file is shorter than in the manifest.
            Error::Io { source, .. } => source.kind() == io::ErrorKind::UnexpectedEof,
            _ => false,
        };
        if !is_corruption {
            return Err(error);
        }
        self.advance(&page_ref);
        Ok(PageStreamItem::Corrupt(page_ref, error))
    }
}

fn check_cursor(snapshot: &Snapshot, request: &PageStreamRequest) -> Result<()> {
    let Some(cursor) = request.after else { return Ok(()) };
    let generation = snapshot.manifest.generation;
    let cause = if cursor.generation != generation {
        format!("it belongs to generation {}, this is generation {generation}", cursor.generation)
    } else if cursor.order != request.order {
        "it belongs to a stream in another order".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::InvalidCursor { cursor: cursor.to_string(), cause })
}
