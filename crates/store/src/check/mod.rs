//! Integrity check of a whole collection (`weir check`).
//!
//! Five passes. First each component reads its own files and locates corruption as precisely as it can, with the
//! affected pages. Then every byte of every file that a retained commit references is compared with the checksums of
//! the manifest, so that no corruption is missed. Then the components are compared with each other: pages and their
//! URLs, state records, stored records and links. Then files that are longer than committed are reported. Last, the files of the analysis and of the text index are compared with
//! their lists.
//!
//! Nothing is repaired, and nothing is written.

mod consistency;
mod derived;
mod fetch_records;
mod log;
mod scope;
mod surplus;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use xxhash_rust::xxh3::Xxh3;

pub use self::log::{CheckEvent, Corruption};
pub use scope::CorruptionScope;

use self::fetch_records::FetchRecordCheck;
use self::log::CorruptionLog;
use scope::is_warc;

use crate::collection_dir::{generations, read_current, read_generation};
use crate::disk::{self, File};
use crate::error::{Context, Error, Result, corrupt};
use crate::layout;
use crate::links::LinkLogReader;
use crate::manifest::{FileEntry, Manifest};
use crate::outside_links;
use crate::pages::PageStoreReader;
use crate::parallel;
use crate::snapshot::{check_pin, find_snapshot};
use crate::state::page::PageStateReader;
use crate::state::site::SiteStateReader;
use crate::tables;
use crate::urls::UrlReader;

/// Summary of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Generation of the checked commit.
    pub generation: u64,
    /// Files compared with their checksums, including those of older commits.
    pub files: u64,
    /// Total size of these files.
    pub bytes: u64,
    /// Pages of the commit.
    pub pages: u32,
    /// Records of its WARC files.
    pub records: u64,
    /// Number of corruptions found.
    pub corruptions: u64,
    /// Files that no commit and no list of derived files references: leftovers of a crash, files of a user, or about to be
    /// committed.
    pub unreferenced_files: Vec<String>,
    /// Parts that could not be checked, and files that the next commit restores.
    pub remarks: Vec<String>,
}

/// Checks a snapshot by name or generation; `None` checks the newest commit and all files of the older ones. Calls
/// `on_event` for each corruption. An error means that the check was not possible.
pub fn check(
    dir: &Path,
    name_or_generation: Option<&str>,
    mut on_event: impl FnMut(CheckEvent) + Send,
) -> Result<CheckReport> {
    outside_links::refuse_for_reading(dir)?;
    let log = CorruptionLog::new(dir, &mut on_event);
    let mut report = CheckReport::default();
    let commits = match name_or_generation {
        Some(_) => vec![find_snapshot(dir, name_or_generation)?],
        None => read_commits(dir, &log)?,
    };
    if let Some(newest) = commits.last() {
        let files = files_of(&commits);
        log.set_generations(&files, newest.generation);
        (report.generation, report.files) = (newest.generation, files.len() as u64);
        report.bytes = files.values().map(|(entry, _)| entry.length()).sum();
        report.unreferenced_files =
            if name_or_generation.is_some() { Vec::new() } else { unreferenced_files(dir, &files)? };
        check_commit(dir, newest, &files, &log, &mut report)?;
        // Files of an older snapshot may have grown since.
        if name_or_generation.is_none() {
            surplus::check_surplus(dir, newest, &log, &mut report)?;
        }
    }
    if name_or_generation.is_none() {
        derived::check_derived(dir, &log, &mut report)?;
    }
    report.corruptions = log.finish()?;
    Ok(report)
}

fn check_commit(
    dir: &Path,
    newest: &Manifest,
    files: &BTreeMap<String, (FileEntry, u64)>,
    log: &CorruptionLog<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    let page_store = log.report_corruption(PageStoreReader::open(dir, newest))?;
    let (records, components) = parallel::join(
        || page_store.as_ref().map_or(Ok(0), |page_store| check_page_store(dir, newest, page_store, log)),
        || check_components(dir, newest, log),
    );
    report.records = records?;
    let components = components?;
    // The page store has compared its files along with their records.
    let checked =
        |entry: &FileEntry| page_store.is_some() && newest.files.contains(entry) && is_warc(&entry.name);
    let rest: Vec<&FileEntry> =
        files.values().map(|(entry, _)| entry).filter(|entry| !checked(entry)).collect();
    check_extents(dir, &rest, log)?;
    check_view(dir, newest, log, report)?;
    let OpenedComponents { urls: Some(urls), pages: Some(pages), sites: Some(sites) } = &components else {
        return Ok(());
    };
    report.pages = pages.pages();
    let cross_check =
        consistency::ConsistencyCheck { dir, urls, pages, sites, page_store: page_store.as_ref(), log };
    cross_check.run(newest)
}

/// Components that could be opened.
struct OpenedComponents {
    urls: Option<UrlReader>,
    pages: Option<PageStateReader>,
    sites: Option<SiteStateReader>,
}

/// Checks all components but the page store.
fn check_components(dir: &Path, manifest: &Manifest, log: &CorruptionLog<'_>) -> Result<OpenedComponents> {
    let urls = log.report_corruption(UrlReader::open(dir, manifest))?;
    if let Some(urls) = &urls {
        let outcome = urls.check(|pages, error| log.add(error, Some(CorruptionScope::Urls(Some(pages)))));
        log.report_corruption(outcome)?;
    }
    let pages = log.report_corruption(PageStateReader::open(dir, manifest))?;
    if let Some(pages) = &pages {
        log.report_corruption(pages.check())?;
    }
    let sites = log.report_corruption(SiteStateReader::open(dir, manifest))?;
    if let Some(sites) = &sites {
        log.report_corruption(sites.check())?;
    }
    if let (Some(links), Some(urls)) = (log.report_corruption(LinkLogReader::open(dir, manifest))?, &urls) {
        links.check(urls.pages(), |error| log.add(error, None))?;
    }
    for entry in manifest.files_in("tables") {
        log.report_corruption(tables::check_file(dir, entry))?;
    }
    Ok(OpenedComponents { urls, pages, sites })
}

/// Checks all records of the page store, and the rows of `fetches` that name them; returns the number of records.
fn check_page_store(
    dir: &Path,
    manifest: &Manifest,
    page_store: &PageStoreReader,
    log: &CorruptionLog<'_>,
) -> Result<u64> {
    let mut rows = FetchRecordCheck::new(dir, manifest, page_store, log);
    let Some(check) = log.report_corruption(page_store.check(|record| rows.add(record)))? else {
        return Ok(0);
    };
    // Rows that name a corrupt record are correct.
    if check.corruptions.is_empty() {
        rows.finish()?;
    }
    // A corruption located at a record is reported before, and instead of, one of its whole file.
    let (located, unlocated): (Vec<_>, Vec<_>) =
        check.corruptions.into_iter().partition(|corruption| corruption.offset.is_some());
    for corruption in located {
        let at = corruption.offset.map(|offset| format!("at byte {offset}")).unwrap_or_default();
        let scope = CorruptionScope::StoredPage(corruption.url);
        log.add(corrupt(&corruption.path, at, corruption.cause), Some(scope))?;
    }
    for corruption in unlocated {
        log.add_once(corrupt(&corruption.path, "", corruption.cause), None)?;
    }
    Ok(check.records)
}

/// Compares files with their checksums, on two threads.
fn check_extents(dir: &Path, files: &[&FileEntry], log: &CorruptionLog<'_>) -> Result<()> {
    let next = AtomicUsize::new(0);
    let worker = || -> Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        while let Some(entry) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = compare(&dir.join(&entry.name), entry, &mut buffer) {
                log.add_once(error, None)?;
            }
            log.emit(CheckEvent::FileRead(entry.length()));
        }
        Ok(())
    };
    let (other, own) = parallel::join(worker, worker);
    other.and(own)
}

/// Checks the files below `parquet/`. They are hard links to checked files, unless the collection was copied by a program
/// that does not preserve hard links.
fn check_view(
    dir: &Path,
    manifest: &Manifest,
    log: &CorruptionLog<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    for entry in manifest.files_in("tables") {
        let view = tables::view_path(dir, &entry.name);
        let inode = |path: &Path| disk::file_number(path).ok();
        let Some(found) = inode(&view) else {
            let name = view.strip_prefix(dir).unwrap_or(&view).display();
            report.remarks.push(format!("{name} is missing: the next commit links it again"));
            continue;
        };
        if inode(&dir.join(&entry.name)) != Some(found)
            && let Err(error) = compare_exactly(&view, entry, &mut buffer)
        {
            let table = CorruptionScope::from_file(&entry.name);
            log.add_once(error, Some(table))?;
        }
    }
    Ok(())
}

const READ_BYTES: usize = 1 << 20;

fn compare(path: &Path, entry: &FileEntry, buffer: &mut [u8]) -> Result<()> {
    let mut file = File::open(path).context("open", path)?;
    let found = file.length().context("read", path)?;
    if found < entry.length() {
        let cause = format!("{found} bytes, expected {}", entry.length());
        return Err(corrupt(path, "at its end", cause));
    }
    let mut start = 0;
    for extent in &entry.extents {
        let end = start + extent.length;
        let mut hasher = Xxh3::new();
        let mut left = extent.length;
        while left > 0 {
            let part = buffer.len().min(left as usize);
            file.read_exact(&mut buffer[..part]).context("read", path)?;
            hasher.update(&buffer[..part]);
            left -= part as u64;
        }
        if hasher.digest() != extent.checksum {
            let cause = format!("checksum {:016x}, expected {:016x}", hasher.digest(), extent.checksum);
            return Err(corrupt(path, format!("between bytes {start} and {end}"), cause));
        }
        start = end;
    }
    Ok(())
}

/// Compares a complete file with its entry; it must not be longer either.
fn compare_exactly(path: &Path, entry: &FileEntry, buffer: &mut [u8]) -> Result<()> {
    compare(path, entry, buffer)?;
    let found = File::open(path).and_then(|file| file.length()).context("read", path)?;
    if found == entry.length() {
        return Ok(());
    }
    Err(corrupt(path, "at its end", format!("{found} bytes, expected {}", entry.length())))
}

/// Reads all retained commits, oldest first; unreadable ones are reported.
fn read_commits(dir: &Path, log: &CorruptionLog<'_>) -> Result<Vec<Manifest>> {
    let current = match read_current(dir) {
        Err(error @ Error::NotACollection { .. }) => return Err(error),
        outcome => log.report_corruption(outcome)?,
    };
    let newest = current.as_ref().map_or(u64::MAX, |current| current.generation);
    let mut commits = Vec::new();
    // A generation above the newest is about to be committed; a missing one has just been deleted.
    for generation in generations(dir)?.into_iter().filter(|generation| *generation <= newest) {
        match read_generation(dir, generation) {
            Err(Error::SnapshotNotFound { .. }) => {}
            outcome => commits.extend(log.report_corruption(outcome)?),
        }
        log.report_corruption(check_pin(dir, generation))?;
    }
    if let Some(current) = current.filter(|current| commits.last() != Some(current)) {
        let path = layout::manifest(dir, current.generation);
        // Unless the writer has deleted the commit meanwhile.
        if read_current(dir).is_ok_and(|again| again.generation == current.generation) {
            let cause = "missing, or different from MANIFEST, which has the same generation";
            log.add_once(corrupt(&path, "", cause), None)?;
        }
        commits.retain(|commit| commit.generation != current.generation);
        commits.push(current);
    }
    Ok(commits)
}

/// Maps each file to its entry in the newest commit that references it, and the generation of that commit.
fn files_of(commits: &[Manifest]) -> BTreeMap<String, (FileEntry, u64)> {
    let mut files = BTreeMap::new();
    for commit in commits {
        for entry in &commit.files {
            files.insert(entry.name.clone(), (entry.clone(), commit.generation));
        }
    }
    files
}

fn unreferenced_files(dir: &Path, files: &BTreeMap<String, (FileEntry, u64)>) -> Result<Vec<String>> {
    let mut unreferenced = Vec::new();
    for component in layout::COMPONENTS {
        let path = dir.join(component);
        let Ok(entries) = disk::list(&path) else { continue };
        for entry in entries {
            let name = format!("{component}/{}", entry.text());
            if !files.contains_key(&name) {
                unreferenced.push(name);
            }
        }
    }
    unreferenced.sort_unstable();
    Ok(unreferenced)
}
