//! ftp, with a scripted server.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use crate::support::{Peer, Server, fetcher, get, request_for, settings, url};
use fetch::{FetchRequest, FetchSettings};
use model::{CanonicalUrl, Reason, Truncation};

/// Features and faults of a server.
#[derive(Clone, Copy, Default)]
struct Behaviour {
    lacks_epsv: bool,
    lacks_mlsd: bool,
    rejects_login: bool,
    /// Sends the address of another host in its reply to PASV.
    sends_wrong_address: bool,
    aborts_transfer: bool,
    /// Names port 25 for the data connection.
    names_mail_port: bool,
}

const UNIX_LISTING: &str =
    "total 2\r\ndrwxr-xr-x 2 ftp ftp 4096 Jan 1 2020 old & new\r\n-rw-r--r-- 1 0 0 12 Feb 3 10:00 a.txt\r\n";
const MLSD_LISTING: &str = "type=cdir; .\r\ntype=dir; old & new\r\ntype=file;size=12; a.txt\r\n";

fn start(behaviour: Behaviour) -> Server {
    Server::start(move |_, mut peer| {
        peer.send("220-Welcome\r\n 220 to what?\r\n221 no\r\n220 ready\r\n");
        let mut data = None;
        while let Some(line) = peer.read_line() {
            let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
            match command {
                "USER" if behaviour.rejects_login => peer.send("530 Not logged in\r\n"),
                "USER" => peer.send("331 Password?\r\n"),
                "PASS" => peer.send("230-Hello\r\n 230 not yet\r\n230 Done\r\n"),
                "TYPE" => peer.send("200 ok\r\n"),
                "EPSV" if behaviour.lacks_epsv => peer.send("500 What?\r\n"),
                "EPSV" | "PASV" => passive(&mut peer, command, behaviour, &mut data),
                "CWD" => peer.send(if argument.starts_with("/pub") && !argument.ends_with("txt") {
                    "250 ok\r\n"
                } else {
                    "550 no\r\n"
                }),
                "MLSD" if behaviour.lacks_mlsd => peer.send("502 What?\r\n"),
                "MLSD" => send(&mut peer, &mut data, MLSD_LISTING, behaviour),
                "LIST" => send(&mut peer, &mut data, UNIX_LISTING, behaviour),
                "RETR" if argument == "/pub/a b.txt" => send(&mut peer, &mut data, "Hello, world", behaviour),
                _ => peer.send("550 No such file\r\n"),
            };
        }
    })
}

fn passive(peer: &mut Peer, command: &str, behaviour: Behaviour, data: &mut Option<TcpListener>) -> bool {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = if behaviour.names_mail_port { 25 } else { listener.local_addr().unwrap().port() };
    *data = Some(listener);
    let [high, low] = port.to_be_bytes();
    let host = if behaviour.sends_wrong_address { "10,0,0,1" } else { "127,0,0,1" };
    match command {
        "EPSV" => peer.send(format!("229 Extended (|||{port}|)\r\n")),
        _ => peer.send(format!("227 Passive ({host},{high},{low})\r\n")),
    }
}

fn send(peer: &mut Peer, data: &mut Option<TcpListener>, what: &str, behaviour: Behaviour) -> bool {
    let (mut stream, _) = data.take().unwrap().accept().unwrap();
    peer.send("150 Here it comes\r\n");
    stream.write_all(what.as_bytes()).unwrap();
    drop(stream);
    peer.send(if behaviour.aborts_transfer { "426 Sorry\r\n" } else { "226 Done\r\n" })
}

fn file(server: &Server, path: &str) -> CanonicalUrl {
    url(&format!("ftp://{}{path}", server.address))
}

#[tokio::test]
async fn a_file_is_fetched_in_either_passive_mode() {
    for behaviour in [
        Behaviour::default(),
        Behaviour { lacks_epsv: true, ..Behaviour::default() },
        Behaviour { lacks_epsv: true, sends_wrong_address: true, ..Behaviour::default() },
    ] {
        let server = start(behaviour);
        let settings = FetchSettings { from: "crawl@example.org".to_owned(), ..settings() };
        let response = get(settings, &file(&server, "/pub/a%20b.txt")).await;
        assert_eq!((response.status, response.truncation, response.failure), (200, None, None));
        assert_eq!(response.head, b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n");
        assert_eq!(
            (response.protocols, &response.request[..]),
            (&["ftp"][..], &b"RETR /pub/a b.txt\r\n"[..])
        );
        assert_eq!(response.body, b"Hello, world");
        assert!(response.latency_ms.unwrap() <= response.duration_ms.unwrap());
        assert_eq!(server.requests()[..2], ["USER anonymous", "PASS crawl@example.org"]);
    }
}

#[tokio::test]
async fn a_directory_becomes_a_page_of_links() {
    for (lacks_mlsd, path) in [(false, "/pub/"), (true, "/pub/"), (false, "/pub/sub")] {
        let server = start(Behaviour { lacks_mlsd, ..Behaviour::default() });
        let response = get(settings(), &file(&server, path)).await;
        assert_eq!((response.status, response.failure), (200, None));
        assert_eq!(response.head, b"HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n");
        let page = String::from_utf8(response.body).unwrap();
        let base = path.trim_end_matches('/');
        assert!(page.contains(&format!("<a href=\"{base}/old%20%26%20new/\">old &amp; new/</a>")), "{page}");
        assert!(page.contains(&format!("<a href=\"{base}/a.txt\">a.txt</a>")), "{page}");
    }
}

#[tokio::test]
async fn reply_codes_become_http_statuses() {
    let server = start(Behaviour::default());
    let gone = get(settings(), &file(&server, "/pub/gone.txt")).await;
    assert_eq!(
        (gone.status, &gone.head[..], gone.failure),
        (404, &b"HTTP/1.0 404 Not Found\r\n\r\n"[..], None)
    );
    assert_eq!(get(settings(), &file(&server, "/other/")).await.status, 404);
    let closed = start(Behaviour { rejects_login: true, ..Behaviour::default() });
    assert_eq!(get(settings(), &file(&closed, "/pub/")).await.status, 403);
    let full = Server::start(|_, mut peer| {
        peer.send("421 Too many\r\n");
    });
    assert_eq!(get(settings(), &file(&full, "/pub/")).await.status, 503);
    let broken = start(Behaviour { aborts_transfer: true, ..Behaviour::default() });
    let response = get(settings(), &file(&broken, "/pub/a%20b.txt")).await;
    assert_eq!(
        (response.truncation, response.failure),
        (Some(Truncation::Disconnect), Some(Reason::ConnectionClosed))
    );
    assert_eq!(response.body, b"Hello, world");
}

#[tokio::test]
async fn a_path_cannot_inject_a_command() {
    let server = start(Behaviour::default());
    for path in ["/a%0D%0ADELE%20b", "/%0a/", "/a%00"] {
        assert_eq!(
            get(settings(), &file(&server, path)).await.failure,
            Some(Reason::SchemeNotAllowed),
            "{path}"
        );
    }
    assert_eq!(get(settings(), &file(&server, "/pub/a.zip")).await.failure, Some(Reason::MimeType));
    let blocked = get(FetchSettings::default(), &file(&server, "/pub/")).await;
    assert_eq!(blocked.failure, Some(Reason::IpBlocked));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_server_cannot_direct_the_data_connection_to_a_port_of_another_protocol() {
    for lacks_epsv in [false, true] {
        let server = start(Behaviour { names_mail_port: true, lacks_epsv, ..Behaviour::default() });
        let response = get(settings(), &file(&server, "/pub/a%20b.txt")).await;
        assert_eq!(response.failure, Some(Reason::InvalidResponse));
    }
}

#[tokio::test]
async fn limits_apply_to_ftp() {
    let chatter = Server::start(|_, mut peer| {
        peer.send_forever("220-and another thing\r\n".repeat(100), Duration::ZERO);
    });
    assert_eq!(get(settings(), &file(&chatter, "/a")).await.failure, Some(Reason::InvalidResponse));
    let garbage = Server::start(|_, mut peer| {
        peer.send("HTTP/1.1 400 Bad Request\r\n");
        peer.wait_for_close();
    });
    assert_eq!(get(settings(), &file(&garbage, "/a")).await.failure, Some(Reason::InvalidResponse));
    let silent = Server::start(|_, mut peer| peer.wait_for_close());
    let short = FetchSettings { first_byte_timeout: Duration::from_millis(50), ..settings() };
    assert_eq!(get(short, &file(&silent, "/a")).await.failure, Some(Reason::FirstByteTimeout));
    let server = start(Behaviour::default());
    let page = file(&server, "/pub/a%20b.txt");
    let (response, _) =
        fetcher(settings()).fetch(&FetchRequest { max_body_bytes: 5, ..request_for(&page) }, None).await;
    assert_eq!(
        (&response.body[..], response.truncation, response.failure),
        (&b"Hello"[..], Some(Truncation::Length), None)
    );
}
