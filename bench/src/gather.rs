//! Gatherer: CPU time per page from fetched bytes to a committed collection.
//!
//! Real pages are treated as fetched responses, parsed by a [`Gatherer`], ingested in batches and committed
//! periodically, as in an import. Each stage is measured by the CPU time of the whole process, which includes other
//! threads and the kernel, but not waiting for the disk.
//!
//! The pages of each package are a site with their own paths, so that their links lead to each other, as on the Web.
//! The baseline is libdeflate, which only compresses the same bodies at the level of the store.

use std::io::{self, Write};

use crawl::Ingest;
use harvest::{FetchedPage, GatherSettings, GatheredPage, Gatherer};
use libdeflater::{CompressionLvl, Compressor};
use model::UrlRules;
use rustix::time::{ClockId, clock_gettime};
use store::{Collection, FileEntry, PageStoreSettings};

use crate::corpus::{self, Page};

const ROUNDS: usize = 3;
/// Bytes of a batch.
const BATCH_BYTES: u64 = 8 << 20;
/// Batches per commit: the pages that two cores fetch in one or two seconds.
const BATCHES_PER_COMMIT: usize = 8;
const START_MS: i64 = 1_794_731_400_000;
const DUPLICATE_WINDOW: usize = 1 << 20;

pub(crate) fn run() -> anyhow::Result<()> {
    let pages = fetched(&corpus::load(usize::MAX)?)?;
    let megabytes = pages.iter().map(|page| page.body.len()).sum::<usize>() as f64 / 1e6;
    let mut best: Option<Cost> = None;
    let mut baseline_s = f64::MAX;
    for _ in 0..ROUNDS {
        baseline_s = baseline_s.min(compress_alone(&pages)?);
        let cost = measure(&pages)?;
        if best.as_ref().is_none_or(|best| cost.seconds() < best.seconds()) {
            best = Some(cost);
        }
    }
    let best = best.unwrap_or_default();
    let mut out = io::stdout();
    writeln!(out, "gather: {} pages, {} links, {} commits", pages.len(), best.links, best.commits)?;
    let (disk, tables) = (best.disk_bytes as f64 / 1e6, best.table_bytes as f64 / 1e6);
    writeln!(out, "gather: {disk:.1} MB on disk, of which tables {tables:.1} MB")?;
    let stages = [
        ("libdeflate", baseline_s),
        ("read", best.read_s),
        ("fold", best.fold_s),
        ("commit", best.commit_s),
        ("total", best.seconds()),
    ];
    for (stage, seconds) in stages {
        let per_thousand = seconds * 1e3 / pages.len() as f64;
        writeln!(
            out,
            "gather: {stage:10} {per_thousand:6.3} s per thousand pages, {:7.1} MB/s",
            megabytes / seconds
        )?;
    }
    writeln!(out, "gather: ratio      {:6.2}", best.seconds() / baseline_s)?;
    Ok(())
}

/// Times of one run.
#[derive(Default)]
struct Cost {
    read_s: f64,
    fold_s: f64,
    commit_s: f64,
    links: u64,
    commits: usize,
    disk_bytes: u64,
    table_bytes: u64,
}

impl Cost {
    fn seconds(&self) -> f64 {
        self.read_s + self.fold_s + self.commit_s
    }
}

/// Converts the pages to responses.
pub(crate) fn fetched(pages: &[Page]) -> anyhow::Result<Vec<FetchedPage>> {
    let rules = UrlRules::default();
    let mut fetched = Vec::with_capacity(pages.len());
    for (number, page) in pages.iter().enumerate() {
        let path = page.path.to_string_lossy();
        let (package, path) = path.split_once('/').unwrap_or(("corpus", &path));
        // Dots in package names would be dots of host names.
        let host = package.replace('.', "-");
        let path = path.strip_suffix(".gz").unwrap_or(path);
        let url = rules.canonical(&format!("https://{host}.example.org/{path}"))?;
        fetched.push(FetchedPage {
            url,
            fetched_ms: START_MS + number as i64,
            address: Some([192, 0, 2, 1].into()),
            protocols: vec!["http/1.1".to_owned(), "tls/1.3".to_owned()],
            status: 200,
            head: head(page.bytes.len()),
            body: page.bytes.clone(),
            truncated: None,
            request: Vec::new(),
            failure: None,
            latency_ms: Some(40),
            duration_ms: Some(90),
        });
    }
    Ok(fetched)
}

fn head(body_bytes: usize) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nDate: Sun, 15 Nov 2026 08:30:00 GMT\r\nServer: Apache/2.4.62 (Debian)\r\n\
         Last-Modified: Tue, 03 Jun 2025 10:12:43 GMT\r\nETag: \"{body_bytes:x}-6369f3c0b5e00\"\r\nAccept-Ranges: bytes\r\n\
         Content-Length: {body_bytes}\r\nVary: Accept-Encoding\r\nKeep-Alive: timeout=5, max=99\r\n\
         Connection: Keep-Alive\r\nContent-Type: text/html\r\n\r\n"
    )
    .into_bytes()
}

fn measure(pages: &[FetchedPage]) -> anyhow::Result<Cost> {
    let dir = tempfile::tempdir()?;
    let settings = GatherSettings::default();
    let mut collection = Collection::create(&dir.path().join("crawl"), PageStoreSettings::default().into())?;
    let mut gatherer = Gatherer::new(&settings);
    let mut fold = Ingest::new(DUPLICATE_WINDOW);
    let mut cost = Cost::default();
    let mut rest = pages;
    let mut batches = 0;
    while !rest.is_empty() {
        let start = cpu_seconds();
        let batch = read_batch(&mut gatherer, &mut rest);
        cost.read_s += cpu_seconds() - start;
        let start = cpu_seconds();
        cost.links += fold.ingest(&mut collection, batch)?.links;
        cost.fold_s += cpu_seconds() - start;
        batches += 1;
        if batches % BATCHES_PER_COMMIT == 0 || rest.is_empty() {
            let start = cpu_seconds();
            collection.commit(START_MS)?;
            cost.commit_s += cpu_seconds() - start;
            cost.commits += 1;
        }
    }
    let manifest = collection.manifest()?;
    cost.disk_bytes = manifest.files.iter().map(FileEntry::length).sum();
    let tables = manifest.files.iter().filter(|file| file.name.starts_with("tables/"));
    cost.table_bytes = tables.map(FileEntry::length).sum();
    Ok(cost)
}

/// Measures the baseline in seconds.
fn compress_alone(pages: &[FetchedPage]) -> anyhow::Result<f64> {
    let level = i32::from(PageStoreSettings::default().compression_level);
    let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap_or_default());
    let mut out = Vec::new();
    let start = cpu_seconds();
    for page in pages {
        out.resize(compressor.gzip_compress_bound(page.body.len()), 0);
        compressor.gzip_compress(&page.body, &mut out)?;
    }
    Ok(cpu_seconds() - start)
}

fn read_batch(gatherer: &mut Gatherer<'_>, rest: &mut &[FetchedPage]) -> Vec<GatheredPage> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    while let Some((page, behind)) = rest.split_first().filter(|_| bytes < BATCH_BYTES) {
        bytes += page.body.len() as u64;
        batch.push(gatherer.gather(page));
        *rest = behind;
    }
    batch
}

/// CPU time of all threads, user and system.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
