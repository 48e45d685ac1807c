//! JSON rows of pages, and the JSON payload of WAT records.

use model::{base64, header_fields};
use serde::Serialize;
use serde_json::{Value, json};
use store::{PageRef, StreamCursor};

use crate::page_view::PageView;
use crate::query::output::OutputColumn;

/// Appends a row with these columns, in this order.
pub(super) fn write_row(view: &PageView<'_>, columns: &[OutputColumn], out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, column) in columns.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_value(out, column.name());
        out.push(b':');
        write_column(view, *column, out);
    }
    out.extend_from_slice(b"}\n");
}

/// Appends a row for a page that cannot be read.
pub(super) fn write_error(page: &PageRef, cursor: StreamCursor, error: &store::Error, out: &mut Vec<u8>) {
    // The hint after the semicolon is for the operator of the collection, not for clients.
    let message = error.to_string();
    let message = message.rsplit_once(';').map_or(message.as_str(), |(message, _)| message);
    write_value(out, &json!({"page_id": page.page.0, "error": message, "cursor": cursor.to_string()}));
    out.push(b'\n');
}

fn write_column(view: &PageView<'_>, column: OutputColumn, out: &mut Vec<u8>) {
    let document = view.document;
    match column {
        OutputColumn::Url => write_value(out, view.stored.url()),
        OutputColumn::PageId => write_value(out, &view.page.page.0),
        OutputColumn::FetchTime => write_value(out, view.fetch_time()),
        OutputColumn::Status => write_value(out, &view.stored.status()),
        OutputColumn::MimeType => write_value(out, &view.mime_type()),
        OutputColumn::Language => write_value(out, &view.language()),
        OutputColumn::Title => write_value(out, &document.map(|document| document.title.as_str())),
        OutputColumn::Text => write_value(out, &document.map(|document| document.text.as_str())),
        OutputColumn::MainText => write_value(out, &view.main_text()),
        OutputColumn::Simplified => {
            write_value(out, &document.map(|document| document.simplified_html.as_str()));
        }
        OutputColumn::Links => write_value(out, &view.links()),
        OutputColumn::Body => write_value(out, &base64(&view.body())),
        OutputColumn::Cursor => write_value(out, &view.cursor.to_string()),
    }
}

/// Title, description, links and HTTP headers, named as in the WAT files of Common Crawl.
pub(super) fn wat_payload(view: &PageView<'_>) -> Vec<u8> {
    let link =
        |link: crate::page_view::PageLink| json!({"path": link.kind, "url": link.url, "text": link.anchor});
    let links: Vec<Value> = view.links().into_iter().map(link).collect();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let headers: serde_json::Map<String, Value> = header_fields(view.stored.head())
        .map(|(name, value)| (text(name), Value::from(text(value))))
        .collect();
    let title = view.document.map(|document| document.title.clone());
    let description = view.document.map(|document| document.description.clone());
    let html = json!({"Head": {"Title": title, "Description": description}, "Links": links});
    let response = json!({
        "Response-Message": {"Status": view.stored.status()},
        "Headers": headers,
        "HTML-Metadata": html,
    });
    let header = &view.stored.record().header;
    let record: serde_json::Map<String, Value> =
        header.fields.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    let envelope =
        json!({"WARC-Header-Metadata": record, "Payload-Metadata": {"HTTP-Response-Metadata": response}});
    let mut out = Vec::new();
    write_value(&mut out, &json!({ "Envelope": envelope }));
    out
}

/// Appends a value as JSON. Serialising strings, numbers and lists to memory cannot fail; `null` if it does.
fn write_value<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}
