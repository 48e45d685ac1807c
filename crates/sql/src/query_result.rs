//! Result of a query: batches of rows, as text or JSON.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::WriterBuilder as JsonBuilder;
use datafusion::arrow::json::writer::LineDelimited;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::physical_plan::SendableRecordBatchStream;
use futures::StreamExt;

use crate::engine_error;
use crate::error::{Error, Result};

/// A result that is being computed.
pub struct QueryResult {
    columns: Vec<ResultColumn>,
    stream: SendableRecordBatchStream,
    memory_bytes: u64,
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultColumn {
    /// Name.
    pub name: String,
    /// Whether its values are numbers.
    pub is_number: bool,
}

/// A batch of rows.
pub struct RowBatch(RecordBatch);

impl QueryResult {
    pub(crate) fn new(stream: SendableRecordBatchStream, memory_bytes: u64) -> QueryResult {
        let schema = stream.schema();
        let columns = schema.fields().iter().map(|field| ResultColumn {
            name: field.name().clone(),
            is_number: field.data_type().is_numeric(),
        });
        QueryResult { columns: columns.collect(), stream, memory_bytes }
    }

    /// The columns.
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Computes the next rows; none at the end. Drop the result to stop early.
    pub async fn next(&mut self) -> Result<Option<RowBatch>> {
        let rows = self.stream.next().await.transpose();
        rows.map(|batch| batch.map(RowBatch))
            .map_err(|error| engine_error::execution_error(&error, self.memory_bytes))
    }
}

impl RowBatch {
    /// Number of rows.
    pub fn count(&self) -> usize {
        self.0.num_rows()
    }

    /// Rows of formatted cells; none for null.
    pub fn cells(&self) -> Result<Vec<Vec<Option<String>>>> {
        let options = FormatOptions::default();
        let columns = self.0.columns();
        let formatters = columns.iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
        let formatters = formatters.collect::<std::result::Result<Vec<_>, _>>().map_err(encoding_error)?;
        let cell = |row: usize, column: usize| {
            let text = || formatters[column].value(row).try_to_string();
            (!columns[column].is_null(row)).then(text).transpose()
        };
        (0..self.count())
            .map(|row| (0..columns.len()).map(|column| cell(row, column)).collect())
            .collect::<std::result::Result<_, _>>()
            .map_err(encoding_error)
    }

    /// One JSON object per line.
    pub fn json(&self) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        let mut writer = JsonBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut lines);
        writer.write(&self.0).and_then(|()| writer.finish()).map_err(encoding_error)?;
        Ok(lines)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err needs")]
fn encoding_error(error: ArrowError) -> Error {
    Error::Failed { reason: error.to_string() }
}
