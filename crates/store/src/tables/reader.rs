//! What stands in a table, row by row? Its groups of rows, each of which any thread may read.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::FieldRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::reader::{ChunkReader, Length};

use super::GROUP_ROWS;
use super::derived::list_derived;
use super::rows::Rows;
use crate::error::{Context, Error, Result, damaged};
use crate::manifest::Manifest;

/// Rows that are unpacked at a time.
const BATCH_ROWS: usize = 8_192;

/// A table, for reading.
#[derive(Debug)]
pub struct TableReader<R> {
    files: Vec<TableFile>,
    /// File and number of each group of rows.
    groups: Vec<(usize, usize)>,
    /// What is read; everything if there are none.
    columns: Vec<&'static str>,
    generation: u64,
    rows: PhantomData<fn() -> R>,
}

/// Some rows of a table.
pub struct TableBatch<R: Rows> {
    columns: R::Columns,
    rows: usize,
}

impl<R: Rows> TableBatch<R> {
    /// The rows in their order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = R::Row<'_>> {
        (0..self.rows).map(|row| R::row(&self.columns, row))
    }
}

#[derive(Debug)]
struct TableFile {
    path: PathBuf,
    file: SharedFile,
    metadata: ArrowReaderMetadata,
}

impl<R: Rows> TableReader<R> {
    /// One of the tables of a commit.
    pub fn committed(folder: &Path, manifest: &Manifest) -> Result<TableReader<R>> {
        let prefix = super::prefix::<R>();
        let files = manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix));
        TableReader::of_files(files.map(|file| folder.join(&file.name)), manifest.generation)
    }

    /// One of the tables of the last analysis; `None` if there is none.
    pub fn derived(folder: &Path) -> Result<Option<TableReader<R>>> {
        let entry = list_derived(folder)?.into_iter().find(|entry| entry.table == R::NAME);
        entry.map(|entry| TableReader::of_files([entry.path], entry.generation)).transpose()
    }

    fn of_files(paths: impl IntoIterator<Item = PathBuf>, generation: u64) -> Result<TableReader<R>> {
        let files = paths.into_iter().map(TableFile::open::<R>).collect::<Result<Vec<TableFile>>>()?;
        let groups = |(number, file): (usize, &TableFile)| {
            (0..file.metadata.metadata().num_row_groups())
                .map(move |group| (number, group))
                .collect::<Vec<_>>()
        };
        let groups = files.iter().enumerate().flat_map(groups).collect();
        Ok(TableReader { files, groups, columns: Vec::new(), generation, rows: PhantomData })
    }

    /// Reads these columns only; in all others, rows have nothing, 0 or an empty text.
    #[must_use]
    pub fn with_columns(self, columns: &[&'static str]) -> TableReader<R> {
        TableReader { columns: columns.to_vec(), ..self }
    }

    /// The commit that the table describes.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// How many groups of rows there are; they are in the order of the table.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// How many rows a group has.
    pub fn rows(&self, group: usize) -> u64 {
        let (file, group) = self.groups[group];
        self.files[file].metadata.metadata().row_group(group).num_rows().unsigned_abs()
    }

    /// Shows `each` the rows of a group.
    pub fn for_each(&self, group: usize, mut each: impl FnMut(&R::Row<'_>)) -> Result<()> {
        self.read(group, BATCH_ROWS, |batch| {
            batch.rows().for_each(|row| each(&row));
            Ok(())
        })
    }

    /// Shows `each` all rows of a group at once.
    pub fn for_each_batch(&self, group: usize, each: impl FnMut(&TableBatch<R>) -> Result<()>) -> Result<()> {
        self.read(group, GROUP_ROWS, each)
    }

    fn read(
        &self,
        group: usize,
        batch_rows: usize,
        mut each: impl FnMut(&TableBatch<R>) -> Result<()>,
    ) -> Result<()> {
        let (file, group) = self.groups[group];
        let TableFile { path, file, metadata } = &self.files[file];
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata.clone())
            .with_row_groups(vec![group])
            .with_batch_size(batch_rows);
        if !self.columns.is_empty() {
            let mask = ProjectionMask::columns(builder.parquet_schema(), self.columns.iter().copied());
            builder = builder.with_projection(mask);
        }
        for batch in builder.build().map_err(|error| wrong(path, &error))? {
            let batch = batch.map_err(|error| wrong(path, &error))?;
            each(&TableBatch { columns: R::columns(&batch), rows: batch.num_rows() })?;
        }
        Ok(())
    }

    /// Shows `each` all rows, in their order.
    pub fn for_each_row(&self, mut each: impl FnMut(&R::Row<'_>)) -> Result<()> {
        (0..self.groups()).try_for_each(|group| self.for_each(group, &mut each))
    }
}

impl TableFile {
    fn open<R: Rows>(path: PathBuf) -> Result<TableFile> {
        let file = File::open(&path).context("open", &path)?;
        let length = file.metadata().context("open", &path)?.len();
        let file = SharedFile { file: Arc::new(file), length };
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|error| wrong(&path, &error))?;
        // A column that came later is empty in rows of before.
        let is_known = |field: &FieldRef| match metadata.schema().field_with_name(field.name()) {
            Ok(found) => found.data_type() == field.data_type(),
            Err(_) => field.is_nullable(),
        };
        if !R::schema().fields().iter().all(is_known) {
            return Err(Error::OtherColumns { path });
        }
        Ok(TableFile { path, file, metadata })
    }
}

/// A file that many threads read at once: those that clone a `File` share its position. It is open from the start, so that
/// it can be read even if it is deleted.
#[derive(Debug, Clone)]
struct SharedFile {
    file: Arc<File>,
    length: u64,
}

/// Reads on from a place.
struct ReadOn {
    file: Arc<File>,
    at: u64,
}

impl Read for ReadOn {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<ReadOn>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(ReadOn { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // A damaged file may tell any length.
        let left = usize::try_from(self.length.saturating_sub(start)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(left)];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> Error {
    damaged(path, "as a table", error.to_string())
}
