//! Streams: the pages of a collection to somebody who does nothing with them, against the ceiling of each way.
//!
//! - compressed, through a pipe: against the plain bytes of the same files through the same pipe, as `cat` would;
//! - decompressed, to a handler that does nothing: against libdeflate alone over the same members, in memory; and two parts
//!   on two threads against one;
//! - over HTTP on loopback: against the same bytes as a static file of the same server;
//! - by Arrow Flight on loopback, with bodies: against the pages decompressed to nobody; in a build with the feature `flight`, and to
//!   Python if `BENCH_PYTHON` names one that has pyarrow;
//! - the memory of the server for a client that does not take what it asked for.
//!
//! The pages are real ones, several copies of each with a mark of its own. What WebBase did with one CPU of 2004 stands beside:
//! 22,000 pages/s compressed, 4,300 decompressed, 3,400 to another machine.

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
use model::UrlRules;
use store::{
    Capture, Collection, PageFlags, PageRecord, PageStream, Part, Snapshot, StoreSettings, StreamRequest,
    Streamed, UrlBatch,
};

use crate::corpus::{self, Page};
use crate::process;

const ROUNDS: usize = 5;
const COPIES: usize = 8;
/// Clients that sleep, for the memory of each.
const CLIENTS: usize = 8;
/// By then all that can be on its way to them is.
const SETTLED: Duration = Duration::from_secs(1);
/// As `cat` reads and writes.
const PIECE_BYTES: usize = 128 << 10;
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";

pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    make(&corpus::load(usize::MAX)?, folder.path())?;
    let snapshot = Snapshot::open(folder.path(), None)?;
    let static_file = folder.path().join("static");
    let (pages, bytes) = forward(&snapshot, &mut File::create(&static_file)?)?;
    let files = snapshot.manifest.files_in("pages").map(|file| folder.path().join(&file.name));
    let files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    let server = serve(folder.path(), &static_file)?;
    let members = members(&snapshot)?;
    let mut best = Best::default();
    // Turn and turn about, so that a disturbance of the machine meets both.
    for _ in 0..ROUNDS {
        best.time(Way::Cat, || through_pipe(|out| cat(&files, out)))?;
        best.time(Way::Forwarded, || through_pipe(|out| forward(&snapshot, out).map(drop)))?;
        best.time(Way::Inflated, || inflate(&members))?;
        best.time(Way::OnePart, || read_part(&snapshot, Part::WHOLE))?;
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
    let flight = flight::Served::start(snapshot.folder())?;
    for _ in 0..ROUNDS {
        best.time(Way::OnePart, || read_part(snapshot, Part::WHOLE))?;
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

/// What is measured.
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

/// The shortest time of each way.
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
            writeln!(out, "stream: {name:28} not measured: see README.md")?;
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

fn make(pages: &[Page], folder: &Path) -> anyhow::Result<()> {
    let mut collection = Collection::create(folder, StoreSettings::default())?;
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
            address: None,
            protocols: &[],
            head: HEAD,
            body: &body,
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.bodies.append(&capture, None)?.location;
        collection.pages.update(&[*id], |_, page| page.stored = Some(stored))?;
    }
    collection.commit(1)?;
    Ok(())
}

/// All bytes of files, as `cat` writes them.
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

/// All records, as `weir cat` writes them.
fn forward(snapshot: &Snapshot, out: &mut dyn Write) -> anyhow::Result<(u64, u64)> {
    let mut stream = PageStream::open(snapshot, &StreamRequest::default())?;
    let mut pending = Vec::with_capacity(2 * PIECE_BYTES);
    let (mut pages, mut bytes) = (0, 0);
    while let Some(Streamed::Page(_, member)) = stream.next_member(false)? {
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
    let mut stream = PageStream::open(snapshot, &StreamRequest::default())?;
    let mut members = Vec::new();
    while let Some(Streamed::Page(_, member)) = stream.next_member(false)? {
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

fn read_part(snapshot: &Snapshot, part: Part) -> anyhow::Result<()> {
    let mut stream = PageStream::open(snapshot, &StreamRequest { part, ..StreamRequest::default() })?;
    while let Some(streamed) = stream.next_page()? {
        ensure!(matches!(streamed, Streamed::Page(..)), "a page is damaged");
    }
    Ok(())
}

fn read_parts(snapshot: &Snapshot) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let parts = [1, 2].into_iter().filter_map(|number| Part::new(number, 2));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || read_part(snapshot, part))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, anyhow::Result<()>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().try_for_each(join)
    })
}

/// Streams and one file, on loopback, until the process ends.
fn serve(folder: &Path, static_file: &Path) -> anyhow::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let static_file = static_file.to_owned();
    let router: axum::Router = ::stream::router(folder, StreamLimits::default());
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

/// As a plain file server does: read a piece, send a piece.
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

/// The memory that a client takes which reads nothing but the beginning of the answer, in MB.
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
