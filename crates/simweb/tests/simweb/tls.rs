//! Tests of HTTPS and HTTP/2, with valid and invalid certificates.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Empty};
use hyper::{Request, Response, Version, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use simweb::{Certificate, Endpoints, Settings, SimWeb};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

fn start(settings: Settings) -> SimWeb {
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

async fn handshake(
    running: &SimWeb,
    site: u32,
    protocols: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(running.authority_pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let address = SocketAddr::from((running.world.ip_address(site), running.https.port()));
    let name = ServerName::try_from(running.world.name(site)).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, TcpStream::connect(address).await?).await
}

fn request(url: &str) -> Request<Empty<&'static [u8]>> {
    let host = url.split('/').nth(2).unwrap();
    Request::builder().uri(url).header("host", host).body(Empty::new()).unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn https_sites_have_certificates_and_support_both_protocols() {
    let running = start(Settings { sites: 10, https: 1.0, ..Settings::plain() });
    let url = running.world.url(simweb::PageRef { site: 4, page: 0 });
    assert!(url.starts_with("https://"));

    let stream = handshake(&running, 4, &[b"h2"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let answers = [sender.send_request(request(&url)), sender.send_request(request(&url))];
    for answer in answers {
        let answer = answer.await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
        assert!(text(answer).await.ends_with("</html>\n"));
    }

    let stream = handshake(&running, 4, &[b"http/1.1"]).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let answer = sender.send_request(request(&url)).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_11));

    let log = running.log.entries();
    assert_eq!(log.iter().filter(|entry| entry.protocol == "HTTP/2" && entry.tls).count(), 2);
}

#[tokio::test]
async fn http2_works_without_tls_by_prior_knowledge() {
    let running = start(Settings { sites: 3, ..Settings::plain() });
    let address = SocketAddr::from((running.world.ip_address(1), running.http.port()));
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let url = running.world.url(simweb::PageRef { site: 1, page: 0 });
    let answer = sender.send_request(request(&url)).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
}

#[tokio::test]
async fn invalid_certificates_are_rejected_by_a_validating_client() {
    let running = start(Settings { sites: 60, https: 1.0, bad_certificates: 0.7, ..Settings::plain() });
    let mut seen = Vec::new();
    for site in 1..60 {
        let quality = running.world.site(site).certificate;
        let met = handshake(&running, site, &[b"http/1.1"]).await;
        assert_eq!(met.is_ok(), quality == Certificate::Good, "{quality:?}: {met:?}");
        assert_eq!(running.world.site_ground_truth(site).crawlable, quality == Certificate::Good);
        if !seen.contains(&quality) {
            seen.push(quality);
        }
    }
    assert_eq!(seen.len(), 4);
}

#[tokio::test]
async fn the_wrong_scheme_redirects_to_the_right_one() {
    let running = start(Settings { sites: 10, https: 1.0, ..Settings::plain() });
    let address = SocketAddr::from((running.world.ip_address(4), running.http.port()));
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let plain = format!("http://{}:{}/", running.world.name(4), running.http.port());
    let answer = sender.send_request(request(&plain)).await.unwrap();
    assert_eq!(answer.status().as_u16(), 301);
    assert_eq!(answer.headers()["location"], running.world.url(simweb::PageRef { site: 4, page: 0 }));
}
