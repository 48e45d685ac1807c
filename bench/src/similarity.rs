//! Similarity: duplicates, near duplicates and mirrors of a collection, and pages similar to one page.
//!
//! `WEIR_BENCH_PAGES` sets the number of pages; a million by default. One in ten is an exact duplicate of the
//! previous one, one in ten a near duplicate. All texts are read from the same record: the figures include
//! decompression and parsing, not the disk.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use analysis::{GraphSettings, StepResult, Threads, similar_texts};
use model::UrlBatch;
use model::{PageId, UrlRules};
use store::{
    Cancellation, Collection, DocumentRow, PageFlags, PageRecord, PageStage, Snapshot, StoreSettings,
};
use warc::Capture;

use crate::process;

const PAGES: u32 = 1_000_000;
const BATCH_PAGES: u32 = 200_000;
const PAGES_OF_A_SITE: u32 = 500;
const WORDS_OF_A_PAGE: u64 = 500;
const MEMORY_BYTES: u64 = 2 << 30;

/// Runs the benchmark and prints its figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    std::fs::create_dir_all(&target)?;
    let scratch = tempfile::Builder::new().prefix("bench-similarity").tempdir_in(target)?;
    let pages = std::env::var("WEIR_BENCH_PAGES").ok().and_then(|pages| pages.parse().ok()).unwrap_or(PAGES);
    fill(scratch.path(), pages)?;
    let settings = GraphSettings { memory_bytes: MEMORY_BYTES, threads: Threads::available() };
    for report in analysis::analyze(scratch.path(), &settings, &mut |_| ())? {
        if let Some(StepResult::Similarity(result)) = report.result {
            let seconds = report.seconds;
            writeln!(io::stdout(), "similarity, {pages} pages in {seconds:.1} s: {result:?}")?;
        }
    }
    let snapshot = Snapshot::open(scratch.path(), None)?;
    let start = Instant::now();
    let found =
        similar_texts(&snapshot, PageId(pages / 2), &[], Threads::available(), &Cancellation::default())?
            .map_or(0, |found| found.len());
    let s = start.elapsed().as_secs_f64();
    let load = process::load();
    writeln!(
        io::stdout(),
        "similarity, {found} pages similar to one page in {s:.2} s (machine load: {load})"
    )?;
    Ok(())
}

fn fill(dir: &Path, pages: u32) -> anyhow::Result<()> {
    let rules = UrlRules::default();
    let mut collection = Collection::create(dir, StoreSettings::default())?;
    let words: Vec<String> =
        (0..WORDS_OF_A_PAGE).map(|word| format!("word{}", random(word) % 5_000)).collect();
    let body = format!("<html><title>A page</title><main><p>{}</p></main>", words.join(" "));
    let capture = Capture {
        url: "http://www.site0.example/",
        fetched_at_ms: 0,
        ip_address: None,
        protocols: &[],
        head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
        body: body.as_bytes(),
        truncated: None,
        request: None,
        metadata: &[],
    };
    let stored = collection.page_store.append(&capture, None)?.location;
    for first in (0..pages).step_by(BATCH_PAGES as usize) {
        let urls = first..pages.min(first + BATCH_PAGES);
        let urls: Vec<String> =
            urls.map(|page| format!("http://www.site{}.example/{page}", page / PAGES_OF_A_SITE)).collect();
        let mut batch = UrlBatch::new();
        for url in &urls {
            batch.push(&rules.canonical(url)?);
        }
        let describe = |new: &store::NewPage| {
            let record = PageRecord::new(new.site, 0, PageFlags(0));
            PageRecord { stage: PageStage::Fetched, record_location: Some(stored), ..record }
        };
        let ids = collection.resolve(&batch, 0, describe)?.pages;
        for (id, url) in ids.iter().zip(&urls) {
            collection.tables.documents.rows.push(&document(id.0, url));
        }
        collection.commit(0)?;
    }
    Ok(())
}

/// Returns a page with random fingerprints, or with those of the previous page.
fn document(page: u32, url: &str) -> DocumentRow<'_> {
    let (copy, near) = (page % 10 == 1, page % 10 == 2);
    let text = u64::from(if copy || near { page / 10 * 10 } else { page });
    let other_band = if near { random(u64::from(page) << 32) >> 48 } else { 0 };
    DocumentRow {
        page_id: page,
        site_id: page / PAGES_OF_A_SITE,
        url,
        word_count: WORDS_OF_A_PAGE as i32,
        main_text_hash: random(if near { u64::from(page) } else { text } << 2 | 1).cast_signed(),
        simhash: random(text << 2 | 2).cast_signed(),
        minhash: Some((random(text << 2 | 3) ^ other_band).cast_signed()),
        ..DocumentRow::default()
    }
}

/// SplitMix64: the same random numbers in every run.
fn random(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
