//! HTTP response of one stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use store::{CancelOnDrop, Cancellation, Error, Snapshot};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::admission::{AdmissionError, StreamPermit};
use crate::query::stream_query::StreamQuery;
use crate::writer::StreamWriter;

/// Page references read at once: 3 MB, briefly twice as much while they are sorted.
pub(super) const WINDOW_PAGES: usize = 1 << 17;

/// Minimum size of a chunk, except for the last.
const MIN_CHUNK_BYTES: usize = 128 << 10;

/// Chunks buffered for the client.
const CHANNEL_CAPACITY: usize = 4;

/// Time after which a client that reads nothing is disconnected.
const STALL_TIMEOUT: Duration = Duration::from_secs(300);

/// Reason for an error response.
#[derive(Debug)]
pub(super) enum StreamError {
    BadRequest(String),
    NotFound(String),
    NotModified,
    RangeNotSatisfiable { bytes: u64 },
    Overloaded(AdmissionError),
    Internal(String),
}

/// Values of the response head.
struct StreamHead {
    generation: u64,
    etag: String,
    /// First byte and total length, if a range was requested.
    range: Option<(u64, u64)>,
}

/// Message from the reader thread to the connection.
enum BodyChunk {
    Bytes(Vec<u8>),
    /// End of the stream; without it the response is aborted, so that the client does not take it for complete.
    End,
}

/// Starts a reader thread, and responds as soon as the stream is open. The thread ends at the next page after the client has
/// disconnected: then the future of this response, or its body, is dropped.
pub(super) async fn respond(
    query: StreamQuery,
    headers: &HeaderMap,
    permit: StreamPermit,
    open: impl FnOnce(Option<&str>) -> store::Result<Arc<Snapshot>> + Send + 'static,
) -> Response {
    let text =
        |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::to_owned);
    let conditions = ConditionalHeaders {
        range_from: text(header::RANGE).and_then(|range| range_from(&range)),
        if_range: text(header::IF_RANGE),
        if_none_match: text(header::IF_NONE_MATCH),
    };
    let content_type = query.output.format.content_type();
    let (send_head, head) = oneshot::channel();
    let (chunks, receive) = mpsc::channel(1);
    let cancellation = Cancellation::default();
    let cancel_on_drop = cancellation.cancel_on_drop();
    spawn_blocking(move || {
        let mut permit = permit;
        read_pages(query, &conditions, open, send_head, &chunks, &cancellation, &mut permit);
    });
    match head.await {
        Ok(Ok(head)) => build_response(&head, content_type, receive, cancel_on_drop),
        Ok(Err(error)) => error_response(&error),
        Err(_) => error_response(&StreamError::Internal("reader thread ended unexpectedly".to_owned())),
    }
}

fn build_response(
    head: &StreamHead,
    content_type: &'static str,
    chunks: mpsc::Receiver<BodyChunk>,
    cancel_on_drop: CancelOnDrop,
) -> Response {
    let (send, receive) = mpsc::channel(CHANNEL_CAPACITY);
    tokio::spawn(relay(chunks, send));
    let mut response =
        Body::from_stream(BodyStream { receive, ended: false, _cancel_on_drop: cancel_on_drop })
            .into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let mut insert = |name: header::HeaderName, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    };
    insert(header::ETAG, head.etag.clone());
    insert(header::HeaderName::from_static("weir-snapshot"), head.generation.to_string());
    if let Some((from, total)) = head.range {
        insert(header::CONTENT_RANGE, format!("bytes {from}-{}/{total}", total.saturating_sub(1)));
        insert(header::CONTENT_LENGTH, (total - from).to_string());
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    response
}

/// Forwards chunks from the reader thread to the connection, until the client disconnects or stalls.
async fn relay(mut chunks: mpsc::Receiver<BodyChunk>, send: mpsc::Sender<BodyChunk>) {
    while let Some(chunk) = chunks.recv().await {
        match timeout(STALL_TIMEOUT, send.send(chunk)).await {
            Ok(Ok(())) => {}
            // Disconnected or stalled: the reader thread ends when its channel is closed.
            _ => return,
        }
    }
}

/// Body of the response.
struct BodyStream {
    receive: mpsc::Receiver<BodyChunk>,
    ended: bool,
    _cancel_on_drop: CancelOnDrop,
}

impl Stream for BodyStream {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.receive.poll_recv(context).map(|chunk| {
            let next = match chunk {
                Some(BodyChunk::Bytes(bytes)) => return Some(Ok(Bytes::from(bytes))),
                Some(BodyChunk::End) => None,
                None => Some(Err(io::Error::other("stream aborted"))),
            };
            self.ended = true;
            next
        })
    }
}

/// Conditional and range headers of the request.
struct ConditionalHeaders {
    range_from: Option<u64>,
    if_range: Option<String>,
    if_none_match: Option<String>,
}

/// Opens the stream, sends the head, and then all pages in chunks, until the end or until the client disconnects.
fn read_pages(
    mut query: StreamQuery,
    conditions: &ConditionalHeaders,
    open: impl FnOnce(Option<&str>) -> store::Result<Arc<Snapshot>>,
    send_head: oneshot::Sender<Result<StreamHead, StreamError>>,
    chunks: &mpsc::Sender<BodyChunk>,
    cancellation: &Cancellation,
    permit: &mut StreamPermit,
) {
    let opened = open(query.snapshot().as_deref()).map_err(StreamError::from);
    let snapshot = match opened {
        Ok(snapshot) => snapshot,
        Err(error) => return drop(send_head.send(Err(error))),
    };
    let mut writer = match open_stream(&snapshot, &mut query, conditions, cancellation) {
        Ok((head, writer)) => {
            if send_head.send(Ok(head)).is_err() {
                return;
            }
            writer
        }
        Err(error) => return drop(send_head.send(Err(error))),
    };
    // An error needs no handling here: without `End` the client sees that the stream is incomplete.
    let _ = send_pages(&mut writer, query.skip_bytes, chunks);
    permit.set_pages_examined(writer.pages_examined());
}

/// Sends the pages after the first `skip_bytes` bytes.
fn send_pages(
    writer: &mut StreamWriter<'_>,
    skip_bytes: u64,
    chunks: &mpsc::Sender<BodyChunk>,
) -> store::Result<()> {
    let mut chunk = Vec::with_capacity(2 * MIN_CHUNK_BYTES);
    writer.skip_bytes(skip_bytes, &mut chunk)?;
    loop {
        let last = writer.write_next(&mut chunk)?.is_none();
        if chunk.len() >= MIN_CHUNK_BYTES || last && !chunk.is_empty() {
            let full = std::mem::replace(&mut chunk, Vec::with_capacity(2 * MIN_CHUNK_BYTES));
            if chunks.blocking_send(BodyChunk::Bytes(full)).is_err() {
                return Ok(());
            }
        }
        if last {
            // The client may have disconnected.
            let _ = chunks.blocking_send(BodyChunk::End);
            return Ok(());
        }
    }
}

fn open_stream<'s>(
    snapshot: &'s Snapshot,
    query: &mut StreamQuery,
    conditions: &ConditionalHeaders,
    cancellation: &Cancellation,
) -> Result<(StreamHead, StreamWriter<'s>), StreamError> {
    let generation = snapshot.manifest.generation;
    let etag = compute_etag(generation, query);
    let matches_etag = |value: &String| value.split(',').any(|one| one.trim() == etag || one.trim() == "*");
    if conditions.if_none_match.as_ref().is_some_and(matches_etag) {
        return Err(StreamError::NotModified);
    }
    let writer = StreamWriter::open_cancellable(snapshot, query, cancellation)?.with_error_rows();
    let mut range = None;
    let from = conditions.range_from.filter(|_| conditions.if_range.as_ref().is_none_or(matches_etag));
    // A range needs the total length; where it is unknown, the whole stream is sent, as HTTP allows.
    if let (Some(from), Some(total)) = (from, from.map_or(Ok(None), |_| writer.total_bytes())?) {
        let total = total.saturating_sub(query.skip_bytes);
        if from >= total {
            return Err(StreamError::RangeNotSatisfiable { bytes: total });
        }
        range = Some((from, total));
        query.skip_bytes += from;
    }
    Ok((StreamHead { generation, etag, range }, writer))
}

/// ETag: equal for equal queries of the same commit, which yield the same bytes.
fn compute_etag(generation: u64, query: &StreamQuery) -> String {
    let unpinned = StreamQuery { snapshot: None, ..query.clone() };
    format!("\"{generation}-{:016x}\"", xxhash_rust::xxh3::xxh3_64(unpinned.to_query().as_bytes()))
}

/// First byte of an open range `bytes=N-`; other ranges are ignored, as HTTP allows.
fn range_from(range: &str) -> Option<u64> {
    range.trim().strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
}

impl From<Error> for StreamError {
    fn from(error: Error) -> StreamError {
        match error {
            // The path of the collection is not for remote clients.
            Error::SnapshotNotFound { name, .. } => StreamError::NotFound(format!("no snapshot `{name}`")),
            Error::UnknownSite { .. } => StreamError::NotFound(error.to_string()),
            Error::InvalidCursor { .. } => StreamError::BadRequest(error.to_string()),
            error => StreamError::Internal(error.to_string()),
        }
    }
}

/// Error response with a JSON message.
pub(super) fn error_response(error: &StreamError) -> Response {
    let (status, message) = match error {
        StreamError::BadRequest(message) => (StatusCode::BAD_REQUEST, message.clone()),
        StreamError::NotFound(message) => (StatusCode::NOT_FOUND, message.clone()),
        StreamError::NotModified => return StatusCode::NOT_MODIFIED.into_response(),
        StreamError::RangeNotSatisfiable { bytes } => (
            StatusCode::RANGE_NOT_SATISFIABLE,
            format!("range not satisfiable: the stream has {bytes} bytes"),
        ),
        StreamError::Overloaded(cause @ AdmissionError::ClientLimit { .. }) => {
            (StatusCode::TOO_MANY_REQUESTS, cause.to_string())
        }
        StreamError::Overloaded(cause @ AdmissionError::ServerLimit) => {
            (StatusCode::SERVICE_UNAVAILABLE, cause.to_string())
        }
        StreamError::Internal(message) => (StatusCode::INTERNAL_SERVER_ERROR, message.clone()),
    };
    let body = axum::Json(serde_json::json!({ "error": message }));
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    if let StreamError::RangeNotSatisfiable { bytes } = error
        && let Ok(value) = HeaderValue::from_str(&format!("bytes */{bytes}"))
    {
        headers.insert(header::CONTENT_RANGE, value);
    }
    if matches!(error, StreamError::Overloaded(_)) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
