//! Check of the rows of `fetches`: each record that they name must exist.
//!
//! The locations of all records would need too much memory, so the table is compared with the records of a few WARC files
//! at a time.

use std::collections::BTreeMap;
use std::path::Path;

use super::log::CorruptionLog;
use crate::error::{Result, corrupt};
use crate::manifest::{FileEntry, Manifest};
use crate::pages::{PageStoreReader, RecordLocation};
use crate::tables::{FetchRows, TableReader, record_location};

/// Number of records after which the table is read; 12 bytes each.
const MAX_RECORDS: usize = 8 << 20;

/// Comparison of the table `fetches` with the records of the page store.
pub(super) struct FetchRecordCheck<'c, 'f> {
    pub(super) dir: &'c Path,
    pub(super) manifest: &'c Manifest,
    pub(super) page_store: &'c PageStoreReader,
    pub(super) log: &'c CorruptionLog<'f>,
    /// Offsets and lengths of the records of each WARC file, ascending.
    records: BTreeMap<u32, (Vec<u64>, Vec<u32>)>,
    record_count: usize,
    /// Rows of each file of the table whose record is missing, and the first such record.
    missing: BTreeMap<String, (u64, RecordLocation)>,
}

impl<'c, 'f> FetchRecordCheck<'c, 'f> {
    pub(super) fn new(
        dir: &'c Path,
        manifest: &'c Manifest,
        page_store: &'c PageStoreReader,
        log: &'c CorruptionLog<'f>,
    ) -> FetchRecordCheck<'c, 'f> {
        let (records, missing) = (BTreeMap::new(), BTreeMap::new());
        FetchRecordCheck { dir, manifest, page_store, log, records, record_count: 0, missing }
    }

    /// Adds a record; records come in order.
    pub(super) fn add(&mut self, record: RecordLocation) -> Result<()> {
        if self.record_count >= MAX_RECORDS && !self.records.contains_key(&record.file) {
            self.compare(false)?;
            self.records.clear();
            self.record_count = 0;
        }
        let (offsets, lengths) = self.records.entry(record.file).or_default();
        offsets.push(record.offset);
        lengths.push(record.length);
        self.record_count += 1;
        Ok(())
    }

    /// Compares the remaining records; reports rows whose record is missing, unless its file is known to be corrupt.
    pub(super) fn finish(mut self) -> Result<()> {
        self.compare(true)?;
        for (name, (rows, record)) in std::mem::take(&mut self.missing) {
            let location = format!("in the column warc_record_offset of {rows} rows");
            let cause = format!("no record at byte {} of pages/{}", record.offset, record.file_name());
            self.log.add_once(corrupt(&self.dir.join(name), location, cause), None)?;
        }
        Ok(())
    }

    fn compare(&mut self, is_last: bool) -> Result<()> {
        let prefix = "tables/fetches-";
        let files = self.manifest.files_in("tables").filter(|entry| entry.name.starts_with(prefix));
        for entry in files.collect::<Vec<_>>() {
            let compared = self.compare_file(entry, is_last);
            self.log.report_corruption(compared)?;
        }
        Ok(())
    }

    fn compare_file(&mut self, entry: &FileEntry, is_last: bool) -> Result<()> {
        let manifest = Manifest { files: vec![entry.clone()], ..Manifest::empty() };
        let columns = ["warc_filename", "warc_record_offset", "warc_record_length"];
        let rows = TableReader::<FetchRows>::open_committed(self.dir, &manifest)?.with_columns(&columns);
        let mut missing: Option<(u64, RecordLocation)> = None;
        rows.for_each_row(|row| {
            let Some(record) = record_location(row) else { return };
            let is_missing = match self.records.get(&record.file) {
                Some((offsets, lengths)) => {
                    let found = offsets.binary_search(&record.offset);
                    found.map_or(true, |index| lengths[index] != record.length)
                }
                // Compared with another part of the records, unless the commit has no such file.
                None => is_last && !self.page_store.has_file(&record),
            };
            if is_missing {
                missing.get_or_insert((0, record)).0 += 1;
            }
        })?;
        if let Some((rows, record)) = missing {
            self.missing.entry(entry.name.clone()).or_insert((0, record)).0 += rows;
        }
        Ok(())
    }
}
