//! Page store: real pages are stored, compared with libdeflate alone on one core at the same level.
//!
//! Weir creates the records, computes two digests of every page, compresses, detects duplicates, writes the files and
//! the index, and syncs them in commits of 500 pages. libdeflate compresses the same bodies, and its output is
//! discarded. Measured on one core, and as in a crawl: two threads prepare pages, a third one appends them. Reading
//! is measured too: pages in random order, with warm caches.

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use libdeflater::{CompressionLvl, Compressor};
use store::{Manifest, PageStore, PageStoreReader, PageStoreSettings, RecordLocation, VerifyLevel};
use warc::{Capture, EncodedRecord, RecordEncoder};

use crate::corpus::{self, Page};
use crate::gather::cpu_seconds;

const ROUNDS: usize = 5;
const PAGES_PER_COMMIT: usize = 500;
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sun, 15 Nov 2026 08:30:00 GMT\r\n\
    Content-Type: text/html; charset=utf-8\r\nConnection: keep-alive\r\nVary: Accept-Encoding\r\n\r\n";

pub(crate) fn run() -> anyhow::Result<()> {
    let pages = corpus::load(usize::MAX)?;
    let megabytes = pages.iter().map(|page| page.bytes.len()).sum::<usize>() as f64 / 1e6;
    let mut best = [Duration::MAX; 4];
    let mut best_cpu_s = [f64::MAX; 2];
    let mut written = [0; 2];
    // The sides alternate, so that a disturbance of the machine affects both.
    for _ in 0..ROUNDS {
        let (start, cpu_start_s) = (Instant::now(), cpu_seconds());
        written[0] = by_libdeflate(&pages)?;
        best[0] = best[0].min(start.elapsed());
        best_cpu_s[0] = best_cpu_s[0].min(cpu_seconds() - cpu_start_s);
        let dir = tempfile::tempdir()?;
        let (start, cpu_start_s) = (Instant::now(), cpu_seconds());
        let (manifest, places) = by_weir(&pages, dir.path())?;
        best[1] = best[1].min(start.elapsed());
        best_cpu_s[1] = best_cpu_s[1].min(cpu_seconds() - cpu_start_s);
        written[1] = manifest.files.iter().map(|file| file.length() as usize).sum();
        let start = Instant::now();
        read_back(&pages, &PageStoreReader::open(dir.path(), &manifest)?, &places)?;
        best[2] = best[2].min(start.elapsed());
        let dir = tempfile::tempdir()?;
        let start = Instant::now();
        by_threads(&pages, dir.path())?;
        best[3] = best[3].min(start.elapsed());
    }
    let [theirs, ours, reading, threaded] = best.map(|time| megabytes / time.as_secs_f64());
    let mut out = io::stdout();
    writeln!(out, "warc: libdeflate {theirs:7.1} MB/s  ({} bytes)", written[0])?;
    writeln!(out, "warc: weir       {ours:7.1} MB/s  ({} bytes with index)", written[1])?;
    let cpu_ratio = best_cpu_s[0] / best_cpu_s[1];
    writeln!(out, "warc: ratio      {:7.2}  ({cpu_ratio:.2} by CPU time)", ours / theirs)?;
    writeln!(
        out,
        "warc: 2 threads  {threaded:7.1} MB/s  ({:.2} of one core of libdeflate)",
        threaded / theirs
    )?;
    writeln!(
        out,
        "warc: reading    {reading:7.1} MB/s, {:.0} pages/s",
        pages.len() as f64 / best[2].as_secs_f64()
    )?;
    Ok(())
}

fn by_libdeflate(pages: &[Page]) -> anyhow::Result<usize> {
    let level = i32::from(PageStoreSettings::default().compression_level);
    let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap_or_default());
    let mut out = Vec::new();
    let mut written = 0;
    for page in pages {
        out.resize(compressor.gzip_compress_bound(page.bytes.len()), 0);
        written += compressor.gzip_compress(&page.bytes, &mut out)?;
    }
    Ok(written)
}

fn by_weir(pages: &[Page], dir: &Path) -> anyhow::Result<(Manifest, Vec<RecordLocation>)> {
    let mut encoder = RecordEncoder::new(PageStoreSettings::default().compression_level);
    let encoded = pages.iter().enumerate().map(|(number, page)| Ok(encode(&mut encoder, number, page)?));
    store_all(encoded, dir)
}

fn by_threads(pages: &[Page], dir: &Path) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::sync_channel(256);
        for thread in 0..2 {
            let sender = sender.clone();
            scope.spawn(move || {
                let mut encoder = RecordEncoder::new(PageStoreSettings::default().compression_level);
                for (number, page) in pages.iter().enumerate().skip(thread).step_by(2) {
                    // The receiver is gone after an error, which is reported.
                    if sender.send(encode(&mut encoder, number, page)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        store_all(receiver.into_iter().map(|encoded| Ok(encoded?)), dir)
    })?;
    Ok(())
}

fn encode(encoder: &mut RecordEncoder, number: usize, page: &Page) -> Result<EncodedRecord, ::warc::Error> {
    encoder.encode(&Capture {
        url: &format!("https://docs.example.org/{}", page.path.display()),
        fetched_at_ms: 1_794_731_400_000 + number as i64,
        ip_address: Some([192, 0, 2, 1].into()),
        protocols: &[],
        head: HEAD,
        body: &page.bytes,
        truncated: None,
        request: None,
        metadata: &[],
    })
}

fn store_all(
    pages: impl Iterator<Item = anyhow::Result<EncodedRecord>>,
    dir: &Path,
) -> anyhow::Result<(Manifest, Vec<RecordLocation>)> {
    let mut manifest = Manifest::empty();
    let mut store = PageStore::open(dir, &manifest, PageStoreSettings::default())?;
    let mut places = Vec::new();
    let commit = |store: &mut PageStore, manifest: &mut Manifest| -> anyhow::Result<()> {
        let generation = manifest.generation + 1;
        *manifest = Manifest { generation, files: store.commit(generation)?, ..Manifest::empty() };
        Ok(())
    };
    for page in pages {
        places.push(store.append_encoded(page?, None)?.location);
        if places.len().is_multiple_of(PAGES_PER_COMMIT) {
            commit(&mut store, &mut manifest)?;
        }
    }
    commit(&mut store, &mut manifest)?;
    Ok((manifest, places))
}

fn read_back(pages: &[Page], reader: &PageStoreReader, places: &[RecordLocation]) -> anyhow::Result<()> {
    // A step without a common divisor with the number of pages visits each page once.
    let step = (pages.len() / 3..).find(|step| coprime(*step, pages.len())).unwrap_or(1);
    for turn in 0..pages.len() {
        let number = turn * step % pages.len();
        let page = reader.read(&places[number], VerifyLevel::Checksum)?;
        ensure!(page.body() == pages[number].bytes, "a page has changed in the store");
    }
    Ok(())
}

fn coprime(a: usize, b: usize) -> bool {
    if b == 0 { a == 1 } else { coprime(b, a % b) }
}
