//! Streams over Arrow Flight: record batches of rows, with the parameters of [`StreamQuery`].
//!
//! ListFlights returns the pages of the last commit and of each named snapshot, so that generic clients can explore a
//! collection. The command of a descriptor is a query as of `GET /stream`; with `shards=K` it yields K tickets for parallel clients. A
//! ticket is a query bound to a commit. The metadata of each batch is the cursor after its last row: a client that reconnects
//! adds `after=CURSOR` to its ticket. The client's reads set the pace; a thread reads two batches ahead.

mod connections;
mod rows;

use std::net::TcpListener;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::utils::batches_to_flight_data;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaAsIpc, SchemaResult, Ticket,
};
use arrow_schema::ArrowError;
use futures_core::Stream;
use store::{CancelOnDrop, Cancellation, PageStream, PageStreamItem, Snapshot};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

use crate::admission::{AdmissionControl, AdmissionError, StreamLimits, StreamPermit, StreamUsage};
use crate::connection_table::ActiveRequest;
use crate::page_view::PageViewer;
use crate::query::stream_query::StreamQuery;
use crate::snapshot_cache::SnapshotCache;
use connections::{ClientConnection, LimitedIncoming};
use rows::RowBatch;

/// Batches buffered for the client.
const CHANNEL_CAPACITY: usize = 2;
/// Page references read at once: 3 MB, briefly twice as much while they are sorted.
const WINDOW_PAGES: usize = 1 << 17;
/// Interval of HTTP/2 keep-alive pings; connections without a reply are closed.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Timeout of a TLS handshake.
const TLS_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of shards of a query.
const MAX_SHARDS: u32 = 10_000;
/// Maximum size of a command or ticket: that of a request head over HTTP.
const MAX_COMMAND_BYTES: usize = 32 << 10;
/// Maximum size of all tickets of a query together: each repeats the query.
const MAX_TICKETS_BYTES: usize = 16 << 20;

/// Check of the access token of a request.
pub type TokenCheck = Arc<dyn Fn(Option<&str>) -> bool + Send + Sync>;

/// Settings of a Flight server.
pub struct FlightSettings {
    /// Collection directory.
    pub dir: PathBuf,
    /// Limits on concurrent streams.
    pub limits: StreamLimits,
    /// Check of the access token.
    pub authorize: TokenCheck,
    /// Certificate chain and private key (PEM); no TLS without them.
    pub tls_pem: Option<(Vec<u8>, Vec<u8>)>,
}

/// Arrow Flight server, stopped on drop.
pub struct FlightServer {
    admission: Arc<AdmissionControl>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FlightServer {
    /// Starts the server in a thread.
    pub fn start(listener: TcpListener, settings: FlightSettings) -> std::io::Result<FlightServer> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let admission = AdmissionControl::new(settings.limits);
        let service = FlightHandler {
            snapshots: Arc::new(SnapshotCache::new(&settings.dir)),
            admission: Arc::clone(&admission),
            authorize: settings.authorize,
        };
        let mut server = Server::builder().http2_keepalive_interval(Some(KEEPALIVE));
        if let Some((certificate, key)) = settings.tls_pem {
            let tls = ServerTlsConfig::new()
                .identity(Identity::from_pem(certificate, key))
                .timeout(TLS_HANDSHAKE_TIMEOUT);
            server = server.tls_config(tls).map_err(std::io::Error::other)?;
        }
        let work = move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let serving = server.add_service(FlightServiceServer::new(service)).serve_with_incoming(
                    LimitedIncoming::new(TcpIncoming::from(listener).with_nodelay(Some(true))),
                );
                tokio::select! {
                    // Errors of single connections are not errors of the server.
                    _ = serving => {}
                    _ = stopped => {}
                }
            });
        };
        let thread = thread::Builder::new().name("flight".to_owned()).spawn(work)?;
        Ok(FlightServer { admission, stop: Some(stop), thread: Some(thread) })
    }

    /// Number of open streams, and of the pages that finished ones have considered.
    pub fn usage(&self) -> StreamUsage {
        self.admission.stream_usage()
    }
}

impl Drop for FlightServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The panic message was printed by the thread.
            let _ = thread.join();
        }
    }
}

struct FlightHandler {
    snapshots: Arc<SnapshotCache>,
    admission: Arc<AdmissionControl>,
    authorize: TokenCheck,
}

type ResponseStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl FlightHandler {
    fn check_token<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let header = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        let token = header.and_then(|header| header.strip_prefix("Bearer ")).map(str::trim);
        if (self.authorize)(token) {
            Ok(())
        } else {
            Err(Status::unauthenticated("missing or invalid access token"))
        }
    }

    /// Tickets and schema of a query, bound to a commit.
    async fn flight_info(&self, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
        let (query, shards) = parse_command(&descriptor.cmd)?;
        let snapshot = self.snapshot(&query).await?;
        let generation = Some(snapshot.manifest.generation.to_string());
        let ticket_bytes = query.to_query().len().saturating_mul(shards as usize);
        if ticket_bytes > MAX_TICKETS_BYTES {
            return Err(Status::invalid_argument(format!(
                "the tickets of {shards} shards exceed {MAX_TICKETS_BYTES} bytes: shorten the query or use fewer shards"
            )));
        }
        let mut info =
            FlightInfo::new().try_with_schema(&rows::schema(&query.output.columns)).map_err(internal)?;
        for partition in (1..=shards).filter_map(|number| store::StreamPartition::new(number, shards)) {
            let request = store::PageStreamRequest { partition, ..query.request.clone() };
            let ticket = StreamQuery { snapshot: generation.clone(), request, ..query.clone() }.to_query();
            info = info.with_endpoint(FlightEndpoint::new().with_ticket(Ticket::new(ticket)));
        }
        Ok(info.with_descriptor(descriptor))
    }

    /// Commands of the flights that exist without a filter: the last commit, and each named snapshot.
    async fn listed_commands(&self) -> Result<Vec<String>, Status> {
        let snapshots = Arc::clone(&self.snapshots);
        let names = spawn_blocking(move || snapshots.names()).await;
        let names = names.map_err(|error| Status::internal(error.to_string()))?;
        let names = names.map_err(|error| store_status(&error))?;
        let command = |name: &String| {
            url::form_urlencoded::Serializer::new(String::new()).append_pair("snapshot", name).finish()
        };
        Ok([String::new()].into_iter().chain(names.iter().map(command)).collect())
    }

    async fn snapshot(&self, query: &StreamQuery) -> Result<Arc<Snapshot>, Status> {
        let (snapshots, name) = (Arc::clone(&self.snapshots), query.snapshot());
        let opened = spawn_blocking(move || snapshots.open(name.as_deref())).await;
        opened.map_err(|error| Status::internal(error.to_string()))?.map_err(|error| store_status(&error))
    }
}

#[tonic::async_trait]
impl FlightService for FlightHandler {
    type HandshakeStream = ResponseStream<HandshakeResponse>;
    type ListFlightsStream = ResponseStream<FlightInfo>;
    type DoGetStream = ResponseStream<FlightData>;
    type DoPutStream = ResponseStream<PutResult>;
    type DoActionStream = ResponseStream<arrow_flight::Result>;
    type ListActionsStream = ResponseStream<ActionType>;
    type DoExchangeStream = ResponseStream<FlightData>;

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.check_token(&request)?;
        let _active_request = begin_request(&request);
        Ok(Response::new(self.flight_info(request.into_inner()).await?))
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        self.check_token(&request)?;
        let (query, _) = parse_command(&request.into_inner().cmd)?;
        let (schema, options) = (rows::schema(&query.output.columns), Default::default());
        let result = SchemaResult::try_from(SchemaAsIpc::new(&schema, &options)).map_err(internal)?;
        Ok(Response::new(result))
    }

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        self.check_token(&request)?;
        let client = ClientConnection::of(&request).map(|connection| connection.address);
        let active_request = begin_request(&request);
        let (mut query, _) = parse_command(&request.into_inner().ticket)?;
        query.request.window_pages = WINDOW_PAGES;
        // Clients retry on UNAVAILABLE.
        let busy = |error: AdmissionError| Status::unavailable(error.to_string());
        let permit = self.admission.acquire(client).map_err(busy)?;
        let snapshot = self.snapshot(&query).await?;
        let (send, receive) = mpsc::channel(CHANNEL_CAPACITY);
        let cancellation = Cancellation::default();
        let batches = BatchStream {
            receive,
            _cancel_on_drop: cancellation.cancel_on_drop(),
            _active_request: active_request,
        };
        spawn_blocking(move || {
            let mut permit = permit;
            if let Err(status) = send_batches(&snapshot, &query, &send, &cancellation, &mut permit) {
                // The client may have disconnected.
                let _ = send.blocking_send(Err(status));
            }
        });
        Ok(Response::new(Box::pin(batches)))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        Err(Status::unimplemented("no handshake: send the token in the authorization header of each request"))
    }

    async fn list_flights(
        &self,
        request: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        self.check_token(&request)?;
        let _active_request = begin_request(&request);
        let mut flights = Vec::new();
        for command in self.listed_commands().await? {
            flights.push(Ok(self.flight_info(FlightDescriptor::new_cmd(command)).await?));
        }
        Ok(Response::new(Box::pin(futures::stream::iter(flights))))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        Err(Status::unimplemented("use GetFlightInfo: results are available at once"))
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        Err(Status::unimplemented("read-only server"))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(Status::unimplemented("read-only server"))
    }

    async fn do_action(&self, _: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        Err(Status::unimplemented("no actions are supported"))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        Err(Status::unimplemented("no actions are supported"))
    }
}

/// Response stream; dropped when the client disconnects or cancels the call, which ends the reader at the next page.
struct BatchStream {
    receive: mpsc::Receiver<Result<FlightData, Status>>,
    _cancel_on_drop: CancelOnDrop,
    _active_request: Option<ActiveRequest>,
}

impl Stream for BatchStream {
    type Item = Result<FlightData, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.receive.poll_recv(context)
    }
}

/// Marks the connection of a request as busy.
fn begin_request<T>(request: &Request<T>) -> Option<ActiveRequest> {
    ClientConnection::of(request).map(|connection| connection.activity.begin_request())
}

/// Parses a command or ticket into a query and its number of shards.
fn parse_command(command: &[u8]) -> Result<(StreamQuery, u32), Status> {
    let invalid = |message: String| Status::invalid_argument(message);
    if command.len() > MAX_COMMAND_BYTES {
        return Err(invalid(format!("query exceeds {MAX_COMMAND_BYTES} bytes")));
    }
    let mut shards = 1;
    let mut pairs = Vec::new();
    for (name, value) in url::form_urlencoded::parse(command) {
        if name == "shards" {
            let number = value.parse().ok().filter(|shards| (1..=MAX_SHARDS).contains(shards));
            shards = number.ok_or_else(|| {
                invalid(format!("invalid value of shards: expected a number from 1 to {MAX_SHARDS}"))
            })?;
        } else {
            pairs.push((name, value));
        }
    }
    let query = StreamQuery::from_pairs(pairs).map_err(|error| invalid(error.to_string()))?;
    Ok((query, shards))
}

/// Reads pages into batches and sends them, until the end or until the client disconnects.
fn send_batches(
    snapshot: &Snapshot,
    query: &StreamQuery,
    send: &mpsc::Sender<Result<FlightData, Status>>,
    cancellation: &Cancellation,
    permit: &mut StreamPermit,
) -> Result<(), Status> {
    let columns = &query.output.columns;
    let mut stream = PageStream::open_cancellable(snapshot, &query.request, cancellation)
        .map_err(|error| store_status(&error))?;
    let mut viewer = PageViewer::new(columns);
    let mut batch = RowBatch::new(columns);
    let schema = rows::schema(columns);
    let mut first = true;
    loop {
        let next = stream.next_page();
        permit.set_pages_examined(stream.pages_examined());
        let streamed = next.map_err(|error| store_status(&error))?;
        let last = streamed.is_none();
        if let Some(PageStreamItem::Page(place, stored)) = streamed {
            batch.push(&viewer.view(place, stream.cursor_after(&place), &stored));
        }
        if !(batch.is_full() || last) {
            continue;
        }
        let cursor = stream.cursor().map(|cursor| cursor.to_string()).unwrap_or_default();
        let encoded =
            batches_to_flight_data(&schema, vec![batch.finish().map_err(internal)?]).map_err(internal)?;
        // The first message is the schema; it is sent only before the first batch.
        for (index, data) in encoded.into_iter().enumerate().skip(usize::from(!first)) {
            let data = if index > 0 { data.with_app_metadata(cursor.clone()) } else { data };
            if send.blocking_send(Ok(data)).is_err() {
                return Ok(());
            }
        }
        first = false;
        if last {
            return Ok(());
        }
    }
}

fn store_status(error: &store::Error) -> Status {
    use store::Error::{InvalidCursor, SnapshotNotFound, UnknownSite};
    match error {
        // The path of the collection is not for remote clients.
        SnapshotNotFound { name, .. } => Status::not_found(format!("no snapshot `{name}`")),
        UnknownSite { .. } => Status::not_found(error.to_string()),
        InvalidCursor { .. } => Status::invalid_argument(error.to_string()),
        error => Status::internal(error.to_string()),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "signature of map_err")]
fn internal(error: ArrowError) -> Status {
    Status::internal(error.to_string())
}
