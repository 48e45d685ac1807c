//! Import of WARC, ARC and WACZ files: their pages are parsed and ingested like harvested ones.
//!
//! One thread reads and decompresses the files, one per core parses pages, and the calling thread ingests them in the order of
//! the files. A [queue of pending pages](harvest::gatherer::pool) keeps that order and bounds the pages in flight.
//!
//! A malformed record is skipped. A file that cannot be read to its end does not stop the import; the records before the error
//! are imported.
//!
//! The body of a revisit record is in another record, which may come later or be in the collection already. Such records are
//! [deferred] to further passes, in which their body is looked up by its digest:
//!
//! 1. All files. Revisit records are deferred, and the records of their pages after them, so that the fetches of a page stay in
//!    order.
//! 2. The deferred records. Revisit records whose body is not yet stored, because it is in a deferred record, are deferred again.
//! 3. The rest. A revisit record without a body is a fetch of an unchanged page if it refers to the same URL; otherwise it is
//!    skipped.

pub(crate) mod carry_over;
pub(crate) mod deferred;
pub(crate) mod feeder;
pub(crate) mod warc_record;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use harvest::gatherer::pool;
use harvest::gatherer::pool::MAX_JOBS_IN_FLIGHT;
use harvest::item::gathered_page::GatheredPage;
use harvest::settings::gather_settings::GatherSettings;
use store::{Collection, Result};

use crate::import::deferred::DeferredRecords;
use crate::import::feeder::{ArchiveFeeder, ImportPass, ImportStep};
use crate::ingest::Ingest;
use crate::ingest::table_rows::describe_sites;

/// Progress or result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportSummary {
    /// Files read, completely or up to an error.
    pub files: u64,
    /// Files with a malformed record or another error.
    pub damaged_files: u64,
    /// Records of all types.
    pub records: u64,
    /// Pages imported; each fetch counts.
    pub pages: u64,
    /// Links of these pages.
    pub links: u64,
    /// Fetches that the collection already has: same page, same second, same body.
    pub already_stored: u64,
    /// Records of pages that cannot be imported: no http(s) URL, no HTTP response, a body in a record that was not found, or
    /// more than 256 MiB.
    pub records_skipped: u64,
    /// Bytes of the bodies, as transferred.
    pub body_bytes: u64,
}

/// Event during an import.
#[derive(Debug)]
pub enum ImportEvent<'e> {
    /// Progress so far.
    Progress(&'e ImportSummary),
    /// A file cannot be read to its end, or a record of it is skipped.
    FileError(&'e warc::Error),
}

/// Pages are ingested when a batch reaches one of these sizes.
const BATCH_BYTES: u64 = 16 << 20;
const BATCH_PAGES: usize = 4 << 10;
/// A commit follows when the pages since the last one have this many bytes, or this many links are in memory.
const COMMIT_BYTES: u64 = 128 << 20;
const COMMIT_LINKS: usize = 1 << 20;

/// Imports files in their order, with a commit from time to time and at the end. `now_ms` is the clock for commits.
pub fn import(
    collection: &mut Collection,
    files: &[PathBuf],
    settings: &GatherSettings,
    now_ms: impl Fn() -> i64,
    mut on_event: impl FnMut(ImportEvent<'_>),
) -> Result<ImportSummary> {
    let mut run = ImportRun::new(settings);
    let mut deferred = run.pass(collection, ImportPass::files(files), &now_ms, &mut on_event)?;
    for is_last in [false, true] {
        if deferred.is_empty() {
            break;
        }
        let pass = ImportPass::deferred(deferred, collection, is_last)?;
        deferred = run.pass(collection, pass, &now_ms, &mut on_event)?;
    }
    // Without pages the collection is unchanged.
    if run.summary.pages > 0 {
        describe_sites(collection, now_ms())?;
        collection.commit(now_ms())?;
    }
    Ok(run.summary)
}

/// Equal to the default deduplication window of the page store.
const DUPLICATE_WINDOW: usize = 1 << 20;

/// Import in progress: the pages of the current batch, and the result so far.
struct ImportRun<'s> {
    settings: &'s GatherSettings,
    ingest: Ingest,
    batch: Vec<GatheredPage>,
    batch_bytes: u64,
    bytes_since_commit: u64,
    summary: ImportSummary,
}

impl<'s> ImportRun<'s> {
    fn new(settings: &'s GatherSettings) -> ImportRun<'s> {
        ImportRun {
            settings,
            ingest: Ingest::for_import(DUPLICATE_WINDOW),
            batch: Vec::new(),
            batch_bytes: 0,
            bytes_since_commit: 0,
            summary: ImportSummary::default(),
        }
    }

    /// Runs one pass, and commits its pages; returns the records that it has deferred.
    fn pass(
        &mut self,
        collection: &mut Collection,
        pass: ImportPass<'_>,
        now_ms: &impl Fn() -> i64,
        on_event: &mut impl FnMut(ImportEvent<'_>),
    ) -> Result<DeferredRecords> {
        let (batcher, jobs) = pool::queue();
        let (step_sender, step_receiver) = sync_channel(MAX_JOBS_IN_FLIGHT);
        let deferred = DeferredRecords::create(collection.dir(), pass.number());
        let settings = self.settings;
        let deferred = thread::scope(|scope| {
            pool::start(scope, &jobs, settings);
            let feeder = ArchiveFeeder::new(settings, batcher, step_sender, deferred);
            let reader = scope.spawn(move || feeder.run(pass));
            // Owns the receiver, so that an error here ends the reader thread, and with it the parsers.
            let ingested = self.ingest_steps(collection, step_receiver, now_ms, on_event);
            let deferred = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ingested.map(|()| deferred)
        })?;
        if !deferred.is_empty() {
            collection.commit(now_ms())?;
            self.bytes_since_commit = 0;
        }
        Ok(deferred)
    }

    fn ingest_steps(
        &mut self,
        collection: &mut Collection,
        steps: Receiver<ImportStep>,
        now_ms: &impl Fn() -> i64,
        on_event: &mut impl FnMut(ImportEvent<'_>),
    ) -> Result<()> {
        for step in steps {
            match step {
                ImportStep::Pages { pending, records, skipped } => {
                    self.summary.records += records;
                    self.summary.records_skipped += skipped;
                    // A parser thread that has panicked closes its channel; the scope propagates the panic.
                    self.add(pending.recv());
                }
                ImportStep::FileError(error) => on_event(ImportEvent::FileError(&error)),
                ImportStep::EndOfFile { is_damaged } => {
                    self.summary.files += 1;
                    self.summary.damaged_files += u64::from(is_damaged);
                }
                ImportStep::Failed(error) => return Err(error),
            }
            if self.batch_bytes >= BATCH_BYTES || self.batch.len() >= BATCH_PAGES {
                self.ingest_batch(collection)?;
                on_event(ImportEvent::Progress(&self.summary));
                if self.bytes_since_commit >= COMMIT_BYTES
                    || collection.links.pending() >= COMMIT_LINKS
                    || collection.should_commit()
                {
                    collection.commit(now_ms())?;
                    self.bytes_since_commit = 0;
                }
            }
        }
        self.ingest_batch(collection)
    }

    fn add(&mut self, pages: Vec<GatheredPage>) {
        self.batch_bytes += pages.iter().map(GatheredPage::content_bytes).sum::<u64>();
        self.batch.extend(pages);
    }

    fn ingest_batch(&mut self, collection: &mut Collection) -> Result<()> {
        let summary = self.ingest.ingest(collection, std::mem::take(&mut self.batch))?;
        self.batch_bytes = 0;
        self.bytes_since_commit += summary.bytes;
        self.summary.body_bytes += summary.bytes;
        self.summary.pages += summary.pages;
        self.summary.already_stored += summary.already_stored;
        self.summary.links += summary.links;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use store::StoreSettings;

    use super::*;

    const NOW_MS: i64 = 1_794_731_500_000;

    /// Record of a page with this block.
    fn record(url: &str, block: &str) -> String {
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-17T00:00:00Z\r\n\
             Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
    }

    fn html(url: &str, body: &str) -> String {
        record(url, &format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}"))
    }

    /// Imports files with these contents; returns the summary, and the messages of errors.
    fn import_files(dir: &Path, contents: &[String]) -> (ImportSummary, Vec<String>) {
        let path = dir.join("collection");
        let settings = StoreSettings::default();
        let opened = if path.exists() {
            Collection::open(&path, settings)
        } else {
            Collection::create(&path, settings)
        };
        let files: Vec<PathBuf> =
            (0..contents.len()).map(|number| dir.join(format!("{number}.warc"))).collect();
        for (file, content) in files.iter().zip(contents) {
            fs::write(file, content).unwrap();
        }
        let mut errors = Vec::new();
        let on_event = |event: ImportEvent<'_>| {
            if let ImportEvent::FileError(error) = event {
                errors.push(error.to_string());
            }
        };
        let settings = GatherSettings::default();
        let summary = import(&mut opened.unwrap(), &files, &settings, || NOW_MS, on_event).unwrap();
        (summary, errors)
    }

    #[test]
    fn records_of_all_files_are_counted_by_what_became_of_them() {
        let temp = tempfile::tempdir().unwrap();
        let first = html("http://a.test/", "<a href=/b>b</a>") + &record("http://a.test/x", "no head");
        let second = html("http://b.test/", "text") + &html("http://a.test/", "<a href=/b>b</a>");
        let (summary, errors) = import_files(temp.path(), &[first, second]);
        let expected = ImportSummary {
            files: 2,
            records: 4,
            pages: 2,
            links: 1,
            already_stored: 1,
            records_skipped: 1,
            body_bytes: 20,
            ..ImportSummary::default()
        };
        assert_eq!((summary, errors), (expected, Vec::new()));
    }

    #[test]
    fn records_before_the_damage_of_a_file_and_all_other_files_are_imported() {
        let temp = tempfile::tempdir().unwrap();
        let whole = html("http://a.test/1", "one");
        let damaged = format!("{whole}{}", &html("http://a.test/2", "two")[..150]);
        let (summary, errors) = import_files(temp.path(), &[damaged, html("http://a.test/3", "three")]);
        assert_eq!((summary.files, summary.damaged_files, summary.pages), (2, 1, 2));
        assert!(errors.len() == 1 && errors[0].contains("0.warc"), "{errors:?}");
    }

    #[test]
    fn an_import_without_pages_does_not_commit() {
        let temp = tempfile::tempdir().unwrap();
        let generation = || store::find_snapshot(&temp.path().join("collection"), None).unwrap().generation;
        assert_eq!(import_files(temp.path(), &[]).0, ImportSummary::default());
        let before = generation();
        assert_eq!(import_files(temp.path(), &[record("http://a.test/", "no head")]).0.records_skipped, 1);
        assert_eq!(generation(), before);
        assert_eq!(import_files(temp.path(), &[html("http://a.test/", "page")]).0.pages, 1);
        assert_eq!(generation(), before + 1);
    }
}
