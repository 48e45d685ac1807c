//! How do pages reach programs that want tables? By Arrow Flight: batches of rows, in the words of [`Ask`].
//!
//! A descriptor's command is a query, as of `GET /stream`; with `parts=k` it gives k tickets, for as many clients. A ticket is a
//! query, too, bound to a commit. Each batch carries the position behind its last row as its metadata: a client whose stream
//! breaks adds `from=POSITION` to its ticket. Pull sets the pace: a thread reads ahead by two batches.

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
use store::{PageStream, Snapshot, Streamed};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

use crate::admission::{Admission, NoRoom, StreamLimits};
use crate::ask::Ask;
use crate::page_view::Viewer;
use crate::shelf::Shelf;
use rows::RowBatch;

/// Batches that wait for the client.
const BATCHES: usize = 2;
/// 3 MB of places, and twice as much for a moment.
const WINDOW_PAGES: usize = 1 << 17;
/// Clients that are silent for so long are asked whether they are there, and then given up.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// No request is shared out further.
const MOST_PARTS: u32 = 10_000;

/// Whether somebody who shows this token may ask.
pub type Admits = Arc<dyn Fn(Option<&str>) -> bool + Send + Sync>;

/// How a collection is served.
pub struct FlightSettings {
    /// The collection.
    pub folder: PathBuf,
    /// How much at once.
    pub limits: StreamLimits,
    /// Who may ask, by the token that they show.
    pub admits: Admits,
    /// A certificate, with those that lead to its authority, and its key, as PEM; without them no TLS is spoken.
    pub tls_pem: Option<(Vec<u8>, Vec<u8>)>,
}

/// A server of Arrow Flight, until this is gone.
pub struct Flight {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Flight {
    /// Answers from now on, on a thread of its own.
    pub fn start(listener: TcpListener, settings: FlightSettings) -> std::io::Result<Flight> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let service = Service {
            shelf: Arc::new(Shelf::new(&settings.folder)),
            admission: Admission::new(settings.limits),
            admits: settings.admits,
        };
        let mut server = Server::builder().http2_keepalive_interval(Some(KEEPALIVE));
        if let Some((certificate, key)) = settings.tls_pem {
            let tls = ServerTlsConfig::new().identity(Identity::from_pem(certificate, key));
            server = server.tls_config(tls).map_err(std::io::Error::other)?;
        }
        let work = move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let serving = server
                    .add_service(FlightServiceServer::new(service))
                    .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)));
                tokio::select! {
                    // Connections that fail are theirs, not ours.
                    _ = serving => {}
                    _ = stopped => {}
                }
            });
        };
        let thread = thread::Builder::new().name("flight".to_owned()).spawn(work)?;
        Ok(Flight { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was told there.
            let _ = thread.join();
        }
    }
}

struct Service {
    shelf: Arc<Shelf>,
    admission: Arc<Admission>,
    admits: Admits,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Service {
    fn admit<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let line = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        let token = line.and_then(|line| line.strip_prefix("Bearer ")).map(str::trim);
        if (self.admits)(token) { Ok(()) } else { Err(Status::unauthenticated("show the token")) }
    }

    async fn snapshot(&self, ask: &Ask) -> Result<Arc<Snapshot>, Status> {
        let (shelf, wanted) = (Arc::clone(&self.shelf), ask.snapshot());
        let taken = spawn_blocking(move || shelf.take(wanted.as_deref())).await;
        taken.map_err(|error| Status::internal(error.to_string()))?.map_err(|error| refusal(&error))
    }
}

#[tonic::async_trait]
impl FlightService for Service {
    type HandshakeStream = Answers<HandshakeResponse>;
    type ListFlightsStream = Answers<FlightInfo>;
    type DoGetStream = Answers<FlightData>;
    type DoPutStream = Answers<PutResult>;
    type DoActionStream = Answers<arrow_flight::Result>;
    type ListActionsStream = Answers<ActionType>;
    type DoExchangeStream = Answers<FlightData>;

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.admit(&request)?;
        let descriptor = request.into_inner();
        let (ask, parts) = read_command(&descriptor.cmd)?;
        let snapshot = self.snapshot(&ask).await?;
        let generation = Some(snapshot.manifest.generation.to_string());
        let mut info =
            FlightInfo::new().try_with_schema(&rows::schema(&ask.form.columns)).map_err(internal)?;
        for part in (1..=parts).filter_map(|number| store::Part::new(number, parts)) {
            let request = store::StreamRequest { part, ..ask.request.clone() };
            let ticket = Ask { snapshot: generation.clone(), request, ..ask.clone() }.to_query();
            info = info.with_endpoint(FlightEndpoint::new().with_ticket(Ticket::new(ticket)));
        }
        Ok(Response::new(info.with_descriptor(descriptor)))
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        self.admit(&request)?;
        let (ask, _) = read_command(&request.into_inner().cmd)?;
        let (schema, options) = (rows::schema(&ask.form.columns), Default::default());
        let result = SchemaResult::try_from(SchemaAsIpc::new(&schema, &options)).map_err(internal)?;
        Ok(Response::new(result))
    }

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        self.admit(&request)?;
        let client = request.remote_addr().map(|address| address.ip());
        let (mut ask, _) = read_command(&request.into_inner().ticket)?;
        ask.request.window_pages = WINDOW_PAGES;
        // What clients take for a reason to try again.
        let busy = |no_room: NoRoom| Status::unavailable(no_room.to_string());
        let place = self.admission.enter(client).map_err(busy)?;
        let snapshot = self.snapshot(&ask).await?;
        let (send, receive) = mpsc::channel(BATCHES);
        spawn_blocking(move || {
            let _place = place;
            if let Err(status) = pour(&snapshot, &ask, &send) {
                // A client that is gone need not be told.
                let _ = send.blocking_send(Err(status));
            }
        });
        Ok(Response::new(Box::pin(Batches(receive))))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        Err(Status::unimplemented("the token is shown with each request"))
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        Err(Status::unimplemented("there is one: ask for its pages"))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        Err(Status::unimplemented("what is asked for is there at once"))
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        Err(Status::unimplemented("a collection is only read here"))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(Status::unimplemented("a collection is only read here"))
    }

    async fn do_action(&self, _: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        Err(Status::unimplemented("there is nothing to do here"))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        Err(Status::unimplemented("there is nothing to do here"))
    }
}

struct Batches(mpsc::Receiver<Result<FlightData, Status>>);

impl Stream for Batches {
    type Item = Result<FlightData, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// What a command asks for, and in how many parts.
fn read_command(command: &[u8]) -> Result<(Ask, u32), Status> {
    let wrong = |sentence: String| Status::invalid_argument(sentence);
    let mut parts = 1;
    let mut pairs = Vec::new();
    for (name, value) in url::form_urlencoded::parse(command) {
        if name == "parts" {
            let number = value.parse().ok().filter(|parts| (1..=MOST_PARTS).contains(parts));
            parts = number.ok_or_else(|| wrong(format!("parts is a number up to {MOST_PARTS}")))?;
        } else {
            pairs.push((name, value));
        }
    }
    let ask = Ask::of_pairs(pairs).map_err(|error| wrong(error.to_string()))?;
    Ok((ask, parts))
}

/// Reads pages into batches until the end, or until nobody takes them any more.
fn pour(
    snapshot: &Snapshot,
    ask: &Ask,
    send: &mpsc::Sender<Result<FlightData, Status>>,
) -> Result<(), Status> {
    let columns = &ask.form.columns;
    let mut stream = PageStream::open(snapshot, &ask.request).map_err(|error| refusal(&error))?;
    let mut viewer = Viewer::new(columns);
    let mut batch = RowBatch::new(columns);
    let schema = rows::schema(columns);
    let mut first = true;
    loop {
        let streamed = stream.next_page().map_err(|error| refusal(&error))?;
        let last = streamed.is_none();
        if let Some(Streamed::Page(place, stored)) = streamed {
            batch.push(&viewer.view(place, stream.position_behind(&place), &stored));
        }
        if !(batch.is_full() || last) {
            continue;
        }
        let position = stream.position().map(|position| position.to_string()).unwrap_or_default();
        let encoded =
            batches_to_flight_data(&schema, vec![batch.take().map_err(internal)?]).map_err(internal)?;
        // The schema stands before the first batch only.
        for (place, data) in encoded.into_iter().enumerate().skip(usize::from(!first)) {
            let data = if place > 0 { data.with_app_metadata(position.clone()) } else { data };
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

fn refusal(error: &store::Error) -> Status {
    use store::Error::{NoSnapshot, UnknownSite, WrongPosition};
    match error {
        NoSnapshot { .. } | UnknownSite { .. } => Status::not_found(error.to_string()),
        WrongPosition { .. } => Status::invalid_argument(error.to_string()),
        error => Status::internal(error.to_string()),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it stands where functions that map errors do")]
fn internal(error: ArrowError) -> Status {
    Status::internal(error.to_string())
}
