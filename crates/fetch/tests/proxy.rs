//! What is asked of a proxy, and what is not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]

mod support;

use std::net::{IpAddr, TcpStream};

use fetch::{Credentials, FetchJob, FetchSettings, Proxy};
use model::Reason;
use simweb::{Endpoints, PageRef, Settings, SimWeb};
use support::{Peer, Server, fetcher, job, ok, settings, url};

const SOMEWHERE: &str = "93.184.215.14";

fn behind(server: &Server, with_password: bool) -> FetchSettings {
    let credentials = with_password.then(|| Credentials { user: "a".to_owned(), password: "b".to_owned() });
    // Public addresses only: the proxy itself is exempt.
    FetchSettings {
        proxy: Some(Proxy { address: server.address, credentials }),
        networks: fetch::Networks::public(),
        ..settings()
    }
}

fn somewhere() -> IpAddr {
    SOMEWHERE.parse().unwrap()
}

#[tokio::test]
async fn a_proxy_gets_the_whole_url() {
    let server = Server::saying(ok("by proxy"));
    let fetcher = fetcher(behind(&server, true));
    let mut kept = None;
    for page in ["http://a.example:8080/b?c", "ftp://a.example/b.txt", "gopher://a.example/1/b"] {
        let page = url(page);
        let (answer, connection) =
            fetcher.fetch(&FetchJob { address: somewhere(), ..job(&page) }, kept).await;
        assert_eq!((&answer.body[..], answer.address), (&b"by proxy"[..], Some(somewhere())));
        let request = server.requests().pop().unwrap();
        assert!(request.starts_with(&format!("GET {page} HTTP/1.1\r\nHost: a.example")), "{request}");
        assert!(request.contains("\r\nProxy-Authorization: Basic YTpi\r\n"));
        kept = connection;
    }
}

#[tokio::test]
async fn blocked_targets_are_not_reached_through_a_proxy() {
    let server = Server::saying(ok("secret"));
    let fetcher = fetcher(behind(&server, false));
    for page in ["http://127.0.0.1/", "https://[::1]/", "http://a.example/"] {
        let page = url(page);
        let (answer, _) = fetcher.fetch(&job(&page), None).await;
        assert_eq!(answer.failure, Some(Reason::BlockedAddress), "{page}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_proxy_that_does_not_know_us_is_no_page() {
    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
    let server = Server::saying(refusal);
    let fetcher = fetcher(behind(&server, false));
    for page in ["http://a.example/", "https://a.example/"] {
        let page = url(page);
        let (answer, _) = fetcher.fetch(&FetchJob { address: somewhere(), ..job(&page) }, None).await;
        assert_eq!((answer.status, answer.failure), (0, Some(Reason::ProxyFailed)), "{page}");
    }
    assert!(server.requests()[1].starts_with("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n"));
}

/// Passes bytes on in both directions.
fn pass_on(client: &mut Peer, server: TcpStream) {
    let (mut from_client, mut to_server) = (client.stream.try_clone().unwrap(), server.try_clone().unwrap());
    let up = std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
    let mut from_server = server;
    std::io::copy(&mut from_server, &mut client.stream).ok();
    drop(up);
}

#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let web = SimWeb::start(Settings { sites: 10, https: 1.0, ..Settings::plain() }, &Endpoints::default())
        .unwrap();
    let (target, port) = (web.world.address(4), web.https.port());
    let proxy = Server::start(move |_, mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 Connection established\r\n\r\n");
        pass_on(&mut peer, TcpStream::connect((target, port)).unwrap());
    });
    let settings =
        FetchSettings { extra_roots_pem: web.authority_pem.clone().into_bytes(), ..behind(&proxy, true) };
    let page = url(&web.world.url(PageRef { site: 4, page: 0 }));
    let fetcher = fetcher(settings);
    let asked = FetchJob { address: somewhere(), body_bytes: 100_000, ..job(&page) };
    let (answer, kept) = fetcher.fetch(&asked, None).await;
    assert_eq!((answer.status, answer.failure), (200, None));
    assert!(answer.body.ends_with(b"</html>\n"));
    let (answer, _) = fetcher.fetch(&asked, kept).await;
    assert_eq!((answer.status, proxy.connections()), (200, 1));
    let connect = proxy.requests().remove(0);
    assert!(connect.starts_with(&format!("CONNECT {}:{port} HTTP/1.1\r\n", page.host())));
    assert!(connect.contains("\r\nProxy-Authorization: Basic YTpi\r\n"));
    assert!(!String::from_utf8(answer.request).unwrap().contains("Proxy-Authorization"));
}

#[tokio::test]
async fn a_tunnel_that_speaks_first_is_none() {
    for reply in ["HTTP/1.1 200 OK\r\n\r\nsurprise", "HTTP/1.1 502 Bad Gateway\r\n\r\n", "garbage"] {
        let server = Server::saying_once(reply);
        let page = url("https://a.example/");
        let fetcher = fetcher(behind(&server, false));
        let (answer, _) = fetcher.fetch(&FetchJob { address: somewhere(), ..job(&page) }, None).await;
        assert_eq!(answer.failure, Some(Reason::ProxyFailed), "{reply}");
    }
}
