//! Relocation of the rows of `fetches` after a compaction: they name the records of pages, which moved or were dropped.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;

use super::{FetchRow, FetchRows, Table, TableReader};
use crate::error::Result;
use crate::manifest::{FileEntry, Manifest};
use crate::pages::{RecordLocation, Relocations};

/// Columns with the location of a record.
const LOCATION_COLUMNS: [&str; 3] = ["warc_filename", "warc_record_offset", "warc_record_length"];

impl Table<FetchRows> {
    /// Replaces the locations of moved records, and removes those of dropped ones. Files without such rows are unchanged.
    /// `generation` is that of the next commit.
    pub(crate) fn relocate(&mut self, generation: u64, moved: &Relocations) -> Result<()> {
        for index in 0..self.files.len() {
            if names_rewritten_file(&self.reader(&self.files[index])?, moved)? {
                self.rewrite(index, generation, moved)?;
            }
        }
        Ok(())
    }

    fn reader(&self, entry: &FileEntry) -> Result<TableReader<FetchRows>> {
        let manifest = Manifest { files: vec![entry.clone()], ..Manifest::empty() };
        Ok(TableReader::open_committed(&self.dir, &manifest)?.with_columns(&LOCATION_COLUMNS))
    }

    fn rewrite(&mut self, index: usize, generation: u64, moved: &Relocations) -> Result<()> {
        self.rewritten_files += 1;
        let mut writer = self.create(generation, &format!("-r{}", self.rewritten_files))?;
        self.copy(&self.files[index], &mut writer, |batch| relocated(&batch, moved))?;
        self.files[index] = self.finish(writer)?;
        Ok(())
    }
}

/// Location of the record of a fetch; `None` if nothing was stored.
pub(crate) fn record_location(row: &FetchRow<'_>) -> Option<RecordLocation> {
    location(row.warc_filename?, row.warc_record_offset?, row.warc_record_length?)
}

fn location(file: &str, offset: i64, length: i32) -> Option<RecordLocation> {
    let name = file.strip_prefix("pages/")?;
    RecordLocation::parse(name, u64::try_from(offset).ok()?, u32::try_from(length).ok()?).ok()
}

fn names_rewritten_file(rows: &TableReader<FetchRows>, moved: &Relocations) -> Result<bool> {
    let mut found = false;
    for group in 0..rows.groups() {
        rows.for_each(group, |row| {
            found = found || record_location(row).is_some_and(|record| moved.is_rewritten(record.file));
        })?;
        if found {
            break;
        }
    }
    Ok(found)
}

fn relocated(batch: &RecordBatch, moved: &Relocations) -> std::result::Result<RecordBatch, ArrowError> {
    let [files, offsets, lengths] = LOCATION_COLUMNS.map(|name| &batch[name]);
    let files = files.as_string::<i32>();
    let (offsets, lengths) = (offsets.as_primitive::<Int64Type>(), lengths.as_primitive::<Int32Type>());
    let locations: Vec<Option<RecordLocation>> = (0..batch.num_rows())
        .map(|row| {
            let is_stored = files.is_valid(row) && offsets.is_valid(row) && lengths.is_valid(row);
            let record =
                is_stored.then(|| location(files.value(row), offsets.value(row), lengths.value(row)));
            moved.new_location(record.flatten()?)
        })
        .collect();
    let names = locations.iter().map(|record| record.map(|record| format!("pages/{}", record.file_name())));
    let names: StringArray = names.collect();
    let offsets: Int64Array = locations.iter().map(|record| Some(record.as_ref()?.offset as i64)).collect();
    let lengths: Int32Array = locations.iter().map(|record| Some(record.as_ref()?.length as i32)).collect();
    let new: [ArrayRef; 3] = [Arc::new(names), Arc::new(offsets), Arc::new(lengths)];
    let mut columns = batch.columns().to_vec();
    for (name, column) in LOCATION_COLUMNS.iter().zip(new) {
        columns[batch.schema().index_of(name)?] = column;
    }
    RecordBatch::try_new(batch.schema(), columns)
}
