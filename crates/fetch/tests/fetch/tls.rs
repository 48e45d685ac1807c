//! TLS certificates, and HTTP/2 over TLS.

use crate::support::{Server, fetcher, get, request_for, settings, url};
use fetch::{FetchRequest, FetchSettings};
use model::Reason;
use simweb::{Certificate, Endpoints, PageRef, Settings, SimWeb};

fn start(sites: u64, bad_certificates: f64) -> SimWeb {
    let settings = Settings { sites, https: 1.0, bad_certificates, ..Settings::plain() };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

fn trusting(web: &SimWeb) -> FetchSettings {
    FetchSettings { extra_ca_pem: web.authority_pem.clone().into_bytes(), ..settings() }
}

#[tokio::test]
async fn http1_and_http2_return_the_same_page() {
    let web = start(10, 0.0);
    let page = url(&web.world.url(PageRef { site: 4, page: 0 }));
    let request = FetchRequest {
        address: web.world.ip_address(4).into(),
        max_body_bytes: 1_000_000,
        ..request_for(&page)
    };
    let mut bodies = Vec::new();
    for (http2, protocols) in [(true, ["h2", "tls/1.3"]), (false, ["http/1.1", "tls/1.3"])] {
        let fetcher = fetcher(FetchSettings { http2, ..trusting(&web) });
        let mut reusable = None;
        for _ in 0..3 {
            let (response, connection) = fetcher.fetch(&request, reusable).await;
            assert_eq!((response.status, response.failure, response.protocols), (200, None, &protocols[..]));
            assert!(
                response.head.starts_with(b"HTTP/1.1 200 OK\r\n") && response.head.ends_with(b"\r\n\r\n")
            );
            assert!(response.request.starts_with(b"GET / HTTP/1.1\r\nHost: "));
            reusable = Some(connection.unwrap());
            bodies.push(response.body);
        }
    }
    assert!(bodies[0].ends_with(b"</html>\n") && bodies.iter().all(|body| *body == bodies[0]));
    let log = web.log.entries();
    assert_eq!(log.iter().filter(|entry| entry.protocol == "HTTP/2").count(), 3);
    assert_eq!(log.len(), 6);
}

#[tokio::test]
async fn limits_apply_to_http2() {
    let web = start(10, 0.0);
    let page = url(&web.world.url(PageRef { site: 4, page: 0 }));
    let request =
        FetchRequest { address: web.world.ip_address(4).into(), max_body_bytes: 100, ..request_for(&page) };
    let (response, reusable) = fetcher(trusting(&web)).fetch(&request, None).await;
    assert_eq!(
        (response.body.len(), response.truncation, response.failure),
        (100, Some(model::Truncation::Length), None)
    );
    assert!(reusable.is_none());
    let (response, _) = fetcher(FetchSettings { mime_types: vec!["image/*".to_owned()], ..trusting(&web) })
        .fetch(&request, None)
        .await;
    assert_eq!((response.status, response.body.len(), response.failure), (200, 0, Some(Reason::MimeType)));
    let (response, _) =
        fetcher(FetchSettings { max_head_bytes: 40, ..trusting(&web) }).fetch(&request, None).await;
    assert_eq!((response.status, response.failure), (0, Some(Reason::HeadersTooLarge)));
}

#[tokio::test]
async fn a_reused_connection_to_a_stopped_server_is_replaced() {
    for http2 in [true, false] {
        let web = start(10, 0.0);
        let page = url(&web.world.url(PageRef { site: 4, page: 0 }));
        let request = FetchRequest {
            address: web.world.ip_address(4).into(),
            max_body_bytes: 1_000_000,
            ..request_for(&page)
        };
        let fetcher = fetcher(FetchSettings { http2, ..trusting(&web) });
        let (response, reusable) = fetcher.fetch(&request, None).await;
        assert_eq!(response.status, 200);
        web.stop().unwrap();
        let (response, _) = fetcher.fetch(&request, Some(reusable.unwrap())).await;
        // The server is gone, so the new connection fails.
        assert_eq!((response.status, response.failure), (0, Some(Reason::ConnectFailed)));
    }
}

#[tokio::test]
async fn invalid_certificates_are_rejected_unless_the_settings_accept_them() {
    let web = start(60, 0.7);
    let strict = fetcher(trusting(&web));
    let lenient = fetcher(FetchSettings { accept_invalid_certificates: true, ..settings() });
    let mut seen = Vec::new();
    for site in 1..60 {
        let quality = web.world.site(site).certificate;
        if seen.contains(&quality) {
            continue;
        }
        seen.push(quality);
        let page = url(&web.world.url(PageRef { site, page: 0 }));
        let request = FetchRequest {
            address: web.world.ip_address(site).into(),
            max_body_bytes: 1_000_000,
            ..request_for(&page)
        };
        let failure = (quality != Certificate::Good).then_some(Reason::InvalidCertificate);
        assert_eq!(strict.fetch(&request, None).await.0.failure, failure, "{quality:?}");
        let (response, _) = lenient.fetch(&request, None).await;
        assert_eq!((response.status, response.failure), (200, None), "{quality:?}");
    }
    assert_eq!(seen.len(), 4);
    // The CA of the synthetic Web is not among the trusted ones.
    let good = (1..60).find(|site| web.world.site(*site).certificate == Certificate::Good).unwrap();
    let page = url(&web.world.url(PageRef { site: good, page: 0 }));
    let request = FetchRequest { address: web.world.ip_address(good).into(), ..request_for(&page) };
    assert_eq!(fetcher(settings()).fetch(&request, None).await.0.failure, Some(Reason::InvalidCertificate));
}

#[tokio::test]
async fn a_server_without_tls_is_a_failed_handshake() {
    let server = Server::start(|_, mut peer| {
        peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
        peer.wait_for_close();
    });
    let page = url(&format!("https://{}/", server.address));
    let response = get(settings(), &page).await;
    assert_eq!((response.status, response.failure), (0, Some(Reason::TlsHandshakeFailed)));
}
