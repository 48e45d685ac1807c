//! What does a row have? Columns as [`Column`] names them, with the types of Arrow.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, ListBuilder, StringBuilder, StructBuilder, TimestampMillisecondBuilder, UInt16Builder,
    UInt32Builder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, TimeUnit};

use crate::form::Column;
use crate::page_view::PageView;

/// A batch is full when it has so many rows, or bytes; a row is never split.
const BATCH_ROWS: usize = 4_096;
const BATCH_BYTES: usize = 1 << 20;

/// The columns that are wanted, in their order.
pub(super) fn schema(columns: &[Column]) -> Schema {
    let field = |column: &Column| {
        let always = matches!(column, Column::Url | Column::PageId | Column::Time | Column::Position);
        Field::new(column.name(), data_type(*column), !always)
    };
    Schema::new(columns.iter().map(field).collect::<Vec<_>>())
}

fn data_type(column: Column) -> DataType {
    match column {
        Column::PageId => DataType::UInt32,
        Column::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        Column::Status => DataType::UInt16,
        Column::Body => DataType::Binary,
        Column::Links => DataType::List(Arc::new(Field::new("item", DataType::Struct(link_fields()), true))),
        _ => DataType::Utf8,
    }
}

fn link_fields() -> Fields {
    ["url", "text", "kind", "rel"].map(|name| Field::new(name, DataType::Utf8, true)).to_vec().into()
}

/// Rows under construction.
pub(super) struct RowBatch {
    columns: Vec<Column>,
    cells: Vec<Cells>,
    rows: usize,
    bytes: usize,
}

enum Cells {
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Number32(UInt32Builder),
    Number16(UInt16Builder),
    Time(TimestampMillisecondBuilder),
    Links(ListBuilder<StructBuilder>),
}

impl RowBatch {
    pub(super) fn new(columns: &[Column]) -> RowBatch {
        let cells = columns.iter().map(|column| Cells::new(*column)).collect();
        RowBatch { columns: columns.to_vec(), cells, rows: 0, bytes: 0 }
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    pub(super) fn push(&mut self, page: &PageView<'_>) {
        self.rows += 1;
        for (column, cells) in self.columns.iter().zip(&mut self.cells) {
            self.bytes += cells.push(*column, page);
        }
    }

    /// The rows so far; a new batch begins.
    pub(super) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        let arrays: Vec<ArrayRef> = self.cells.iter_mut().map(Cells::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(Arc::new(schema(&self.columns)), arrays, &options)
    }
}

impl Cells {
    fn new(column: Column) -> Cells {
        match column {
            Column::PageId => Cells::Number32(UInt32Builder::new()),
            Column::Status => Cells::Number16(UInt16Builder::new()),
            Column::Time => Cells::Time(TimestampMillisecondBuilder::new().with_timezone("UTC")),
            Column::Body => Cells::Bytes(BinaryBuilder::new()),
            Column::Links => Cells::Links(ListBuilder::new(StructBuilder::from_fields(link_fields(), 0))),
            _ => Cells::Text(StringBuilder::new()),
        }
    }

    /// Tells how many bytes that took, about.
    fn push(&mut self, column: Column, page: &PageView<'_>) -> usize {
        match self {
            Cells::Number32(cells) => cells.append_value(page.place.page.0),
            Cells::Number16(cells) => cells.append_option(page.stored.status()),
            Cells::Time(cells) => cells.append_value(page.stored.fetched_at_ms()),
            Cells::Bytes(cells) => {
                let body = page.body();
                cells.append_value(&body);
                return body.len();
            }
            Cells::Links(cells) => return push_links(cells, page),
            Cells::Text(cells) => {
                let document = page.document;
                let owned;
                let text: Option<&str> = match column {
                    Column::Url => Some(page.stored.url()),
                    Column::Mime => page.mime(),
                    Column::Language => page.language(),
                    Column::Title => document.map(|document| document.title.as_str()),
                    Column::Text => document.map(|document| document.text.as_str()),
                    Column::Kept => document.map(|document| document.kept.as_str()),
                    Column::MainText => {
                        owned = page.main_text();
                        owned.as_deref()
                    }
                    _ => {
                        owned = Some(page.position.to_string());
                        owned.as_deref()
                    }
                };
                cells.append_option(text);
                return text.map_or(0, str::len);
            }
        }
        size_of::<u64>()
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Cells::Text(cells) => Arc::new(cells.finish()),
            Cells::Bytes(cells) => Arc::new(cells.finish()),
            Cells::Number32(cells) => Arc::new(cells.finish()),
            Cells::Number16(cells) => Arc::new(cells.finish()),
            Cells::Time(cells) => Arc::new(cells.finish()),
            Cells::Links(cells) => Arc::new(cells.finish()),
        }
    }
}

fn push_links(cells: &mut ListBuilder<StructBuilder>, page: &PageView<'_>) -> usize {
    let mut bytes = 0;
    for link in page.links() {
        let parts = [link.url.as_str(), &link.text, link.kind, &link.rel];
        for (place, part) in parts.into_iter().enumerate() {
            if let Some(texts) = cells.values().field_builder::<StringBuilder>(place) {
                texts.append_value(part);
            }
            bytes += part.len();
        }
        cells.values().append(true);
    }
    cells.append(true);
    bytes
}
