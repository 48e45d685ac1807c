//! Containment of the Parquet reader, which panics on some invalid files: a panic becomes an error.
//!
//! Files of a commit have checksums, but a collection may come from a stranger.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;

const PANICKED: &str = "the file is invalid: the Parquet reader panicked";

/// Reads the metadata of a file.
///
/// The Arrow schema that writers embed is not read: it duplicates the Parquet schema.
pub fn read_metadata(file: &impl ChunkReader) -> Result<ArrowReaderMetadata, ParquetError> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    contain(|| ArrowReaderMetadata::load(file, options))
}

/// Opens a file.
pub(super) fn open<F: ChunkReader + 'static>(
    file: F,
) -> Result<ParquetRecordBatchReaderBuilder<F>, ParquetError> {
    let metadata = read_metadata(&file)?;
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata))
}

/// Batches of a file; an error is the last item.
pub(super) fn batches<F: ChunkReader + 'static>(
    builder: ParquetRecordBatchReaderBuilder<F>,
) -> Result<Batches, ParquetError> {
    Ok(Batches { reader: Some(contain(|| builder.build())?) })
}

/// Iterator over the batches of a file, see [`batches`].
pub(super) struct Batches {
    /// `None` after an error: the state of the reader is undefined after a panic.
    reader: Option<ParquetRecordBatchReader>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let reader = self.reader.as_mut()?;
        let batch = catch_unwind(AssertUnwindSafe(|| reader.next()))
            .unwrap_or_else(|_| Some(Err(ArrowError::ParquetError(PANICKED.to_owned()))));
        if matches!(batch, Some(Err(_))) {
            self.reader = None;
        }
        batch
    }
}

fn contain<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(ParquetError::General(PANICKED.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_reader_becomes_an_error() {
        let error = contain::<()>(|| panic!("an invalid file")).unwrap_err();
        assert!(error.to_string().contains(PANICKED), "{error}");
    }
}
