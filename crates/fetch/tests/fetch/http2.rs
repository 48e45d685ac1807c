//! Hostile and faulty HTTP/2 servers.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{fetcher, get, get_reusing, settings, url};
use bytes::Bytes;
use fetch::{FetchSettings, Response};
use h2::server::{Connection, SendResponse};
use h2::{Reason as Code, SendStream};
use model::{CanonicalUrl, Reason, Truncation};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, crypto::ring};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

type Tls = TlsStream<TcpStream>;

/// URL of a server, and the number of its connections.
struct Server {
    page: CanonicalUrl,
    connections: Arc<AtomicUsize>,
}

fn acceptor() -> TlsAcceptor {
    let key = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// Runs `serve` for each connection, with its index.
async fn start<F>(serve: impl Fn(usize, Tls) -> F + Send + Sync + 'static) -> Server
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let page = url(&format!("https://a.example:{}/", listener.local_addr().unwrap().port()));
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let acceptor = acceptor();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(serve(count.fetch_add(1, Ordering::SeqCst), stream));
            }
        }
    });
    Server { page, connections }
}

/// Runs `response` for each request on each connection.
async fn responding<F>(response: impl Fn(SendResponse<Bytes>) -> F + Send + Sync + Clone + 'static) -> Server
where
    F: Future<Output = ()> + Send + 'static,
{
    start(move |_, stream| {
        let response = response.clone();
        async move {
            let mut connection: Connection<Tls, Bytes> = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, respond))) = connection.accept().await {
                tokio::spawn(response(respond));
            }
        }
    })
    .await
}

fn begin(mut respond: SendResponse<Bytes>) -> SendStream<Bytes> {
    let head = http::Response::builder().header("content-type", "text/html").body(()).unwrap();
    respond.send_response(head, false).unwrap()
}

fn accepting_any_cert() -> FetchSettings {
    FetchSettings { accept_invalid_certificates: true, ..settings() }
}

fn with_short_timeouts() -> FetchSettings {
    let short = Duration::from_millis(100);
    FetchSettings {
        first_byte_timeout: short,
        min_speed_grace: short,
        min_bytes_per_s: 10_000,
        ..accepting_any_cert()
    }
}

fn result_of(response: &Response) -> (u16, Option<Truncation>, Option<Reason>) {
    (response.status, response.truncation, response.failure)
}

#[tokio::test]
async fn an_endless_body_is_truncated() {
    let server = responding(|respond| async {
        let mut body = begin(respond);
        while body.send_data(Bytes::from_static(&[b'x'; 777]), false).is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (response, reusable) = get_reusing(&fetcher(accepting_any_cert()), &server.page, None).await;
    assert_eq!((result_of(&response), response.body.len()), ((200, Some(Truncation::Length), None), 1000));
    assert_eq!(response.head, b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n");
    assert!(reusable.is_none());
}

#[tokio::test]
async fn a_stall_before_or_after_the_head_times_out() {
    let mute = responding(|respond| async {
        let _open = respond;
        std::future::pending::<()>().await;
    })
    .await;
    assert_eq!(
        result_of(&get(with_short_timeouts(), &mute.page).await),
        (0, None, Some(Reason::FirstByteTimeout))
    );
    let stuck = responding(|respond| async {
        let mut body = begin(respond);
        body.send_data(Bytes::from_static(b"half a pa"), false).unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let response = get(with_short_timeouts(), &stuck.page).await;
    assert_eq!(result_of(&response), (200, Some(Truncation::Time), Some(Reason::TooSlow)));
    assert_eq!(response.body, b"half a pa");
}

#[tokio::test]
async fn data_before_a_reset_is_kept() {
    let server = responding(|respond| async {
        let mut body = begin(respond);
        body.send_data(Bytes::from_static(b"half a pa"), false).unwrap();
        body.reserve_capacity(1);
        // Capacity for more shows that the first part was sent.
        std::future::poll_fn(|context| body.poll_capacity(context)).await.unwrap().unwrap();
        tokio::task::yield_now().await;
        body.send_reset(Code::INTERNAL_ERROR);
    })
    .await;
    let response = get(accepting_any_cert(), &server.page).await;
    assert_eq!(
        (response.truncation, response.failure),
        (Some(Truncation::Disconnect), Some(Reason::ConnectionClosed))
    );
    let refusing = responding(|mut respond| async move { respond.send_reset(Code::REFUSED_STREAM) }).await;
    assert_eq!(
        result_of(&get(accepting_any_cert(), &refusing.page).await),
        (0, None, Some(Reason::ConnectionClosed))
    );
}

#[tokio::test]
async fn the_size_of_a_head_is_limited() {
    for (length_bytes, failure) in
        [(10_000, None), (100_000, Some(Reason::HeadersTooLarge)), (5_000_000, Some(Reason::InvalidResponse))]
    {
        let server = responding(move |mut respond| async move {
            let mut head = http::Response::builder();
            for number in 0..length_bytes / 10_000 {
                head = head.header(format!("x-{number}"), "x".repeat(10_000));
            }
            respond.send_response(head.body(()).unwrap(), true).unwrap();
        })
        .await;
        assert_eq!(get(accepting_any_cert(), &server.page).await.failure, failure, "{length_bytes}");
    }
}

#[tokio::test]
async fn another_protocol_after_negotiating_http2_is_an_invalid_response() {
    let server = start(|_, mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc").await.unwrap();
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.ok();
    })
    .await;
    let response = get(accepting_any_cert(), &server.page).await;
    assert_eq!((response.status, response.failure), (0, Some(Reason::InvalidResponse)));
}

#[tokio::test]
async fn a_new_connection_is_opened_after_goaway() {
    let server = start(|_, stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let (_, mut respond) = connection.accept().await.unwrap().unwrap();
        respond.send_response(http::Response::new(()), true).unwrap();
        connection.graceful_shutdown();
        while connection.accept().await.is_some() {}
    })
    .await;
    let fetcher = fetcher(accepting_any_cert());
    let mut reusable = None;
    for _ in 0..3 {
        let (response, connection) = get_reusing(&fetcher, &server.page, reusable).await;
        assert_eq!(result_of(&response), (200, None, None));
        reusable = connection;
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

/// Bytes of a frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Sends `start` after the request, then `flood` repeatedly until the client closes.
async fn flooding(start_of_response: Vec<u8>, flood: Vec<u8>) -> Server {
    start(move |_, stream| {
        let (start_of_response, flood) = (start_of_response.clone(), flood.repeat(1 + 20_000 / flood.len()));
        async move {
            let (mut reader, mut writer) = tokio::io::split(stream);
            writer.write_all(&frame(4, 0, 0, b"")).await.unwrap();
            // The request is small, so it comes in one piece after the preface and the first frames.
            let mut received = Vec::new();
            while !received.windows(4).any(|bytes| bytes == [1, 5, 0, 0]) {
                assert_ne!(reader.read_buf(&mut received).await.unwrap(), 0);
            }
            tokio::spawn(async move { tokio::io::copy(&mut reader, &mut tokio::io::sink()).await });
            writer.write_all(&start_of_response).await.unwrap();
            while writer.write_all(&flood).await.is_ok() {}
        }
    })
    .await
}

#[tokio::test]
async fn a_flood_of_frames_beside_the_body_ends_the_exchange() {
    let early_hints = frame(1, 4, 1, &[8, 3, b'1', b'0', b'3']);
    let control_frames = [
        frame(4, 0, 0, b""),
        frame(2, 0, 3, &[0, 0, 0, 0, 7]),
        frame(0xbb, 0, 0, &[0; 100]),
        frame(6, 0, 0, b"12345678"),
        frame(8, 0, 0, &[0, 0, 0, 1]),
        frame(8, 0, 1, &[0, 0, 0, 1]),
    ];
    let padding = frame(0, 8, 1, &[&[255], &[0; 255][..]].concat());
    let ok = frame(1, 4, 1, &[0x88]);
    for flood in control_frames.iter().chain([&early_hints]) {
        let server = flooding(Vec::new(), flood.clone()).await;
        let response = get(accepting_any_cert(), &server.page).await;
        assert_eq!(result_of(&response), (0, None, Some(Reason::InvalidResponse)), "{:?}", &flood[..9]);
    }
    // The library rejects empty frames itself, perhaps before the head was taken from it.
    for flood in [frame(0, 0, 1, b""), padding] {
        let server = flooding(ok.clone(), flood).await;
        let failure = get(accepting_any_cert(), &server.page).await.failure;
        assert!(matches!(failure, Some(Reason::InvalidResponse | Reason::InvalidBody)), "{failure:?}");
    }
    for flood in control_frames {
        let server = flooding(ok.clone(), flood.clone()).await;
        let response = get(accepting_any_cert(), &server.page).await;
        let result = (200, Some(Truncation::Disconnect), Some(Reason::InvalidBody));
        assert_eq!(result_of(&response), result, "{:?}", &flood[..9]);
    }
}

#[tokio::test]
async fn a_few_interim_responses_and_small_data_frames_are_accepted() {
    let early_hints = frame(1, 4, 1, &[8, 3, b'1', b'0', b'3']).repeat(8);
    let data = frame(0, 0, 1, b"x").repeat(999);
    let end = frame(0, 1, 1, b"y");
    let response = [early_hints, frame(1, 4, 1, &[0x88]), data, end].concat();
    let server = flooding(response, frame(6, 0, 0, b"12345678")).await;
    let response = get(accepting_any_cert(), &server.page).await;
    assert_eq!((result_of(&response), response.body.len()), ((200, None, None), 1000));
}
