//! Streams: the pages of a collection sent to a consumer that discards them, compared with an upper bound for each
//! transport.
//!
//! - compressed, through a pipe: compared with the plain bytes of the same files through the same pipe, as by `cat`;
//! - decompressed, to an empty handler: compared with libdeflate alone over the same members in memory; and two
//!   shards on two threads compared with one;
//! - over HTTP on loopback: compared with the same bytes as a static file of the same server;
//! - by Arrow Flight on loopback, with bodies: compared with decompression alone; needs the feature `flight`, and for
//!   Python `BENCH_PYTHON` with the path of a Python with pyarrow;
//! - memory of the server for a client that does not read.
//!
//! The pages are real ones, several copies of each with a distinct marker. For comparison, WebBase with one CPU of
//! 2004: 22,000 pages/s compressed, 4,300 decompressed, 3,400 to another machine.

#[cfg(feature = "flight")]
mod flight;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{self, Poll};
use std::thread;
use std::time::{Duration, Instant};

use ::stream::StreamLimits;
use anyhow::{Context, ensure};
use axum::body::{Body, Bytes};
use futures_core::Stream;
use libdeflater::Decompressor;
use model::UrlBatch;
use model::UrlRules;
use store::{
    Collection, PageFlags, PageRecord, PageStream, PageStreamItem, PageStreamRequest, Snapshot,
    StoreSettings, StreamPartition,
};
use warc::Capture;

use crate::corpus::{self, Page};
use crate::process;

const ROUNDS: usize = 5;
const COPIES: usize = 8;
/// Number of idle clients, for the memory of each.
const CLIENTS: usize = 8;
/// Time after which all buffers on the way to them are full.
const SETTLED: Duration = Duration::from_secs(1);
/// Buffer size of `cat`.
const PIECE_BYTES: usize = 128 << 10;
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";

pub(crate) fn run() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    make(&corpus::load(usize::MAX)?, dir.path())?;
    let snapshot = Snapshot::open(dir.path(), None)?;
    let static_file = dir.path().join("static");
    let (pages, bytes) = forward(&snapshot, &mut File::create(&static_file)?)?;
    let files = snapshot.manifest.files_in("pages").map(|file| dir.path().join(&file.name));
    let files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    let server = serve(dir.path(), &static_file)?;
    let members = members(&snapshot)?;
    let mut best = Best::default();
    // The sides alternate, so that a disturbance of the machine affects both.
    for _ in 0..ROUNDS {
        best.time(Way::Cat, || through_pipe(|out| cat(&files, out)))?;
        best.time(Way::Forwarded, || through_pipe(|out| forward(&snapshot, out).map(drop)))?;
        best.time(Way::Inflated, || inflate(&members))?;
        best.time(Way::OnePart, || read_part(&snapshot, StreamPartition::ALL))?;
        best.time(Way::TwoParts, || read_parts(&snapshot))?;
        best.time(Way::StaticFile, || get(server, "/static", bytes))?;
        best.time(Way::Http, || get(server, "/stream", bytes))?;
    }
    drop(members);
    let mut memory = vec![("HTTP", memory_mb(server)?)];
    measure_flight(&snapshot, pages, &mut best, &mut memory)?;
    report(pages, bytes, &best, &memory)
}

#[cfg(feature = "flight")]
fn measure_flight(
    snapshot: &Snapshot,
    pages: u64,
    best: &mut Best,
    memory: &mut Vec<(&str, f64)>,
) -> anyhow::Result<()> {
    let flight = flight::Served::start(snapshot.dir())?;
    for _ in 0..ROUNDS {
        best.time(Way::OnePart, || read_part(snapshot, StreamPartition::ALL))?;
        best.time(Way::Flight, || flight.read(pages))?;
        if let Some(time) = flight.read_by_python(pages)? {
            best.keep(Way::FlightToPython, time);
        }
    }
    memory.push(("Flight", flight.memory_mb(CLIENTS)?));
    Ok(())
}

#[cfg(not(feature = "flight"))]
fn measure_flight(_: &Snapshot, _: u64, _: &mut Best, _: &mut Vec<(&str, f64)>) -> anyhow::Result<()> {
    Ok(())
}

/// Data of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
    Cat,
    Forwarded,
    Inflated,
    OnePart,
    TwoParts,
    StaticFile,
    Http,
    Flight,
    FlightToPython,
}

/// Best time of each transport.
#[derive(Default)]
struct Best(HashMap<Way, Duration>);

impl Best {
    fn time(&mut self, way: Way, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let start = Instant::now();
        work()?;
        self.keep(way, start.elapsed());
        Ok(())
    }

    fn keep(&mut self, way: Way, time: Duration) {
        let best = self.0.entry(way).or_insert(time);
        *best = time.min(*best);
    }

    fn seconds(&self, way: Way) -> Option<f64> {
        self.0.get(&way).map(Duration::as_secs_f64)
    }
}

fn report(pages: u64, bytes: u64, best: &Best, memory: &[(&str, f64)]) -> anyhow::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "stream: {pages} pages, {:.0} MB compressed", bytes as f64 / 1e6)?;
    for (name, way, ceiling, of, goal, webbase) in [
        ("compressed, through a pipe", Way::Forwarded, Way::Cat, "cat", 0.9, Some(22_000)),
        ("decompressed, no-op", Way::OnePart, Way::Inflated, "libdeflate", 0.9, Some(4_300)),
        ("the same in two parts", Way::TwoParts, Way::OnePart, "one part", 1.8, None),
        ("HTTP on loopback", Way::Http, Way::StaticFile, "a static file", 0.7, Some(3_400)),
        ("Flight to Rust", Way::Flight, Way::OnePart, "decompressed, no-op", 0.6, Some(3_400)),
        ("Flight to Python", Way::FlightToPython, Way::OnePart, "decompressed, no-op", 0.4, Some(3_400)),
    ] {
        let (Some(time), Some(ceiling)) = (best.seconds(way), best.seconds(ceiling)) else {
            writeln!(out, "stream: {name:28} skipped: see README.md")?;
            continue;
        };
        let (rate, megabytes, ratio) = (pages as f64 / time, bytes as f64 / 1e6 / time, ceiling / time);
        write!(out, "stream: {name:28} {rate:9.0} pages/s {megabytes:7.0} MB/s compressed  ")?;
        write!(out, "{ratio:5.2} of {of} (goal {goal})")?;
        webbase.map_or(Ok(()), |webbase| write!(out, ", WebBase {webbase} pages/s"))?;
        writeln!(out)?;
    }
    for (name, megabytes) in memory {
        writeln!(out, "stream: memory for a client of {name}: {megabytes:.1} MB (goal 16.8)")?;
    }
    Ok(())
}

fn make(pages: &[Page], dir: &Path) -> anyhow::Result<()> {
    let mut collection = Collection::create(dir, StoreSettings::default())?;
    let mut batch = UrlBatch::new();
    let url = |number: usize| format!("https://site-{}.example.org/{number}", number % 100);
    for number in 0..pages.len() * COPIES {
        batch.push(&UrlRules::default().canonical(&url(number)).context("a URL")?);
    }
    let ids =
        collection.resolve(&batch, 1, |page| PageRecord::new(page.site, 0, PageFlags::default()))?.pages;
    for (number, id) in ids.iter().enumerate() {
        let body = [&pages[number % pages.len()].bytes, format!("<!-- {number} -->").as_bytes()].concat();
        let capture = Capture {
            url: &url(number),
            fetched_at_ms: 1_794_731_400_000 + number as i64,
            ip_address: None,
            protocols: &[],
            head: HEAD,
            body: &body,
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.page_store.append(&capture, None)?.location;
        collection.page_state.update(&[*id], |_, page| page.record_location = Some(stored))?;
    }
    collection.commit(1)?;
    Ok(())
}

/// Copies all bytes of files, as `cat` does.
fn cat(files: &[PathBuf], out: &mut dyn Write) -> anyhow::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    for path in files {
        let mut file = File::open(path)?;
        loop {
            let length = file.read(&mut piece)?;
            if length == 0 {
                break;
            }
            out.write_all(&piece[..length])?;
        }
    }
    Ok(())
}

/// Writes all records, as `weir cat` does.
fn forward(snapshot: &Snapshot, out: &mut dyn Write) -> anyhow::Result<(u64, u64)> {
    let mut stream = PageStream::open(snapshot, &PageStreamRequest::default())?;
    let mut pending = Vec::with_capacity(2 * PIECE_BYTES);
    let (mut pages, mut bytes) = (0, 0);
    while let Some(PageStreamItem::Page(_, member)) = stream.next_member(false)? {
        pending.extend_from_slice(member);
        pages += 1;
        bytes += member.len() as u64;
        if pending.len() >= PIECE_BYTES {
            out.write_all(&pending)?;
            pending.clear();
        }
    }
    out.write_all(&pending)?;
    Ok((pages, bytes))
}

fn through_pipe(write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let (mut reader, mut writer) = io::pipe()?;
    let reading = thread::spawn(move || io::copy(&mut reader, &mut io::sink()));
    write(&mut writer)?;
    drop(writer);
    reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok(())
}

fn members(snapshot: &Snapshot) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut stream = PageStream::open(snapshot, &PageStreamRequest::default())?;
    let mut members = Vec::new();
    while let Some(PageStreamItem::Page(_, member)) = stream.next_member(false)? {
        members.push(member.to_vec());
    }
    Ok(members)
}

fn inflate(members: &[Vec<u8>]) -> anyhow::Result<()> {
    let mut decompressor = Decompressor::new();
    let mut out = Vec::new();
    for member in members {
        let length = member.last_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        out.resize(length.max(out.len()), 0);
        decompressor.gzip_decompress(member, &mut out[..length])?;
    }
    Ok(())
}

fn read_part(snapshot: &Snapshot, part: StreamPartition) -> anyhow::Result<()> {
    let mut stream =
        PageStream::open(snapshot, &PageStreamRequest { partition: part, ..PageStreamRequest::default() })?;
    while let Some(streamed) = stream.next_page()? {
        ensure!(matches!(streamed, PageStreamItem::Page(..)), "a page is corrupt");
    }
    Ok(())
}

fn read_parts(snapshot: &Snapshot) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let parts = [1, 2].into_iter().filter_map(|number| StreamPartition::new(number, 2));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || read_part(snapshot, part))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, anyhow::Result<()>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().try_for_each(join)
    })
}

/// Serves streams and one file on loopback, until the process ends.
fn serve(dir: &Path, static_file: &Path) -> anyhow::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let static_file = static_file.to_owned();
    let router: axum::Router = ::stream::StreamService::new(dir, StreamLimits::default()).router();
    let router = router.route("/static", axum::routing::get(move || send_file(static_file.clone())));
    thread::spawn(move || -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.block_on(async {
            axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await?;
            Ok(())
        })
    });
    Ok(address)
}

/// Serves a file as a plain file server does.
async fn send_file(path: PathBuf) -> Body {
    let (send, receive) = tokio::sync::mpsc::channel(4);
    tokio::task::spawn_blocking(move || {
        let mut file = File::open(path)?;
        loop {
            let mut piece = vec![0; PIECE_BYTES];
            let length = file.read(&mut piece)?;
            piece.truncate(length);
            if length == 0 || send.blocking_send(Ok(piece.into())).is_err() {
                return io::Result::Ok(());
            }
        }
    });
    Body::from_stream(FilePieces(receive))
}

struct FilePieces(tokio::sync::mpsc::Receiver<io::Result<Bytes>>);

impl Stream for FilePieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

fn get(server: SocketAddr, path: &str, expected: u64) -> anyhow::Result<()> {
    let mut connection = TcpStream::connect(server)?;
    write!(connection, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        match connection.read(&mut piece)? {
            0 => break,
            length => bytes += length as u64,
        }
    }
    ensure!(bytes >= expected, "{path} has {bytes} bytes of {expected}");
    Ok(())
}

/// Memory of the server for a client that reads only the start of the response, in MB.
fn memory_mb(server: SocketAddr) -> anyhow::Result<f64> {
    let before = process::memory_mb("VmRSS");
    let mut asleep = Vec::new();
    for _ in 0..CLIENTS {
        let mut connection = TcpStream::connect(server)?;
        write!(connection, "GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        connection.read_exact(&mut [0; 12])?;
        asleep.push(connection);
    }
    thread::sleep(SETTLED);
    Ok((process::memory_mb("VmRSS") - before) / CLIENTS as f64)
}
