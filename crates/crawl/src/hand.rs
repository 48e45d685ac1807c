//! What does a worker do with one batch? It fetches the pages and reads them, and tells in the log of the batch what has come, a
//! segment at a time. Whoever takes the batch after a worker that died goes on behind its last segment.
//!
//! While the broker or the depot cannot be reached, nothing new is asked for as soon as some megabytes wait; nothing is lost.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use model::{PageId, SiteId};
use tokio::runtime::{Builder, Runtime};

use crate::batch::Batch;
use crate::broker::{self, Broker, BrokerError, Depot, LogEntry, MESSAGE_LIMIT_BYTES};
use crate::crew::{Crew, CrewPlan};
use crate::error::Error;
use crate::harvest::HarvestNews;
use crate::harvester::Piece;
use crate::harvester_alone::tell;
use crate::helm::Helm;
use crate::journal::Entry;
use crate::messages::{self, LogLine, SharedSkew};
use crate::segment::SegmentWriter;
use crate::stop::Stop;
use crate::territory::Territory;

/// What a hand works with.
pub(crate) struct HandPlan<'h> {
    pub(crate) broker: &'h dyn Broker,
    pub(crate) depot: &'h dyn Depot,
    pub(crate) worker: &'h str,
    pub(crate) batch: u64,
    /// What was offered.
    pub(crate) message: &'h [u8],
    /// Stops and pauses it alone.
    pub(crate) helm: &'h Helm,
    pub(crate) running: crate::running::Running,
    /// How the collection's clock differs.
    pub(crate) skew: &'h SharedSkew,
    /// Different for everyone who takes a batch.
    pub(crate) key: u64,
}

/// How a batch was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandEnd {
    /// Everything was told.
    Closed,
    /// It is another's, or will be.
    Left,
}

/// A segment is sent when it is this old, or has so many bytes.
const SEGMENT_AGE: Duration = Duration::from_secs(2);
const SEGMENT_BYTES: usize = 8 << 20;
/// Pages and sites that one entry of a log speaks of, and news that one carries: all fit into a message.
const ENTRY_PAGES: usize = 20_000;
const TOLD_BYTES: usize = MESSAGE_LIMIT_BYTES / 2;

/// Harvests a batch.
pub(crate) fn harvest(plan: &HandPlan<'_>) -> Result<HandEnd, Error> {
    let (number, depot) = (plan.batch, plan.depot);
    let read = match plan.insist(|| messages::read_offer(number, plan.message, depot)) {
        // Nobody can read it: it is given back as it is, for others would not fare better.
        Err(BrokerError::Refused(_)) => Some(Batch { number, ..Batch::default() }),
        read => read?,
    };
    let Some(batch) = read else { return Ok(HandEnd::Left) };
    let Some(log) = plan.insist(|| plan.broker.log(number))? else { return Ok(HandEnd::Left) };
    let left = Rest::of(batch, &log);
    if left.closed {
        return Ok(HandEnd::Closed);
    }
    let began_unknown = !log.is_empty();
    let mut hand = Hand::new(plan, left.last, &left.batch)?;
    if !hand.append(&LogLine::Taken { worker: plan.worker.to_owned() })? {
        return Ok(HandEnd::Left);
    }
    hand.begin(left, began_unknown)?.run()
}

impl HandPlan<'_> {
    /// Asks until there is an answer; nothing if there is no point in it any more.
    fn insist<T>(&self, ask: impl FnMut() -> Result<T, BrokerError>) -> Result<Option<T>, BrokerError> {
        let has_given_up = || match self.helm.stopping() {
            Stop::No => false,
            // Who is to end does not wait for servers beyond the time for which anybody counts on him.
            Stop::InOrder => !self.running.lease.holds(),
            Stop::AtOnce => true,
        };
        broker::insist(has_given_up, ask)
    }
}

/// What earlier workers have left of a batch.
struct Rest {
    batch: Batch,
    told: Vec<Entry>,
    /// The last entry of the log.
    last: u64,
    closed: bool,
    /// Places of pages in the batch as it was offered.
    places: HashMap<PageId, u32>,
}

impl Rest {
    fn of(mut batch: Batch, log: &[LogEntry]) -> Rest {
        let pages = batch.sites.iter().flat_map(|site| &site.pages);
        let mut places: HashMap<PageId, u32> =
            pages.zip(0..).map(|(page, place)| (page.page, place)).collect();
        let (mut done, mut done_sites, mut told, mut closed) =
            (HashSet::new(), HashSet::new(), Vec::new(), false);
        for entry in log {
            // What nobody can read tells nothing; its pages are fetched again.
            let Ok(line) = LogLine::read(&entry.message) else { continue };
            match line {
                LogLine::Taken { .. } => {}
                LogLine::Told { mut news, ahead_ms, .. } => {
                    let by_collection = |time_ms| messages::by_collection(ahead_ms, time_ms);
                    news.iter_mut().for_each(|entry| entry.set_times(by_collection));
                    told.extend(news);
                }
                LogLine::Segment { pages, sites, .. } => {
                    done.extend(pages);
                    done_sites.extend(sites);
                }
                LogLine::Closed { .. } => closed = true,
            }
        }
        batch.sites.retain(|site| !done_sites.contains(&site.site));
        for site in &mut batch.sites {
            site.pages.retain(|page| places.get(&page.page).is_some_and(|place| !done.contains(place)));
        }
        let left: HashSet<PageId> =
            batch.sites.iter().flat_map(|site| &site.pages).map(|page| page.page).collect();
        places.retain(|page, _| left.contains(page));
        Rest { batch, told, last: log.last().map_or(0, |entry| entry.number), closed, places }
    }
}

/// One batch at work.
struct Hand<'h, 'p> {
    plan: &'h HandPlan<'p>,
    batch: u64,
    runtime: Runtime,
    /// The last entry of the log.
    last: u64,
    segment: SegmentWriter,
    segment_began: Instant,
    segments: u32,
    /// What the segment tells of.
    pages_done: Vec<u32>,
    sites_done: Vec<SiteId>,
    told: Vec<Entry>,
    /// Sites of which something is still to come, with their names and addresses.
    sites: HashMap<SiteId, (String, Option<std::net::IpAddr>)>,
    pages: HashMap<PageId, u32>,
    by_url: HashMap<String, PageId>,
    lost: bool,
}

impl<'h, 'p> Hand<'h, 'p> {
    fn new(plan: &'h HandPlan<'p>, last: u64, batch: &Batch) -> Result<Hand<'h, 'p>, Error> {
        let pages = batch.sites.iter().flat_map(|site| &site.pages);
        Ok(Hand {
            plan,
            batch: batch.number,
            runtime: Builder::new_current_thread().enable_time().build().map_err(Error::Thread)?,
            last,
            segment: SegmentWriter::default(),
            segment_began: Instant::now(),
            segments: 0,
            pages_done: Vec::new(),
            sites_done: Vec::new(),
            told: Vec::new(),
            sites: batch.sites.iter().map(|site| (site.site, (site.name.clone(), site.address))).collect(),
            pages: HashMap::new(),
            by_url: pages.map(|page| (page.url.clone(), page.page)).collect(),
            lost: false,
        })
    }

    /// Starts the threads.
    fn begin(mut self, rest: Rest, began_unknown: bool) -> Result<Working<'h, 'p>, Error> {
        let Rest { mut batch, told, places, .. } = rest;
        self.pages = places;
        // The collection has heard it from the log.
        tell(&mut batch, &told);
        let skew = self.plan.skew.get();
        batch.addresses.iter_mut().for_each(|(_, until_ms)| *until_ms = skew.here(*until_ms));
        batch.rests.iter_mut().for_each(|(_, until_ms)| *until_ms = skew.here(*until_ms));
        batch.sites.iter_mut().for_each(|site| site.not_before_ms = skew.here(site.not_before_ms));
        let (clocks, rests) = (mem::take(&mut batch.addresses), mem::take(&mut batch.rests));
        let crew = Crew::start(CrewPlan {
            running: &self.plan.running,
            // What must not be forgotten is told in the log of the batch.
            journal: None,
            committed: &[Arc::default()],
            began_unknown,
            clocks,
            rests,
            territory: Territory::of_lent(std::slice::from_ref(&batch)),
            reads: true,
        })?;
        self.plan.running.counters.waiting_pages.fetch_add(batch.pages() as u64, Ordering::Relaxed);
        crew.hand_over(batch);
        Ok(Working { hand: self, crew })
    }

    fn take(&mut self, block: Vec<Piece>) -> Result<(), Error> {
        if self.segment.is_empty() {
            self.segment_began = Instant::now();
        }
        for piece in block {
            match piece {
                Piece::Gathered(mut page) => {
                    if let Some(Err(error)) = page.prepared.take_if(|prepared| prepared.is_err()) {
                        return Err(error.into());
                    }
                    let id = self.by_url.get(page.url().as_str());
                    if let Some(place) = id.and_then(|id| self.pages.remove(id)) {
                        self.pages_done.push(place);
                        self.segment.push_page(&page);
                    }
                }
                Piece::News(news) => self.take_news(&news),
                // Harvesters of a worker read their pages themselves.
                Piece::Fetched(..) | Piece::Log(_) => {}
            }
        }
        Ok(())
    }

    /// Pages that nobody will be told of are not waiting any more either.
    fn drop_block(&mut self, block: &[Piece]) {
        for piece in block {
            let id = match piece {
                Piece::Gathered(page) => self.by_url.get(page.url().as_str()).copied(),
                Piece::News(HarvestNews::Left { page, .. } | HarvestNews::Back { page, .. }) => Some(*page),
                _ => None,
            };
            if let Some(id) = id {
                self.pages.remove(&id);
            }
        }
    }

    fn take_news(&mut self, news: &HarvestNews) {
        let place = |site| self.sites.get(&site).and_then(|(name, at)| Some((name.as_str(), (*at)?)));
        self.told.extend(Entry::of(news, place));
        match news {
            HarvestNews::Left { page, .. } | HarvestNews::Back { page, .. } => {
                self.pages_done.extend(self.pages.remove(page));
            }
            HarvestNews::Done(report) => {
                self.sites.remove(&report.site);
                self.sites_done.push(report.site);
            }
            _ => {}
        }
        self.segment.push_news(news);
    }

    /// Tells what must not be forgotten; it is in the next segment, too.
    fn tell(&mut self) -> Result<(), Error> {
        let (mut some, mut length) = (Vec::new(), 0);
        for entry in mem::take(&mut self.told) {
            let entry_length = entry.length();
            // A robots.txt that is too long for a message is fetched again by whoever takes over.
            if entry_length > TOLD_BYTES {
                continue;
            }
            if length + entry_length > TOLD_BYTES {
                self.append_told(mem::take(&mut some))?;
                length = 0;
            }
            length += entry_length;
            some.push(entry);
        }
        self.append_told(some)
    }

    fn append_told(&mut self, news: Vec<Entry>) -> Result<(), Error> {
        if !news.is_empty() {
            let (worker, ahead_ms) = (self.plan.worker.to_owned(), self.plan.skew.get().ahead_ms());
            self.append(&LogLine::Told { worker, ahead_ms, news })?;
        }
        Ok(())
    }

    fn send_if_long(&mut self) -> Result<(), Error> {
        let is_long = self.segment.bytes() >= SEGMENT_BYTES
            || self.pages_done.len() >= ENTRY_PAGES
            || self.sites_done.len() >= ENTRY_PAGES;
        if is_long { self.send() } else { Ok(()) }
    }

    /// Puts the segment into the depot, and says so.
    fn send(&mut self) -> Result<(), Error> {
        if self.segment.is_empty() || self.lost {
            return Ok(());
        }
        self.segments += 1;
        let name = messages::segment_name(self.batch, self.plan.key, self.segments);
        let failed = |source| Error::Io { what: "compress", path: name.clone().into(), source };
        let bytes = self.segment.finish().map_err(failed)?;
        let plan = self.plan;
        if plan.insist(|| plan.depot.put(&name, bytes.clone()))?.is_none() {
            self.lost = true;
            return Ok(());
        }
        let line = LogLine::Segment {
            worker: plan.worker.to_owned(),
            ahead_ms: plan.skew.get().ahead_ms(),
            key: plan.key,
            number: self.segments,
            pages: mem::take(&mut self.pages_done),
            sites: mem::take(&mut self.sites_done),
        };
        self.append(&line)?;
        Ok(())
    }

    /// Adds to the log. False if it is another's by now.
    fn append(&mut self, line: &LogLine) -> Result<bool, Error> {
        let (message, plan) = (line.write()?, self.plan);
        let appended = match self.lost {
            true => None,
            false => plan.insist(|| plan.broker.append(self.batch, self.last, &message))?.flatten(),
        };
        match appended {
            Some(number) => self.last = number,
            None => self.lose(),
        }
        Ok(appended.is_some())
    }

    fn lose(&mut self) {
        self.lost = true;
        self.plan.running.lease.lose();
        self.plan.helm.stop(Stop::AtOnce);
    }
}

/// A batch and the threads that fetch it.
struct Working<'h, 'p> {
    hand: Hand<'h, 'p>,
    crew: Crew,
}

impl Working<'_, '_> {
    fn run(mut self) -> Result<HandEnd, Error> {
        let outcome = self.receive();
        // Whatever happened, nobody is left behind.
        self.hand.plan.helm.stop(if outcome.is_ok() { Stop::InOrder } else { Stop::AtOnce });
        while let Some((_, block)) = self.hand.runtime.block_on(self.crew.pieces.recv()) {
            if outcome.is_ok() && !self.hand.lost {
                self.hand.take(block)?;
                self.hand.send_if_long()?;
            } else {
                self.hand.drop_block(&block);
            }
        }
        self.crew.end()?;
        let running = &self.hand.plan.running;
        running.counters.waiting_pages.fetch_sub(self.hand.pages.len() as u64, Ordering::Relaxed);
        outcome?;
        self.hand.close()
    }

    /// Takes what comes until everything has, or it is stopped.
    fn receive(&mut self) -> Result<(), Error> {
        let hand = &mut self.hand;
        while !hand.sites.is_empty() && !hand.lost && hand.plan.helm.stopping() == Stop::No {
            let pieces = &mut self.crew.pieces;
            let next = async { tokio::time::timeout(SEGMENT_AGE / 4, pieces.recv()).await };
            match hand.runtime.block_on(next) {
                Ok(Some((_, block))) => hand.take(block)?,
                Ok(None) => return Ok(()),
                Err(_) => {}
            }
            hand.tell()?;
            if hand.segment_began.elapsed() >= SEGMENT_AGE {
                hand.send()?;
            }
            hand.send_if_long()?;
            if self.crew.is_thread_gone() {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Hand<'_, '_> {
    /// Tells the rest. When requests were dropped, nobody knows of which sites: then the batch is left to somebody who waits.
    fn close(mut self) -> Result<HandEnd, Error> {
        if self.lost || self.plan.helm.stopping() == Stop::AtOnce {
            return Ok(HandEnd::Left);
        }
        let unasked: Vec<PageId> = self.pages.keys().copied().collect();
        for page in unasked {
            self.take_news(&HarvestNews::Back { page, reason: None });
            self.send_if_long()?;
        }
        self.send()?;
        let closed = LogLine::Closed { worker: Some(self.plan.worker.to_owned()) };
        Ok(if self.append(&closed)? { HandEnd::Closed } else { HandEnd::Left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{RobotsCopy, test_site};

    fn entry(number: u64, message: &[u8]) -> LogEntry {
        LogEntry { batch: 7, number, message: message.to_vec() }
    }

    #[test]
    fn who_takes_over_knows_what_was_told_and_an_unreadable_entry_harms_nobody() {
        let batch = Batch { number: 7, sites: vec![test_site()], ..Batch::default() };
        let asked = HarvestNews::Asked {
            name: "http://b.example".to_owned(),
            address: Some([192, 0, 2, 2].into()),
            ended_ms: 9_000,
            until_ms: 70_000,
        };
        let robots = RobotsCopy { fetched_s: 99, status: 404, text: Vec::new() };
        let robots = HarvestNews::Robots { site: SiteId(3), robots };
        let place = |_| Some(("http://a.example", [192, 0, 2, 1].into()));
        let news = [&asked, &robots].into_iter().filter_map(|news| Entry::of(news, place)).collect();
        let told = LogLine::Told { worker: "dead".to_owned(), ahead_ms: Some(60_000), news };
        let done = LogLine::Segment {
            worker: "dead".to_owned(),
            ahead_ms: None,
            key: 1,
            number: 1,
            pages: vec![0],
            sites: vec![],
        };
        let log = [entry(1, &told.write().unwrap()), entry(2, b""), entry(5, &done.write().unwrap())];
        let Rest { mut batch, told, last, closed, places } = Rest::of(batch, &log);
        assert_eq!((last, closed, batch.pages(), places.len()), (5, false, 1, 1));
        tell(&mut batch, &told);
        // Its clock was a minute ahead, or two seconds less.
        assert_eq!(batch.rests, [("http://b.example".to_owned(), 12_000)]);
        assert_eq!(batch.addresses, [([192, 0, 2, 2].into(), 12_000)]);
        assert_eq!(
            batch.sites[0].robots.as_ref().map(|robots| (robots.status, robots.fetched_s)),
            Some((404, 41))
        );
    }
}
