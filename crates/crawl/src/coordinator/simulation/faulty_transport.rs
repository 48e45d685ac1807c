//! Broker and blob store in memory that lose, delay, duplicate and reorder, deterministically from a seed.
//!
//! Faults within the contract of [`Broker`]: operations that fail before or after their effect, entries that arrive late,
//! twice, or in another order than those of other logs, leases that expire, blobs that appear late. Beyond it, if
//! [`FaultRates::beyond_contract`] is set: entries of one log that are swapped or never arrive, blobs that are lost or changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use harvest::transport::blob_store::BlobStore;
use harvest::transport::broker::{Broker, BrokerError, Lease, LogEntry};

/// Probabilities of faults, in percent of the operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaultRates {
    pub(super) percent: u64,
    pub(super) beyond_contract: bool,
}

/// Random numbers from a seed (SplitMix64).
#[derive(Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Broker and blob store in memory.
pub(super) struct FaultyTransport(Mutex<TransportState>);

struct TransportState {
    random: Random,
    rates: FaultRates,
    batches: BTreeMap<u64, Vec<u8>>,
    leased: BTreeSet<u64>,
    logs: BTreeMap<u64, Vec<LogEntry>>,
    /// Number of entries of each log that were handed over to the network.
    sent: BTreeMap<u64, usize>,
    in_transit: Vec<LogEntry>,
    /// Blobs, and the number of reads that do not find them yet.
    blobs: BTreeMap<String, (Vec<u8>, u64)>,
}

fn unavailable() -> BrokerError {
    BrokerError::Unavailable { operation: "reach the simulated server", source: "injected fault".into() }
}

impl TransportState {
    fn fails(&mut self) -> bool {
        self.random.percent(self.rates.percent)
    }

    fn fails_beyond_contract(&mut self) -> bool {
        self.rates.beyond_contract && self.random.percent(self.rates.percent / 4)
    }

    /// Performs an operation that can fail before or after its effect.
    fn perform<T>(&mut self, operation: impl FnOnce(&mut TransportState) -> T) -> Result<T, BrokerError> {
        if self.fails() {
            return Err(unavailable());
        }
        let result = operation(self);
        if self.fails() { Err(unavailable()) } else { Ok(result) }
    }

    /// Hands new entries over to the network, which loses some.
    fn send_new_entries(&mut self) {
        let logs: Vec<u64> = self.logs.keys().copied().collect();
        for batch in logs {
            let log = self.logs.get(&batch).cloned().unwrap_or_default();
            let sent = self.sent.insert(batch, log.len()).unwrap_or(0);
            for entry in log.into_iter().skip(sent) {
                if !self.fails_beyond_contract() {
                    self.in_transit.push(entry);
                }
            }
        }
    }

    /// Takes an entry from the network: the earliest of its log, unless the contract is broken.
    fn receive(&mut self) -> Option<LogEntry> {
        let any = self.random.below(self.in_transit.len() as u64) as usize;
        let batch = self.in_transit.get(any)?.batch;
        let swaps = self.fails_beyond_contract();
        let first = self.in_transit.iter().position(|entry| entry.batch == batch).unwrap_or(any);
        let index = if swaps { any } else { first };
        if self.fails() {
            // It arrives again.
            return self.in_transit.get(index).cloned();
        }
        Some(self.in_transit.remove(index))
    }
}

impl FaultyTransport {
    pub(super) fn new(seed: u64, rates: FaultRates) -> FaultyTransport {
        FaultyTransport(Mutex::new(TransportState {
            random: Random(seed),
            rates,
            batches: BTreeMap::new(),
            leased: BTreeSet::new(),
            logs: BTreeMap::new(),
            sent: BTreeMap::new(),
            in_transit: Vec::new(),
            blobs: BTreeMap::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, TransportState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all faults.
    pub(super) fn heal(&self) {
        self.lock().rates = FaultRates { percent: 0, beyond_contract: false };
    }

    /// A new coordinator receives all entries again.
    pub(super) fn reconnect(&self) {
        let mut state = self.lock();
        state.sent.clear();
        state.in_transit.clear();
    }

    /// Leases a batch; with a fault also one that another worker holds, whose lease has expired.
    pub(super) fn lease(&self) -> Option<(u64, Vec<u8>)> {
        let mut state = self.lock();
        let steals = state.fails();
        let free = state.batches.iter().find(|(batch, _)| steals || !state.leased.contains(batch));
        let leased = free.map(|(batch, message)| (*batch, message.clone()))?;
        state.leased.insert(leased.0);
        Some(leased)
    }

    /// Releases a batch; a completed one is not leased again.
    pub(super) fn release(&self, batch: u64, is_completed: bool) {
        let mut state = self.lock();
        state.leased.remove(&batch);
        if is_completed {
            state.batches.remove(&batch);
        }
    }
}

impl Broker for FaultyTransport {
    fn id(&self) -> String {
        "simulated".to_owned()
    }

    fn publish_batch(&self, batch: u64, message: &[u8]) -> Result<(), BrokerError> {
        self.lock().perform(|state| {
            state.batches.entry(batch).or_insert_with(|| message.to_vec());
        })
    }

    fn acquire_lease(&self, _: &str, _: Duration) -> Result<Option<Box<dyn Lease>>, BrokerError> {
        Ok(None)
    }

    fn append_log(&self, batch: u64, after_seq: u64, message: &[u8]) -> Result<Option<u64>, BrokerError> {
        self.lock().perform(|state| {
            let log = state.logs.entry(batch).or_default();
            let last = log.last().map_or(0, |entry| entry.seq);
            (last == after_seq).then(|| {
                log.push(LogEntry { batch, seq: last + 1, message: message.to_vec() });
                last + 1
            })
        })
    }

    fn read_log(&self, batch: u64) -> Result<Vec<LogEntry>, BrokerError> {
        self.lock().perform(|state| state.logs.get(&batch).cloned().unwrap_or_default())
    }

    fn poll_logs(&self, _: Duration) -> Result<Vec<LogEntry>, BrokerError> {
        let mut state = self.lock();
        if state.fails() {
            return Err(unavailable());
        }
        state.send_new_entries();
        let count = state.random.below(4);
        Ok((0..=count).filter_map(|_| state.receive()).collect())
    }

    fn delete_batch(&self, batch: u64) -> Result<(), BrokerError> {
        self.lock().perform(|state| {
            state.batches.remove(&batch);
            state.logs.remove(&batch);
            state.sent.remove(&batch);
        })
    }

    fn publish_control(&self, _: &[u8]) -> Result<(), BrokerError> {
        Ok(())
    }

    fn latest_control(&self) -> Result<Option<Vec<u8>>, BrokerError> {
        Ok(None)
    }

    fn send_report(&self, _: &str, _: &[u8]) -> Result<(), BrokerError> {
        Ok(())
    }

    fn drain_reports(&self) -> Result<Vec<Vec<u8>>, BrokerError> {
        Ok(Vec::new())
    }
}

impl BlobStore for FaultyTransport {
    fn put(&self, name: &str, mut bytes: Vec<u8>) -> Result<(), BrokerError> {
        self.lock().perform(|state| {
            if state.fails_beyond_contract() {
                return;
            }
            if state.fails_beyond_contract() {
                let index = state.random.below(bytes.len() as u64) as usize;
                if let Some(byte) = bytes.get_mut(index) {
                    *byte ^= 1;
                }
            }
            let hidden = if state.fails() { state.random.below(5) } else { 0 };
            state.blobs.insert(name.to_owned(), (bytes, hidden));
        })
    }

    fn get(&self, name: &str, _: u64) -> Result<Option<Vec<u8>>, BrokerError> {
        self.lock().perform(|state| {
            let (bytes, hidden) = state.blobs.get_mut(name)?;
            if *hidden > 0 {
                *hidden -= 1;
                return None;
            }
            Some(bytes.clone())
        })
    }

    fn remove(&self, name: &str) -> Result<(), BrokerError> {
        self.lock().perform(|state| drop(state.blobs.remove(name)))
    }

    fn remove_prefix(&self, prefix: &str) -> Result<(), BrokerError> {
        self.lock().perform(|state| state.blobs.retain(|name, _| !name.starts_with(&format!("{prefix}/"))))
    }
}
