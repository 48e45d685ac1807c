//! How do pages reach other machines over HTTP? `GET /stream?...`, in the words of [`Ask`].
//!
//! A thread reads and writes pieces into a short channel; the connection takes them out. So the client's pull sets the pace,
//! and memory for a client is bounded: a window of places, a piece of a file, a few pieces on their way. What a client has got
//! it need not get again: by the position of a row, by `skip`, or, for records that are forwarded unread, by `Range`.

mod answer;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;

use crate::admission::{Admission, StreamLimits};
use crate::ask::Ask;
use crate::shelf::Shelf;

/// Who asks, for the server to put into the extensions of a request; those without one count as one client.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress(pub IpAddr);

/// What all answers share.
struct Service {
    shelf: Shelf,
    admission: Arc<Admission>,
}

/// Answers `GET /stream` for a collection.
pub fn router<S: Clone + Send + Sync + 'static>(folder: &Path, limits: StreamLimits) -> Router<S> {
    let service = Arc::new(Service { shelf: Shelf::new(folder), admission: Admission::new(limits) });
    Router::new().route("/stream", get(stream)).with_state(service)
}

async fn stream(
    State(service): State<Arc<Service>>,
    client: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let mut ask = match Ask::of_query(query.as_deref().unwrap_or_default()) {
        Ok(ask) => ask,
        Err(error) => return answer::refusal(&answer::Refused::Wrong(error.to_string())),
    };
    ask.request.window_pages = answer::WINDOW_PAGES;
    let client = client.map(|Extension(ClientAddress(address))| address);
    let place = match service.admission.enter(client) {
        Ok(place) => place,
        Err(no_room) => return answer::refusal(&answer::Refused::NoRoom(no_room)),
    };
    let shelf = Arc::clone(&service);
    answer::answer(ask, &headers, place, move |wanted| shelf.shelf.take(wanted)).await
}
