//! Requests through an HTTP proxy.

use std::net::{IpAddr, TcpStream};

use crate::support::{Peer, Server, fetcher, ok, request_for, settings, url};
use fetch::{BasicCredentials, FetchRequest, FetchSettings, LocalFault, Proxy};
use model::Reason;
use simweb::{Endpoints, PageRef, Settings, SimWeb};

const TARGET: &str = "93.184.215.14";

fn behind(server: &Server, with_password: bool) -> FetchSettings {
    let credentials =
        with_password.then(|| BasicCredentials { user: "a".to_owned(), password: "b".to_owned() });
    // Public addresses only; the address of the proxy itself is exempt.
    FetchSettings {
        proxy: Some(Proxy { address: server.address, credentials }),
        network_filter: fetch::NetworkFilter::public(),
        ..settings()
    }
}

fn target() -> IpAddr {
    TARGET.parse().unwrap()
}

#[tokio::test]
async fn a_proxy_receives_the_complete_url() {
    let server = Server::responding(ok("by proxy"));
    let fetcher = fetcher(behind(&server, true));
    let mut reusable = None;
    for page in ["http://a.example:8080/b?c", "ftp://a.example/b.txt", "gopher://a.example/1/b"] {
        let page = url(page);
        let (response, connection) =
            fetcher.fetch(&FetchRequest { address: target(), ..request_for(&page) }, reusable).await;
        assert_eq!((&response.body[..], response.address), (&b"by proxy"[..], Some(target())));
        let request = server.requests().pop().unwrap();
        assert!(request.starts_with(&format!("GET {page} HTTP/1.1\r\nHost: a.example")), "{request}");
        assert!(request.contains("\r\nProxy-Authorization: Basic YTpi\r\n"));
        let stored = String::from_utf8(response.request).unwrap();
        assert_eq!(stored, request.replace("Proxy-Authorization: Basic YTpi\r\n", ""), "it is not stored");
        reusable = connection;
    }
}

#[tokio::test]
async fn blocked_addresses_are_not_requested_from_a_proxy() {
    let server = Server::responding(ok("secret"));
    let fetcher = fetcher(behind(&server, false));
    for page in ["http://127.0.0.1/", "https://[::1]/", "http://a.example/"] {
        let page = url(page);
        let (response, _) = fetcher.fetch(&request_for(&page), None).await;
        assert_eq!(response.failure, Some(Reason::IpBlocked), "{page}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_proxy_that_requires_authentication_is_a_failure() {
    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
    let server = Server::responding(refusal);
    let fetcher = fetcher(behind(&server, false));
    for page in ["http://a.example/", "https://a.example/"] {
        let page = url(page);
        let (response, _) =
            fetcher.fetch(&FetchRequest { address: target(), ..request_for(&page) }, None).await;
        let expected =
            if page.as_str().starts_with("https") { (0, Some(Reason::ProxyFailed)) } else { (407, None) };
        assert_eq!((response.status, response.failure), expected, "{page}");
        assert_eq!(response.local_fault, Some(LocalFault::ProxyAuthentication), "{page}");
    }
    let connect = format!("CONNECT {TARGET}:443 HTTP/1.1\r\nHost: {TARGET}:443\r\n");
    assert!(server.requests()[1].starts_with(&connect));
}

/// Forwards bytes in both directions.
fn forward(client: &mut Peer, server: TcpStream) {
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
    let (server, port) = (web.world.ip_address(4), web.https.port());
    let proxy = Server::start(move |_, mut peer| {
        peer.read_request();
        peer.send("HTTP/1.1 200 Connection established\r\n\r\n");
        forward(&mut peer, TcpStream::connect((server, port)).unwrap());
    });
    let settings =
        FetchSettings { extra_ca_pem: web.authority_pem.clone().into_bytes(), ..behind(&proxy, true) };
    let page = url(&web.world.url(PageRef { site: 4, page: 0 }));
    let fetcher = fetcher(settings);
    let request = FetchRequest { address: target(), max_body_bytes: 100_000, ..request_for(&page) };
    let (response, reusable) = fetcher.fetch(&request, None).await;
    assert_eq!((response.status, response.failure), (200, None));
    assert!(response.body.ends_with(b"</html>\n"));
    let (response, _) = fetcher.fetch(&request, reusable).await;
    assert_eq!((response.status, proxy.connections()), (200, 1));
    let connect = proxy.requests().remove(0);
    assert!(connect.starts_with(&format!("CONNECT {TARGET}:{port} HTTP/1.1\r\n")), "not a name: {connect}");
    let sent = String::from_utf8(response.request.clone()).unwrap();
    assert!(sent.contains(&format!("\r\nHost: {}:{port}\r\n", page.host())), "{sent}");
    assert!(connect.contains("\r\nProxy-Authorization: Basic YTpi\r\n"));
    assert!(!String::from_utf8(response.request).unwrap().contains("Proxy-Authorization"));
}

#[tokio::test]
async fn a_tunnel_with_unexpected_data_or_status_fails() {
    for reply in ["HTTP/1.1 200 OK\r\n\r\nsurprise", "HTTP/1.1 502 Bad Gateway\r\n\r\n", "garbage"] {
        let server = Server::responding_once(reply);
        let page = url("https://a.example/");
        let fetcher = fetcher(behind(&server, false));
        let (response, _) =
            fetcher.fetch(&FetchRequest { address: target(), ..request_for(&page) }, None).await;
        assert_eq!(response.failure, Some(Reason::ProxyFailed), "{reply}");
    }
}

#[tokio::test]
async fn a_proxy_that_cannot_be_reached_is_a_local_fault_and_a_site_behind_it_is_not() {
    let settings = {
        let server = Server::responding(ok(""));
        let closed = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let settings = behind(&server, false);
        FetchSettings { proxy: Some(Proxy { address: closed, credentials: None }), ..settings }
    };
    for page in ["http://a.example/", "https://a.example/"] {
        let page = url(page);
        let request = FetchRequest { address: target(), ..request_for(&page) };
        let (response, _) = fetcher(settings.clone()).fetch(&request, None).await;
        assert_eq!(response.local_fault, Some(LocalFault::ProxyUnavailable), "{page}");
    }
    let proxy = Server::responding_once("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    let page = url("https://a.example/");
    let request = FetchRequest { address: target(), ..request_for(&page) };
    let (response, _) = fetcher(behind(&proxy, false)).fetch(&request, None).await;
    assert_eq!((response.failure, response.local_fault), (Some(Reason::ProxyFailed), None));
}
