//! How is a page written as a line of JSON, and what is written about it in a record of its own?

use serde::Serialize;
use serde_json::{Value, json};
use store::{PagePlace, Position};

use super::base64::base64;
use crate::form::Column;
use crate::page_view::PageView;

/// Appends a line with these columns, in their order.
pub(super) fn write_row(view: &PageView<'_>, columns: &[Column], out: &mut Vec<u8>) {
    out.push(b'{');
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        put(out, column.name());
        out.push(b':');
        put_column(view, *column, out);
    }
    out.extend_from_slice(b"}\n");
}

/// Appends a line about a page that cannot be read.
pub(super) fn write_error(place: &PagePlace, position: Position, error: &store::Error, out: &mut Vec<u8>) {
    // The rest of the sentence is for who has the collection.
    let what = error.to_string();
    let what = what.rsplit_once(';').map_or(what.as_str(), |(what, _)| what);
    put(out, &json!({"page_id": place.page.0, "error": what, "position": position.to_string()}));
    out.push(b'\n');
}

fn put_column(view: &PageView<'_>, column: Column, out: &mut Vec<u8>) {
    let document = view.document;
    match column {
        Column::Url => put(out, view.stored.url()),
        Column::PageId => put(out, &view.place.page.0),
        Column::Time => put(out, view.time()),
        Column::Status => put(out, &view.stored.status()),
        Column::Mime => put(out, &view.mime()),
        Column::Language => put(out, &view.language()),
        Column::Title => put(out, &document.map(|document| document.title.as_str())),
        Column::Text => put(out, &document.map(|document| document.text.as_str())),
        Column::MainText => put(out, &view.main_text()),
        Column::Kept => put(out, &document.map(|document| document.kept.as_str())),
        Column::Links => put(out, &view.links()),
        Column::Body => put(out, &base64(&view.body())),
        Column::Position => put(out, &view.position.to_string()),
    }
}

/// Title, description, links and the head of HTTP, named as in the WAT files of Common Crawl.
pub(super) fn about(view: &PageView<'_>) -> Vec<u8> {
    let link =
        |link: crate::page_view::SeenLink| json!({"path": link.kind, "url": link.url, "text": link.text});
    let links: Vec<Value> = view.links().into_iter().map(link).collect();
    let head = String::from_utf8_lossy(view.stored.head()).into_owned();
    let headers: serde_json::Map<String, Value> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), Value::from(value.trim())))
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
    put(&mut out, &json!({ "Envelope": envelope }));
    out
}

/// Values made of texts, numbers and lists always become JSON, and memory takes every byte.
fn put<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}
