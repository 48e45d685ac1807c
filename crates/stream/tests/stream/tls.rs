//! Streams over TLS: certificate checks, and resumption after a lost connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use stream::{RemoteAccess, RemoteError, RemoteStream, StreamLimits, StreamQuery};

use super::http::{local, serve};
use super::sample;

/// TLS proxy in front of an HTTP server that closes its n-th connection after `after[n]` bytes of the response. Returns its
/// address and certificate.
fn tls_front(server: SocketAddr, after: &'static [usize]) -> (SocketAddr, Vec<u8>) {
    let generated = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = CertificateDer::from(generated.cert.der().to_vec());
    let key = PrivateKeyDer::try_from(generated.signing_key.serialize_der()).unwrap();
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
            // A client that rejects the certificate disconnects.
            let Ok(length) = client.read(&mut request) else { continue };
            let mut upstream = TcpStream::connect(server).unwrap();
            upstream.write_all(&request[..length]).unwrap();
            let mut left = after.next().unwrap_or(usize::MAX);
            let mut buffer = [0; 1000];
            while left > 0 {
                let length = upstream.read(&mut buffer).unwrap().min(left);
                if length == 0 || client.write_all(&buffer[..length]).is_err() {
                    break;
                }
                left -= length;
            }
        }
    });
    (address, generated.cert.pem().into_bytes())
}

#[test]
fn an_interrupted_stream_over_tls_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 300);
    let server = serve(dir.path(), StreamLimits::default());
    let (front, ca_pem) = tls_front(server, &[500, 7_000]);
    let access = RemoteAccess { token: None, ca_pem };
    let mut out = Vec::new();
    let query = StreamQuery::parse_query("format=jsonl").unwrap();
    RemoteStream::new(&format!("https://{front}/"), &access, query).unwrap().download(&mut out).unwrap();
    assert!(out == local(dir.path(), "format=jsonl"));
}

#[test]
fn a_server_with_an_untrusted_certificate_gets_no_token() {
    let (front, pem) = tls_front(SocketAddr::from(([127, 0, 0, 1], 9)), &[]);
    let access = RemoteAccess { token: Some("secret".to_owned()), ca_pem: Vec::new() };
    let download = |url: &str, access: &RemoteAccess| {
        RemoteStream::new(url, access, StreamQuery::default()).unwrap().download(&mut Vec::new()).unwrap_err()
    };
    let error = download(&format!("https://{front}/"), &access);
    assert!(matches!(error, RemoteError::UntrustedCertificate { .. }), "{error}");
    // The certificate is for another host name.
    let access = RemoteAccess { ca_pem: pem, ..access };
    let error = download(&format!("https://localhost:{}/", front.port()), &access);
    assert!(error.to_string().contains("is invalid"), "{error}");
    let access = RemoteAccess { ca_pem: b"-----BEGIN CERTIFICATE-----\n!\n".to_vec(), ..access };
    let error =
        RemoteStream::new("https://a.test/", &access, StreamQuery::default()).err().unwrap().to_string();
    assert!(error.starts_with("invalid server URL `https://a.test/`"), "{error}");
}
