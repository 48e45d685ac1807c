//! What is asked over HTTP/1.1, what is taken of the answers, and how connections are kept.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]

mod support;

use std::net::Ipv4Addr;
use std::sync::Arc;

use fetch::{Credentials, Cut, Error, FetchJob, FetchSettings, Fetcher, SiteExtras, SiteRequest};
use model::Reason;
use support::{Server, fetcher, get, get_kept, job, ok, settings, url};

#[tokio::test]
async fn an_answer_is_kept_to_the_byte() {
    let head = "HTTP/1.1 200  Fine\r\nContent-Type:text/html\r\nx-ODD :  1 \r\nContent-Length: 5\n\r\n";
    let server = Server::saying(head.to_owned() + "Hello");
    let (answer, kept) = get_kept(&fetcher(settings()), &server.url("/"), None).await;
    assert_eq!((answer.status, &answer.head[..], &answer.body[..]), (200, head.as_bytes(), &b"Hello"[..]));
    assert_eq!((answer.cut, answer.failure), (None, None));
    assert_eq!(answer.address, Some(Ipv4Addr::LOCALHOST.into()));
    assert_eq!(answer.protocols, ["http/1.1"]);
    assert!(answer.latency_ms.unwrap() <= answer.duration_ms.unwrap());
    assert_eq!(server.requests(), [String::from_utf8(answer.request).unwrap()]);
    let kept = kept.unwrap();
    assert_eq!((kept.site(), kept.address()), (server.url("/").site(), Ipv4Addr::LOCALHOST.into()));
}

#[tokio::test]
async fn a_request_says_who_asks_for_what() {
    let server = Server::saying(ok(""));
    let mut settings = settings();
    settings.from = "crawl@example.org".to_owned();
    settings.accept_language = "es, en;q=0.5".to_owned();
    let page = server.url("/a/b%20c?d=e");
    let conditional = FetchJob {
        if_none_match: Some("\"v1\""),
        if_modified_since: Some("Sun, 06 Nov 1994 08:49:37 GMT"),
        ..job(&page)
    };
    fetcher(settings).fetch(&conditional, None).await;
    let expected = format!(
        "GET /a/b%20c?d=e HTTP/1.1\r\nHost: {}\r\nUser-Agent: tester/1.0 (+https://example.org/tester)\r\n\
         From: crawl@example.org\r\nAccept-Language: es, en;q=0.5\r\n\
         Accept: text/html,application/xhtml+xml,text/plain,*/*;q=0.1\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\
         If-None-Match: \"v1\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: keep-alive\r\n\r\n",
        server.address
    );
    assert_eq!(server.requests(), [expected]);
}

#[tokio::test]
async fn a_site_may_get_more_and_a_server_may_not_speak_through_us() {
    let server = Server::saying(ok(""));
    let extra = SiteRequest::new(&SiteExtras {
        agent: Some("other/2.0".to_owned()),
        headers: vec![("X-Key".to_owned(), "1".to_owned()), ("accept".to_owned(), "text/turtle".to_owned())],
        cookie: Some("a=1; b=2".to_owned()),
        credentials: Some(Credentials { user: "Aladdin".to_owned(), password: "open sesame".to_owned() }),
    });
    let (page, extra) = (server.url("/"), extra.unwrap());
    let job = FetchJob { extra: &extra, if_none_match: Some("\"a\r\nX-Evil: 1\""), ..job(&page) };
    fetcher(settings()).fetch(&job, None).await;
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
fn settings_that_would_break_a_request_are_refused() {
    let broken = |change: fn(&mut FetchSettings)| {
        let mut settings = settings();
        change(&mut settings);
        Fetcher::new(Arc::new(settings)).err()
    };
    assert!(broken(|_| ()).is_none());
    for change in [
        (|settings| settings.agent = "a\r\nb".to_owned()) as fn(&mut FetchSettings),
        |settings| settings.agent = String::new(),
        |settings| settings.from = "a\nb".to_owned(),
        |settings| settings.accept_language = "a\0".to_owned(),
        |settings| settings.media_types.push("text/html\r\nX: y".to_owned()),
    ] {
        assert!(matches!(broken(change), Some(Error::BadText { .. })));
    }
    assert!(matches!(
        broken(|settings| settings.extra_roots_pem = b"-----BEGIN CERTIFICATE-----\nx".to_vec()),
        Some(Error::Authorities(_))
    ));
    assert!(settings().check_identity().is_ok());
    for agent in ["weir/0.1.0", "weir (+https://example.org)", "https://example.org", ""] {
        let settings = FetchSettings { agent: agent.to_owned(), ..settings() };
        assert!(matches!(settings.check_identity(), Err(Error::Unidentified(_))), "{agent}");
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n";
    for answer in
        [ok("abc"), chunked.to_owned(), "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n".to_owned()]
    {
        let server = Server::saying(answer.clone());
        let fetcher = fetcher(settings());
        let mut kept = None;
        for _ in 0..5 {
            let (got, connection) = get_kept(&fetcher, &server.url("/"), kept).await;
            assert_eq!(got.failure, None);
            kept = Some(connection.expect(&answer));
        }
        assert_eq!((server.connections(), server.requests().len()), (1, 5));
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_replaced_once() {
    // Answers once on each connection, without saying that it will close it after the next request.
    let server = Server::start(|number, mut peer| {
        peer.request();
        if number < 2 {
            peer.say(ok("abc"));
            peer.request();
        }
    });
    let fetcher = fetcher(settings());
    let (_, kept) = get_kept(&fetcher, &server.url("/"), None).await;
    let (answer, kept) = get_kept(&fetcher, &server.url("/"), Some(kept.unwrap())).await;
    assert_eq!((answer.status, &answer.body[..], server.connections()), (200, &b"abc"[..], 2));
    // The third connection is closed before any answer, and it was made for this request.
    let (answer, kept) = get_kept(&fetcher, &server.url("/"), Some(kept.unwrap())).await;
    assert_eq!((answer.failure, kept.is_none()), (Some(Reason::ConnectionLost), true));
    assert_eq!((server.connections(), server.requests().len()), (3, 5));
}

#[tokio::test]
async fn half_an_answer_over_a_kept_connection_is_not_asked_for_again() {
    let server = Server::start(|_, mut peer| {
        peer.request();
        peer.say(ok("abc"));
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\nConte");
    });
    let fetcher = fetcher(settings());
    let (_, kept) = get_kept(&fetcher, &server.url("/"), None).await;
    let (answer, _) = get_kept(&fetcher, &server.url("/"), Some(kept.unwrap())).await;
    assert_eq!((answer.failure, server.connections()), (Some(Reason::ConnectionLost), 1));
}

#[tokio::test]
async fn what_nobody_asked_for_is_not_taken_for_an_answer() {
    let (proceed, may_proceed) = std::sync::mpsc::channel();
    let (said, was_said) = std::sync::mpsc::channel();
    let may_proceed = std::sync::Mutex::new(may_proceed);
    let server = Server::start(move |number, mut peer| {
        peer.request();
        if number == 0 {
            peer.say(ok("first"));
            may_proceed.lock().unwrap().recv().unwrap();
            peer.say("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            said.send(()).unwrap();
            peer.wait_for_end();
        } else {
            peer.say(ok("second"));
        }
    });
    let fetcher = fetcher(settings());
    let (_, kept) = get_kept(&fetcher, &server.url("/"), None).await;
    proceed.send(()).unwrap();
    // While this is waited for, the runtime hears from its sockets.
    tokio::task::spawn_blocking(move || was_said.recv().unwrap()).await.unwrap();
    let (answer, _) = get_kept(&fetcher, &server.url("/"), Some(kept.unwrap())).await;
    assert_eq!((answer.status, &answer.body[..], server.connections()), (200, &b"second"[..], 2));
}

#[tokio::test]
async fn a_connection_belongs_to_one_site_at_one_address() {
    let server = Server::saying(ok("abc"));
    let other = Server::saying(ok("abc"));
    let fetcher = fetcher(settings());
    let (_, kept) = get_kept(&fetcher, &server.url("/"), None).await;
    let (_, kept) = get_kept(&fetcher, &other.url("/"), kept).await;
    assert_eq!((server.connections(), other.connections()), (1, 1));
    // The same address by another name is another site.
    let named = url(&format!("http://a.example:{}/", other.address.port()));
    let (_, kept) = get_kept(&fetcher, &named, kept).await;
    assert_eq!((other.connections(), kept.as_ref().unwrap().site()), (2, named.site()));
    let elsewhere = FetchJob { address: "127.0.0.99".parse().unwrap(), ..job(&named) };
    let (answer, _) = fetcher.fetch(&elsewhere, kept).await;
    assert_eq!((answer.failure, other.connections()), (Some(Reason::ConnectFailed), 2));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_its_body_is_small() {
    let redirect = |length: usize| {
        format!(
            "HTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Type: image/png\r\nContent-Length: {length}\r\n\r\n{}",
            "x".repeat(length)
        )
    };
    for (length, taken, cut) in [(9, 9, None), (20_000, 16_384, Some(Cut::Length))] {
        let server = Server::saying(redirect(length));
        let page = server.url("/");
        let job = FetchJob { body_bytes: 400_000, ..job(&page) };
        let (answer, kept) = fetcher(settings()).fetch(&job, None).await;
        assert_eq!((answer.status, answer.failure, answer.cut), (301, None, cut));
        assert_eq!((answer.body.len(), kept.is_some()), (taken, cut.is_none()));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_type_that_nobody_wants_is_not_read() {
    let typed = |status: &str, content_type: &str| {
        let line =
            if content_type.is_empty() { String::new() } else { format!("Content-Type: {content_type}\r\n") };
        Server::saying(format!("HTTP/1.1 {status}\r\n{line}Content-Length: 3\r\n\r\nabc"))
    };
    for (status, content_type, failure) in [
        ("200 OK", "image/png", Some(Reason::MediaType)),
        ("200 OK", "TEXT/html; charset=x", None),
        ("200 OK", "", None),
        ("404 Not Found", "image/png", None),
    ] {
        let answer = get(settings(), &typed(status, content_type).url("/")).await;
        assert_eq!(answer.failure, failure, "{status} {content_type}");
        assert_eq!(answer.body.is_empty(), failure.is_some());
        assert!(answer.head.starts_with(b"HTTP/1.1 ") && answer.status != 0);
    }
    let server = typed("200 OK", "application/gzip");
    let page = server.url("/sitemap.xml.gz");
    let (answer, _) = fetcher(settings()).fetch(&FetchJob { any_media_type: true, ..job(&page) }, None).await;
    assert_eq!((answer.failure, &answer.body[..]), (None, &b"abc"[..]));
    assert!(server.requests()[0].contains("\r\nAccept: */*\r\n"));
}

#[tokio::test]
async fn old_servers_end_with_the_connection() {
    let server = Server::saying_once("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nto the end");
    let (answer, kept) = get_kept(&fetcher(settings()), &server.url("/"), None).await;
    assert_eq!((&answer.body[..], answer.cut, answer.failure), (&b"to the end"[..], None, None));
    assert_eq!(answer.protocols, ["http/1.0"]);
    assert!(kept.is_none());
}

#[tokio::test]
async fn a_large_page_comes_whole() {
    let body: String = (0..60_000).map(|number| format!("{number} ")).collect();
    let server = Server::saying(ok(&body));
    let chunks: String = body
        .as_bytes()
        .chunks(777)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap()))
        .collect();
    let chunked =
        Server::saying(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"));
    for server in [server, chunked] {
        let page = server.url("/");
        let (answer, kept) =
            fetcher(settings()).fetch(&FetchJob { body_bytes: 400_000, ..job(&page) }, None).await;
        assert!(answer.body == body.as_bytes() && kept.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_fetcher_serves_many_tasks() {
    let server = Server::saying(ok("abc"));
    let fetcher = Arc::new(fetcher(settings()));
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let (fetcher, page) = (Arc::clone(&fetcher), server.url(&format!("/{number}")));
            tokio::spawn(async move { get_kept(&fetcher, &page, None).await.0 })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().body, b"abc");
    }
    assert_eq!(server.connections(), 20);
}
