//! ftp, from a server that knows what it needs to know.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]

mod support;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use fetch::{Cut, FetchJob, FetchSettings};
use model::{CanonicalUrl, Reason};
use support::{Peer, Server, fetcher, get, job, settings, url};

/// What a server can and cannot do.
#[derive(Clone, Copy, Default)]
struct Habits {
    has_no_epsv: bool,
    has_no_mlsd: bool,
    refuses_login: bool,
    /// Names another host in its answer to PASV.
    lies_about_its_address: bool,
    breaks_off: bool,
}

const UNIX_LIST: &str =
    "total 2\r\ndrwxr-xr-x 2 ftp ftp 4096 Jan 1 2020 old & new\r\n-rw-r--r-- 1 0 0 12 Feb 3 10:00 a.txt\r\n";
const MACHINE_LIST: &str = "type=cdir; .\r\ntype=dir; old & new\r\ntype=file;size=12; a.txt\r\n";

fn start(habits: Habits) -> Server {
    Server::start(move |_, mut peer| {
        peer.say("220-Welcome\r\n 220 to what?\r\n221 no\r\n220 ready\r\n");
        let mut data = None;
        while let Some(line) = peer.line() {
            let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
            match command {
                "USER" if habits.refuses_login => peer.say("530 Nobody may\r\n"),
                "USER" => peer.say("331 Password?\r\n"),
                "PASS" => peer.say("230-Hello\r\n 230 not yet\r\n230 Done\r\n"),
                "TYPE" => peer.say("200 ok\r\n"),
                "EPSV" if habits.has_no_epsv => peer.say("500 What?\r\n"),
                "EPSV" | "PASV" => passive(&mut peer, command, habits, &mut data),
                "CWD" => peer.say(if argument.starts_with("/pub") && !argument.ends_with("txt") {
                    "250 ok\r\n"
                } else {
                    "550 no\r\n"
                }),
                "MLSD" if habits.has_no_mlsd => peer.say("502 What?\r\n"),
                "MLSD" => send(&mut peer, &mut data, MACHINE_LIST, habits),
                "LIST" => send(&mut peer, &mut data, UNIX_LIST, habits),
                "RETR" if argument == "/pub/a b.txt" => send(&mut peer, &mut data, "Hello, world", habits),
                _ => peer.say("550 No such file\r\n"),
            };
        }
    })
}

fn passive(peer: &mut Peer, command: &str, habits: Habits, data: &mut Option<TcpListener>) -> bool {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    *data = Some(listener);
    let [high, low] = port.to_be_bytes();
    let host = if habits.lies_about_its_address { "10,0,0,1" } else { "127,0,0,1" };
    match command {
        "EPSV" => peer.say(format!("229 Extended (|||{port}|)\r\n")),
        _ => peer.say(format!("227 Passive ({host},{high},{low})\r\n")),
    }
}

fn send(peer: &mut Peer, data: &mut Option<TcpListener>, what: &str, habits: Habits) -> bool {
    let (mut stream, _) = data.take().unwrap().accept().unwrap();
    peer.say("150 Here it comes\r\n");
    stream.write_all(what.as_bytes()).unwrap();
    drop(stream);
    peer.say(if habits.breaks_off { "426 Sorry\r\n" } else { "226 Done\r\n" })
}

fn file(server: &Server, path: &str) -> CanonicalUrl {
    url(&format!("ftp://{}{path}", server.address))
}

#[tokio::test]
async fn a_file_is_fetched_in_either_passive_mode() {
    for habits in [
        Habits::default(),
        Habits { has_no_epsv: true, ..Habits::default() },
        Habits { has_no_epsv: true, lies_about_its_address: true, ..Habits::default() },
    ] {
        let server = start(habits);
        let settings = FetchSettings { from: "crawl@example.org".to_owned(), ..settings() };
        let answer = get(settings, &file(&server, "/pub/a%20b.txt")).await;
        assert_eq!((answer.status, answer.cut, answer.failure), (200, None, None));
        assert_eq!(answer.head, b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n");
        assert_eq!((answer.protocols, &answer.request[..]), (&["ftp"][..], &b"RETR /pub/a b.txt\r\n"[..]));
        assert_eq!(answer.body, b"Hello, world");
        assert!(answer.latency_ms.unwrap() <= answer.duration_ms.unwrap());
        assert_eq!(server.requests()[..2], ["USER anonymous", "PASS crawl@example.org"]);
    }
}

#[tokio::test]
async fn a_directory_becomes_a_page_of_links() {
    for (has_no_mlsd, path) in [(false, "/pub/"), (true, "/pub/"), (false, "/pub/sub")] {
        let server = start(Habits { has_no_mlsd, ..Habits::default() });
        let answer = get(settings(), &file(&server, path)).await;
        assert_eq!((answer.status, answer.failure), (200, None));
        assert_eq!(answer.head, b"HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n");
        let page = String::from_utf8(answer.body).unwrap();
        let base = path.trim_end_matches('/');
        assert!(page.contains(&format!("<a href=\"{base}/old%20%26%20new/\">old &amp; new/</a>")), "{page}");
        assert!(page.contains(&format!("<a href=\"{base}/a.txt\">a.txt</a>")), "{page}");
    }
}

#[tokio::test]
async fn refusals_become_codes_of_http() {
    let server = start(Habits::default());
    let gone = get(settings(), &file(&server, "/pub/gone.txt")).await;
    assert_eq!(
        (gone.status, &gone.head[..], gone.failure),
        (404, &b"HTTP/1.0 404 Not Found\r\n\r\n"[..], None)
    );
    assert_eq!(get(settings(), &file(&server, "/other/")).await.status, 404);
    let closed = start(Habits { refuses_login: true, ..Habits::default() });
    assert_eq!(get(settings(), &file(&closed, "/pub/")).await.status, 403);
    let full = Server::start(|_, mut peer| {
        peer.say("421 Too many\r\n");
    });
    assert_eq!(get(settings(), &file(&full, "/pub/")).await.status, 503);
    let broken = start(Habits { breaks_off: true, ..Habits::default() });
    let answer = get(settings(), &file(&broken, "/pub/a%20b.txt")).await;
    assert_eq!((answer.cut, answer.failure), (Some(Cut::Disconnect), Some(Reason::ConnectionLost)));
    assert_eq!(answer.body, b"Hello, world");
}

#[tokio::test]
async fn a_path_is_one_command() {
    let server = start(Habits::default());
    for path in ["/a%0D%0ADELE%20b", "/%0a/", "/a%00"] {
        assert_eq!(get(settings(), &file(&server, path)).await.failure, Some(Reason::Scheme), "{path}");
    }
    assert_eq!(get(settings(), &file(&server, "/pub/a.zip")).await.failure, Some(Reason::MediaType));
    let blocked = get(FetchSettings::default(), &file(&server, "/pub/")).await;
    assert_eq!(blocked.failure, Some(Reason::BlockedAddress));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn limits_hold_here_too() {
    let chatter = Server::start(|_, mut peer| {
        peer.say_for_ever("220-and another thing\r\n".repeat(100), Duration::ZERO);
    });
    assert_eq!(get(settings(), &file(&chatter, "/a")).await.failure, Some(Reason::BadAnswer));
    let garbage = Server::start(|_, mut peer| {
        peer.say("HTTP/1.1 400 Bad Request\r\n");
        peer.wait_for_end();
    });
    assert_eq!(get(settings(), &file(&garbage, "/a")).await.failure, Some(Reason::BadAnswer));
    let silent = Server::start(|_, mut peer| peer.wait_for_end());
    let hurry = FetchSettings { first_byte_timeout: Duration::from_millis(50), ..settings() };
    assert_eq!(get(hurry, &file(&silent, "/a")).await.failure, Some(Reason::FirstByteTimedOut));
    let server = start(Habits::default());
    let page = file(&server, "/pub/a%20b.txt");
    let (answer, _) = fetcher(settings()).fetch(&FetchJob { body_bytes: 5, ..job(&page) }, None).await;
    assert_eq!((&answer.body[..], answer.cut, answer.failure), (&b"Hello"[..], Some(Cut::Length), None));
}
