//! Servers that mean no good, or know no better: every one of them meets a limit.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]

mod support;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use fetch::{Answer, Cut, DnsSettings, FetchJob, FetchSettings, Resolver};
use flate2::Compression;
use flate2::write::GzEncoder;
use model::Reason;
use support::{Server, fetcher, get, get_kept, job, ok, settings, url};

const AT_ONCE: Duration = Duration::ZERO;

fn end_of(answer: &Answer) -> (u16, Option<Cut>, Option<Reason>) {
    (answer.status, answer.cut, answer.failure)
}

/// A limit of a tenth of a second where the others are far away.
fn short(change: impl Fn(&mut FetchSettings, Duration)) -> FetchSettings {
    let mut settings = settings();
    change(&mut settings, Duration::from_millis(100));
    settings
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    for (head, piece) in [
        ("HTTP/1.1 200 OK\r\n\r\n", "spam ".repeat(100)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "spam ".repeat(100)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nspam \r\n".repeat(100)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "spam ".repeat(100)),
    ] {
        let server = Server::start(move |_, mut peer| {
            peer.request();
            peer.say(head);
            peer.say_for_ever(&piece, AT_ONCE);
        });
        let (answer, kept) = get_kept(&fetcher(settings()), &server.url("/"), None).await;
        assert_eq!(end_of(&answer), (200, Some(Cut::Length), None), "{head}");
        assert_eq!(answer.body, "spam ".repeat(200).into_bytes(), "{head}");
        assert!(kept.is_none());
    }
}

#[tokio::test]
async fn a_gigabyte_of_robots_is_not_read() {
    let server = Server::start(|_, mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000000\r\n\r\n");
        peer.say_for_ever("Disallow: /a\n".repeat(5000), AT_ONCE);
    });
    let url = server.url("/robots.txt");
    let limit_bytes = 500 * 1024;
    let job = FetchJob { body_bytes: limit_bytes, any_media_type: true, ..job(&url) };
    let (answer, kept) = fetcher(settings()).fetch(&job, None).await;
    assert_eq!(end_of(&answer), (200, Some(Cut::Length), None));
    assert_eq!(answer.body.len(), limit_bytes);
    assert!(answer.body.capacity() <= 2 * limit_bytes && kept.is_none());
}

#[tokio::test]
async fn one_byte_at_a_time_is_too_slow() {
    let drip = Duration::from_millis(20);
    let heads = ["", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"];
    for (head, bytes) in heads.into_iter().zip(["H", "x", "x"]) {
        let server = Server::start(move |_, mut peer| {
            peer.request();
            peer.say(head);
            peer.say("HTTP/1.1 200 OK\r\nA: ".get(..if head.is_empty() { 20 } else { 0 }).unwrap());
            peer.say_for_ever(bytes, drip);
        });
        let slow = short(|settings, short| {
            settings.least_bytes_per_s = 1000;
            settings.speed_grace = short;
        });
        let started = Instant::now();
        let answer = get(slow, &server.url("/")).await;
        let (status, cut) = if head.is_empty() { (0, None) } else { (200, Some(Cut::Time)) };
        assert_eq!(end_of(&answer), (status, cut, Some(Reason::TooSlow)), "{head}");
        assert_eq!(answer.body.is_empty(), head.is_empty());
        assert!(started.elapsed() < Duration::from_secs(5));

        let total = short(|settings, short| {
            settings.least_bytes_per_s = 0;
            settings.total_timeout = short;
        });
        let answer = get(total, &server.url("/")).await;
        assert_eq!(end_of(&answer), (status, cut, Some(Reason::TotalTimedOut)), "{head}");
    }
}

#[tokio::test]
async fn a_fast_answer_may_pause() {
    let server = Server::start(|_, mut peer| {
        peer.request();
        peer.say(format!("HTTP/1.1 200 OK\r\nContent-Length: 901\r\n\r\n{}", "x".repeat(900)));
        std::thread::sleep(Duration::from_millis(200));
        peer.say("y");
    });
    let fast_enough = short(|settings, short| {
        settings.least_bytes_per_s = 1000;
        settings.speed_grace = short;
    });
    let answer = get(fast_enough, &server.url("/")).await;
    assert_eq!((end_of(&answer), answer.body.len()), ((200, None, None), 901));
}

#[tokio::test]
async fn silence_has_a_limit() {
    let server = Server::start(|_, mut peer| peer.wait_for_end());
    let first_byte = short(|settings, short| settings.first_byte_timeout = short);
    let answer = get(first_byte, &server.url("/")).await;
    assert_eq!(end_of(&answer), (0, None, Some(Reason::FirstByteTimedOut)));
    assert!(!answer.request.is_empty() && answer.latency_ms.is_none());
    // Over TLS the connection is not made before the server has answered.
    let connect = short(|settings, short| settings.connect_timeout = short);
    let secret = url(&format!("https://{}/", server.address));
    assert_eq!(end_of(&get(connect, &secret).await), (0, None, Some(Reason::ConnectTimedOut)));
}

#[tokio::test]
async fn headers_without_end_are_too_long() {
    for line in ["X-Spam: spam\r\n", "spam", "\tspam\n"] {
        let server = Server::start(move |_, mut peer| {
            peer.request();
            peer.say("HTTP/1.1 200 OK\r\nA: b");
            peer.say_for_ever(line.repeat(100), AT_ONCE);
        });
        let answer = get(settings(), &server.url("/")).await;
        assert_eq!(end_of(&answer), (0, None, Some(Reason::HeadTooLong)), "{line:?}");
    }
    let server = Server::start(|_, mut peer| {
        peer.request();
        peer.say_for_ever("HTTP/1.1 103 Early Hints\r\n\r\n", AT_ONCE);
    });
    assert_eq!(get(settings(), &server.url("/")).await.failure, Some(Reason::BadAnswer));
}

#[tokio::test]
async fn a_bomb_is_not_opened() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![b' '; 500_000]).unwrap();
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1000);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        bomb.len()
    );
    let server = Server::saying([head.into_bytes(), bomb.clone()].concat());
    let answer = get(settings(), &server.url("/")).await;
    assert_eq!((end_of(&answer), answer.body), ((200, None, None), bomb));
}

#[tokio::test]
async fn a_wrong_length_is_noticed() {
    let long = Server::saying_once("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort");
    let answer = get(settings(), &long.url("/")).await;
    assert_eq!(end_of(&answer), (200, Some(Cut::Disconnect), Some(Reason::ConnectionLost)));
    assert_eq!(answer.body, b"short");

    let short = Server::saying("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort, but more than was said");
    let fetcher = fetcher(settings());
    let (answer, kept) = get_kept(&fetcher, &short.url("/"), None).await;
    assert_eq!((end_of(&answer), &answer.body[..]), ((200, None, None), &b"short"[..]));
    assert!(kept.is_none(), "what follows would be taken for the next answer");

    let two = Server::saying("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef");
    assert_eq!(get(settings(), &two.url("/")).await.failure, Some(Reason::BadAnswer));
}

#[tokio::test]
async fn broken_chunks_leave_what_came() {
    for (chunks, failure) in [
        ("3\r\nabc\r\nno size\r\n", Reason::BadBody),
        ("3\r\nabcd\r\n0\r\n\r\n", Reason::BadBody),
        ("3\r\nabc\r\n00000000000000000\r\n", Reason::BadBody),
        ("3\r\nabc\r\n5\r\n", Reason::ConnectionLost),
        ("3\r\nabc\r\n0\r\n", Reason::ConnectionLost),
    ] {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let server = Server::saying_once(head.to_owned() + chunks);
        let answer = get(settings(), &server.url("/")).await;
        assert_eq!(end_of(&answer), (200, Some(Cut::Disconnect), Some(failure)), "{chunks:?}");
        assert_eq!(answer.body, b"abc", "{chunks:?}");
    }
}

#[tokio::test]
async fn a_reset_leaves_what_came() {
    let server = Server::start(|_, mut peer| {
        // Who closes while there is something to read, resets.
        let mut one = [0];
        peer.stream.peek(&mut one).unwrap();
        peer.say("HTTP/1.1 200 OK\r\n\r\nhalf a pa");
    });
    let answer = get(settings(), &server.url("/")).await;
    assert_eq!(end_of(&answer), (200, Some(Cut::Disconnect), Some(Reason::ConnectionLost)));
    assert_eq!(answer.body, b"half a pa");
    let mute = Server::start(|_, _| {});
    assert_eq!(end_of(&get(settings(), &mute.url("/")).await), (0, None, Some(Reason::ConnectionLost)));
}

#[tokio::test]
async fn what_is_no_answer_is_told_apart() {
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
        let server = Server::saying_once(garbage);
        let answer = get(settings(), &server.url("/")).await;
        assert_eq!(end_of(&answer), (0, None, Some(Reason::BadAnswer)), "{garbage:?}");
        assert_eq!(answer.head, b"");
    }
}

#[tokio::test]
async fn a_location_with_line_ends_is_kept_as_it_came() {
    let head = "HTTP/1.1 302 Found\r\nLocation: /a\rSet-Cookie: b\r\n\r\n";
    let server = Server::saying_once(head.to_owned() + "HTTP/1.1 200 OK\r\n\r\nsmuggled");
    let (answer, kept) = get_kept(&fetcher(settings()), &server.url("/"), None).await;
    assert_eq!((answer.status, answer.head), (302, head.as_bytes().to_vec()));
    assert!(kept.is_none());
}

#[tokio::test]
async fn a_name_that_leads_home_is_blocked_where_it_is_connected() {
    let server = Server::saying(ok("secret"));
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
        let (answer, _) = fetcher.fetch(&FetchJob { address, ..job(&url) }, None).await;
        assert_eq!(end_of(&answer), (0, None, Some(Reason::BlockedAddress)), "{address}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn an_address_in_the_url_counts_and_not_what_the_caller_believes() {
    let server = Server::saying(ok("secret"));
    let url = server.url("/");
    let job = FetchJob { address: "93.184.215.14".parse().unwrap(), ..job(&url) };
    let (answer, _) = fetcher(FetchSettings::default()).fetch(&job, None).await;
    assert_eq!(answer.failure, Some(Reason::BlockedAddress));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn where_nobody_listens_there_is_no_connection() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let closed = url(&format!("http://{}/", listener.local_addr().unwrap()));
    drop(listener);
    let answer = get(settings(), &closed).await;
    assert_eq!(end_of(&answer), (0, None, Some(Reason::ConnectFailed)));
    assert!(answer.request.is_empty() && answer.protocols.is_empty());
}
