//! Reader of a table by row groups, which any thread can read.

use std::io::{self, BufReader, Read};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::FieldRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::{ChunkReader, Length};

use super::GROUP_ROWS;
use super::derived::list_derived;
use super::parquet_panics;
use super::rows::Rows;
use crate::cancellation::Cancellation;
use crate::disk::File;
use crate::error::{Context, Error, Result, corrupt};
use crate::manifest::Manifest;

/// Number of rows decoded at a time.
const BATCH_ROWS: usize = 8_192;

/// Table, open for reading.
#[derive(Debug)]
pub struct TableReader<R> {
    files: Vec<TableFile>,
    /// File and index of each row group.
    groups: Vec<(usize, usize)>,
    /// Columns to read; all if empty.
    columns: Vec<&'static str>,
    generation: u64,
    rows: PhantomData<fn() -> R>,
}

/// Batch of rows of a table.
pub struct TableBatch<R: Rows> {
    columns: R::Columns,
    rows: usize,
}

impl<R: Rows> TableBatch<R> {
    /// Iterates over the rows in order.
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
    /// Opens a table of a commit.
    pub fn open_committed(dir: &Path, manifest: &Manifest) -> Result<TableReader<R>> {
        let prefix = super::prefix::<R>();
        let files = manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix));
        TableReader::from_files(files.map(|file| dir.join(&file.name)), manifest.generation)
    }

    /// Opens a table of the last analysis; `None` if there is none.
    pub fn open_derived(dir: &Path) -> Result<Option<TableReader<R>>> {
        let entry = list_derived(dir)?.into_iter().find(|entry| entry.table == R::NAME);
        entry.map(|entry| TableReader::from_files([entry.path], entry.generation)).transpose()
    }

    fn from_files(paths: impl IntoIterator<Item = PathBuf>, generation: u64) -> Result<TableReader<R>> {
        let files = paths.into_iter().map(TableFile::open::<R>).collect::<Result<Vec<TableFile>>>()?;
        let groups = |(index, file): (usize, &TableFile)| {
            (0..file.metadata.metadata().num_row_groups())
                .map(move |group| (index, group))
                .collect::<Vec<_>>()
        };
        let groups = files.iter().enumerate().flat_map(groups).collect();
        Ok(TableReader { files, groups, columns: Vec::new(), generation, rows: PhantomData })
    }

    /// Reads only these columns; the others are null, 0 or empty.
    #[must_use]
    pub fn with_columns(self, columns: &[&'static str]) -> TableReader<R> {
        TableReader { columns: columns.to_vec(), ..self }
    }

    /// Generation of the commit that the table describes.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of row groups, in the order of the table.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Number of rows of a group.
    pub fn rows(&self, group: usize) -> u64 {
        let (file, group) = self.groups[group];
        self.files[file].metadata.metadata().row_group(group).num_rows().unsigned_abs()
    }

    /// Calls `visit` with the rows of a group.
    pub fn for_each(&self, group: usize, mut visit: impl FnMut(&R::Row<'_>)) -> Result<()> {
        self.read(group, BATCH_ROWS, |batch| {
            batch.rows().for_each(|row| visit(&row));
            Ok(())
        })
    }

    /// Calls `visit` with all rows of a group at once.
    pub fn for_each_batch(
        &self,
        group: usize,
        visit: impl FnMut(&TableBatch<R>) -> Result<()>,
    ) -> Result<()> {
        self.read(group, GROUP_ROWS, visit)
    }

    fn read(
        &self,
        group: usize,
        batch_rows: usize,
        mut visit: impl FnMut(&TableBatch<R>) -> Result<()>,
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
        for batch in parquet_panics::batches(builder).map_err(|error| wrong(path, &error))? {
            let batch = batch.map_err(|error| wrong(path, &error))?;
            visit(&TableBatch { columns: R::columns(&batch), rows: batch.num_rows() })?;
        }
        Ok(())
    }

    /// Calls `visit` with all rows, in order.
    pub fn for_each_row(&self, mut visit: impl FnMut(&R::Row<'_>)) -> Result<()> {
        (0..self.groups()).try_for_each(|group| self.for_each(group, &mut visit))
    }

    /// Calls `visit` with every row, until the read is cancelled.
    pub fn for_each_row_until(
        &self,
        cancellation: &Cancellation,
        mut visit: impl FnMut(&R::Row<'_>),
    ) -> Result<()> {
        (0..self.groups()).try_for_each(|group| {
            self.read(group, BATCH_ROWS, |batch| {
                cancellation.check()?;
                batch.rows().for_each(|row| visit(&row));
                Ok(())
            })
        })
    }
}

impl TableFile {
    fn open<R: Rows>(path: PathBuf) -> Result<TableFile> {
        let file = SharedFile::open(&path)?;
        let metadata = parquet_panics::read_metadata(&file).map_err(|error| wrong(&path, &error))?;
        // A nullable column that was added later may be missing in older files.
        let is_known = |field: &FieldRef| match metadata.schema().field_with_name(field.name()) {
            Ok(found) => found.data_type() == field.data_type(),
            Err(_) => field.is_nullable(),
        };
        if !R::schema().fields().iter().all(is_known) {
            return Err(Error::SchemaMismatch { path });
        }
        Ok(TableFile { path, file, metadata })
    }
}

/// File that many threads read with positioned reads, because clones of a `File` share their position. It is opened at the
/// start, so that it can be read even after it is deleted.
#[derive(Debug, Clone)]
pub(super) struct SharedFile {
    file: Arc<File>,
    length: u64,
}

impl SharedFile {
    pub(super) fn open(path: &Path) -> Result<SharedFile> {
        let file = File::open(path).context("open", path)?;
        let length = file.length().context("open", path)?;
        Ok(SharedFile { file: Arc::new(file), length })
    }
}

/// Sequential reader from a position.
pub(super) struct PositionedReader {
    file: Arc<File>,
    at: u64,
}

impl Read for PositionedReader {
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
    type T = BufReader<PositionedReader>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(PositionedReader { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // A corrupt file may have any length in its metadata: bounds the allocation.
        let left = usize::try_from(self.length.saturating_sub(start)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(left)];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> Error {
    corrupt(path, "", error.to_string())
}
