//! Is everything as it was written, and what is lost if it is not? Reads a whole collection back.
//!
//! Three passes. The components read their own files, as exactly as they can tell where something is wrong and which
//! pages that concerns. Then every byte of every file that a kept commit names is compared with the manifest's
//! checksums, so that nothing escapes. Last, what the components say about each other is compared: pages and their
//! URLs, their state, their stored records, their links.
//!
//! Nothing is repaired, and nothing is written.

mod affects;
mod cross;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use xxhash_rust::xxh3::Xxh3;

pub use affects::Affects;

use crate::directory::{generations, read_current, read_generation};
use crate::error::{Context, Error, Result, damaged};
use crate::layout;
use crate::link_log::LinkLogReader;
use crate::manifest::{FileEntry, Manifest};
use crate::page_state::PageStateReader;
use crate::page_store::PageReader;
use crate::site_state::SiteStateReader;
use crate::snapshot::find_snapshot;
use crate::tables;
use crate::url_table::UrlReader;

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file, relative to the collection's folder.
    pub file: String,
    /// Where in it: `at byte 16384`.
    pub at: String,
    /// The evidence.
    pub what: String,
    /// What cannot be read, or cannot be trusted.
    pub affects: Affects,
    /// The newest commit that names the file.
    pub generation: u64,
}

/// What a check tells while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckEvent {
    /// Something is wrong.
    Damage(Damage),
    /// A file was compared with its checksums; so many bytes.
    FileRead(u64),
}

/// What a check has seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// The commit that was read back.
    pub generation: u64,
    /// Files compared with their checksums, those of older commits among them.
    pub files: u64,
    /// Their length together.
    pub bytes: u64,
    /// Pages of the commit.
    pub pages: u32,
    /// Records of its page files.
    pub records: u64,
    /// How many things are wrong.
    pub damages: u64,
    /// Files that no commit names: left over by a crash, or about to be committed.
    pub unnamed: Vec<String>,
}

/// Reads the commit meant by `wanted` back, or the newest one together with all files of older ones, and tells what it
/// finds. An error means that it could not be checked at all.
pub fn check(
    folder: &Path,
    wanted: Option<&str>,
    mut each: impl FnMut(CheckEvent) + Send,
) -> Result<CheckReport> {
    let findings = Findings::new(folder, &mut each);
    let mut report = CheckReport::default();
    let commits = match wanted {
        Some(_) => vec![find_snapshot(folder, wanted)?],
        None => read_commits(folder, &findings)?,
    };
    if let Some(newest) = commits.last() {
        let files = files_of(&commits);
        findings.know(&files);
        (report.generation, report.files) = (newest.generation, files.len() as u64);
        report.bytes = files.values().map(|(entry, _)| entry.length()).sum();
        report.unnamed = if wanted.is_some() { Vec::new() } else { unnamed(folder, &files)? };
        check_commit(folder, newest, &files, &findings, &mut report)?;
    }
    report.damages = findings.finish()?;
    Ok(report)
}

fn check_commit(
    folder: &Path,
    newest: &Manifest,
    files: &BTreeMap<String, (FileEntry, u64)>,
    findings: &Findings<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    let bodies = findings.unless_damaged(PageReader::open(folder, newest))?;
    let parts = thread::scope(|scope| {
        let records = scope.spawn(|| bodies.as_ref().map_or(Ok(0), |bodies| check_bodies(bodies, findings)));
        let parts = check_parts(folder, newest, findings);
        report.records = records.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        parts
    })?;
    // Those of the page store were compared along with their records.
    let checked =
        |entry: &FileEntry| bodies.is_some() && newest.files.contains(entry) && is_warc(&entry.name);
    let rest: Vec<&FileEntry> =
        files.values().map(|(entry, _)| entry).filter(|entry| !checked(entry)).collect();
    check_extents(folder, &rest, findings)?;
    check_view(folder, newest, findings)?;
    let Parts { urls: Some(urls), pages: Some(pages), sites: Some(sites) } = &parts else { return Ok(()) };
    report.pages = pages.pages();
    let cross = cross::CrossCheck { folder, urls, pages, sites, bodies: bodies.as_ref(), findings };
    cross.run(newest)
}

/// What could be opened.
struct Parts {
    urls: Option<UrlReader>,
    pages: Option<PageStateReader>,
    sites: Option<SiteStateReader>,
}

/// Lets the components other than the page store read their files.
fn check_parts(folder: &Path, manifest: &Manifest, findings: &Findings<'_>) -> Result<Parts> {
    let urls = findings.unless_damaged(UrlReader::open(folder, manifest))?;
    if let Some(urls) = &urls {
        let outcome = urls.check(|pages, error| findings.add(error, Some(Affects::Urls(Some(pages)))));
        findings.unless_damaged(outcome)?;
    }
    let pages = findings.unless_damaged(PageStateReader::open(folder, manifest))?;
    if let Some(pages) = &pages {
        findings.unless_damaged(pages.check())?;
    }
    let sites = findings.unless_damaged(SiteStateReader::open(folder, manifest))?;
    if let Some(sites) = &sites {
        findings.unless_damaged(sites.check())?;
    }
    if let (Some(links), Some(urls)) =
        (findings.unless_damaged(LinkLogReader::open(folder, manifest))?, &urls)
    {
        links.check(urls.pages(), |error| findings.add(error, None))?;
    }
    for entry in manifest.files_in("tables") {
        findings.unless_damaged(tables::check_file(folder, entry))?;
    }
    Ok(Parts { urls, pages, sites })
}

/// Reads all records of the page store; tells how many there are.
fn check_bodies(bodies: &PageReader, findings: &Findings<'_>) -> Result<u64> {
    let Some(check) = findings.unless_damaged(bodies.check())? else { return Ok(0) };
    // What is known by its record need not be said of the file again.
    let (exact, vague): (Vec<_>, Vec<_>) =
        check.damages.into_iter().partition(|damage| damage.offset.is_some());
    for damage in exact {
        let at = damage.offset.map(|offset| format!("at byte {offset}")).unwrap_or_default();
        let affects = Affects::StoredPage(damage.url);
        findings.add(damaged(&damage.path, at, damage.what), Some(affects))?;
    }
    for damage in vague {
        findings.add_once(damaged(&damage.path, "somewhere", damage.what), None)?;
    }
    Ok(check.records)
}

fn is_warc(name: &str) -> bool {
    name.ends_with(".warc.gz")
}

/// Compares files with their checksums, two at a time.
fn check_extents(folder: &Path, files: &[&FileEntry], findings: &Findings<'_>) -> Result<()> {
    let next = AtomicUsize::new(0);
    let worker = || -> Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        while let Some(entry) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = compare(&folder.join(&entry.name), entry, &mut buffer) {
                findings.add_once(error, None)?;
            }
            findings.tell(CheckEvent::FileRead(entry.length()));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let other = scope.spawn(worker);
        let own = worker();
        other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(own)
    })
}

/// Looks at the tables as people see them. They are links to the files that were compared, unless the collection was
/// copied by a program that does not know links.
fn check_view(folder: &Path, manifest: &Manifest, findings: &Findings<'_>) -> Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    for entry in manifest.files_in("tables") {
        let shown = tables::shown_at(folder, &entry.name);
        let inode = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
        let Some(found) = inode(&shown) else { continue };
        if inode(&folder.join(&entry.name)) != Some(found)
            && let Err(error) = compare(&shown, entry, &mut buffer)
        {
            let table = Affects::of_file(&entry.name);
            findings.add_once(error, Some(table))?;
        }
    }
    Ok(())
}

const READ_BYTES: usize = 1 << 20;

fn compare(path: &Path, entry: &FileEntry, buffer: &mut [u8]) -> Result<()> {
    let mut file = File::open(path).context("open", path)?;
    let found = file.metadata().context("read", path)?.len();
    if found < entry.length() {
        let what = format!("it has {found} bytes, and the manifest says {}", entry.length());
        return Err(damaged(path, "at its end", what));
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
            let what = format!("checksum {:016x}, expected {:016x}", hasher.digest(), extent.checksum);
            return Err(damaged(path, format!("between bytes {start} and {end}"), what));
        }
        start = end;
    }
    Ok(())
}

/// All kept commits that can be read, oldest first, the newest last.
fn read_commits(folder: &Path, findings: &Findings<'_>) -> Result<Vec<Manifest>> {
    let current = match read_current(folder) {
        Err(error @ Error::NotACollection { .. }) => return Err(error),
        outcome => findings.unless_damaged(outcome)?,
    };
    let newest = current.as_ref().map_or(u64::MAX, |current| current.generation);
    let mut commits = Vec::new();
    // One above the newest is about to be committed; one that is gone has just expired.
    for generation in generations(folder)?.into_iter().filter(|generation| *generation <= newest) {
        match read_generation(folder, generation) {
            Err(Error::NoSnapshot { .. }) => {}
            outcome => commits.extend(findings.unless_damaged(outcome)?),
        }
    }
    if let Some(current) = current.filter(|current| commits.last() != Some(current)) {
        commits.push(current);
    }
    Ok(commits)
}

/// Every file with its extents, as the newest commit that has it names it, and that commit's generation.
fn files_of(commits: &[Manifest]) -> BTreeMap<String, (FileEntry, u64)> {
    let mut files = BTreeMap::new();
    for commit in commits {
        for entry in &commit.files {
            files.insert(entry.name.clone(), (entry.clone(), commit.generation));
        }
    }
    files
}

fn unnamed(folder: &Path, files: &BTreeMap<String, (FileEntry, u64)>) -> Result<Vec<String>> {
    let mut unnamed = Vec::new();
    for component in layout::COMPONENTS {
        let path = folder.join(component);
        let Ok(entries) = fs::read_dir(&path) else { continue };
        for entry in entries {
            let name = entry.context("list", &path)?.file_name();
            let name = format!("{component}/{}", name.to_string_lossy());
            if !files.contains_key(&name) {
                unnamed.push(name);
            }
        }
    }
    unnamed.sort_unstable();
    Ok(unnamed)
}

/// Gathers what several threads find.
pub(crate) struct Findings<'f> {
    folder: &'f Path,
    inner: Mutex<Inner<'f>>,
}

struct Inner<'f> {
    each: &'f mut (dyn FnMut(CheckEvent) + Send),
    /// Files and the newest commits that name them.
    generations: BTreeMap<String, u64>,
    reported: HashSet<String>,
    damages: u64,
    /// A commit that a writer has let go of meanwhile.
    expired: Option<u64>,
}

impl<'f> Findings<'f> {
    fn new(folder: &'f Path, each: &'f mut (dyn FnMut(CheckEvent) + Send)) -> Findings<'f> {
        let (generations, reported) = (BTreeMap::new(), HashSet::new());
        Findings {
            folder,
            inner: Mutex::new(Inner { each, generations, reported, damages: 0, expired: None }),
        }
    }

    fn know(&self, files: &BTreeMap<String, (FileEntry, u64)>) {
        let generations = files.iter().map(|(name, (_, generation))| (name.clone(), *generation));
        self.lock().generations = generations.collect();
    }

    /// What went well; damage is reported, once for each file.
    fn unless_damaged<T>(&self, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(found) => Ok(Some(found)),
            Err(error) => self.add_once(error, None).map(|()| None),
        }
    }

    /// Reports an error, unless something was said about the file before.
    pub(crate) fn add_once(&self, error: Error, affects: Option<Affects>) -> Result<()> {
        let name = path_of(&error).and_then(|path| self.relative(path));
        if name.is_some_and(|name| self.lock().reported.contains(&name)) {
            return Ok(());
        }
        self.add(error, affects)
    }

    /// Reports an error that means damage, and returns any other.
    pub(crate) fn add(&self, error: Error, affects: Option<Affects>) -> Result<()> {
        let Some(file) = path_of(&error).and_then(|path| self.relative(path)) else { return Err(error) };
        let (at, what) = match error {
            Error::Damaged { at, what, .. } => (at, what),
            Error::UnknownVersion { found, known, .. } => {
                (String::new(), format!("it has version {found}, and this program knows {known}"))
            }
            Error::OtherColumns { .. } => {
                ("as a table".to_owned(), "its columns are those of another version".to_owned())
            }
            Error::Io { operation, source, .. } => {
                (String::new(), format!("cannot {operation} it: {source}"))
            }
            other => return Err(other),
        };
        let mut inner = self.lock();
        let generation = inner.generations.get(&file).copied().unwrap_or_default();
        let gone = generation > 0 && !layout::manifest(self.folder, generation).exists();
        if gone && !self.folder.join(&file).exists() {
            inner.expired = Some(generation);
            return Ok(());
        }
        inner.damages += 1;
        inner.reported.insert(file.clone());
        let affects = affects.unwrap_or_else(|| Affects::of_file(&file));
        (inner.each)(CheckEvent::Damage(Damage { file, at, what, affects, generation }));
        Ok(())
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.lock().reported.contains(file)
    }

    fn tell(&self, event: CheckEvent) {
        (self.lock().each)(event);
    }

    fn finish(&self) -> Result<u64> {
        let inner = self.lock();
        match inner.expired {
            Some(generation) => Err(Error::NoSnapshot { name: generation.to_string() }),
            None => Ok(inner.damages),
        }
    }

    fn relative(&self, path: &Path) -> Option<String> {
        Some(path.strip_prefix(self.folder).ok()?.to_string_lossy().into_owned())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner<'f>> {
        // Whoever panicked is joined, and panics again.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn path_of(error: &Error) -> Option<&Path> {
    match error {
        Error::Damaged { path, .. }
        | Error::Io { path, .. }
        | Error::OtherColumns { path }
        | Error::UnknownVersion { path, .. } => Some(path),
        _ => None,
    }
}
