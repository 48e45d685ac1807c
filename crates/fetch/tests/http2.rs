//! Servers that speak HTTP/2 and mean no good.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]

mod support;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use fetch::{Answer, Cut, FetchSettings};
use h2::server::{Connection, SendResponse};
use h2::{Reason as Code, SendStream};
use http::Response;
use model::{CanonicalUrl, Reason};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, crypto::ring};
use support::{fetcher, get, get_kept, settings, url};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

type Tls = TlsStream<TcpStream>;

/// Where a server is, and how often it was connected to.
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

/// Gives each connection, with its number, to `serve`.
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

/// Answers each request on each connection by `answer`.
async fn answering<F>(answer: impl Fn(SendResponse<Bytes>) -> F + Send + Sync + Clone + 'static) -> Server
where
    F: Future<Output = ()> + Send + 'static,
{
    start(move |_, stream| {
        let answer = answer.clone();
        async move {
            let mut connection: Connection<Tls, Bytes> = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, respond))) = connection.accept().await {
                tokio::spawn(answer(respond));
            }
        }
    })
    .await
}

fn begin(mut respond: SendResponse<Bytes>) -> SendStream<Bytes> {
    let head = Response::builder().header("content-type", "text/html").body(()).unwrap();
    respond.send_response(head, false).unwrap()
}

fn credulous() -> FetchSettings {
    FetchSettings { accept_bad_certificates: true, ..settings() }
}

fn hurried() -> FetchSettings {
    let short = Duration::from_millis(100);
    FetchSettings { first_byte_timeout: short, speed_grace: short, least_bytes_per_s: 10_000, ..credulous() }
}

fn end_of(answer: &Answer) -> (u16, Option<Cut>, Option<Reason>) {
    (answer.status, answer.cut, answer.failure)
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    let server = answering(|respond| async {
        let mut body = begin(respond);
        while body.send_data(Bytes::from_static(&[b'x'; 777]), false).is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (answer, kept) = get_kept(&fetcher(credulous()), &server.page, None).await;
    assert_eq!((end_of(&answer), answer.body.len()), ((200, Some(Cut::Length), None), 1000));
    assert_eq!(answer.head, b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n");
    assert!(kept.is_none());
}

#[tokio::test]
async fn silence_has_a_limit_before_the_head_and_behind_it() {
    let mute = answering(|respond| async {
        let _open = respond;
        std::future::pending::<()>().await;
    })
    .await;
    assert_eq!(end_of(&get(hurried(), &mute.page).await), (0, None, Some(Reason::FirstByteTimedOut)));
    let stuck = answering(|respond| async {
        let mut body = begin(respond);
        body.send_data(Bytes::from_static(b"half a pa"), false).unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let answer = get(hurried(), &stuck.page).await;
    assert_eq!(end_of(&answer), (200, Some(Cut::Time), Some(Reason::TooSlow)));
    assert_eq!(answer.body, b"half a pa");
}

#[tokio::test]
async fn a_reset_leaves_what_came() {
    let server = answering(|respond| async {
        let mut body = begin(respond);
        body.send_data(Bytes::from_static(b"half a pa"), false).unwrap();
        body.reserve_capacity(1);
        // Sent when there is room for more: the first part has gone.
        std::future::poll_fn(|context| body.poll_capacity(context)).await.unwrap().unwrap();
        tokio::task::yield_now().await;
        body.send_reset(Code::INTERNAL_ERROR);
    })
    .await;
    let answer = get(credulous(), &server.page).await;
    assert_eq!((answer.cut, answer.failure), (Some(Cut::Disconnect), Some(Reason::ConnectionLost)));
    let refusing = answering(|mut respond| async move { respond.send_reset(Code::REFUSED_STREAM) }).await;
    assert_eq!(end_of(&get(credulous(), &refusing.page).await), (0, None, Some(Reason::ConnectionLost)));
}

#[tokio::test]
async fn a_head_has_a_limit() {
    for (length_bytes, failure) in
        [(10_000, None), (100_000, Some(Reason::HeadTooLong)), (5_000_000, Some(Reason::BadAnswer))]
    {
        let server = answering(move |mut respond| async move {
            let mut head = Response::builder();
            for number in 0..length_bytes / 10_000 {
                head = head.header(format!("x-{number}"), "x".repeat(10_000));
            }
            respond.send_response(head.body(()).unwrap(), true).unwrap();
        })
        .await;
        assert_eq!(get(credulous(), &server.page).await.failure, failure, "{length_bytes}");
    }
}

#[tokio::test]
async fn who_promises_http2_and_speaks_something_else_is_found_out() {
    let server = start(|_, mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc").await.unwrap();
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.ok();
    })
    .await;
    let answer = get(credulous(), &server.page).await;
    assert_eq!((answer.status, answer.failure), (0, Some(Reason::BadAnswer)));
}

#[tokio::test]
async fn a_server_that_says_good_bye_is_connected_to_again() {
    let server = start(|_, stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let (_, mut respond) = connection.accept().await.unwrap().unwrap();
        respond.send_response(Response::new(()), true).unwrap();
        connection.graceful_shutdown();
        while connection.accept().await.is_some() {}
    })
    .await;
    let fetcher = fetcher(credulous());
    let mut kept = None;
    for _ in 0..3 {
        let (answer, connection) = get_kept(&fetcher, &server.page, kept).await;
        assert_eq!(end_of(&answer), (200, None, None));
        kept = connection;
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}
