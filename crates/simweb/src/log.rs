//! Who asked for what, when, and what did they get? Every request is kept in memory, oldest ones dropped beyond the
//! limit, and written to a file if wished. Each worker has its own part, so that nobody waits for a lock.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

/// A request and its answer. Times are in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct LogEntry {
    /// When the head of the request had been read: monotonic, since the server started.
    pub start_us: u64,
    /// When the last byte of the answer had been handed over for sending.
    pub end_us: u64,
    /// The start as time since 1970.
    pub wall_us: u64,
    /// Host as the client named it, without port.
    pub host: Box<str>,
    /// The site it belongs to.
    pub site: Option<u32>,
    /// The address the request came in on.
    pub address: Ipv4Addr,
    /// Path and query.
    pub path: Box<str>,
    /// User-Agent.
    #[serde(serialize_with = "as_text")]
    pub agent: Arc<str>,
    /// Numbers connections from 1.
    pub connection: u64,
    /// The status sent; 0 when the connection was closed instead.
    pub status: u16,
    /// Bytes of the body that were sent.
    pub bytes: u64,
    /// `HTTP/1.1` or `HTTP/2`.
    pub protocol: &'static str,
    /// Whether it came over TLS.
    pub tls: bool,
    /// `GET`, `HEAD` or `other`.
    pub method: &'static str,
}

/// The log of all workers.
#[derive(Debug)]
pub struct RequestLog {
    started: Instant,
    started_wall: Duration,
    shards: Box<[Mutex<Shard>]>,
    shard_entries: usize,
    file: Option<Mutex<LogFile>>,
}

#[derive(Debug, Default)]
struct Shard {
    entries: VecDeque<LogEntry>,
    dropped: u64,
    unwritten: Vec<u8>,
}

/// Where the lines go.
#[derive(Debug)]
struct LogFile {
    file: File,
    /// The first error; nothing is written after it, so that the file has no gap.
    failed: Option<io::Error>,
}

/// Lines wait for a full block, so that a file costs next to nothing.
const BLOCK_BYTES: usize = 64 * 1024;

impl RequestLog {
    pub(crate) fn new(workers: usize, entries: usize, file: Option<&Path>) -> io::Result<RequestLog> {
        let file = file.map(File::create).transpose()?;
        let file = file.map(|file| Mutex::new(LogFile { file, failed: None }));
        let started_wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let shards = (0..workers).map(|_| Mutex::default()).collect();
        Ok(RequestLog {
            started: Instant::now(),
            started_wall,
            shards,
            shard_entries: entries.div_ceil(workers),
            file,
        })
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    pub(crate) fn wall_us(&self, us: u64) -> u64 {
        self.started_wall.as_micros() as u64 + us
    }

    pub(crate) fn add(&self, worker: usize, entry: LogEntry) {
        let mut shard = lock(&self.shards[worker % self.shards.len()]);
        if let Some(file) = &self.file {
            // Serialising into memory cannot fail.
            let _ = serde_json::to_writer(&mut shard.unwritten, &entry);
            shard.unwritten.push(b'\n');
            if shard.unwritten.len() > BLOCK_BYTES {
                lock(file).write(&mut shard.unwritten);
            }
        }
        if shard.entries.len() >= self.shard_entries {
            shard.entries.pop_front();
            shard.dropped += 1;
        }
        if self.shard_entries > 0 {
            shard.entries.push_back(entry);
        }
    }

    /// All requests remembered, in the order they started.
    pub fn entries(&self) -> Vec<LogEntry> {
        let mut all: Vec<LogEntry> =
            self.shards.iter().flat_map(|shard| lock(shard).entries.clone()).collect();
        all.sort_by_key(|entry| entry.start_us);
        all
    }

    /// How many requests were forgotten because the limit was reached; 0 means the log is complete.
    pub fn dropped(&self) -> u64 {
        self.shards.iter().map(|shard| lock(shard).dropped).sum()
    }

    /// Forgets everything so far.
    pub fn clear(&self) {
        self.shards.iter().for_each(|shard| lock(shard).entries.clear());
    }

    /// Writes what still waits for a full block to the file. Tells the first error met since the start, each time.
    pub fn flush(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        for shard in &self.shards {
            // First the shard, then the file, as in `add`.
            let mut shard = lock(shard);
            lock(file).write(&mut shard.unwritten);
        }
        match &lock(file).failed {
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Ok(()),
        }
    }
}

impl LogFile {
    /// A log that cannot be written (a full disk) must not stop the server: the lines are lost, and `flush` tells.
    fn write(&mut self, lines: &mut Vec<u8>) {
        if self.failed.is_none() {
            self.failed = self.file.write_all(lines).err();
        }
        lines.clear();
    }
}

fn as_text<S: serde::Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// A thread that panicked while it held a log leaves it usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
