//! Streams over TLS: whom the client trusts, and that a break is no end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use stream::{Access, Ask, Remote, RemoteError, StreamLimits};

use super::http::{local, serve};
use super::sample;

/// Speaks TLS with clients and plain HTTP with the server; breaks each connection after so many bytes of the answer. Tells its
/// certificate, too.
fn tls_front(server: SocketAddr, after: &'static [usize]) -> (SocketAddr, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = CertificateDer::from(made.cert.der().to_vec());
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut after = after.iter().copied();
        for client in listener.incoming() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut client = StreamOwned::new(session, client.unwrap());
            let mut request = [0; 4096];
            // Who does not trust this server goes away.
            let Ok(length) = client.read(&mut request) else { continue };
            let mut upstream = TcpStream::connect(server).unwrap();
            upstream.write_all(&request[..length]).unwrap();
            let mut left = after.next().unwrap_or(usize::MAX);
            let mut piece = [0; 1000];
            while left > 0 {
                let length = upstream.read(&mut piece).unwrap().min(left);
                if length == 0 || client.write_all(&piece[..length]).is_err() {
                    break;
                }
                left -= length;
            }
        }
    });
    (address, made.cert.pem().into_bytes())
}

#[test]
fn a_stream_over_tls_is_whole_though_it_breaks() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 300);
    let server = serve(folder.path(), StreamLimits::default());
    let (front, authorities_pem) = tls_front(server, &[500, 7_000]);
    let access = Access { token: None, authorities_pem };
    let mut out = Vec::new();
    let ask = Ask::of_query("format=jsonl").unwrap();
    Remote::new(&format!("https://{front}/"), &access, ask).unwrap().pour(&mut out).unwrap();
    assert!(out == local(folder.path(), "format=jsonl"));
}

#[test]
fn a_server_that_nobody_vouches_for_gets_no_token() {
    let (front, pem) = tls_front(SocketAddr::from(([127, 0, 0, 1], 9)), &[]);
    let access = Access { token: Some("secret".to_owned()), authorities_pem: Vec::new() };
    let pour = |url: &str, access: &Access| {
        Remote::new(url, access, Ask::default()).unwrap().pour(&mut Vec::new()).unwrap_err()
    };
    let error = pour(&format!("https://{front}/"), &access);
    assert!(matches!(error, RemoteError::Untrusted { .. }), "{error}");
    // The certificate is for another name.
    let access = Access { authorities_pem: pem, ..access };
    let error = pour(&format!("https://localhost:{}/", front.port()), &access);
    assert!(error.to_string().contains("cannot be trusted"), "{error}");
    let access = Access { authorities_pem: b"-----BEGIN CERTIFICATE-----\n!\n".to_vec(), ..access };
    let error = Remote::new("https://a.test/", &access, Ask::default()).err().unwrap().to_string();
    assert!(error.starts_with("`https://a.test/` is no server of streams"), "{error}");
}
