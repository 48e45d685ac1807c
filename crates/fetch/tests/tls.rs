//! Who is believed, and HTTP/2.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]

mod support;

use fetch::{FetchJob, FetchSettings};
use model::Reason;
use simweb::{Certificate, Endpoints, PageRef, Settings, SimWeb};
use support::{Server, fetcher, get, job, settings, url};

fn start(sites: u64, bad_certificates: f64) -> SimWeb {
    let settings = Settings { sites, https: 1.0, bad_certificates, ..Settings::plain() };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

fn trusting(web: &SimWeb) -> FetchSettings {
    FetchSettings { extra_roots_pem: web.authority_pem.clone().into_bytes(), ..settings() }
}

#[tokio::test]
async fn both_protocols_give_the_same_page() {
    let web = start(10, 0.0);
    let page = url(&web.world.url(PageRef { site: 4, page: 0 }));
    let asked = FetchJob { address: web.world.address(4).into(), body_bytes: 1_000_000, ..job(&page) };
    let mut bodies = Vec::new();
    for (http2, protocols) in [(true, ["h2", "tls/1.3"]), (false, ["http/1.1", "tls/1.3"])] {
        let fetcher = fetcher(FetchSettings { http2, ..trusting(&web) });
        let mut kept = None;
        for _ in 0..3 {
            let (answer, connection) = fetcher.fetch(&asked, kept).await;
            assert_eq!((answer.status, answer.failure, answer.protocols), (200, None, &protocols[..]));
            assert!(answer.head.starts_with(b"HTTP/1.1 200 OK\r\n") && answer.head.ends_with(b"\r\n\r\n"));
            assert!(answer.request.starts_with(b"GET / HTTP/1.1\r\nHost: "));
            kept = Some(connection.unwrap());
            bodies.push(answer.body);
        }
    }
    assert!(bodies[0].ends_with(b"</html>\n") && bodies.iter().all(|body| *body == bodies[0]));
    let log = web.log.entries();
    assert_eq!(log.iter().filter(|entry| entry.protocol == "HTTP/2").count(), 3);
    assert_eq!(log.len(), 6);
}

#[tokio::test]
async fn a_body_over_http2_has_a_limit_too() {
    let web = start(10, 0.0);
    let page = url(&web.world.url(PageRef { site: 4, page: 0 }));
    let asked = FetchJob { address: web.world.address(4).into(), body_bytes: 100, ..job(&page) };
    let (answer, kept) = fetcher(trusting(&web)).fetch(&asked, None).await;
    assert_eq!((answer.body.len(), answer.cut, answer.failure), (100, Some(fetch::Cut::Length), None));
    assert!(kept.is_none());
    let (answer, _) = fetcher(FetchSettings { media_types: vec!["image/*".to_owned()], ..trusting(&web) })
        .fetch(&asked, None)
        .await;
    assert_eq!((answer.status, answer.body.len(), answer.failure), (200, 0, Some(Reason::MediaType)));
    let (answer, _) = fetcher(FetchSettings { head_bytes: 40, ..trusting(&web) }).fetch(&asked, None).await;
    assert_eq!((answer.status, answer.failure), (0, Some(Reason::HeadTooLong)));
}

#[tokio::test]
async fn a_kept_connection_whose_server_has_gone_is_replaced() {
    for http2 in [true, false] {
        let web = start(10, 0.0);
        let page = url(&web.world.url(PageRef { site: 4, page: 0 }));
        let asked = FetchJob { address: web.world.address(4).into(), body_bytes: 1_000_000, ..job(&page) };
        let fetcher = fetcher(FetchSettings { http2, ..trusting(&web) });
        let (answer, kept) = fetcher.fetch(&asked, None).await;
        assert_eq!(answer.status, 200);
        web.stop().unwrap();
        let (answer, _) = fetcher.fetch(&asked, Some(kept.unwrap())).await;
        // There is nobody left for the new one.
        assert_eq!((answer.status, answer.failure), (0, Some(Reason::ConnectFailed)));
    }
}

#[tokio::test]
async fn bad_certificates_are_refused_unless_the_settings_take_them() {
    let web = start(60, 0.7);
    let careful = fetcher(trusting(&web));
    let credulous = fetcher(FetchSettings { accept_bad_certificates: true, ..settings() });
    let mut seen = Vec::new();
    for site in 1..60 {
        let quality = web.world.site(site).certificate;
        if seen.contains(&quality) {
            continue;
        }
        seen.push(quality);
        let page = url(&web.world.url(PageRef { site, page: 0 }));
        let asked = FetchJob { address: web.world.address(site).into(), body_bytes: 1_000_000, ..job(&page) };
        let failure = (quality != Certificate::Good).then_some(Reason::Certificate);
        assert_eq!(careful.fetch(&asked, None).await.0.failure, failure, "{quality:?}");
        let (answer, _) = credulous.fetch(&asked, None).await;
        assert_eq!((answer.status, answer.failure), (200, None), "{quality:?}");
    }
    assert_eq!(seen.len(), 4);
    // The authority of the synthetic Web is none that the world believes.
    let good = (1..60).find(|site| web.world.site(*site).certificate == Certificate::Good).unwrap();
    let page = url(&web.world.url(PageRef { site: good, page: 0 }));
    let asked = FetchJob { address: web.world.address(good).into(), ..job(&page) };
    assert_eq!(fetcher(settings()).fetch(&asked, None).await.0.failure, Some(Reason::Certificate));
}

#[tokio::test]
async fn who_does_not_speak_tls_is_told_so() {
    let server = Server::start(|_, mut peer| {
        peer.say("HTTP/1.1 400 Bad Request\r\n\r\n");
        peer.wait_for_end();
    });
    let page = url(&format!("https://{}/", server.address));
    let answer = get(settings(), &page).await;
    assert_eq!((answer.status, answer.failure), (0, Some(Reason::TlsFailed)));
}
