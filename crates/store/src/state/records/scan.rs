//! Parallel scan over all records: chunks of the requested columns, on all cores, with bounded memory.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::RecordTable;
use crate::error::Result;
use crate::parallel;

/// Number of records per chunk: sixteen blocks of a column of four bytes.
const CHUNK_RECORDS: u64 = 16 * 4094;

/// Requested columns of consecutive records.
#[derive(Debug)]
pub(crate) struct ColumnChunk {
    first: u32,
    records: usize,
    /// All columns; those not requested are zero.
    columns: Vec<Vec<u8>>,
}

impl ColumnChunk {
    /// Id of the first record.
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.records
    }

    /// Values of a column in order; zeros if it was not requested.
    pub(crate) fn column(&self, column: usize) -> &[u8] {
        &self.columns[column]
    }

    /// Assembles a whole record in `row`, which has the size of one.
    pub(crate) fn row(&self, index: usize, row: &mut [u8]) {
        let mut rest = row;
        for column in &self.columns {
            let width = column.len() / self.records;
            let (field, later) = rest.split_at_mut(width);
            field.copy_from_slice(&column[index * width..][..width]);
            rest = later;
        }
    }
}

impl<const N: usize> RecordTable<N> {
    /// Calls `visit` with every record once, in chunks with the requested columns. Each core has its own state and gets
    /// its chunks in ascending order; the states are the result.
    pub(crate) fn scan<S: Default + Send>(
        &self,
        columns: &[usize],
        visit: impl Fn(&mut S, &ColumnChunk) + Sync,
    ) -> Result<Vec<S>> {
        let per_segment = u64::from(self.schema.segment_records).div_ceil(CHUNK_RECORDS);
        let next = AtomicU64::new(0);
        parallel::on_all_cores(|| {
            let mut state = S::default();
            let empty = vec![Vec::new(); self.schema.column_bytes.len()];
            let mut chunk = ColumnChunk { first: 0, records: 0, columns: empty };
            loop {
                let chunk_index = next.fetch_add(1, Ordering::Relaxed);
                let segment = self.schema.ids_of((chunk_index / per_segment) as u32);
                let start = segment.start + chunk_index % per_segment * CHUNK_RECORDS;
                if start >= u64::from(self.count) {
                    break Ok(state);
                }
                let end = segment.end.min(start + CHUNK_RECORDS).min(u64::from(self.count));
                self.load(&mut chunk, columns, start as u32..end as u32)?;
                visit(&mut state, &chunk);
            }
        })
    }

    /// Reads and verifies everything on disk; the first corruption is the error.
    pub(crate) fn check(&self) -> Result<()> {
        self.segments.values().try_for_each(super::Segment::check)
    }

    fn load(&self, chunk: &mut ColumnChunk, columns: &[usize], ids: Range<u32>) -> Result<()> {
        chunk.first = ids.start;
        chunk.records = ids.len();
        if let Some(segment) = self.segments.get(&self.schema.segment_of(ids.start)) {
            segment.read_columns(&self.schema, columns, &ids, &mut chunk.columns)?;
        }
        for (bytes, width) in chunk.columns.iter_mut().zip(self.schema.column_bytes) {
            bytes.resize(ids.len() * width, 0);
        }
        for (id, row) in self.overlay.range(ids.clone()) {
            let index = (id - ids.start) as usize;
            for &column in columns {
                let value = &row[self.schema.column_range(column)];
                chunk.columns[column][index * value.len()..][..value.len()].copy_from_slice(value);
            }
        }
        Ok(())
    }
}
