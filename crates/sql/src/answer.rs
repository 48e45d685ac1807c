//! What is the answer to a query? Rows that come a batch at a time, each as text, JSON or CSV.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder as CsvBuilder;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::WriterBuilder as JsonBuilder;
use datafusion::arrow::json::writer::LineDelimited;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::physical_plan::SendableRecordBatchStream;
use futures::StreamExt;

use crate::error::{Error, Result};
use crate::wrong_query;

/// An answer that is under way.
pub struct Answer {
    columns: Vec<AnswerColumn>,
    stream: SendableRecordBatchStream,
    memory_bytes: u64,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// Whether it is of numbers.
    pub is_number: bool,
}

/// Some rows of an answer.
pub struct Rows(RecordBatch);

impl Answer {
    pub(crate) fn new(stream: SendableRecordBatchStream, memory_bytes: u64) -> Answer {
        let schema = stream.schema();
        let columns = schema.fields().iter().map(|field| AnswerColumn {
            name: field.name().clone(),
            is_number: field.data_type().is_numeric(),
        });
        Answer { columns: columns.collect(), stream, memory_bytes }
    }

    /// The columns.
    pub fn columns(&self) -> &[AnswerColumn] {
        &self.columns
    }

    /// The next rows; none at the end. Whoever has seen enough drops the answer.
    pub async fn next(&mut self) -> Result<Option<Rows>> {
        let rows = self.stream.next().await.transpose();
        rows.map(|batch| batch.map(Rows)).map_err(|error| wrong_query::of_answer(&error, self.memory_bytes))
    }
}

impl Rows {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.num_rows()
    }

    /// Rows of cells as people read them; nothing where there is no value.
    pub fn cells(&self) -> Result<Vec<Vec<Option<String>>>> {
        let options = FormatOptions::default();
        let columns = self.0.columns();
        let formatters = columns.iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
        let formatters = formatters.collect::<std::result::Result<Vec<_>, _>>().map_err(unwritable)?;
        let cell = |row: usize, column: usize| {
            let text = || formatters[column].value(row).try_to_string();
            (!columns[column].is_null(row)).then(text).transpose()
        };
        (0..self.count())
            .map(|row| (0..columns.len()).map(|column| cell(row, column)).collect())
            .collect::<std::result::Result<_, _>>()
            .map_err(unwritable)
    }

    /// One JSON object a line.
    pub fn json(&self) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        let mut writer = JsonBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut lines);
        writer.write(&self.0).and_then(|()| writer.finish()).map_err(unwritable)?;
        Ok(lines)
    }

    /// Lines of values with commas between them.
    pub fn csv(&self) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        CsvBuilder::new().with_header(false).build(&mut lines).write(&self.0).map_err(unwritable)?;
        Ok(lines)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn unwritable(error: ArrowError) -> Error {
    Error::Failed { reason: error.to_string() }
}
