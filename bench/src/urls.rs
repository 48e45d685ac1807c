//! URL table: links resolved per second with durable commits, compared with an in-memory hash table without text.
//!
//! Eight batches of five million links, 70 % of them to known pages, create 12 million pages. Half of the links to
//! known pages lead to a few popular ones (Zipf's law), half to any page. `WEIR_BENCH_URLS=huge` builds 100 million
//! pages instead, and then resolves one more batch.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use model::UrlBatch;
use model::{PageId, UrlHasher, UrlRules};
use store::{FileEntry, Manifest, UrlReader, UrlTable};

use crate::process;

/// Size of the benchmark.
struct Size {
    batches: usize,
    links: usize,
    /// Links to new pages, in percent.
    new_percent: u64,
}

const NORMAL: Size = Size { batches: 8, links: 5_000_000, new_percent: 30 };
const HUGE: Size = Size { batches: 20, links: 5_000_000, new_percent: 100 };

/// Runs the benchmark and prints its figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let huge = std::env::var("WEIR_BENCH_URLS").is_ok_and(|size| size == "huge");
    let dir = scratch_folder()?;
    let result = if huge { run_huge(&dir) } else { run_normal(&dir) };
    fs::remove_dir_all(&dir)?;
    result
}

fn run_normal(dir: &Path) -> anyhow::Result<()> {
    let mut links = Links::new();
    let mut filled = fill(dir, &NORMAL, &mut links)?;
    let rates = std::mem::take(&mut filled.rates);
    filled.resolve_and_commit(links.next_batch(SMALL_BATCH_LINKS, NORMAL.new_percent)?)?;
    drop(filled);
    let baseline = hash_table_rates(&NORMAL)?;
    let (ours, theirs) = (mean(&rates), mean(&baseline));
    print(format_args!(
        "urls: {ours:.2} M links/s with commits, last batch {:.2} of the first; {:.2} times a hash table in \
         memory ({theirs:.2} M/s)",
        rates.last().unwrap_or(&0.0) / rates.first().unwrap_or(&1.0),
        ours / theirs
    ))
}

fn run_huge(dir: &Path) -> anyhow::Result<()> {
    let mut links = Links::new();
    let mut filled = fill(dir, &HUGE, &mut links)?;
    for count in [NORMAL.links, NORMAL.links, SMALL_BATCH_LINKS] {
        filled.resolve_and_commit(links.next_batch(count, NORMAL.new_percent)?)?;
    }
    print_memory()
}

/// Links per batch: a harvest of some hundred pages.
const SMALL_BATCH_LINKS: usize = 10_000;

/// A table and its measurements.
struct Filled<'f> {
    dir: &'f Path,
    table: UrlTable,
    manifest: Manifest,
    rates: Vec<f64>,
}

fn fill<'f>(dir: &'f Path, size: &Size, links: &mut Links) -> anyhow::Result<Filled<'f>> {
    let manifest = Manifest::empty();
    let table = UrlTable::open(dir, &manifest)?;
    let mut filled = Filled { dir, table, manifest, rates: Vec::new() };
    for _ in 0..size.batches {
        filled.resolve_and_commit(links.next_batch(size.links, size.new_percent)?)?;
    }
    filled.print_sizes(links)?;
    filled.print_reads()?;
    Ok(filled)
}

impl Filled<'_> {
    fn resolve_and_commit(&mut self, batch: &UrlBatch) -> anyhow::Result<()> {
        let (start, cpu_start) = (Instant::now(), process::cpu_seconds());
        let resolved = self.table.resolve(batch)?;
        let resolve_seconds = start.elapsed().as_secs_f64();
        self.manifest.generation += 1;
        self.manifest.files = self.table.commit(self.manifest.generation)?;
        let seconds = start.elapsed().as_secs_f64();
        self.rates.push(batch.len() as f64 / seconds / 1e6);
        self.remove_unnamed()?;
        let runs = self.manifest.files.iter().filter(|file| is_run(file)).count();
        print(format_args!(
            "urls: {} links, {} new: {seconds:.3} s ({resolve_seconds:.3} + commit), {:.2} s of CPU, {runs} runs, \
             load {}",
            batch.len(),
            resolved.new_pages.len(),
            process::cpu_seconds() - cpu_start,
            process::load()
        ))
    }

    /// Commits as the collection does.
    fn remove_unnamed(&self) -> anyhow::Result<()> {
        for file in fs::read_dir(self.dir.join("urls"))? {
            let name = format!("urls/{}", file?.file_name().to_string_lossy());
            if !self.manifest.files.iter().any(|file| file.name == name) {
                fs::remove_file(self.dir.join(name))?;
            }
        }
        Ok(())
    }

    fn print_sizes(&self, links: &mut Links) -> anyhow::Result<()> {
        let pages = f64::from(self.table.reader().pages());
        let bytes = |wanted: fn(&FileEntry) -> bool| {
            let files = self.manifest.files.iter().filter(|file| wanted(file));
            files.map(FileEntry::length).sum::<u64>() as f64 / pages
        };
        let characters = links.text_bytes as f64 / links.pages as f64;
        print(format_args!(
            "urls: {pages} pages of {} sites, {characters:.1} characters each: {:.1} bytes on disk (index {:.1}, text \
             {:.1}, sites {:.1})",
            self.table.reader().sites(),
            bytes(|_| true),
            bytes(is_run),
            bytes(|file| file.name.starts_with("urls/text")),
            bytes(|file| file.name == "urls/sites"),
        ))?;
        // Memory of the table without the batch.
        links.batch = UrlBatch::new();
        print_memory()
    }

    fn print_reads(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        let reader = UrlReader::open(self.dir, &self.manifest)?;
        let open_seconds = start.elapsed().as_secs_f64();
        let mut random = Random(7);
        let mut page = || PageId(random.below(u64::from(reader.pages())) as u32);
        let some: Vec<PageId> = (0..2000).map(|_| page()).collect();
        let start = Instant::now();
        let mut urls = Vec::new();
        for page in &some {
            urls.extend(reader.url(*page)?);
        }
        let url_micros = start.elapsed().as_secs_f64() * 1e6 / some.len() as f64;
        let urls: Vec<_> =
            urls.iter().map(|url| UrlRules::default().canonical(url)).collect::<Result<_, _>>()?;
        let start = Instant::now();
        for (url, page) in urls.iter().zip(&some) {
            anyhow::ensure!(reader.find(url)? == Some(*page), "{url} is not {page:?}");
        }
        let find_micros = start.elapsed().as_secs_f64() * 1e6 / some.len() as f64;
        print(format_args!(
            "urls: open {open_seconds:.2} s; page to URL {url_micros:.0} µs, URL to page {find_micros:.0} µs"
        ))
    }
}

/// Measures the baseline: one thread, the same links.
fn hash_table_rates(size: &Size) -> anyhow::Result<Vec<f64>> {
    let mut links = Links::new();
    let hasher = UrlHasher::new(1);
    let mut pages: HashMap<u64, u32> = HashMap::new();
    let mut rates = Vec::new();
    for _ in 0..size.batches {
        links.next_batch(size.links, size.new_percent)?;
        let start = Instant::now();
        for link in 0..links.batch.len() {
            let next = pages.len() as u32;
            pages.entry(hasher.text(links.batch.url(link)).0).or_insert(next);
        }
        rates.push(links.batch.len() as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    Ok(rates)
}

/// Links of a simulated crawl, the same in every run.
struct Links {
    random: Random,
    rules: UrlRules,
    words: Vec<String>,
    /// Number of pages that were linked so far; their ids are lower.
    pages: u64,
    text_bytes: usize,
    batch: UrlBatch,
}

/// Approximate number of sites.
const SITES: f64 = 400_000.0;

impl Links {
    fn new() -> Links {
        let mut random = Random(3);
        let syllables = [
            "ba", "con", "der", "e", "fi", "gra", "ho", "in", "ka", "lo", "mi", "nor", "pa", "re", "sto",
            "ti",
        ];
        let mut word = || (0..2 + random.below(3)).map(|_| syllables[random.below(16) as usize]).collect();
        let words = (0..4096).map(|_| word()).collect();
        Links { random, rules: UrlRules::default(), words, pages: 0, text_bytes: 0, batch: UrlBatch::new() }
    }

    fn next_batch(&mut self, links: usize, new_percent: u64) -> anyhow::Result<&UrlBatch> {
        self.batch.clear();
        let mut text = String::new();
        for _ in 0..links {
            let is_new = self.pages == 0 || self.random.below(100) < new_percent;
            let page = if is_new { self.pages } else { self.known_page() };
            self.write_url(page, &mut text);
            let url = self.rules.canonical(&text)?;
            if is_new {
                self.pages += 1;
                self.text_bytes += url.as_str().len();
            }
            self.batch.push(&url);
        }
        Ok(&self.batch)
    }

    fn known_page(&mut self) -> u64 {
        if self.random.below(2) == 0 {
            return self.random.below(self.pages);
        }
        // The k-th page is linked with a probability proportional to 1/k.
        let rank = (self.random.fraction() * (self.pages as f64).ln()).exp();
        (rank as u64).min(self.pages - 1)
    }

    /// Returns the URL of a page as a function of its number. Ten consecutive pages are discovered on one page, most
    /// of them on its site.
    fn write_url(&self, page: u64, text: &mut String) {
        let mut own = Random(page);
        let mut site =
            if own.below(5) == 0 { Random(page ^ (1 << 60)) } else { Random((page / 10) ^ (1 << 61)) };
        let site_number = (SITES * site.fraction().powi(3)) as u64;
        let mut site = Random(site_number ^ (1 << 62));
        let scheme = if site.below(4) == 0 { "http" } else { "https" };
        let www = if site.below(2) == 0 { "www." } else { "" };
        let top = ["com", "org", "net", "de", "cl", "co.uk", "it", "edu"][site.below(8) as usize];
        let (first, second) = (self.word(&mut site), self.word(&mut site));
        text.clear();
        text.push_str(&format!("{scheme}://{www}{first}{second}{}.{top}", site_number % 100));
        // A site has few sections and one form of page names.
        let style = site.below(5);
        let mut section = Random((site_number << 8) + own.below(12));
        let (section, topic) = (self.word(&mut section), self.word(&mut section));
        let [a, b, c, d] = [(); 4].map(|()| self.word(&mut own));
        text.push_str(&match style {
            0 => format!("/{section}/{topic}/{a}-{b}-{c}-{d}.html"),
            1 => {
                let (year, month) = (2005 + own.below(20), 1 + own.below(12));
                format!("/{year}/{month:02}/{a}-{b}-{c}/")
            }
            2 => format!("/{section}/index.php?id={}&cat={topic}", page % 1_000_000),
            3 => format!("/{section}/{topic}/{page}"),
            _ => format!("/wiki/{section}_{a}_{b}_{}", page % 10_000),
        });
    }

    fn word(&self, random: &mut Random) -> &str {
        &self.words[random.below(4096) as usize]
    }
}

/// SplitMix64 (Steele, Lea and Flood).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn print_memory() -> anyhow::Result<()> {
    print(format_args!(
        "urls: memory {:.0} MB, peak {:.0} MB with a batch",
        process::memory_mb("VmRSS"),
        process::memory_mb("VmHWM")
    ))
}

fn is_run(file: &FileEntry) -> bool {
    file.name.starts_with("urls/run-")
}

fn mean(rates: &[f64]) -> f64 {
    // Harmonic mean of the rates, because every batch has the same number of links.
    rates.len() as f64 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>()
}

/// Directory beside the build, on a disk: `/tmp` may be in memory.
fn scratch_folder() -> anyhow::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let dir = target.join(format!("bench-urls-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    Ok(dir)
}

fn print(line: std::fmt::Arguments<'_>) -> anyhow::Result<()> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
