//! Looking at every record: chunks of a few columns, on all cores, with memory for some chunks only.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::Records;
use crate::error::Result;

/// A chunk's numbers start at a multiple of this within their segment: sixteen blocks of a column of four bytes.
const CHUNK_RECORDS: u64 = 16 * 4094;

/// Some columns of consecutive records.
#[derive(Debug)]
pub(crate) struct Chunk {
    first: u32,
    records: usize,
    /// All columns; those that were not asked for are zero.
    columns: Vec<Vec<u8>>,
}

impl Chunk {
    /// The number of the first record.
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// How many records these are.
    pub(crate) fn len(&self) -> usize {
        self.records
    }

    /// The values of a column, one behind the other; zeros unless it was asked for.
    pub(crate) fn column(&self, column: usize) -> &[u8] {
        &self.columns[column]
    }

    /// Puts a whole record together; `row` has the size of one.
    pub(crate) fn row(&self, index: usize, row: &mut [u8]) {
        let mut rest = row;
        for column in &self.columns {
            let width = column.len() / self.records;
            let (now, later) = rest.split_at_mut(width);
            now.copy_from_slice(&column[index * width..][..width]);
            rest = later;
        }
    }
}

impl<const N: usize> Records<N> {
    /// Shows `step` every record once, in chunks with the wanted columns. Each core has a state of its own, and sees
    /// its chunks in ascending order; the states are the result.
    pub(crate) fn fold<S: Default + Send>(
        &self,
        columns: &[usize],
        step: impl Fn(&mut S, &Chunk) + Sync,
    ) -> Result<Vec<S>> {
        let per_segment = u64::from(self.schema.segment_records).div_ceil(CHUNK_RECORDS);
        let next = AtomicU64::new(0);
        on_all_cores(|| {
            let mut state = S::default();
            let empty = vec![Vec::new(); self.schema.column_bytes.len()];
            let mut chunk = Chunk { first: 0, records: 0, columns: empty };
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let segment = self.schema.numbers_of((number / per_segment) as u32);
                let start = segment.start + number % per_segment * CHUNK_RECORDS;
                if start >= u64::from(self.count) {
                    break Ok(state);
                }
                let end = segment.end.min(start + CHUNK_RECORDS).min(u64::from(self.count));
                self.load(&mut chunk, columns, start as u32..end as u32)?;
                step(&mut state, &chunk);
            }
        })
    }

    /// Reads everything that is on disk; the first damage is the error.
    pub(crate) fn check(&self) -> Result<()> {
        self.segments.values().try_for_each(super::Segment::check)
    }

    fn load(&self, chunk: &mut Chunk, columns: &[usize], numbers: Range<u32>) -> Result<()> {
        chunk.first = numbers.start;
        chunk.records = numbers.len();
        if let Some(segment) = self.segments.get(&self.schema.segment_of(numbers.start)) {
            segment.read_columns(&self.schema, columns, &numbers, &mut chunk.columns)?;
        }
        for (bytes, width) in chunk.columns.iter_mut().zip(self.schema.column_bytes) {
            bytes.resize(numbers.len() * width, 0);
        }
        for (number, row) in self.overlay.range(numbers.clone()) {
            let index = (number - numbers.start) as usize;
            for &column in columns {
                let value = &row[self.schema.column_range(column)];
                chunk.columns[column][index * value.len()..][..value.len()].copy_from_slice(value);
            }
        }
        Ok(())
    }
}

/// Runs the worker once on each core.
pub(super) fn on_all_cores<R: Send>(worker: impl Fn() -> Result<R> + Sync) -> Result<Vec<R>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let others: Vec<_> = (1..cores).map(|_| scope.spawn(&worker)).collect();
        let own = worker();
        let others = others
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(own).chain(others.collect::<Vec<_>>()).collect()
    })
}
