//! Streams: the pages of a collection to somebody who does nothing with them, against the ceiling of each way.
//!
//! - compressed, through a pipe: against the plain bytes of the same files through the same pipe, as `cat` would;
//! - decompressed, to a handler that does nothing: against libdeflate alone over the same members, in memory; and two parts
//!   on two threads against one;
//! - over HTTP on loopback: against the same bytes as a static file of the same server.
//!
//! The pages are real ones, several copies of each with a mark of its own. What WebBase did with one CPU of 2004 stands beside:
//! 22,000 pages/s compressed, 4,300 decompressed, 3,400 to another machine.

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

const ROUNDS: usize = 5;
const COPIES: usize = 8;
/// As `cat` reads and writes.
const PIECE_BYTES: usize = 128 << 10;
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";

pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    make(&corpus::load(usize::MAX)?, folder.path())?;
    let snapshot = Snapshot::open(folder.path(), None)?;
    let static_file = folder.path().join("static");
    let (pages, bytes) = forward(&snapshot, &mut File::create(&static_file)?)?;
    let files: Vec<PathBuf> =
        snapshot.manifest.files_in("pages").map(|file| folder.path().join(&file.name)).collect();
    let files: Vec<PathBuf> =
        files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    let server = serve(folder.path(), &static_file)?;
    let mut best = [Duration::MAX; 7];
    let mut time = |place: usize, work: &mut dyn FnMut() -> anyhow::Result<()>| -> anyhow::Result<()> {
        let start = Instant::now();
        work()?;
        best[place] = best[place].min(start.elapsed());
        Ok(())
    };
    let members = members(&snapshot)?;
    // Turn and turn about, so that a disturbance of the machine meets both.
    for _ in 0..ROUNDS {
        time(0, &mut || through_pipe(|out| cat(&files, out)))?;
        time(1, &mut || through_pipe(|out| forward(&snapshot, out).map(drop)))?;
        time(2, &mut || inflate(&members))?;
        time(3, &mut || read_part(&snapshot, Part::WHOLE))?;
        time(4, &mut || read_parts(&snapshot))?;
        time(5, &mut || get(server, "/static", bytes))?;
        time(6, &mut || get(server, "/stream", bytes))?;
    }
    report(pages, bytes, best)
}

fn report(pages: u64, bytes: u64, best: [Duration; 7]) -> anyhow::Result<()> {
    let [cat, forwarded, inflated, one, two, static_file, http] = best.map(|time| time.as_secs_f64());
    let mut out = io::stdout();
    writeln!(out, "stream: {pages} pages, {:.0} MB compressed", bytes as f64 / 1e6)?;
    for (name, time, ceiling, of) in [
        ("compressed, through a pipe", forwarded, cat, "of cat"),
        ("decompressed, no-op", one, inflated, "of libdeflate"),
        ("the same in two parts", two, one, "of one part"),
        ("HTTP on loopback", http, static_file, "of a static file"),
    ] {
        let (rate, megabytes) = (pages as f64 / time, bytes as f64 / 1e6 / time);
        let ratio = ceiling / time;
        writeln!(
            out,
            "stream: {name:28} {rate:9.0} pages/s {megabytes:7.0} MB/s compressed  {ratio:5.2} {of}"
        )?;
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
