//! How do archives of others become part of the collection? Their pages take the way of a harvest.
//!
//! One thread reads and unpacks the files, as many as there are cores read pages, and the calling one takes them in, in
//! the order of the files. A [queue of promises](crate::gatherers) keeps that order and bounds what is under way.
//!
//! A file that cannot be read to its end does not stop the others, and what came before the break is kept.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use store::{Collection, Result, WarcError, WarcReader};

use crate::fold::Fold;
use crate::gathered::Gathered;
use crate::gatherer::GatherSettings;
use crate::gatherers::{self, Dealer, JOBS_UNDER_WAY, Promise, Stopped};
use crate::rows::describe_sites;
use crate::warc_page::{WarcPage, warc_page};

/// What an import did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportSummary {
    /// Files that were read, to their end or as far as they could be.
    pub files: u64,
    /// Of those, the ones that could not be read to their end.
    pub broken_files: u64,
    /// Records in them, of all kinds.
    pub records: u64,
    /// Pages taken in; each visit counts.
    pub pages: u64,
    /// Links of these.
    pub links: u64,
    /// Visits that the collection had already: same page, same second, same body.
    pub known: u64,
    /// Records of pages that could not be taken: no URL of the Web, no answer in HTTP, a body that is elsewhere.
    pub skipped: u64,
    /// Bytes of the pages' bodies, as they were transferred.
    pub bytes: u64,
}

/// What an import tells while it goes on.
#[derive(Debug)]
pub enum ImportEvent<'e> {
    /// It has come so far.
    Progress(&'e ImportSummary),
    /// A file cannot be read any further.
    Broken(&'e WarcError),
}

/// Pages are taken in when they have so many bytes, or are so many.
const BATCH_BYTES: u64 = 16 << 20;
const BATCH_PAGES: usize = 4 << 10;
/// A commit comes when the pages since the last have so many bytes, or so many links wait in memory.
const COMMIT_BYTES: u64 = 128 << 20;
const COMMIT_LINKS: usize = 1 << 20;

/// Imports files, in their order, and commits now and then and at the end. `now_ms` is asked for the time of a commit.
pub fn import(
    collection: &mut Collection,
    files: &[PathBuf],
    settings: &GatherSettings,
    now_ms: impl Fn() -> i64,
    mut tell: impl FnMut(ImportEvent<'_>),
) -> Result<ImportSummary> {
    let (dealer, jobs) = gatherers::deal();
    let (step_sender, step_receiver) = sync_channel(JOBS_UNDER_WAY);
    thread::scope(|scope| {
        gatherers::start(scope, &jobs, settings);
        let mut reading = Reading { settings, dealer, steps: step_sender, records: 0, skipped: 0 };
        scope.spawn(move || reading.run(files));
        // Owns the receiver, so that an error here ends the reader, and that the others.
        take_in(collection, step_receiver, &now_ms, &mut tell)
    })
}

/// What comes next, in the order of the files.
enum Step {
    Pages { answer: Promise, records: u64, skipped: u64 },
    Broken(WarcError),
    EndOfFile,
}

/// Reads files and hands out their pages.
struct Reading<'s> {
    settings: &'s GatherSettings,
    dealer: Dealer,
    steps: SyncSender<Step>,
    records: u64,
    skipped: u64,
}

impl Reading<'_> {
    fn run(&mut self, files: &[PathBuf]) {
        for file in files {
            let outcome = match WarcReader::open(file) {
                Ok(records) => self.read(records),
                Err(error) => self.step(Step::Broken(error)),
            };
            if outcome.and_then(|()| self.step(Step::EndOfFile)).is_err() {
                return;
            }
        }
    }

    fn read(&mut self, records: WarcReader) -> std::result::Result<(), Stopped> {
        let mut end = Ok(());
        for record in records {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    end = Err(error);
                    break;
                }
            };
            self.records += 1;
            match warc_page(&record, &self.settings.rules) {
                WarcPage::Page(page) => {
                    if self.dealer.add(page) {
                        self.hand_over()?;
                    }
                }
                WarcPage::Unusable => self.skipped += 1,
                WarcPage::NoPage => {}
            }
        }
        self.hand_over()?;
        end.or_else(|error| self.step(Step::Broken(error)))
    }

    fn hand_over(&mut self) -> std::result::Result<(), Stopped> {
        let answer = self.dealer.hand_over()?;
        let (records, skipped) = (std::mem::take(&mut self.records), std::mem::take(&mut self.skipped));
        self.step(Step::Pages { answer, records, skipped })
    }

    fn step(&self, step: Step) -> std::result::Result<(), Stopped> {
        Ok(self.steps.send(step)?)
    }
}

fn take_in(
    collection: &mut Collection,
    steps: Receiver<Step>,
    now_ms: &impl Fn() -> i64,
    tell: &mut impl FnMut(ImportEvent<'_>),
) -> Result<ImportSummary> {
    let mut taking = Taking::default();
    let mut fold = Fold::of_archives(DUPLICATE_WINDOW);
    for step in steps {
        match step {
            Step::Pages { answer, records, skipped } => {
                taking.summary.records += records;
                taking.summary.skipped += skipped;
                // A worker that is gone has panicked, and the scope will say so.
                taking.add(answer.recv().unwrap_or_default());
            }
            Step::Broken(error) => {
                taking.summary.broken_files += 1;
                tell(ImportEvent::Broken(&error));
            }
            Step::EndOfFile => taking.summary.files += 1,
        }
        if taking.batch_bytes >= BATCH_BYTES || taking.batch.len() >= BATCH_PAGES {
            taking.fold(&mut fold, collection)?;
            tell(ImportEvent::Progress(&taking.summary));
            if taking.bytes_since_commit >= COMMIT_BYTES
                || collection.links.pending() >= COMMIT_LINKS
                || collection.is_full()
            {
                collection.commit(now_ms())?;
                taking.bytes_since_commit = 0;
            }
        }
    }
    taking.fold(&mut fold, collection)?;
    // Without a page nothing has changed.
    if taking.summary.pages > 0 {
        describe_sites(collection, now_ms())?;
        collection.commit(now_ms())?;
    }
    Ok(taking.summary)
}

/// As many bodies as the page store remembers by default.
const DUPLICATE_WINDOW: usize = 1 << 20;

/// Pages on their way in.
#[derive(Default)]
struct Taking {
    batch: Vec<Gathered>,
    batch_bytes: u64,
    bytes_since_commit: u64,
    summary: ImportSummary,
}

impl Taking {
    fn add(&mut self, pages: Vec<Gathered>) {
        self.batch_bytes += pages.iter().map(Gathered::content_bytes).sum::<u64>();
        self.batch.extend(pages);
    }

    fn fold(&mut self, fold: &mut Fold, collection: &mut Collection) -> Result<()> {
        let folded = fold.fold(collection, std::mem::take(&mut self.batch))?;
        self.batch_bytes = 0;
        self.bytes_since_commit += folded.bytes;
        self.summary.bytes += folded.bytes;
        self.summary.pages += folded.pages;
        self.summary.known += folded.known;
        self.summary.links += folded.links;
        Ok(())
    }
}
