//! Page state: the manager's selection, compared with a simpler selection from a list in memory.
//!
//! The manager scores every page and selects the best 100,000 fetched and the best 100,000 discovered pages, with a
//! limit per site. The baseline selects without a limit from a list in memory. Also measured: adding, changing,
//! committing and opening records, and size and time of the link log.
//!
//! `WEIR_BENCH_PAGES` sets the number of pages; 10 million by default. Beyond 20 million the baseline is skipped.

use std::fs;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use frontier::{FactMaxima, PageFacts, PriorityModel, Quality, Strategy};
use model::{PageId, SiteId};
use store::{
    FileEntry, Link, LinkLog, LinkLogReader, Manifest, PageFlags, PageRecord, PageStage, PageState,
    PageStateReader, ScanRow, ScoredPage, StoreSettings,
};

use crate::process;

const PAGES: u32 = 10_000_000;
/// Maximum number of pages for the baseline, because of its memory.
const LIST_PAGES: u32 = 20_000_000;
/// Pages added between two commits.
const BATCH_PAGES: u32 = 1_000_000;
const CHOSEN: usize = 100_000;
const PER_SITE: usize = 500;
const CHANGED: u64 = 100_000;
const ROUNDS: usize = 3;
const NOW_S: u32 = 1_800_000_000;

/// Runs the benchmark and prints its figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    fs::create_dir_all(&target)?;
    let scratch = tempfile::Builder::new().prefix("bench-state").tempdir_in(target)?;
    let dir = scratch.path();
    fs::create_dir(dir.join("state"))?;
    fs::create_dir(dir.join("links"))?;
    let pages = std::env::var("WEIR_BENCH_PAGES").ok().and_then(|pages| pages.parse().ok()).unwrap_or(PAGES);
    let manifest = fill(dir, pages)?;
    let manifest = change(dir, manifest)?;
    choose(dir, &manifest, pages)?;
    links(dir)
}

fn fill(dir: &Path, pages: u32) -> anyhow::Result<Manifest> {
    let start = Instant::now();
    let mut manifest = Manifest::empty();
    let mut state = PageState::open(dir, &manifest, StoreSettings::default().max_dirty_pages)?;
    for first in (0..pages).step_by(BATCH_PAGES as usize) {
        state.append((first..pages.min(first + BATCH_PAGES)).map(page))?;
        let generation = manifest.generation + 1;
        manifest = committed(dir, generation, state.commit(generation)?)?;
    }
    let bytes: u64 = manifest.files.iter().map(FileEntry::length).sum();
    writeln!(
        io::stdout(),
        "state, {pages} pages added: {:.2} M/s, {:.1} bytes per page, {:.0} MB peak memory",
        f64::from(pages) / start.elapsed().as_secs_f64() / 1e6,
        bytes as f64 / f64::from(pages),
        process::memory_mb("VmHWM"),
    )?;
    Ok(manifest)
}

/// Changes pages all over the collection, as after a batch, until a checkpoint is written.
fn change(dir: &Path, mut manifest: Manifest) -> anyhow::Result<Manifest> {
    let mut state = PageState::open(dir, &manifest, StoreSettings::default().max_dirty_pages)?;
    let (mut update_s, mut commit_s) = (Vec::new(), Vec::new());
    for round in 0..12 {
        let known = u64::from(state.reader().pages());
        let any_page = |number: u64| PageId((random(number + round * CHANGED) % known) as u32);
        let mut pages: Vec<PageId> = (0..CHANGED).map(any_page).collect();
        pages.sort_unstable();
        let start = Instant::now();
        state.update(&pages, |_, record| {
            (record.stage, record.last_visit_s, record.fetch_count) =
                (PageStage::Fetched, NOW_S, record.fetch_count + 1);
            record.content_hash = random(u64::from(record.inlinks));
        })?;
        update_s.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let generation = manifest.generation + 1;
        let files = state.commit(generation)?;
        commit_s.push(start.elapsed().as_secs_f64());
        manifest = committed(dir, generation, files)?;
    }
    commit_s.sort_by(f64::total_cmp);
    writeln!(
        io::stdout(),
        "state, {CHANGED} pages changed: {:.2} s, committed in {:.2} s, with a checkpoint in {:.2} s",
        update_s.into_iter().fold(f64::MAX, f64::min),
        commit_s[commit_s.len() / 2],
        commit_s[commit_s.len() - 1],
    )?;
    Ok(manifest)
}

fn choose(dir: &Path, manifest: &Manifest, pages: u32) -> anyhow::Result<()> {
    let start = Instant::now();
    let reader = PageStateReader::open(dir, manifest)?;
    let open_s = start.elapsed().as_secs_f64();
    let list = if pages <= LIST_PAGES { all_rows(&reader)? } else { Vec::new() };
    let judge = Judge::new(&reader)?;
    let (mut our_s, mut list_s) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(judge.best(&reader)?);
        our_s = our_s.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        black_box(best_of_list(&judge, &list));
        list_s = list_s.min(start.elapsed().as_secs_f64());
    }
    write!(io::stdout(), "state, best {CHOSEN} of {pages}: {our_s:.2} s")?;
    if !list.is_empty() {
        write!(io::stdout(), ", {:.2} times as long as from a list in memory", our_s / list_s)?;
    }
    writeln!(io::stdout(), "; opened in {open_s:.2} s; {:.0} MB peak memory", process::memory_mb("VmHWM"))?;
    Ok(())
}

fn all_rows(reader: &PageStateReader) -> anyhow::Result<Vec<ScanRow>> {
    let parts = reader.scan(&store::PageColumn::ALL, |rows: &mut Vec<ScanRow>, row| rows.push(*row))?;
    Ok(parts.into_iter().flatten().collect())
}

fn best_of_list(judge: &Judge, rows: &[ScanRow]) -> Vec<(f32, PageId)> {
    let mut most = FactMaxima::default();
    let mut scored: Vec<(f32, PageId)> =
        rows.iter().filter_map(|row| Some((judge.judge(&mut most, row)?.1, row.page))).collect();
    if scored.len() > CHOSEN {
        scored.select_nth_unstable_by(CHOSEN, |a, b| b.0.total_cmp(&a.0));
        scored.truncate(CHOSEN);
    }
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    scored
}

/// Computes for each page what the manager computes: features, their maxima, quality by the terms of the default
/// strategy, and priority.
struct Judge {
    quality: Quality,
    profit: PriorityModel,
}

impl Judge {
    fn new(reader: &PageStateReader) -> anyhow::Result<Judge> {
        let parts =
            reader.scan(&store::PageColumn::ALL, |most: &mut FactMaxima, row| most.observe(&facts(row)))?;
        let mut most = FactMaxima::default();
        parts.iter().for_each(|part| most.merge(part));
        Ok(Judge { quality: Quality::new(Strategy::Wire.weights(), &most), profit: PriorityModel::default() })
    }

    /// Returns the list of a page, fetched or discovered, and its score.
    fn judge(&self, most: &mut FactMaxima, row: &ScanRow) -> Option<(usize, f32)> {
        let facts = facts(row);
        most.observe(&facts);
        if row.stage == PageStage::Rejected || row.earliest_visit_s > NOW_S {
            return None;
        }
        let quality = self.quality.evaluate(&facts);
        if row.last_visit_s == 0 {
            return Some((0, self.profit.for_new_page(quality)));
        }
        let age_days = (NOW_S - row.last_visit_s.min(NOW_S)) as f32 / 86_400.0;
        Some((1, self.profit.for_visited_page(quality, row.changes_per_day, age_days, false)))
    }

    /// The two lists, each of the length of a batch.
    fn best(&self, reader: &PageStateReader) -> store::Result<Vec<Vec<ScoredPage>>> {
        let judge = |most: &mut FactMaxima, row: &ScanRow| self.judge(most, row);
        Ok(reader.top_k_lists(2, CHOSEN, PER_SITE, judge)?.0)
    }
}

fn facts(row: &ScanRow) -> PageFacts {
    PageFacts {
        page: row.page,
        depth: row.depth,
        is_dynamic: row.flags.has(PageFlags::DYNAMIC),
        inlinks: row.inlinks,
        site_inlinks: row.site.0,
        site_unfetched_pages: row.site.0,
        cash: row.cash + row.cash_history,
        url_score: f32::from(row.url_score) / 65_535.0,
        topic_relevance: f32::from(row.topic_relevance) / 65_535.0,
        ranks: [0.0; 5],
    }
}

/// Returns a synthetic page; one in five was fetched. A few sites have most of the pages.
fn page(number: u32) -> PageRecord {
    let noise = random(u64::from(number));
    let share = (noise >> 40) as f32 / (1 << 24) as f32;
    let site = SiteId((share.powi(4) * 200_000.0) as u32);
    let mut record = PageRecord::new(site, (noise % 12) as u8, PageFlags(u16::from(noise as u8 >> 7)));
    record.inlinks = (1.0 / (share + 1e-6)) as u32;
    record.cash = share * 1e-3;
    if noise.is_multiple_of(5) {
        record.stage = PageStage::Fetched;
        record.last_visit_s = NOW_S - (noise >> 20) as u32 % 10_000_000;
        record.changes_per_day = share;
        record.content_hash = noise;
    }
    record
}

/// Writes links of pages: a menu for each site, links to nearby pages, and some to any page; commits of 20,000 pages.
fn links(dir: &Path) -> anyhow::Result<()> {
    const SOURCES: u32 = 200_000;
    let mut log = LinkLog::open(dir, &Manifest::empty())?;
    let mut manifest = Manifest::empty();
    let mut count = 0;
    let mut log_s = 0.0;
    for source in 0..SOURCES {
        let links = page_links(source);
        count += links.len();
        let start = Instant::now();
        log.append(PageId(source), links)?;
        if (source + 1).is_multiple_of(20_000) {
            let generation = manifest.generation + 1;
            manifest = Manifest { generation, files: log.commit(generation)?, ..Manifest::empty() };
        }
        log_s += start.elapsed().as_secs_f64();
    }
    let bytes: u64 = manifest.files.iter().map(FileEntry::length).sum();
    let start = Instant::now();
    let mut read = 0;
    LinkLogReader::open(dir, &manifest)?.for_each(|_, links| {
        read += links.len();
        Ok(())
    })?;
    anyhow::ensure!(read == count, "{read} links of {count} came back");
    writeln!(
        io::stdout(),
        "links, {count}: {:.2} bytes per link, {:.1} M/s written with commits and merges, {:.1} M/s read",
        bytes as f64 / count as f64,
        count as f64 / log_s / 1e6,
        count as f64 / start.elapsed().as_secs_f64() / 1e6,
    )?;
    Ok(())
}

fn page_links(source: u32) -> Vec<Link> {
    const PAGES_OF_A_SITE: u32 = 200;
    let menu_links = 20;
    let first_of_site = source / PAGES_OF_A_SITE * PAGES_OF_A_SITE * 5;
    let noise = |number: u32| random(u64::from(source) << 16 | u64::from(number));
    let own_links = (noise(0) % 60) as u32;
    let all = menu_links + own_links;
    let target = |number: u32| match noise(number) % 100 {
        _ if number < menu_links => first_of_site + number * 3,
        // Pages that are discovered here have consecutive ids.
        0..50 => source * 5 + number,
        50..85 => first_of_site + (noise(number) >> 32) as u32 % (5 * PAGES_OF_A_SITE),
        _ => (noise(number) >> 32) as u32 % 1_000_000,
    };
    let link = |number: u32| Link {
        target: PageId(target(number)),
        kind: u8::from(noise(number) >> 8 & 7 == 0),
        context: if number < menu_links { 1 } else { 1 << (noise(number) >> 12 & 3) },
        anchor_chars: if number < menu_links {
            5 + number as u16
        } else {
            4 + (noise(number) >> 24 & 31) as u16
        },
        position: (u64::from(number) * 65_535 / u64::from(all)) as u16,
    };
    (0..all).map(link).collect()
}

/// Commits as a collection does: the new commit replaces the old one, and unreferenced files are deleted.
fn committed(dir: &Path, generation: u64, files: Vec<FileEntry>) -> anyhow::Result<Manifest> {
    for entry in fs::read_dir(dir.join("state"))? {
        let path = entry?.path();
        if !files.iter().any(|file| dir.join(&file.name) == path) {
            fs::remove_file(path)?;
        }
    }
    Ok(Manifest { generation, files, ..Manifest::empty() })
}

/// SplitMix64: the same random numbers in every run.
fn random(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
