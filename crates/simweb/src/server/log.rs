//! Request log: all requests in memory up to a maximum, and optionally in a file. Each worker has its own shard, so
//! that there is no lock contention.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

/// A request and its response. Times are in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct LogEntry {
    /// Time at which the request head was read: monotonic, since the start of the server.
    pub start_us: u64,
    /// Time at which the last byte of the response was written to the socket.
    pub end_us: u64,
    /// Start as Unix time.
    pub unix_us: u64,
    /// Host name of the request, without port.
    pub host: Box<str>,
    /// Index of the site.
    pub site: Option<u32>,
    /// Local IP address of the connection.
    pub ip_address: Ipv4Addr,
    /// Path and query.
    pub path: Box<str>,
    /// User-Agent.
    #[serde(serialize_with = "as_text")]
    pub agent: Arc<str>,
    /// Id of the connection, from 1.
    pub connection: u64,
    /// HTTP status; 0 if the connection was closed without a response.
    pub status: u16,
    /// Number of body bytes that were sent.
    pub bytes: u64,
    /// `HTTP/1.1` or `HTTP/2`.
    pub protocol: &'static str,
    /// Whether TLS was used.
    pub tls: bool,
    /// `GET`, `HEAD` or `other`.
    pub method: &'static str,
}

/// Log of all workers.
#[derive(Debug)]
pub struct RequestLog {
    started: Instant,
    started_unix: Duration,
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

/// File of the log.
#[derive(Debug)]
struct LogFile {
    file: File,
    /// The first error; nothing is written after it, so that the file has no gaps.
    failed: Option<io::Error>,
}

/// Size of a block; lines are buffered up to it.
const BLOCK_BYTES: usize = 64 * 1024;

impl RequestLog {
    pub(crate) fn new(workers: usize, entries: usize, file: Option<&Path>) -> io::Result<RequestLog> {
        let file = file.map(File::create).transpose()?;
        let file = file.map(|file| Mutex::new(LogFile { file, failed: None }));
        let started_unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let shards = (0..workers).map(|_| Mutex::default()).collect();
        Ok(RequestLog {
            started: Instant::now(),
            started_unix,
            shards,
            shard_entries: entries.div_ceil(workers),
            file,
        })
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    pub(crate) fn unix_us(&self, us: u64) -> u64 {
        self.started_unix.as_micros() as u64 + us
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

    /// Returns the logged requests in the order of their start.
    pub fn entries(&self) -> Vec<LogEntry> {
        let mut all: Vec<LogEntry> =
            self.shards.iter().flat_map(|shard| lock(shard).entries.clone()).collect();
        all.sort_by_key(|entry| entry.start_us);
        all
    }

    /// Number of requests that were dropped because of the maximum; 0 means that the log is complete.
    pub fn dropped(&self) -> u64 {
        self.shards.iter().map(|shard| lock(shard).dropped).sum()
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.shards.iter().for_each(|shard| lock(shard).entries.clear());
    }

    /// Writes buffered lines to the file. Returns the first error since the start, on each call.
    pub fn flush(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        for shard in &self.shards {
            // The same lock order as in `add`: first the shard, then the file.
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
    /// Writes lines. An error (a full disk) must not stop the server: the lines are lost, and `flush` reports it.
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

/// Locks a mutex; the log stays usable after a panic of another thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
