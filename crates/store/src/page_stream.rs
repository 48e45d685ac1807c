//! How does somebody read all the pages of a commit, or some of them? One after the other, in an order that makes for few
//! reads, from any position on, alone or in parts.
//!
//! Everybody reads pages this way: exports, streams to other machines, the analysis, the index. Useful for many pages; one
//! page is [`PageReader::read`](crate::PageReader::read). A record that is damaged does not end a stream: it is told of in
//! place of the page. Of each page the newest stored version counts.

mod judge;
mod plan;
mod position;
mod predicate;
mod read_ahead;
mod selection;

use std::io;
use std::ops::Range;

use model::PageId;

pub use position::{PageOrder, PagePlace, Part, Position};
pub use predicate::{Predicate, WrongPredicate};
pub use selection::{Selection, SiteSet};

use crate::error::{Error, Result};
use crate::page_store::StoredPage;
use crate::snapshot::Snapshot;
use judge::Known;
use plan::Plan;
use position::PlaceKey;
use read_ahead::ReadAhead;

/// What is wanted of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRequest {
    /// Which pages.
    pub selection: Selection,
    /// In which order.
    pub order: PageOrder,
    /// Which share of them.
    pub part: Part,
    /// Only those behind this position.
    pub from: Option<Position>,
    /// No more pages than this.
    pub max_pages: u64,
    /// For so many pages places are kept in memory, 24 bytes each and twice as many for a moment.
    pub window_pages: usize,
}

impl StreamRequest {
    /// About 200 MB at the most, in which a scan is worth four million pages.
    pub const LARGE_WINDOW_PAGES: usize = 4 << 20;
}

impl Default for StreamRequest {
    fn default() -> StreamRequest {
        StreamRequest {
            selection: Selection::all(),
            order: PageOrder::Crawl,
            part: Part::WHOLE,
            from: None,
            max_pages: u64::MAX,
            window_pages: StreamRequest::LARGE_WINDOW_PAGES,
        }
    }
}

/// What a stream gives.
#[derive(Debug)]
pub enum Streamed<T> {
    /// A page.
    Page(PagePlace, T),
    /// In place of a page: why it cannot be read.
    Damaged(PagePlace, Error),
}

/// The pages of a commit that somebody wants, one after the other.
pub struct PageStream<'s> {
    snapshot: &'s Snapshot,
    selection: Selection,
    plan: Plan,
    window_pages: usize,
    /// The places that come next, and how many of them have been.
    places: Vec<PagePlace>,
    next: usize,
    /// Whether there are none behind them.
    complete: bool,
    /// Behind the last page that was given.
    after: Option<PlaceKey>,
    left: u64,
    read_ahead: ReadAhead,
}

impl<'s> PageStream<'s> {
    /// Begins a stream.
    pub fn open(snapshot: &'s Snapshot, request: &StreamRequest) -> Result<PageStream<'s>> {
        check_position(snapshot, request)?;
        let plan = Plan {
            order: request.order,
            part: request.part,
            sites: request.selection.find_sites(snapshot)?,
            pages: request.selection.find_languages(snapshot)?,
            judge: request.selection.find_judge(snapshot)?,
        };
        Ok(PageStream {
            snapshot,
            selection: request.selection.clone(),
            plan,
            window_pages: request.window_pages.max(1),
            places: Vec::new(),
            next: 0,
            complete: false,
            after: request.from.map(|position| position.key),
            left: request.max_pages,
            read_ahead: ReadAhead::default(),
        })
    }

    /// A stream of these pages, as far as they are stored, as they lie in their files.
    pub fn of_pages(snapshot: &'s Snapshot, pages: &[PageId]) -> Result<PageStream<'s>> {
        let mut stream = PageStream::open(snapshot, &StreamRequest::default())?;
        let records = snapshot.pages.get_many(pages)?;
        let place = |(page, record): (&PageId, &crate::page_state::PageRecord)| {
            Some(PagePlace { page: *page, site: record.site, location: record.stored? })
        };
        stream.places = pages.iter().zip(&records).filter_map(place).collect();
        stream.places.sort_unstable_by_key(|place| place.key(PageOrder::Crawl));
        stream.complete = true;
        Ok(stream)
    }

    /// Where the stream is: behind the last page that it gave. None as long as it gave none and began at the beginning.
    pub fn position(&self) -> Option<Position> {
        let (generation, order) = (self.snapshot.manifest.generation, self.plan.order);
        self.after.map(|key| Position { generation, order, key })
    }

    /// The position behind a page of this stream.
    pub fn position_behind(&self, place: &PagePlace) -> Position {
        let (generation, order) = (self.snapshot.manifest.generation, self.plan.order);
        Position { generation, order, key: place.key(order) }
    }

    /// How long the record of the next page is, compressed; nothing if there is none, or if the selection must read it first.
    pub fn peek_length(&mut self) -> Result<Option<u64>> {
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
    pub fn next_place(&mut self) -> Result<Option<Streamed<()>>> {
        if self.needs_record() {
            return Ok(self.next_page()?.map(|streamed| match streamed {
                Streamed::Page(place, _) => Streamed::Page(place, ()),
                Streamed::Damaged(place, error) => Streamed::Damaged(place, error),
            }));
        }
        let Some(place) = self.peek()? else { return Ok(None) };
        self.give(&place);
        Ok(Some(Streamed::Page(place, ())))
    }

    /// The next page as it is stored: a gzip member with a WARC record, which may refer to another for its body. It is only
    /// decompressed, and damage noticed, if the selection needs that, or if `verify` says so.
    pub fn next_member(&mut self, verify: bool) -> Result<Option<Streamed<&[u8]>>> {
        let judge = verify || self.needs_record();
        while let Some(place) = self.peek()? {
            let range = match self.member() {
                Ok(range) => range,
                Err(error) => return self.damaged(place, error).map(Some),
            };
            if judge {
                match self.page(&place, range.clone()) {
                    Ok(page) if !self.means(&place, &page)? => {
                        self.step(&place);
                        continue;
                    }
                    Ok(_) => {}
                    Err(error) => return self.damaged(place, error).map(Some),
                }
            }
            self.give(&place);
            return Ok(Some(Streamed::Page(place, self.read_ahead.bytes(range))));
        }
        Ok(None)
    }

    /// The next page, decompressed and with its body.
    pub fn next_page(&mut self) -> Result<Option<Streamed<StoredPage>>> {
        while let Some(place) = self.peek()? {
            match self.member().and_then(|range| self.page(&place, range)) {
                Ok(page) if self.means(&place, &page)? => {
                    self.give(&place);
                    return Ok(Some(Streamed::Page(place, page)));
                }
                Ok(_) => self.step(&place),
                Err(error) => return self.damaged(place, error).map(Some),
            }
        }
        Ok(None)
    }

    /// The next place, if there is one and it may still be given.
    fn peek(&mut self) -> Result<Option<PagePlace>> {
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
    fn means(&self, place: &PagePlace, stored: &StoredPage) -> Result<bool> {
        if !self.selection.has_record(stored) {
            return Ok(false);
        }
        let judge = self.plan.judge.as_ref().filter(|judge| judge.needs_record);
        let Some(judge) = judge else { return Ok(true) };
        let Some(record) = self.snapshot.pages.get(place.page)? else { return Ok(false) };
        let site = self.snapshot.urls.site_name(place.site).unwrap_or_default();
        Ok(judge.means(&Known { page: place.page, record: &record, site, stored: Some(stored) }))
    }

    fn member(&mut self) -> Result<Range<usize>> {
        self.read_ahead.member(&self.snapshot.bodies, &self.places[self.next..])
    }

    fn page(&self, place: &PagePlace, member: Range<usize>) -> Result<StoredPage> {
        self.snapshot.bodies.page_of_member(self.read_ahead.bytes(member), &place.location)
    }

    fn step(&mut self, place: &PagePlace) {
        self.next += 1;
        self.after = Some(place.key(self.plan.order));
    }

    fn give(&mut self, place: &PagePlace) {
        self.step(place);
        self.left -= 1;
    }

    /// Goes on behind what is damaged; any other error ends the stream.
    fn damaged<T>(&mut self, place: PagePlace, error: Error) -> Result<Streamed<T>> {
        let is_damage = match &error {
            Error::Damaged { .. } => true,
            Error::Io { source, .. } => source.kind() == io::ErrorKind::UnexpectedEof,
            _ => false,
        };
        if !is_damage {
            return Err(error);
        }
        self.step(&place);
        Ok(Streamed::Damaged(place, error))
    }
}

fn check_position(snapshot: &Snapshot, request: &StreamRequest) -> Result<()> {
    let Some(position) = request.from else { return Ok(()) };
    let generation = snapshot.manifest.generation;
    let why = if position.generation != generation {
        format!("it is of commit {}, and this is commit {generation}", position.generation)
    } else if position.order != request.order {
        "it is of a stream in another order".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::WrongPosition { position: position.to_string(), why })
}
