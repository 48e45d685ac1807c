//! What do a collection and its workers tell each other?
//!
//! An offer is a batch; the log of a batch says who took it, what its servers asked of us, which segments lie in the depot, and that
//! nothing more will come. Orders say what all workers obey, reports how one of them is. All are small: long batches go by the
//! depot, and so does every segment.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use model::SiteId;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::broker::{BrokerError, Depot, MESSAGE_LIMIT_BYTES};
use crate::journal::Entry;
use crate::progress::Progress;
use crate::stop::Stop;

/// Changes when a worker of another version could not do what is asked of it.
pub(crate) const PROTOCOL: u32 = 2;

/// A batch as a message, compressed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Offer {
    Here(Batch),
    /// It lies in the depot.
    There,
}

/// What a batch may occupy when it is unpacked.
const BATCH_LIMIT_BYTES: u64 = 1 << 30;

/// Where everything lies in the depot that belongs to a batch.
pub(crate) fn depot_folder(batch: u64) -> String {
    format!("{batch:06}")
}

/// What a collection puts into its depot: which start of its program it is. Workers look whether theirs is the same depot.
pub(crate) const STORE_MARK: &str = "collection";

fn batch_name(batch: u64) -> String {
    format!("{}/batch", depot_folder(batch))
}

/// The name of a segment in the depot; `key` is different for everyone who takes the batch.
pub(crate) fn segment_name(batch: u64, key: u64, number: u32) -> String {
    format!("{}/{key:016x}-{number:06}", depot_folder(batch))
}

/// Makes a message of a batch; the depot gets it if it is too long for one.
pub(crate) fn write_offer(batch: &Batch, depot: &dyn Depot) -> Result<Vec<u8>, BrokerError> {
    let here = pack(&Offer::Here(batch.clone())).map_err(unreadable)?;
    if here.len() <= MESSAGE_LIMIT_BYTES {
        return Ok(here);
    }
    depot.put(&batch_name(batch.number), here)?;
    pack(&Offer::There).map_err(unreadable)
}

/// The batch that a message is about.
pub(crate) fn read_offer(number: u64, message: &[u8], depot: &dyn Depot) -> Result<Batch, BrokerError> {
    let offer = match unpack(message).map_err(unreadable)? {
        Offer::There => {
            let batch = depot.get(&batch_name(number), BATCH_LIMIT_BYTES)?;
            unpack(&batch.ok_or_else(|| unreadable("it is not in the depot"))?).map_err(unreadable)?
        }
        here @ Offer::Here(_) => here,
    };
    match offer {
        Offer::Here(batch) if batch.number == number => Ok(batch),
        _ => Err(BrokerError::Refused(format!("the offer of batch {number} is another's"))),
    }
}

fn unreadable(error: impl std::fmt::Display) -> BrokerError {
    BrokerError::Refused(format!("a batch or its log cannot be read or written: {error}"))
}

fn pack(offer: &Offer) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(&serde_json::to_vec(offer)?, 3)
}

fn unpack(message: &[u8]) -> io::Result<Offer> {
    let mut text = Vec::new();
    zstd::stream::read::Decoder::with_buffer(message)?.take(BATCH_LIMIT_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// An entry in the log of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogLine {
    /// A worker begins with what is left of it.
    Taken { worker: String },
    /// What must not be forgotten even if the worker dies now: the segment that tells it is still to come. Times are by the worker's
    /// clock, which is so much ahead of the collection's.
    Told { worker: String, ahead_ms: Option<i64>, news: Vec<Entry> },
    /// Something lies in the depot. Pages by their places in the batch, and sites, that need no further worker.
    Segment {
        worker: String,
        ahead_ms: Option<i64>,
        key: u64,
        number: u32,
        pages: Vec<u32>,
        sites: Vec<SiteId>,
    },
    /// Nothing more comes: the worker is done, or the collection does not wait any longer.
    Closed { worker: Option<String> },
}

impl LogLine {
    pub(crate) fn write(&self) -> Result<Vec<u8>, BrokerError> {
        serde_json::to_vec(self).map_err(unreadable)
    }

    pub(crate) fn read(message: &[u8]) -> Result<LogLine, BrokerError> {
        serde_json::from_slice(message).map_err(unreadable)
    }
}

/// What all workers obey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerOrders {
    pub(crate) protocol: u32,
    /// Different for every start of the collection's program.
    pub(crate) run: u64,
    /// The collection's time, in Unix milliseconds.
    pub(crate) now_ms: u64,
    pub(crate) stop: Stop,
    pub(crate) paused: bool,
    /// How many requests a worker may begin in a second; 0 stands for any number.
    pub(crate) requests_per_second: f64,
    /// The settings of the crawl, as a file has them.
    pub(crate) settings: String,
}

/// How a worker is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerReport {
    pub(crate) worker: String,
    /// Different for every start of the worker's program.
    pub(crate) run: u64,
    /// The worker's time, in Unix milliseconds.
    pub(crate) now_ms: u64,
    pub(crate) batches: Vec<u64>,
    pub(crate) pages: u64,
    pub(crate) bytes: u64,
    pub(crate) requests: u64,
    pub(crate) requests_under_way: u64,
    pub(crate) errors: u64,
    pub(crate) active_sites: u64,
    pub(crate) memory_bytes: Option<u64>,
    /// Whether this is its last.
    pub(crate) leaves: bool,
}

impl WorkerReport {
    pub(crate) fn of(
        worker: &str,
        run: u64,
        now_ms: u64,
        progress: &Progress,
        batches: Vec<u64>,
    ) -> WorkerReport {
        WorkerReport {
            worker: worker.to_owned(),
            run,
            now_ms,
            batches,
            pages: progress.pages,
            bytes: progress.bytes,
            requests: progress.requests,
            requests_under_way: progress.requests_under_way,
            errors: progress.errors,
            active_sites: progress.active_sites,
            memory_bytes: crate::memory::memory_bytes(),
            leaves: false,
        }
    }
}

/// What a worker thinks its clock is ahead may be too much by the time that orders take to be given and read.
const SLOWEST_ORDERS_MS: i64 = 2_000;

/// A time by a worker's clock, by the collection's: never too early.
pub(crate) fn by_collection(ahead_ms: Option<i64>, time_ms: u64) -> u64 {
    let later_ms = ahead_ms.map_or(0, |ahead_ms| SLOWEST_ORDERS_MS - ahead_ms);
    if time_ms == 0 { 0 } else { time_ms.saturating_add_signed(later_ms) }
}

/// How much later it may be here than there, by the clock of somebody else. Clocks of programs are steady, so it stays the same for as
/// long as neither is started again; but no two run quite equally fast.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Skew {
    /// Which of all programs the other one is.
    run: u64,
    /// Since when the latest is seen.
    since_ms: u64,
    latest_ms: Option<i64>,
    before_ms: Option<i64>,
}

/// What was seen longer ago than twice this says nothing any more.
const SKEW_PERIOD_MS: u64 = 600_000;

impl Skew {
    /// The time of a program, as told by a message that has just come.
    pub(crate) fn see(&mut self, run: u64, here_ms: u64, there_ms: u64) {
        if self.run != run {
            *self = Skew { run, since_ms: here_ms, ..Skew::default() };
        }
        if here_ms.saturating_sub(self.since_ms) >= SKEW_PERIOD_MS {
            (self.since_ms, self.before_ms, self.latest_ms) = (here_ms, self.latest_ms, None);
        }
        // The way takes its time: of all that were seen, the least is nearest to the truth, and never below it.
        let skew_ms = here_ms as i64 - there_ms as i64;
        self.latest_ms = Some(self.latest_ms.map_or(skew_ms, |least_ms| least_ms.min(skew_ms)));
    }

    /// How much later it is here, as far as that is known; rather too much.
    pub(crate) fn ahead_ms(self) -> Option<i64> {
        self.latest_ms.into_iter().chain(self.before_ms).min()
    }

    /// When a time of theirs is here, never too early.
    pub(crate) fn here(self, there_ms: u64) -> u64 {
        if there_ms == 0 { 0 } else { there_ms.saturating_add_signed(self.ahead_ms().unwrap_or(0)) }
    }
}

/// The same for several threads.
#[derive(Debug, Default)]
pub(crate) struct SharedSkew(Mutex<Skew>);

impl SharedSkew {
    pub(crate) fn get(&self) -> Skew {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn see(&self, run: u64, here_ms: u64, there_ms: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).see(run, here_ms, there_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchSite, test_site};
    use crate::folder_depot::FolderDepot;

    #[test]
    fn long_batches_go_by_the_depot() {
        let folder = tempfile::tempdir().unwrap();
        let depot = FolderDepot::open(folder.path()).unwrap();
        let mut batch = Batch { number: 7, sites: vec![test_site()], ..Batch::default() };
        let message = write_offer(&batch, &depot).unwrap();
        assert_eq!(read_offer(7, &message, &depot).unwrap(), batch);
        assert!(read_offer(8, &message, &depot).is_err());
        let random = |seed: u64| format!("{:x}", xxhash_rust::xxh3::xxh3_64(&seed.to_le_bytes()));
        let name = |place: u64| (0..8_u64).map(|part| random(place * 8 + part)).collect::<String>();
        batch.sites = (0..20_000).map(|place| BatchSite { name: name(place), ..test_site() }).collect();
        let message = write_offer(&batch, &depot).unwrap();
        assert!(message.len() < 100);
        assert_eq!(read_offer(7, &message, &depot).unwrap(), batch);
    }

    #[test]
    fn nobody_is_asked_too_early_because_clocks_differ() {
        let mut ahead = Skew::default();
        ahead.see(1, 5_000, 1_000);
        ahead.see(1, 6_000, 2_100);
        ahead.see(1, 7_000, 2_000);
        assert_eq!(ahead.here(10_000), 13_900, "here it is later by at most what was seen");
        ahead.see(2, 9_000, 8_990);
        assert_eq!(ahead.here(10_000), 10_010, "another program has another clock");
        let mut behind = Skew::default();
        behind.see(1, 1_000, 5_000);
        assert_eq!(behind.here(10_000), 6_000, "a clock that is ahead is no reason to wait");
        assert_eq!(behind.here(0), 0, "no time is no time");
        behind.see(1, 1_000 + SKEW_PERIOD_MS, 5_100 + SKEW_PERIOD_MS);
        assert_eq!(behind.ahead_ms(), Some(-4_100));
        behind.see(1, 1_000 + 3 * SKEW_PERIOD_MS, 4_900 + 3 * SKEW_PERIOD_MS);
        behind.see(1, 1_000 + 5 * SKEW_PERIOD_MS, 4_900 + 5 * SKEW_PERIOD_MS);
        assert_eq!(behind.ahead_ms(), Some(-3_900), "what was long ago is forgotten");
        assert_eq!(
            by_collection(Some(3_900), 10_000),
            8_100,
            "an hour ahead is no reason to wait for an hour"
        );
        assert_eq!(by_collection(Some(-4_000), 10_000), 16_000);
        assert_eq!((by_collection(None, 10_000), by_collection(Some(9), 0)), (10_000, 0));
    }
}
