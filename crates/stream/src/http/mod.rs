//! Streams over HTTP: `GET /stream` with the parameters of [`StreamQuery`].
//!
//! A thread reads pages and sends chunks through a short channel to the connection, so the client's reads set the pace and
//! the memory per client is bounded: one window of page references, one file buffer, a few chunks. A client resumes by the
//! cursor of a row (`after`), by `byte_offset`, or, for WARC records that are forwarded as they are, by `Range`.

mod response;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;

use crate::admission::{AdmissionControl, StreamLimits, StreamUsage};
use crate::query::stream_query::StreamQuery;
use crate::snapshot_cache::SnapshotCache;

/// Address of the client, which the server adds to the extensions of a request; all requests without an address count as one client.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress(pub IpAddr);

/// Service of `GET /stream` for one collection.
pub struct StreamService {
    snapshots: SnapshotCache,
    admission: Arc<AdmissionControl>,
}

impl StreamService {
    /// Creates the service for the collection in `dir`.
    pub fn new(dir: &Path, limits: StreamLimits) -> Arc<StreamService> {
        Arc::new(StreamService {
            snapshots: SnapshotCache::new(dir),
            admission: AdmissionControl::new(limits),
        })
    }

    /// Router for `GET /stream`.
    pub fn router<S: Clone + Send + Sync + 'static>(self: &Arc<StreamService>) -> Router<S> {
        Router::new().route("/stream", get(stream)).with_state(Arc::clone(self))
    }

    /// Number of open streams, and of the pages that finished ones have considered.
    pub fn usage(&self) -> StreamUsage {
        self.admission.stream_usage()
    }
}

async fn stream(
    State(service): State<Arc<StreamService>>,
    client: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let mut query = match StreamQuery::parse_query(query.as_deref().unwrap_or_default()) {
        Ok(query) => query,
        Err(error) => return response::error_response(&response::StreamError::BadRequest(error.to_string())),
    };
    query.request.window_pages = response::WINDOW_PAGES;
    let client = client.map(|Extension(ClientAddress(address))| address);
    let permit = match service.admission.acquire(client) {
        Ok(permit) => permit,
        Err(error) => return response::error_response(&response::StreamError::Overloaded(error)),
    };
    let service = Arc::clone(&service);
    response::respond(query, &headers, permit, move |name_or_generation| {
        service.snapshots.open(name_or_generation)
    })
    .await
}
