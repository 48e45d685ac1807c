//! Simulated workers: they lease batches, deliver pages in segments, crash, and resume batches of crashed workers.

use std::collections::{HashSet, VecDeque};

use harvest::item::batch::Batch;
use harvest::item::harvest_event::{HarvestEvent, SiteResult, SitemapOutcome};
use harvest::transport::blob_store::BlobStore;
use harvest::transport::broker::Broker;
use harvest::transport::messages::{LogRecord, read_offer, segment_blob_name};
use harvest::transport::segment::SegmentWriter;
use model::SiteId;

use super::faulty_transport::{FaultyTransport, Random};
use super::{address, gathered_page, now_ms, retry};

/// Worker of the simulation.
#[derive(Default)]
pub(super) struct SimulatedWorker {
    active: Option<ActiveBatch>,
    /// Unique key of the last lease.
    key: u64,
}

struct ActiveBatch {
    batch: Batch,
    /// Indexes of the pages to fetch, with their sites.
    remaining: VecDeque<(u32, SiteId)>,
    last_seq: u64,
    is_started: bool,
    writer: SegmentWriter,
    pages: Vec<u32>,
    sites: Vec<SiteId>,
    segments: u32,
    /// Segment on its way to the blob store and the log.
    unsent: Option<UnsentSegment>,
}

struct UnsentSegment {
    number: u32,
    bytes: Option<Vec<u8>>,
    pages: Vec<u32>,
    sites: Vec<SiteId>,
}

impl SimulatedWorker {
    /// Performs one step; dies with this probability, in percent.
    pub(super) fn step(&mut self, transport: &FaultyTransport, random: &mut Random, death_percent: u64) {
        let Some(active) = &mut self.active else { return self.lease(transport, random) };
        let id = active.batch.id;
        if random.percent(death_percent) {
            self.active = None;
            return transport.release(id, false);
        }
        let key = self.key;
        let outcome = if !active.is_started {
            active.append(transport, &LogRecord::Started { worker: "w".to_owned() }).map(|()| {
                active.is_started = true;
            })
        } else if active.unsent.is_some() {
            active.send(transport, key)
        } else if active.remaining.is_empty() && active.writer.is_empty() {
            active.append(transport, &LogRecord::Closed { worker: Some("w".to_owned()) }).map(|()| {
                active.batch.sites.clear();
            })
        } else {
            active.fetch(random);
            Ok(())
        };
        // Completed, or another worker has written to the log.
        let is_completed = active.batch.sites.is_empty();
        if is_completed || matches!(outcome, Err(LostLease)) {
            self.active = None;
            transport.release(id, is_completed);
        }
    }

    fn lease(&mut self, transport: &FaultyTransport, random: &mut Random) {
        let Some((id, message)) = transport.lease() else { return };
        self.key = random.below(u64::MAX);
        let (Ok(batch), Ok(log)) = (read_offer(id, &message, transport), transport.read_log(id)) else {
            return transport.release(id, false);
        };
        let (mut done, mut done_sites) = (HashSet::new(), HashSet::new());
        for entry in &log {
            match LogRecord::read(&entry.message) {
                Ok(LogRecord::Segment { pages, sites, .. }) => {
                    done.extend(pages);
                    done_sites.extend(sites);
                }
                Ok(LogRecord::Closed { .. }) => return transport.release(id, true),
                _ => {}
            }
        }
        let pages = batch.sites.iter().flat_map(|site| site.pages.iter().map(|_| site.site));
        let indexed = (0..).zip(pages);
        let remaining = indexed.filter(|(index, site)| !done.contains(index) && !done_sites.contains(site));
        self.active = Some(ActiveBatch {
            remaining: remaining.collect(),
            batch,
            last_seq: log.last().map_or(0, |entry| entry.seq),
            is_started: false,
            writer: SegmentWriter::default(),
            pages: Vec::new(),
            sites: Vec::new(),
            segments: 0,
            unsent: None,
        });
    }
}

/// Another worker has the batch.
struct LostLease;

impl ActiveBatch {
    /// Appends to the log; retries while the broker is unavailable.
    fn append(&mut self, transport: &FaultyTransport, record: &LogRecord) -> Result<(), LostLease> {
        let message = record.write().unwrap();
        // The lease is also lost if the last entry is its own, of which only the response was lost.
        let appended = retry(|| transport.append_log(self.batch.id, self.last_seq, &message));
        self.last_seq = appended.ok_or(LostLease)?;
        Ok(())
    }

    /// Fetches a page, and closes the segment from time to time.
    fn fetch(&mut self, random: &mut Random) {
        if let Some((index, site)) = self.remaining.pop_front() {
            let mut pages = self.batch.sites.iter().flat_map(|site| &site.pages);
            let url = &pages.nth(index as usize).unwrap().url;
            self.writer.push_page(index, gathered_page(url));
            self.pages.push(index);
            if self.remaining.iter().all(|(_, other)| *other != site) {
                self.writer.push_event(&HarvestEvent::SiteDone(site_result(site)));
                self.sites.push(site);
            }
        }
        if self.remaining.is_empty() || random.percent(40) {
            self.segments += 1;
            self.unsent = Some(UnsentSegment {
                number: self.segments,
                bytes: Some(self.writer.finish().unwrap()),
                pages: std::mem::take(&mut self.pages),
                sites: std::mem::take(&mut self.sites),
            });
        }
    }

    /// Stores the segment and appends it to the log.
    fn send(&mut self, transport: &FaultyTransport, key: u64) -> Result<(), LostLease> {
        let Some(segment) = &mut self.unsent else { return Ok(()) };
        if let Some(bytes) = &segment.bytes {
            if transport.put(&segment_blob_name(self.batch.id, key, segment.number), bytes.clone()).is_err() {
                return Ok(());
            }
            segment.bytes = None;
        }
        let record = LogRecord::Segment {
            worker: "w".to_owned(),
            ahead_ms: None,
            key,
            number: segment.number,
            pages: segment.pages.clone(),
            sites: segment.sites.clone(),
        };
        self.append(transport, &record)?;
        self.unsent = None;
        Ok(())
    }
}

fn site_result(site: SiteId) -> SiteResult {
    SiteResult {
        site,
        address: Some(address()),
        resolved_s: (now_ms() / 1_000) as u32,
        address_expires_s: (now_ms() / 1_000) as u32 + 600,
        next_request_ms: now_ms(),
        consecutive_errors: 0,
        back_off_until_ms: 0,
        throttle_delay_ms: 0,
        sitemaps_read_s: 0,
        sitemaps: SitemapOutcome::Absent,
    }
}
