//! Streams by Arrow Flight: the same pages as by other ways, in parts, from any batch on, to as many as there is room for.

use std::future::poll_fn;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::{FlightClient, FlightDescriptor, Ticket};
use futures_core::Stream;
use stream::{Flight, FlightSettings, StreamLimits};
use tonic::Code;
use tonic::transport::Endpoint;

use super::http::local;
use super::sample;

fn serve(folder: &Path, streams: usize, token: Option<&'static str>) -> (Flight, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let admits = Arc::new(move |shown: Option<&str>| token.is_none() || shown == token);
    let limits = StreamLimits { streams_per_client: streams, ..StreamLimits::default() };
    let settings = FlightSettings { folder: folder.to_owned(), limits, admits, tls_pem: None };
    (Flight::start(listener, settings).unwrap(), address)
}

async fn client(server: SocketAddr) -> FlightClient {
    FlightClient::new(Endpoint::new(format!("http://{server}")).unwrap().connect().await.unwrap())
}

async fn open(client: &mut FlightClient, query: &str) -> Result<FlightDataDecoder, FlightError> {
    Ok(client.do_get(Ticket::new(query.to_owned())).await?.into_inner())
}

/// The URLs of the next batch, and the position behind them; nothing at the end.
async fn batch(stream: &mut FlightDataDecoder) -> Option<(Vec<String>, String)> {
    while let Some(data) = poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await {
        let data = data.unwrap();
        if let DecodedPayload::RecordBatch(batch) = &data.payload {
            let urls = batch.column_by_name("url").unwrap().as_string::<i32>();
            let position = String::from_utf8(data.app_metadata().to_vec()).unwrap();
            return Some((urls.iter().map(|url| url.unwrap().to_owned()).collect(), position));
        }
    }
    None
}

fn local_urls(folder: &Path, query: &str) -> Vec<String> {
    let text = String::from_utf8(local(folder, &format!("{query}&format=urls"))).unwrap();
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
fn tickets_of_parts_bring_every_page_once() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 300);
    let (_flight, server) = serve(folder.path(), 8, None);
    run(async {
        let mut client = client(server).await;
        let wish = "site=a.test&site=b.test&where=not+url+like+%27%257%27";
        let command = format!("{wish}&columns=url,title&parts=4");
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
        let mut expected = local_urls(folder.path(), wish);
        assert!(info.endpoint.len() == 4 && expected.len() > 150);
        urls.sort_unstable();
        expected.sort_unstable();
        assert_eq!(urls, expected);
    });
}

#[test]
fn a_stream_goes_on_behind_any_batch() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 3_000);
    let (_flight, server) = serve(folder.path(), 8, None);
    run(async {
        let (mut urls, mut from, mut streams) = (Vec::new(), String::new(), 0);
        // A new connection for each batch, of the server's commit or of the position's.
        loop {
            let query = format!("columns=url,body,text,kept{from}");
            let mut client = client(server).await;
            let mut stream = open(&mut client, &query).await.unwrap();
            let Some((found, position)) = batch(&mut stream).await else { break };
            streams += 1;
            // The last batch of a stream that has nothing more to tell is empty.
            if found.is_empty() {
                break;
            }
            urls.extend(found);
            from = format!("&from={position}");
        }
        assert!(streams > 3, "{streams}");
        assert_eq!(urls, local_urls(folder.path(), ""));
    });
}

#[test]
fn who_is_not_admitted_or_asks_for_nonsense_is_told() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 10);
    let (_flight, server) = serve(folder.path(), 8, Some("0123456789abcdef"));
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
fn a_client_that_sleeps_or_goes_away_leaves_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 6_000);
    let (_flight, server) = serve(folder.path(), 2, None);
    let query = "columns=url,body,text,kept,main_text,links";
    run(async {
        let mut sleeper = client(server).await;
        let mut asleep = open(&mut sleeper, query).await.unwrap();
        let (first, _) = batch(&mut asleep).await.unwrap();
        let mut lazy = client(server).await;
        let mut gone = open(&mut lazy, query).await.unwrap();
        batch(&mut gone).await.unwrap();
        // Both places are taken, for more waits for these two than is on its way to them.
        let mut other = client(server).await;
        assert_eq!(code(open(&mut other, query).await), Code::Unavailable);
        drop((gone, lazy));
        let mut stream = loop {
            // The server notices when it next has something for who is gone.
            match open(&mut other, query).await {
                Ok(stream) => break stream,
                Err(error) => assert!(matches!(error, FlightError::Tonic(_)), "{error}"),
            }
        };
        let mut urls = Vec::new();
        while let Some((found, _)) = batch(&mut stream).await {
            urls.extend(found);
        }
        assert_eq!(urls, local_urls(folder.path(), ""));
        // Who wakes up gets the rest.
        let mut rest = first;
        while let Some((found, _)) = batch(&mut asleep).await {
            rest.extend(found);
        }
        assert_eq!(rest, urls);
    });
}
