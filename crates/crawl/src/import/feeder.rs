//! Reader thread of an import: reads archives and submits their pages to the parsers.

use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use harvest::gatherer::pool::{GatherBatcher, PendingPages, PipelineClosed};
use harvest::item::fetched_page::FetchedPage;
use harvest::settings::gather_settings::GatherSettings;
use store::{Collection, Result};
use warc::{WarcReader, WarcRecord};

use crate::import::deferred::{DeferredRecords, PayloadFinder};
use crate::import::warc_record::{ImportRecord, read_record, read_revisit, revisit_without_body};

/// Maximum size of a record; larger ones, such as videos, are skipped. It bounds the memory: a record is in memory as a whole,
/// uncompressed and then compressed, and three may be on their way.
const MAX_RECORD_BYTES: u64 = 256 << 20;

/// Maximum number of malformed records of an archive that are reported one by one.
const MAX_ERRORS_PER_FILE: u64 = 10;

/// Input of a pass, and what happens to its revisit records.
pub(super) enum ImportPass<'f> {
    /// Files of the user; revisit records and the records of their pages after them are deferred.
    Files(&'f [PathBuf]),
    /// Records that were deferred; revisit records without a body are deferred again, unless the pass is the last.
    Deferred { records: Box<DeferredRecords>, payloads: PayloadFinder, is_last: bool },
}

impl<'f> ImportPass<'f> {
    pub(super) fn files(files: &'f [PathBuf]) -> ImportPass<'f> {
        ImportPass::Files(files)
    }

    /// Pass over deferred records; their bodies are looked up in the last commit.
    pub(super) fn deferred(
        mut records: DeferredRecords,
        collection: &Collection,
        is_last: bool,
    ) -> Result<ImportPass<'f>> {
        let payloads = PayloadFinder::open(collection, &records.take_digests())?;
        Ok(ImportPass::Deferred { records: Box::new(records), payloads, is_last })
    }

    pub(super) fn number(&self) -> u8 {
        match self {
            ImportPass::Files(_) => 1,
            ImportPass::Deferred { is_last: false, .. } => 2,
            ImportPass::Deferred { is_last: true, .. } => 3,
        }
    }
}

/// Next step, in the order of the records.
pub(super) enum ImportStep {
    Pages {
        pending: PendingPages,
        records: u64,
        skipped: u64,
    },
    /// A file or a record cannot be read.
    FileError(warc::Error),
    EndOfFile {
        is_damaged: bool,
    },
    /// The import cannot continue.
    Failed(store::Error),
}

/// Reader of archives.
pub(super) struct ArchiveFeeder<'s> {
    settings: &'s GatherSettings,
    batcher: GatherBatcher,
    steps: SyncSender<ImportStep>,
    deferred: DeferredRecords,
    records: u64,
    skipped: u64,
}

/// Reason why the reader ends before the end of the input.
enum Stop {
    Closed,
    Failed(store::Error),
}

impl From<PipelineClosed> for Stop {
    fn from(_: PipelineClosed) -> Stop {
        Stop::Closed
    }
}

impl From<store::Error> for Stop {
    fn from(error: store::Error) -> Stop {
        Stop::Failed(error)
    }
}

impl<'s> ArchiveFeeder<'s> {
    pub(super) fn new(
        settings: &'s GatherSettings,
        batcher: GatherBatcher,
        steps: SyncSender<ImportStep>,
        deferred: DeferredRecords,
    ) -> ArchiveFeeder<'s> {
        ArchiveFeeder { settings, batcher, steps, deferred, records: 0, skipped: 0 }
    }

    /// Reads the input of a pass; returns the records that it has deferred.
    pub(super) fn run(mut self, pass: ImportPass<'_>) -> DeferredRecords {
        let outcome = match pass {
            ImportPass::Files(files) => files.iter().try_for_each(|file| self.read_file(file)),
            ImportPass::Deferred { records, payloads, is_last } => {
                self.read_deferred(*records, &payloads, is_last)
            }
        };
        if let Err(Stop::Failed(error)) = outcome {
            // If the receiver is gone, an earlier error is reported.
            let _ = self.send(ImportStep::Failed(error));
        }
        self.deferred
    }

    fn read_file(&mut self, file: &Path) -> std::result::Result<(), Stop> {
        let errors = match warc::list_package(file) {
            Ok(Some(archives)) => {
                let mut errors = 0;
                for archive in archives {
                    errors += self.read_archive(archive.open())?;
                }
                errors
            }
            Ok(None) => self.read_archive(WarcReader::open(file))?,
            Err(error) => self.read_archive(Err(error))?,
        };
        Ok(self.send(ImportStep::EndOfFile { is_damaged: errors > 0 })?)
    }

    /// Reads the records of an archive; returns the number of errors.
    fn read_archive(&mut self, archive: warc::Result<WarcReader>) -> std::result::Result<u64, Stop> {
        let mut errors = 0;
        match archive {
            Ok(archive) => {
                let mut archive = archive.skip_records_above(MAX_RECORD_BYTES);
                for record in archive.by_ref() {
                    self.records += 1;
                    match record {
                        Ok(record) => self.read_record(record)?,
                        Err(error) => {
                            self.skipped += 1;
                            errors += 1;
                            if errors <= MAX_ERRORS_PER_FILE {
                                self.send(ImportStep::FileError(error))?;
                            }
                        }
                    }
                }
                self.records += archive.skipped();
                self.skipped += archive.skipped();
                self.submit()?;
            }
            Err(error) => {
                errors += 1;
                self.send(ImportStep::FileError(error))?;
            }
        }
        Ok(errors)
    }

    fn read_record(&mut self, record: WarcRecord) -> std::result::Result<(), Stop> {
        let rules = &self.settings.rules;
        if self.deferred.has_page_of(&record, rules) {
            return Ok(self.deferred.add(&record, rules)?);
        }
        match read_record(record, rules) {
            ImportRecord::Page(page) => self.add(page),
            ImportRecord::Revisit(record) => Ok(self.deferred.add(&record, rules)?),
            ImportRecord::Unsupported => {
                self.skipped += 1;
                Ok(())
            }
            ImportRecord::NotAPage => Ok(()),
        }
    }

    fn read_deferred(
        &mut self,
        mut records: DeferredRecords,
        payloads: &PayloadFinder,
        is_last: bool,
    ) -> std::result::Result<(), Stop> {
        let rules = &self.settings.rules;
        let Some(records) = records.read()? else { return Ok(()) };
        for record in records {
            let read = match read_record(record.map_err(store::Error::from)?, rules) {
                ImportRecord::Revisit(record) => match payloads.find(&record, rules)? {
                    Some(original) => read_revisit(&record, &original, rules),
                    None if is_last => revisit_without_body(&record, rules),
                    None => {
                        self.deferred.add(&record, rules)?;
                        continue;
                    }
                },
                read => read,
            };
            match read {
                ImportRecord::Page(page) => self.add(page)?,
                _ => self.skipped += 1,
            }
        }
        Ok(self.submit()?)
    }

    fn add(&mut self, page: FetchedPage) -> std::result::Result<(), Stop> {
        if self.batcher.add(page) {
            self.submit()?;
        }
        Ok(())
    }

    fn submit(&mut self) -> std::result::Result<(), PipelineClosed> {
        let pending = self.batcher.submit()?;
        let (records, skipped) = (std::mem::take(&mut self.records), std::mem::take(&mut self.skipped));
        self.send(ImportStep::Pages { pending, records, skipped })
    }

    fn send(&self, step: ImportStep) -> std::result::Result<(), PipelineClosed> {
        Ok(self.steps.send(step)?)
    }
}
