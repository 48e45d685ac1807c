//! HTTP/1.1: requests, parsing of responses, and reuse of connections.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use crate::support::{Server, fetcher, get, get_reusing, ok, request_for, settings, url};
use fetch::{
    BasicCredentials, Error, FetchRequest, FetchSettings, Fetcher, SiteHeaders, SiteRequestSettings,
};
use model::{Reason, Truncation};

#[tokio::test]
async fn a_response_is_stored_byte_for_byte() {
    let head = "HTTP/1.1 200  Fine\r\nContent-Type:text/html\r\nx-ODD :  1 \r\nContent-Length: 5\n\r\n";
    let server = Server::responding(head.to_owned() + "Hello");
    let (response, reusable) = get_reusing(&fetcher(settings()), &server.url("/"), None).await;
    assert_eq!(
        (response.status, &response.head[..], &response.body[..]),
        (200, head.as_bytes(), &b"Hello"[..])
    );
    assert_eq!((response.truncation, response.failure), (None, None));
    assert_eq!(response.address, Some(Ipv4Addr::LOCALHOST.into()));
    assert_eq!(response.protocols, ["http/1.1"]);
    assert!(response.latency_ms.unwrap() <= response.duration_ms.unwrap());
    assert_eq!(server.requests(), [String::from_utf8(response.request).unwrap()]);
    let reusable = reusable.unwrap();
    assert_eq!((reusable.site(), reusable.address()), (server.url("/").site(), Ipv4Addr::LOCALHOST.into()));
}

#[tokio::test]
async fn a_request_has_identification_preferences_and_validators() {
    let server = Server::responding(ok(""));
    let mut settings = settings();
    settings.from = "crawl@example.org".to_owned();
    settings.accept_language = "es, en;q=0.5".to_owned();
    let page = server.url("/a/b%20c?d=e");
    let conditional = FetchRequest {
        if_none_match: Some("\"v1\""),
        if_modified_since: Some("Sun, 06 Nov 1994 08:49:37 GMT"),
        ..request_for(&page)
    };
    fetcher(settings).fetch(&conditional, None).await;
    let expected = format!(
        "GET /a/b%20c?d=e HTTP/1.1\r\nHost: {}\r\nUser-Agent: tester/1.0 (+https://example.org/tester)\r\n\
         From: crawl@example.org\r\nAccept-Language: es, en;q=0.5\r\n\
         Accept: text/html,application/xhtml+xml,text/plain,application/rss+xml,application/atom+xml,application/rdf+xml,\
         application/xml,text/xml,*/*;q=0.1\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\
         If-None-Match: \"v1\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: keep-alive\r\n\r\n",
        server.address
    );
    assert_eq!(server.requests(), [expected]);
}

#[tokio::test]
async fn sites_can_have_own_headers_whose_secrets_are_not_stored_and_validators_cannot_inject_any() {
    let server = Server::responding(ok(""));
    let site_headers = SiteHeaders::new(&SiteRequestSettings {
        user_agent: Some("other/2.0".to_owned()),
        headers: vec![("X-Key".to_owned(), "1".to_owned()), ("accept".to_owned(), "text/turtle".to_owned())],
        cookie: Some("a=1; b=2".to_owned()),
        credentials: Some(BasicCredentials {
            user: "Aladdin".to_owned(),
            password: "open sesame".to_owned(),
        }),
    });
    let (page, site_headers) = (server.url("/"), site_headers.unwrap());
    let request = FetchRequest {
        site_headers: &site_headers,
        if_none_match: Some("\"a\r\nX-Evil: 1\""),
        ..request_for(&page)
    };
    let (response, _) = fetcher(settings()).fetch(&request, None).await;
    let stored = String::from_utf8(response.request).unwrap();
    for line in [
        "User-Agent: other/2.0",
        "X-Key: [redacted]",
        "accept: text/turtle",
        "Cookie: [redacted]",
        "Authorization: [redacted]",
    ] {
        assert!(stored.contains(&format!("\r\n{line}\r\n")), "{line} in {stored}");
    }
    let request = server.requests().remove(0);
    for line in [
        "User-Agent: other/2.0",
        "X-Key: 1",
        "accept: text/turtle",
        "Cookie: a=1; b=2",
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    ] {
        assert!(request.contains(&format!("\r\n{line}\r\n")), "{line} in {request}");
    }
    assert!(!request.contains("tester/1.0") && !request.contains("Evil") && !request.contains("Accept: "));
}

#[test]
fn settings_that_would_break_a_request_are_rejected() {
    let broken = |change: fn(&mut FetchSettings)| {
        let mut settings = settings();
        change(&mut settings);
        Fetcher::new(Arc::new(settings)).err()
    };
    assert!(broken(|_| ()).is_none());
    for change in [
        (|settings| settings.user_agent = "a\r\nb".to_owned()) as fn(&mut FetchSettings),
        |settings| settings.user_agent = String::new(),
        |settings| settings.from = "a\nb".to_owned(),
        |settings| settings.accept_language = "a\0".to_owned(),
        |settings| settings.mime_types.push("text/html\r\nX: y".to_owned()),
    ] {
        assert!(matches!(broken(change), Some(Error::InvalidValue { .. })));
    }
    assert!(matches!(
        broken(|settings| settings.extra_ca_pem = b"-----BEGIN CERTIFICATE-----\nx".to_vec()),
        Some(Error::CaCertificates(_))
    ));
    assert!(settings().check_user_agent().is_ok());
    for agent in ["weir/0.1.0", "weir (+https://example.org)", "https://example.org", ""] {
        let settings = FetchSettings { user_agent: agent.to_owned(), ..settings() };
        assert!(matches!(settings.check_user_agent(), Err(Error::MissingContact(_))), "{agent}");
    }
}

#[tokio::test]
async fn a_connection_is_reused() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n";
    for response in
        [ok("abc"), chunked.to_owned(), "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n".to_owned()]
    {
        let server = Server::responding(response.clone());
        let fetcher = fetcher(settings());
        let mut reusable = None;
        for _ in 0..5 {
            let (got, connection) = get_reusing(&fetcher, &server.url("/"), reusable).await;
            assert_eq!(got.failure, None);
            reusable = Some(connection.expect(&response));
        }
        assert_eq!((server.connections(), server.requests().len()), (1, 5));
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_replaced_once() {
    // Responds once on each connection, then closes it at the next request without announcing it.
    let server = Server::start(|index, mut peer| {
        peer.read_request();
        if index < 2 {
            peer.send(ok("abc"));
            peer.read_request();
        }
    });
    let fetcher = fetcher(settings());
    let (_, reusable) = get_reusing(&fetcher, &server.url("/"), None).await;
    let (response, reusable) = get_reusing(&fetcher, &server.url("/"), Some(reusable.unwrap())).await;
    assert_eq!((response.status, &response.body[..], server.connections()), (200, &b"abc"[..], 2));
    // The third connection is closed before any response, and it was opened for this request.
    let (response, reusable) = get_reusing(&fetcher, &server.url("/"), Some(reusable.unwrap())).await;
    assert_eq!((response.failure, reusable.is_none()), (Some(Reason::ConnectionClosed), true));
    assert_eq!((server.connections(), server.requests().len()), (3, 5));
}

#[tokio::test]
async fn a_partial_response_over_a_reused_connection_is_not_retried() {
    let server = Server::start(|_, mut peer| {
        peer.read_request();
        peer.send(ok("abc"));
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\nConte");
    });
    let fetcher = fetcher(settings());
    let (_, reusable) = get_reusing(&fetcher, &server.url("/"), None).await;
    let (response, _) = get_reusing(&fetcher, &server.url("/"), Some(reusable.unwrap())).await;
    assert_eq!((response.failure, server.connections()), (Some(Reason::ConnectionClosed), 1));
}

#[tokio::test]
async fn an_unsolicited_response_is_not_read_as_the_next_one() {
    let (proceed, may_proceed) = std::sync::mpsc::channel();
    let (sent, was_sent) = std::sync::mpsc::channel();
    let may_proceed = std::sync::Mutex::new(may_proceed);
    let server = Server::start(move |index, mut peer| {
        peer.read_request();
        if index == 0 {
            peer.send(ok("first"));
            may_proceed.lock().unwrap().recv().unwrap();
            peer.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            sent.send(()).unwrap();
            peer.wait_for_close();
        } else {
            peer.send(ok("second"));
        }
    });
    let fetcher = fetcher(settings());
    let (_, reusable) = get_reusing(&fetcher, &server.url("/"), None).await;
    proceed.send(()).unwrap();
    // Waiting here lets the runtime poll its sockets.
    tokio::task::spawn_blocking(move || was_sent.recv().unwrap()).await.unwrap();
    let (response, _) = get_reusing(&fetcher, &server.url("/"), Some(reusable.unwrap())).await;
    assert_eq!((response.status, &response.body[..], server.connections()), (200, &b"second"[..], 2));
}

#[tokio::test]
async fn a_connection_belongs_to_one_site_at_one_address() {
    let server = Server::responding(ok("abc"));
    let other = Server::responding(ok("abc"));
    let fetcher = fetcher(settings());
    let (_, reusable) = get_reusing(&fetcher, &server.url("/"), None).await;
    let (_, reusable) = get_reusing(&fetcher, &other.url("/"), reusable).await;
    assert_eq!((server.connections(), other.connections()), (1, 1));
    // The same address with another host name is another site.
    let named = url(&format!("http://a.example:{}/", other.address.port()));
    let (_, reusable) = get_reusing(&fetcher, &named, reusable).await;
    assert_eq!((other.connections(), reusable.as_ref().unwrap().site()), (2, named.site()));
    let elsewhere = FetchRequest { address: "127.0.0.99".parse().unwrap(), ..request_for(&named) };
    let (response, _) = fetcher.fetch(&elsewhere, reusable).await;
    assert_eq!((response.failure, other.connections()), (Some(Reason::ConnectFailed), 2));
}

#[tokio::test]
async fn a_request_is_not_sent_after_its_deadline() {
    let server = Server::responding(ok("abc"));
    let page = server.url("/");
    let fetcher = fetcher(settings());
    let (_, reusable) = get_reusing(&fetcher, &page, None).await;
    assert!(reusable.is_some());
    let late = FetchRequest { send_deadline: Some(Instant::now()), ..request_for(&page) };
    let (response, reusable) = fetcher.fetch(&late, reusable).await;
    assert_eq!((response.status, response.failure), (0, Some(Reason::ConnectTimeout)));
    assert!(reusable.is_none() && response.request.is_empty());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_returned_with_a_limited_body() {
    let redirect = |length: usize| {
        format!(
            "HTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Type: image/png\r\nContent-Length: {length}\r\n\r\n{}",
            "x".repeat(length)
        )
    };
    for (length, taken, cut) in [(9, 9, None), (20_000, 16_384, Some(Truncation::Length))] {
        let server = Server::responding(redirect(length));
        let page = server.url("/");
        let request = FetchRequest { max_body_bytes: 400_000, ..request_for(&page) };
        let (response, reusable) = fetcher(settings()).fetch(&request, None).await;
        assert_eq!((response.status, response.failure, response.truncation), (301, None, cut));
        assert_eq!((response.body.len(), reusable.is_some()), (taken, cut.is_none()));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn the_body_of_an_unaccepted_mime_type_is_not_read() {
    let typed = |status: &str, content_type: &str| {
        let line =
            if content_type.is_empty() { String::new() } else { format!("Content-Type: {content_type}\r\n") };
        Server::responding(format!("HTTP/1.1 {status}\r\n{line}Content-Length: 3\r\n\r\nabc"))
    };
    for (status, content_type, failure) in [
        ("200 OK", "image/png", Some(Reason::MimeType)),
        ("200 OK", "TEXT/html; charset=x", None),
        ("200 OK", "", None),
        ("404 Not Found", "image/png", None),
    ] {
        let response = get(settings(), &typed(status, content_type).url("/")).await;
        assert_eq!(response.failure, failure, "{status} {content_type}");
        assert_eq!(response.body.is_empty(), failure.is_some());
        assert!(response.head.starts_with(b"HTTP/1.1 ") && response.status != 0);
    }
    let server = typed("200 OK", "application/gzip");
    let page = server.url("/sitemap.xml.gz");
    let (response, _) =
        fetcher(settings()).fetch(&FetchRequest { any_mime_type: true, ..request_for(&page) }, None).await;
    assert_eq!((response.failure, &response.body[..]), (None, &b"abc"[..]));
    assert!(server.requests()[0].contains("\r\nAccept: */*\r\n"));
}

#[tokio::test]
async fn an_http10_body_ends_with_the_connection() {
    let server = Server::responding_once("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nto the end");
    let (response, reusable) = get_reusing(&fetcher(settings()), &server.url("/"), None).await;
    assert_eq!((&response.body[..], response.truncation, response.failure), (&b"to the end"[..], None, None));
    assert_eq!(response.protocols, ["http/1.0"]);
    assert!(reusable.is_none());
}

#[tokio::test]
async fn a_large_page_is_complete() {
    let body: String = (0..60_000).map(|index| format!("{index} ")).collect();
    let server = Server::responding(ok(&body));
    let chunks: String = body
        .as_bytes()
        .chunks(777)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap()))
        .collect();
    let chunked =
        Server::responding(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"));
    for server in [server, chunked] {
        let page = server.url("/");
        let (response, reusable) = fetcher(settings())
            .fetch(&FetchRequest { max_body_bytes: 400_000, ..request_for(&page) }, None)
            .await;
        assert!(response.body == body.as_bytes() && reusable.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_fetcher_serves_many_tasks() {
    let server = Server::responding(ok("abc"));
    let fetcher = Arc::new(fetcher(settings()));
    let tasks: Vec<_> = (0..20)
        .map(|index| {
            let (fetcher, page) = (Arc::clone(&fetcher), server.url(&format!("/{index}")));
            tokio::spawn(async move { get_reusing(&fetcher, &page, None).await.0 })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().body, b"abc");
    }
    assert_eq!(server.connections(), 20);
}
