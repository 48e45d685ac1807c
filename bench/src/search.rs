//! Full-text queries: latency, compared with tantivy alone on the same index.
//!
//! `WEIR_BENCH_PAGES` sets the number of pages; a million by default. Word frequencies follow Zipf's law; pages have
//! 150 words and a title; in-degrees follow a power law. Queries consist of words of pages, without the fifty most
//! frequent ones, so that each has results. One core. The baseline gets the same words in the same fields with the
//! same weights, and returns the ten best results and their number; Weir is measured without snippets, because
//! tantivy shows none.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use model::UrlBatch;
use model::UrlRules;
use parse::html::Options;
use search::{IndexSettings, LinkMatches, Query, Ranking, SearchOptions, Searcher};
use store::{Collection, PageFlags, PageRecord, PageStage, RankTarget, Snapshot, StoreSettings, write_ranks};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, BoostQuery, Occur, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Index, Term};
use warc::Capture;

use crate::process;

const PAGES: u32 = 1_000_000;
const BATCH_PAGES: u32 = 50_000;
const PAGES_OF_A_SITE: u32 = 500;
const WORDS_OF_A_PAGE: u64 = 150;
const VOCABULARY: f64 = 500_000.0;
/// The most frequent words are never queried: they are stop words.
const LEFT_OUT: u64 = 50;
const QUESTIONS: u64 = 200;
const ROUNDS: usize = 3;

/// Runs the benchmark and prints its figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    std::fs::create_dir_all(&target)?;
    let scratch = tempfile::Builder::new().prefix("bench-search").tempdir_in(target)?;
    let pages = std::env::var("WEIR_BENCH_PAGES").ok().and_then(|pages| pages.parse().ok()).unwrap_or(PAGES);
    fill(scratch.path(), pages)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let settings = IndexSettings {
        positions: true,
        memory_bytes: 512 << 20,
        threads,
        parse_options: Options::default(),
    };
    let start = Instant::now();
    let summary =
        search::index(&Snapshot::open(scratch.path(), None)?, &settings, &mut |_| ControlFlow::Continue(()))?;
    let seconds = start.elapsed().as_secs_f64();
    anyhow::ensure!(summary.pages == u64::from(pages), "{} of {pages} pages are in the index", summary.pages);
    writeln!(io::stdout(), "search, {pages} pages indexed in {seconds:.1} s")?;
    let searcher = Searcher::open(Snapshot::open(scratch.path(), None)?, Ranking::default())?;
    questions(&searcher, pages)?;
    beside_tantivy(&searcher, scratch.path(), pages)?;
    chair(&searcher)?;
    writeln!(io::stdout(), "search, machine load: {}", process::load())?;
    Ok(())
}

/// Creates a query of three words.
type MakeQuery = fn(&[String; 3]) -> String;

/// Measures interactive queries: ten results with snippets.
fn questions(searcher: &Searcher, pages: u32) -> anyhow::Result<()> {
    let kinds: [(&str, MakeQuery); 4] = [
        ("AND", |[a, b, _]| format!("{a} {b}")),
        ("OR", |[a, b, c]| format!("{a} OR {b} OR {c}")),
        ("phrase", |[a, b, _]| format!("\"{a} {b}\"")),
        ("NEAR", |[a, b, c]| format!("{a} NEAR/5 {b} NEAR/5 {c}")),
    ];
    for (name, write) in kinds {
        let mut times_ms = Vec::new();
        let mut found = 0;
        for question in 0..QUESTIONS {
            let query = Query::parse(&format!("({}) inlinks:>=10", write(&words(question, pages))))?;
            for round in 0..ROUNDS {
                let (total, ms) = ask(searcher, &query, 10)?;
                // The first run warms the caches.
                if round > 0 {
                    times_ms.push(ms);
                }
                found += total;
            }
        }
        times_ms.sort_by(f64::total_cmp);
        let at = |share: f64| times_ms[((times_ms.len() - 1) as f64 * share) as usize];
        let mean = found / (QUESTIONS * ROUNDS as u64);
        writeln!(
            io::stdout(),
            "search, {name} with inlinks:>=10: p50 {:.2} ms, p99 {:.2} ms, {mean} pages each",
            at(0.5),
            at(0.99)
        )?;
    }
    Ok(())
}

/// Measures the same words in Weir and in tantivy alone.
fn beside_tantivy(searcher: &Searcher, dir: &Path, pages: u32) -> anyhow::Result<()> {
    let index = Index::open_in_dir(dir.join("text").join("index"))?;
    let bare = index.reader()?.searcher();
    for (name, occur, between) in [("AND", Occur::Must, " "), ("OR", Occur::Should, " OR ")] {
        let (mut ours_ms, mut bare_ms) = (Vec::new(), Vec::new());
        for question in 0..QUESTIONS {
            let words = words(question, pages);
            let query = Query::parse(&words[..2].join(between))?;
            let plain = plain(&index, &words[..2], occur)?;
            let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
            for _ in 0..ROUNDS {
                let (total, ms) = ask(searcher, &query, 0)?;
                ours = ours.min(ms);
                let start = Instant::now();
                let (_, count) = bare.search(&plain, &(TopDocs::with_limit(10).order_by_score(), Count))?;
                theirs = theirs.min(start.elapsed().as_secs_f64() * 1e3);
                anyhow::ensure!(count as u64 == total, "{query}: {total}, by tantivy {count}");
            }
            ours_ms.push(ours);
            bare_ms.push(theirs);
        }
        let (ours, theirs) = (ours_ms.iter().sum::<f64>(), bare_ms.iter().sum::<f64>());
        writeln!(
            io::stdout(),
            "search, {name} of two words: {:.2} of the speed of tantivy alone ({:.2} ms and {:.2} ms each)",
            theirs / ours,
            ours / QUESTIONS as f64,
            theirs / QUESTIONS as f64
        )?;
    }
    Ok(())
}

/// Builds the query that tantivy's parser creates for words in all fields.
fn plain(index: &Index, words: &[String], occur: Occur) -> anyhow::Result<BooleanQuery> {
    let ranking = Ranking::default();
    let fields = [
        ("title", ranking.title),
        ("headings", ranking.headings),
        ("anchor", ranking.anchor),
        ("url", ranking.url),
        ("body", ranking.body),
    ];
    let mut clauses = Vec::new();
    for word in words {
        let mut terms: Vec<Box<dyn tantivy::query::Query>> = Vec::new();
        for (field, weight) in fields {
            let term = Term::from_field_text(index.schema().get_field(field)?, word);
            let term = TermQuery::new(term, IndexRecordOption::WithFreqs);
            terms.push(Box::new(BoostQuery::new(Box::new(term), weight)));
        }
        clauses.push((occur, Box::new(BooleanQuery::union(terms)) as Box<dyn tantivy::query::Query>));
    }
    Ok(BooleanQuery::new(clauses))
}

/// WebBase's query: a word, and at least ten inlinks.
fn chair(searcher: &Searcher) -> anyhow::Result<()> {
    for rank in [LEFT_OUT, 500, 5_000] {
        let word = format!("w{rank}");
        let alone = Query::parse(&word)?;
        let linked = Query::parse(&format!("{word} inlinks:>=10"))?;
        let (mut alone_ms, mut linked_ms, mut pages) = (f64::MAX, f64::MAX, 0);
        for _ in 0..20 {
            let (total, ms) = ask(searcher, &alone, 10)?;
            (alone_ms, pages) = (alone_ms.min(ms), total);
            linked_ms = linked_ms.min(ask(searcher, &linked, 10)?.1);
        }
        writeln!(
            io::stdout(),
            "search, a word of {pages} pages {alone_ms:.2} ms, with ten inlinks {linked_ms:.2} ms: {:.2} times",
            linked_ms / alone_ms
        )?;
    }
    Ok(())
}

fn ask(searcher: &Searcher, query: &Query, count: usize) -> anyhow::Result<(u64, f64)> {
    let request = SearchOptions { limit: count, ..SearchOptions::default() };
    let start = Instant::now();
    let answer = searcher.search(query, &LinkMatches::default(), &request)?;
    Ok((answer.total, start.elapsed().as_secs_f64() * 1e3))
}

/// Returns three consecutive words of a page, none of them a stop word.
fn words(question: u64, pages: u32) -> [String; 3] {
    let mut tries = (0..).map(|number| {
        let page = random(question << 20 | number << 1) % u64::from(pages);
        let first = random(question << 20 | number << 1 | 1) % (WORDS_OF_A_PAGE - 3);
        [0, 1, 2].map(|next| rank(page, first + next))
    });
    let found = tries.find(|ranks| ranks.iter().all(|rank| *rank > LEFT_OUT));
    found.unwrap_or_default().map(|rank| format!("w{rank}"))
}

/// Selects a word of a page: the n-th most frequent with a probability of about 1/n.
fn rank(page: u64, place: u64) -> u64 {
    let share = (random(page << 20 | place) >> 11) as f64 / (1_u64 << 53) as f64;
    VOCABULARY.powf(share) as u64
}

fn fill(dir: &Path, pages: u32) -> anyhow::Result<()> {
    let rules = UrlRules::default();
    let mut collection = Collection::create(dir, StoreSettings::default())?;
    for first in (0..pages).step_by(BATCH_PAGES as usize) {
        let numbers = first..pages.min(first + BATCH_PAGES);
        let url = |page: u32| format!("http://www.site{}.example/{page}", page / PAGES_OF_A_SITE);
        let urls: Vec<String> = numbers.clone().map(url).collect();
        let mut batch = UrlBatch::new();
        for url in &urls {
            batch.push(&rules.canonical(url)?);
        }
        let mut stored = Vec::with_capacity(urls.len());
        for (page, url) in numbers.zip(&urls) {
            let body = body(page);
            let capture = Capture {
                url,
                fetched_at_ms: 0,
                ip_address: None,
                protocols: &[],
                head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
                body: body.as_bytes(),
                truncated: None,
                request: None,
                metadata: &[],
            };
            stored.push(collection.page_store.append(&capture, None)?.location);
        }
        let mut stored = stored.into_iter().zip(u64::from(first) + 1..);
        let describe = |new: &store::NewPage| {
            let record = PageRecord::new(new.site, 0, PageFlags(0));
            let (stored, content_hash) = stored.next().unzip();
            let content_hash = content_hash.unwrap_or(0);
            PageRecord {
                stage: PageStage::Fetched,
                status: 200,
                fetch_count: 1,
                record_location: stored,
                content_hash,
                ..record
            }
        };
        collection.resolve(&batch, 0, describe)?;
        collection.commit(0)?;
    }
    let links = |page: u32| {
        let share = (random(u64::from(page) << 1) >> 11) as f64 / (1_u64 << 53) as f64;
        (1.0 / (1.0 - share)).powf(0.9)
    };
    write_ranks(dir, RankTarget::Pages, "in-degree", 1, (0..pages).map(|page| links(page) as u32))?;
    let all: f64 = (0..pages).map(links).sum();
    write_ranks(dir, RankTarget::Pages, "pagerank", 1, (0..pages).map(|page| (links(page) / all) as f32))?;
    Ok(())
}

fn body(page: u32) -> String {
    let page = u64::from(page);
    let words = |from: u64, to: u64| {
        (from..to).map(|place| format!("w{}", rank(page, place))).collect::<Vec<_>>().join(" ")
    };
    let (title, text) = (words(1_000, 1_005), words(0, WORDS_OF_A_PAGE));
    format!("<html><title>{title}</title><h1>{title}</h1><main><p>{text}</p></main>")
}

/// SplitMix64: the same random numbers in every run.
fn random(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
