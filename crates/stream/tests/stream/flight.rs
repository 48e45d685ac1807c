//! Streams over Arrow Flight: the same pages as over HTTP, in shards, resumed after any batch, within the limits.

use std::future::poll_fn;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::{FlightClient, FlightDescriptor, Ticket};
use futures_core::Stream;
use stream::{FlightServer, FlightSettings, StreamLimits};
use tonic::Code;
use tonic::transport::Endpoint;

use super::http::local;
use super::sample;

fn serve(dir: &Path, streams: usize, token: Option<&'static str>) -> (FlightServer, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let authorize = Arc::new(move |sent: Option<&str>| token.is_none() || sent == token);
    let limits = StreamLimits { streams_per_client: streams, ..StreamLimits::default() };
    let settings = FlightSettings { dir: dir.to_owned(), limits, authorize, tls_pem: None };
    (FlightServer::start(listener, settings).unwrap(), address)
}

async fn client(server: SocketAddr) -> FlightClient {
    FlightClient::new(Endpoint::new(format!("http://{server}")).unwrap().connect().await.unwrap())
}

async fn open(client: &mut FlightClient, query: &str) -> Result<FlightDataDecoder, FlightError> {
    Ok(client.do_get(Ticket::new(query.to_owned())).await?.into_inner())
}

/// URLs of the next batch and the cursor after them; `None` at the end.
async fn batch(stream: &mut FlightDataDecoder) -> Option<(Vec<String>, String)> {
    while let Some(data) = poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await {
        let data = data.unwrap();
        if let DecodedPayload::RecordBatch(batch) = &data.payload {
            let urls = batch.column_by_name("url").unwrap().as_string::<i32>();
            let cursor = String::from_utf8(data.app_metadata().to_vec()).unwrap();
            return Some((urls.iter().map(|url| url.unwrap().to_owned()).collect(), cursor));
        }
    }
    None
}

fn local_urls(dir: &Path, query: &str) -> Vec<String> {
    let text = String::from_utf8(local(dir, &format!("{query}&format=urls"))).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn code(outcome: Result<FlightDataDecoder, FlightError>) -> Code {
    match outcome.map(drop).unwrap_err() {
        FlightError::Tonic(status) => status.code(),
        error => panic!("{error}"),
    }
}

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}

#[test]
fn the_tickets_of_all_shards_return_each_page_once() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 300);
    let (_flight, server) = serve(dir.path(), 8, None);
    run(async {
        let mut client = client(server).await;
        let filter = "site=a.test&site=b.test&where=not+url+like+%27%257%27";
        let command = format!("{filter}&columns=url,title&shards=4");
        let descriptor =
            FlightDescriptor { r#type: DescriptorType::Cmd.into(), cmd: command.into(), path: Vec::new() };
        let info = client.get_flight_info(descriptor).await.unwrap();
        let mut urls = Vec::new();
        for endpoint in &info.endpoint {
            let ticket = endpoint.ticket.clone().unwrap();
            let mut stream = client.do_get(ticket).await.unwrap().into_inner();
            while let Some((found, _)) = batch(&mut stream).await {
                urls.extend(found);
            }
        }
        let mut expected = local_urls(dir.path(), filter);
        assert!(info.endpoint.len() == 4 && expected.len() > 150);
        urls.sort_unstable();
        expected.sort_unstable();
        assert_eq!(urls, expected);
    });
}

#[test]
fn a_stream_resumes_after_any_batch() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 3_000);
    let (_flight, server) = serve(dir.path(), 8, None);
    run(async {
        let (mut urls, mut after, mut streams) = (Vec::new(), String::new(), 0);
        // A new connection for each batch: first of the last commit, then of the cursor's commit.
        loop {
            let query = format!("columns=url,body,text,simplified_html{after}");
            let mut client = client(server).await;
            let mut stream = open(&mut client, &query).await.unwrap();
            let Some((found, cursor)) = batch(&mut stream).await else { break };
            streams += 1;
            // A stream without further rows ends with an empty batch.
            if found.is_empty() {
                break;
            }
            urls.extend(found);
            after = format!("&after={cursor}");
        }
        assert!(streams > 3, "{streams}");
        assert_eq!(urls, local_urls(dir.path(), ""));
    });
}

#[test]
fn missing_tokens_and_invalid_queries_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 10);
    let (_flight, server) = serve(dir.path(), 8, Some("0123456789abcdef"));
    run(async {
        let mut client = client(server).await;
        assert_eq!(code(open(&mut client, "").await), Code::Unauthenticated);
        client.add_header("authorization", "Bearer 0123456789abcdef").unwrap();
        assert_eq!(code(open(&mut client, "where=status").await), Code::InvalidArgument);
        assert_eq!(code(open(&mut client, "snapshot=7").await), Code::NotFound);
        let mut stream = open(&mut client, "columns=url").await.unwrap();
        assert_eq!(batch(&mut stream).await.unwrap().0.len(), 10);
    });
}

#[test]
fn stalled_and_disconnected_clients_do_not_block_others() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 6_000);
    let (_flight, server) = serve(dir.path(), 2, None);
    let query = "columns=url,body,text,simplified_html,main_text,links";
    run(async {
        let mut stalled_client = client(server).await;
        let mut stalled = open(&mut stalled_client, query).await.unwrap();
        let (first, _) = batch(&mut stalled).await.unwrap();
        let mut leaving_client = client(server).await;
        let mut leaving = open(&mut leaving_client, query).await.unwrap();
        batch(&mut leaving).await.unwrap();
        // Both permits are in use: more data waits for these two clients than fits into the buffers.
        let mut other = client(server).await;
        assert_eq!(code(open(&mut other, query).await), Code::Unavailable);
        drop((leaving, leaving_client));
        let mut stream = loop {
            // The server notices the disconnect at its next write.
            match open(&mut other, query).await {
                Ok(stream) => break stream,
                Err(error) => assert!(matches!(error, FlightError::Tonic(_)), "{error}"),
            }
        };
        let mut urls = Vec::new();
        while let Some((found, _)) = batch(&mut stream).await {
            urls.extend(found);
        }
        assert_eq!(urls, local_urls(dir.path(), ""));
        // A stalled client that reads again gets the rest.
        let mut rest = first;
        while let Some((found, _)) = batch(&mut stalled).await {
            rest.extend(found);
        }
        assert_eq!(rest, urls);
    });
}

#[test]
fn a_stream_ends_soon_after_its_client_has_disconnected() {
    const PAGES: usize = 3_000;
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), PAGES);
    let (server, address) = serve(dir.path(), 8, None);
    let pages_after_disconnect = || {
        let before = server.usage().pages_examined;
        run(async {
            let mut client = client(address).await;
            // No page matches, so that no batch is sent before the end.
            let stream = open(&mut client, "where=url+like+'%25nowhere%25'").await.unwrap();
            drop((stream, client));
        });
        while server.usage().open_streams > 0 {
            std::thread::yield_now();
        }
        server.usage().pages_examined - before
    };
    // On a busy machine a stream may end before the server sees the disconnect; one that goes on regardless always does.
    assert!((0..20).any(|_| pages_after_disconnect() < PAGES as u64), "all pages were examined");
}

#[test]
fn queries_whose_tickets_would_take_much_memory_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 10);
    let (_server, address) = serve(dir.path(), 8, None);
    run(async {
        let mut client = client(address).await;
        let sites = |count: usize| vec![format!("site={}", "a".repeat(100)); count].join("&");
        for (command, expected) in [
            (sites(900), "query exceeds 32768 bytes"),
            (format!("{}&shards=10000", sites(300)), "exceed 16777216 bytes"),
        ] {
            let rejected = client.get_flight_info(FlightDescriptor::new_cmd(command)).await.unwrap_err();
            let FlightError::Tonic(status) = rejected else { panic!("{rejected}") };
            assert_eq!(status.code(), Code::InvalidArgument);
            assert!(status.message().contains(expected), "{status}");
        }
    });
}

#[test]
fn idle_connections_are_limited_and_released() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 10);
    let (_server, address) = serve(dir.path(), 8, None);
    // More connections than the server keeps open; the last ones are closed at once.
    let idle: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut last = idle.last().unwrap();
    last.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    let closed = last.read(&mut [0; 1]);
    assert!(matches!(closed, Ok(0)) || closed.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    drop(idle);
    run(async {
        // The server notices the closed connections one after another.
        loop {
            let endpoint = Endpoint::new(format!("http://{address}")).unwrap();
            let Ok(channel) = endpoint.connect().await else { continue };
            if open(&mut FlightClient::new(channel), "limit=1").await.is_ok() {
                break;
            }
        }
    });
}
