//! How does one stream become one answer of HTTP?

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use store::{Error, Snapshot};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::admission::{NoRoom, Place};
use crate::ask::Ask;
use crate::outflow::Outflow;

/// 3 MB of places, and twice as much for a moment.
pub(super) const WINDOW_PAGES: usize = 1 << 17;

/// A piece is at least so long, but for the last.
const PIECE_BYTES: usize = 128 << 10;

/// Pieces that wait for the client.
const PIECES: usize = 4;

/// A client that takes nothing for so long has to come again.
const STALL: Duration = Duration::from_secs(300);

/// Why there is no stream.
#[derive(Debug)]
pub(super) enum Refused {
    Wrong(String),
    NotThere(String),
    NotModified,
    NotThatRange { bytes: u64 },
    NoRoom(NoRoom),
    Failed(String),
}

/// What stands before the pages.
struct Head {
    generation: u64,
    tag: String,
    /// First byte and length of all, if a range was asked for.
    range: Option<(u64, u64)>,
}

enum Piece {
    Bytes(Vec<u8>),
    /// Everything has been sent; without this the answer is broken off, so that nobody takes it for complete.
    End,
}

/// Begins to read in a thread, and answers when it has begun.
pub(super) async fn answer(
    ask: Ask,
    headers: &HeaderMap,
    place: Place,
    open: impl FnOnce(Option<&str>) -> store::Result<Arc<Snapshot>> + Send + 'static,
) -> Response {
    let text =
        |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::to_owned);
    let conditions = Conditions {
        range_from: text(header::RANGE).and_then(|range| range_from(&range)),
        if_range: text(header::IF_RANGE),
        if_none_match: text(header::IF_NONE_MATCH),
    };
    let content_type = ask.form.format.content_type();
    let (begun, begins) = oneshot::channel();
    let (pieces, read) = mpsc::channel(1);
    spawn_blocking(move || {
        let _place = place;
        pour(ask, &conditions, open, begun, &pieces);
    });
    match begins.await {
        Ok(Ok(head)) => begin(&head, content_type, read),
        Ok(Err(refused)) => refusal(&refused),
        Err(_) => refusal(&Refused::Failed("the reader ended".to_owned())),
    }
}

fn begin(head: &Head, content_type: &'static str, read: mpsc::Receiver<Piece>) -> Response {
    let (send, receive) = mpsc::channel(PIECES);
    tokio::spawn(relay(read, send));
    let mut response = Body::from_stream(Pieces { receive, ended: false }).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let mut put = |name: header::HeaderName, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    };
    put(header::ETAG, head.tag.clone());
    put(header::HeaderName::from_static("weir-snapshot"), head.generation.to_string());
    if let Some((from, total)) = head.range {
        put(header::CONTENT_RANGE, format!("bytes {from}-{}/{total}", total.saturating_sub(1)));
        put(header::CONTENT_LENGTH, (total - from).to_string());
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    response
}

/// Carries pieces from the thread to the connection, as long as somebody takes them.
async fn relay(mut read: mpsc::Receiver<Piece>, send: mpsc::Sender<Piece>) {
    while let Some(piece) = read.recv().await {
        match timeout(STALL, send.send(piece)).await {
            Ok(Ok(())) => {}
            // Gone, or asleep: the thread notices when it has nobody to give to.
            _ => return,
        }
    }
}

/// What the connection takes out.
struct Pieces {
    receive: mpsc::Receiver<Piece>,
    ended: bool,
}

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.receive.poll_recv(context).map(|piece| {
            let next = match piece {
                Some(Piece::Bytes(bytes)) => return Some(Ok(Bytes::from(bytes))),
                Some(Piece::End) => None,
                None => Some(Err(io::Error::other("the stream broke off"))),
            };
            self.ended = true;
            next
        })
    }
}

/// What the client has said about what it has.
struct Conditions {
    range_from: Option<u64>,
    if_range: Option<String>,
    if_none_match: Option<String>,
}

/// Reads everything, piece by piece, until the end or until nobody takes it any more.
fn pour(
    mut ask: Ask,
    conditions: &Conditions,
    open: impl FnOnce(Option<&str>) -> store::Result<Arc<Snapshot>>,
    begun: oneshot::Sender<Result<Head, Refused>>,
    pieces: &mpsc::Sender<Piece>,
) {
    let opened = open(ask.snapshot().as_deref()).map_err(Refused::from);
    let snapshot = match opened {
        Ok(snapshot) => snapshot,
        Err(refused) => return drop(begun.send(Err(refused))),
    };
    let mut piece = Vec::with_capacity(2 * PIECE_BYTES);
    let started = start(&snapshot, &mut ask, conditions).and_then(|(head, mut outflow)| {
        outflow.skip(ask.skip_bytes, &mut piece)?;
        Ok((head, outflow))
    });
    let mut outflow = match started {
        Ok((head, outflow)) => {
            if begun.send(Ok(head)).is_err() {
                return;
            }
            outflow
        }
        Err(refused) => return drop(begun.send(Err(refused))),
    };
    loop {
        let given = match outflow.next_into(&mut piece) {
            Ok(given) => given,
            // Without its end the client knows that this is not all.
            Err(_) => return,
        };
        let last = given.is_none();
        if piece.len() >= PIECE_BYTES || last && !piece.is_empty() {
            let full = std::mem::replace(&mut piece, Vec::with_capacity(2 * PIECE_BYTES));
            if pieces.blocking_send(Piece::Bytes(full)).is_err() {
                return;
            }
        }
        if last {
            // Whether it arrives is the client's business.
            let _ = pieces.blocking_send(Piece::End);
            return;
        }
    }
}

fn start<'s>(
    snapshot: &'s Snapshot,
    ask: &mut Ask,
    conditions: &Conditions,
) -> Result<(Head, Outflow<'s>), Refused> {
    let generation = snapshot.manifest.generation;
    let tag = tag(generation, ask);
    let is_tag = |value: &String| value.split(',').any(|one| one.trim() == tag || one.trim() == "*");
    if conditions.if_none_match.as_ref().is_some_and(is_tag) {
        return Err(Refused::NotModified);
    }
    let outflow = Outflow::open(snapshot, ask)?.with_reports();
    let mut range = None;
    let from = conditions.range_from.filter(|_| conditions.if_range.as_ref().is_none_or(is_tag));
    // A range of what nobody has counted cannot be told, and is not promised: then everything comes.
    if let (Some(from), Some(total)) = (from, from.map_or(Ok(None), |_| outflow.total_bytes())?) {
        let total = total.saturating_sub(ask.skip_bytes);
        if from >= total {
            return Err(Refused::NotThatRange { bytes: total });
        }
        range = Some((from, total));
        ask.skip_bytes += from;
    }
    Ok((Head { generation, tag, range }, outflow))
}

/// The same wish to the same commit has the same tag, and the same bytes.
fn tag(generation: u64, ask: &Ask) -> String {
    let whole = Ask { snapshot: None, ..ask.clone() };
    format!("\"{generation}-{:016x}\"", xxhash_rust::xxh3::xxh3_64(whole.to_query().as_bytes()))
}

/// The first byte of an open range; other ranges are ignored, as HTTP allows.
fn range_from(range: &str) -> Option<u64> {
    range.trim().strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        match error {
            Error::NoSnapshot { .. } | Error::UnknownSite { .. } => Refused::NotThere(error.to_string()),
            Error::WrongPosition { .. } => Refused::Wrong(error.to_string()),
            error => Refused::Failed(error.to_string()),
        }
    }
}

/// Says no, in a sentence.
pub(super) fn refusal(refused: &Refused) -> Response {
    let (status, sentence) = match refused {
        Refused::Wrong(sentence) => (StatusCode::BAD_REQUEST, sentence.clone()),
        Refused::NotThere(sentence) => (StatusCode::NOT_FOUND, sentence.clone()),
        Refused::NotModified => return StatusCode::NOT_MODIFIED.into_response(),
        Refused::NotThatRange { bytes } => {
            (StatusCode::RANGE_NOT_SATISFIABLE, format!("the stream has {bytes} bytes"))
        }
        Refused::NoRoom(no_room @ NoRoom::TooMany { .. }) => {
            (StatusCode::TOO_MANY_REQUESTS, no_room.to_string())
        }
        Refused::NoRoom(no_room @ NoRoom::Busy) => (StatusCode::SERVICE_UNAVAILABLE, no_room.to_string()),
        Refused::Failed(sentence) => (StatusCode::INTERNAL_SERVER_ERROR, sentence.clone()),
    };
    let body = axum::Json(serde_json::json!({ "error": sentence }));
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    if let Refused::NotThatRange { bytes } = refused
        && let Ok(value) = HeaderValue::from_str(&format!("bytes */{bytes}"))
    {
        headers.insert(header::CONTENT_RANGE, value);
    }
    if matches!(refused, Refused::NoRoom(_)) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
