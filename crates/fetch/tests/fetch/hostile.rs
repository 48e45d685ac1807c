//! Hostile and faulty servers: each of them hits a limit.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use crate::support::{Server, fetcher, get, get_reusing, ok, request_for, settings, url};
use fetch::{BodyBudget, DnsSettings, FetchRequest, FetchSettings, Resolver, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use model::{PortFilter, Reason, Truncation};

const NO_PAUSE: Duration = Duration::ZERO;

fn result_of(response: &Response) -> (u16, Option<Truncation>, Option<Reason>) {
    (response.status, response.truncation, response.failure)
}

/// Settings with one limit set to a tenth of a second.
fn short(change: impl Fn(&mut FetchSettings, Duration)) -> FetchSettings {
    let mut settings = settings();
    change(&mut settings, Duration::from_millis(100));
    settings
}

#[tokio::test]
async fn an_endless_body_is_truncated() {
    for (head, chunk) in [
        ("HTTP/1.1 200 OK\r\n\r\n", "spam ".repeat(100)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "spam ".repeat(100)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nspam \r\n".repeat(100)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "spam ".repeat(100)),
    ] {
        let server = Server::start(move |_, mut peer| {
            peer.read_request();
            peer.send(head);
            peer.send_forever(&chunk, NO_PAUSE);
        });
        let (response, reusable) = get_reusing(&fetcher(settings()), &server.url("/"), None).await;
        assert_eq!(result_of(&response), (200, Some(Truncation::Length), None), "{head}");
        assert_eq!(response.body, "spam ".repeat(200).into_bytes(), "{head}");
        assert!(reusable.is_none());
    }
}

#[tokio::test]
async fn all_bodies_in_flight_share_one_memory_budget() {
    const BODY_BYTES: usize = 200 << 10;
    let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{BODY_BYTES:x}\r\n");
    let server = Server::responding(
        [chunked.into_bytes(), vec![b'x'; BODY_BYTES], b"\r\n0\r\n\r\n".to_vec()].concat(),
    );
    let budget = BodyBudget::new(300 << 10);
    // One for each thread of a crawl.
    let fetchers = [0, 1].map(|_| fetcher(settings()).with_body_budget(budget.clone()));
    let url = server.url("/");
    let request = FetchRequest { max_body_bytes: 250 << 10, ..request_for(&url) };
    let first = fetchers[0].fetch(&request, None).await.0;
    assert_eq!((first.body.len(), budget.available_bytes()), (BODY_BYTES, 100 << 10), "only what is needed");
    let mut second = std::pin::pin!(fetchers[1].fetch(&request, None));
    let waited = tokio::time::timeout(Duration::from_millis(100), &mut second).await;
    assert!(waited.is_err(), "received although the first body is in memory");
    drop(first);
    let second = second.await.0;
    assert_eq!((result_of(&second), second.body.len()), ((200, None, None), BODY_BYTES));
    drop(second);
    assert_eq!(budget.available_bytes(), 300 << 10);
}

#[tokio::test]
async fn only_the_beginning_of_a_huge_robots_txt_is_read() {
    let server = Server::start(|_, mut peer| {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000000\r\n\r\n");
        peer.send_forever("Disallow: /a\n".repeat(5000), NO_PAUSE);
    });
    let url = server.url("/robots.txt");
    let max_body_bytes = 500 * 1024;
    let request = FetchRequest { max_body_bytes, any_mime_type: true, ..request_for(&url) };
    let (response, reusable) = fetcher(settings()).fetch(&request, None).await;
    assert_eq!(result_of(&response), (200, Some(Truncation::Length), None));
    assert_eq!(response.body.len(), max_body_bytes);
    assert!(response.body.capacity() <= 2 * max_body_bytes && reusable.is_none());
}

#[tokio::test]
async fn a_slow_transfer_is_aborted() {
    let drip = Duration::from_millis(20);
    let heads = ["", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"];
    for (head, bytes) in heads.into_iter().zip(["H", "x", "x"]) {
        let server = Server::start(move |_, mut peer| {
            peer.read_request();
            peer.send(head);
            peer.send("HTTP/1.1 200 OK\r\nA: ".get(..if head.is_empty() { 20 } else { 0 }).unwrap());
            peer.send_forever(bytes, drip);
        });
        let slow = short(|settings, short| {
            settings.min_bytes_per_s = 1000;
            settings.min_speed_grace = short;
        });
        let started = Instant::now();
        let response = get(slow, &server.url("/")).await;
        let (status, truncation) = if head.is_empty() { (0, None) } else { (200, Some(Truncation::Time)) };
        assert_eq!(result_of(&response), (status, truncation, Some(Reason::TooSlow)), "{head}");
        assert_eq!(response.body.is_empty(), head.is_empty());
        assert!(started.elapsed() < Duration::from_secs(5));

        let total = short(|settings, short| {
            settings.min_bytes_per_s = 0;
            settings.total_timeout = short;
        });
        let response = get(total, &server.url("/")).await;
        assert_eq!(result_of(&response), (status, truncation, Some(Reason::TotalTimeout)), "{head}");
    }
}

#[tokio::test]
async fn a_fast_response_may_pause() {
    let server = Server::start(|_, mut peer| {
        peer.read_request();
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: 901\r\n\r\n{}", "x".repeat(900)));
        std::thread::sleep(Duration::from_millis(200));
        peer.send("y");
    });
    let fast_enough = short(|settings, short| {
        settings.min_bytes_per_s = 1000;
        settings.min_speed_grace = short;
    });
    let response = get(fast_enough, &server.url("/")).await;
    assert_eq!((result_of(&response), response.body.len()), ((200, None, None), 901));
}

#[tokio::test]
async fn an_unresponsive_server_times_out() {
    let server = Server::start(|_, mut peer| peer.wait_for_close());
    let first_byte = short(|settings, short| settings.first_byte_timeout = short);
    let response = get(first_byte, &server.url("/")).await;
    assert_eq!(result_of(&response), (0, None, Some(Reason::FirstByteTimeout)));
    assert!(!response.request.is_empty() && response.latency_ms.is_none());
    // Over TLS the connection is not open before the server has responded.
    let connect = short(|settings, short| settings.connect_timeout = short);
    let https = url(&format!("https://{}/", server.address));
    assert_eq!(result_of(&get(connect, &https).await), (0, None, Some(Reason::ConnectTimeout)));
}

#[tokio::test]
async fn endless_headers_are_too_large() {
    for line in ["X-Spam: spam\r\n", "spam", "\tspam\n"] {
        let server = Server::start(move |_, mut peer| {
            peer.read_request();
            peer.send("HTTP/1.1 200 OK\r\nA: b");
            peer.send_forever(line.repeat(100), NO_PAUSE);
        });
        let response = get(settings(), &server.url("/")).await;
        assert_eq!(result_of(&response), (0, None, Some(Reason::HeadersTooLarge)), "{line:?}");
    }
    let server = Server::start(|_, mut peer| {
        peer.read_request();
        peer.send_forever("HTTP/1.1 103 Early Hints\r\n\r\n", NO_PAUSE);
    });
    assert_eq!(get(settings(), &server.url("/")).await.failure, Some(Reason::InvalidResponse));
}

#[tokio::test]
async fn a_compression_bomb_is_not_decompressed() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![b' '; 500_000]).unwrap();
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1000);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        bomb.len()
    );
    let server = Server::responding([head.into_bytes(), bomb.clone()].concat());
    let response = get(settings(), &server.url("/")).await;
    assert_eq!((result_of(&response), response.body), ((200, None, None), bomb));
}

#[tokio::test]
async fn a_wrong_content_length_is_detected() {
    let long = Server::responding_once("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort");
    let response = get(settings(), &long.url("/")).await;
    assert_eq!(result_of(&response), (200, Some(Truncation::Disconnect), Some(Reason::ConnectionClosed)));
    assert_eq!(response.body, b"short");

    let short =
        Server::responding("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort, but more than was said");
    let fetcher = fetcher(settings());
    let (response, reusable) = get_reusing(&fetcher, &short.url("/"), None).await;
    assert_eq!((result_of(&response), &response.body[..]), ((200, None, None), &b"short"[..]));
    assert!(reusable.is_none(), "the surplus would be read as the next response");

    let two = Server::responding("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef");
    assert_eq!(get(settings(), &two.url("/")).await.failure, Some(Reason::InvalidResponse));
}

#[tokio::test]
async fn data_before_an_invalid_chunk_is_kept() {
    for (chunks, failure) in [
        ("3\r\nabc\r\nno size\r\n", Reason::InvalidBody),
        ("3\r\nabcd\r\n0\r\n\r\n", Reason::InvalidBody),
        ("3\r\nabc\r\n00000000000000000\r\n", Reason::InvalidBody),
        ("3\r\nabc\r\n5\r\n", Reason::ConnectionClosed),
        ("3\r\nabc\r\n0\r\n", Reason::ConnectionClosed),
    ] {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let server = Server::responding_once(head.to_owned() + chunks);
        let response = get(settings(), &server.url("/")).await;
        assert_eq!(result_of(&response), (200, Some(Truncation::Disconnect), Some(failure)), "{chunks:?}");
        assert_eq!(response.body, b"abc", "{chunks:?}");
    }
}

#[tokio::test]
async fn data_before_a_reset_is_kept() {
    let server = Server::start(|_, mut peer| {
        // Closing a socket with unread data resets the connection.
        let mut one = [0];
        peer.stream.peek(&mut one).unwrap();
        peer.send("HTTP/1.1 200 OK\r\n\r\nhalf a pa");
    });
    let response = get(settings(), &server.url("/")).await;
    assert_eq!(result_of(&response), (200, Some(Truncation::Disconnect), Some(Reason::ConnectionClosed)));
    assert_eq!(response.body, b"half a pa");
    let mute = Server::start(|_, _| {});
    assert_eq!(result_of(&get(settings(), &mute.url("/")).await), (0, None, Some(Reason::ConnectionClosed)));
}

#[tokio::test]
async fn other_protocols_are_invalid_responses() {
    for garbage in [
        "<html>no head at all</html>",
        "HTTP/0.9 200 OK\r\n\r\n",
        "HTTP/1.1 2OO OK\r\n\r\n",
        "HTTP/1.1 20000 OK\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "\0\u{1}\u{2}",
        "220 mail.example.org ESMTP\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ] {
        let server = Server::responding_once(garbage);
        let response = get(settings(), &server.url("/")).await;
        assert_eq!(result_of(&response), (0, None, Some(Reason::InvalidResponse)), "{garbage:?}");
        assert_eq!(response.head, b"");
    }
}

#[tokio::test]
async fn a_location_with_a_line_end_is_stored_unchanged() {
    let head = "HTTP/1.1 302 Found\r\nLocation: /a\rSet-Cookie: b\r\n\r\n";
    let server = Server::responding_once(head.to_owned() + "HTTP/1.1 200 OK\r\n\r\nsmuggled");
    let (response, reusable) = get_reusing(&fetcher(settings()), &server.url("/"), None).await;
    assert_eq!((response.status, response.head), (302, head.as_bytes().to_vec()));
    assert!(reusable.is_none());
}

#[tokio::test]
async fn a_name_that_resolves_to_loopback_is_blocked_at_the_connection() {
    let server = Server::responding(ok("https"));
    let settings = DnsSettings {
        hosts: [("rebound.example".to_owned(), IpAddr::from(Ipv4Addr::LOCALHOST))].into(),
        name_servers: vec![server.address],
        ..DnsSettings::default()
    };
    let resolved = Resolver::new(&settings).unwrap().resolve("rebound.example", 0).await.unwrap();
    let url = url(&format!("http://rebound.example:{}/", server.address.port()));
    let fetcher = fetcher(FetchSettings::default());
    for address in
        [resolved.addresses[0], "::ffff:127.0.0.1".parse().unwrap(), "169.254.169.254".parse().unwrap()]
    {
        let (response, _) = fetcher.fetch(&FetchRequest { address, ..request_for(&url) }, None).await;
        assert_eq!(result_of(&response), (0, None, Some(Reason::IpBlocked)), "{address}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn an_address_in_the_url_overrides_the_resolved_one() {
    let server = Server::responding(ok("https"));
    let url = server.url("/");
    let request = FetchRequest { address: "93.184.215.14".parse().unwrap(), ..request_for(&url) };
    let (response, _) = fetcher(FetchSettings::default()).fetch(&request, None).await;
    assert_eq!(response.failure, Some(Reason::IpBlocked));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn ports_of_other_protocols_are_not_contacted() {
    for page in
        ["http://127.0.0.1:25/", "https://127.0.0.1:6667/robots.txt", "gopher://127.0.0.1:25/0/a%0D%0AHELO"]
    {
        let page = url(page);
        let (response, _) = fetcher(settings()).fetch(&request_for(&page), None).await;
        assert_eq!(result_of(&response), (0, None, Some(Reason::PortBlocked)), "{page}");
    }
    let allowed = FetchSettings { port_filter: PortFilter::new(vec![1]), ..settings() };
    let page = url("http://127.0.0.1:1/");
    let (response, _) = fetcher(allowed).fetch(&request_for(&page), None).await;
    assert_eq!(response.failure, Some(Reason::ConnectFailed), "nothing listens there, but it was tried");
}

#[tokio::test]
async fn a_closed_port_is_a_failed_connection() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let closed = url(&format!("http://{}/", listener.local_addr().unwrap()));
    drop(listener);
    let response = get(settings(), &closed).await;
    assert_eq!(result_of(&response), (0, None, Some(Reason::ConnectFailed)));
    assert!(response.request.is_empty() && response.protocols.is_empty());
}
