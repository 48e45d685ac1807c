//! gopher, with a scripted server.

use crate::support::{Server, fetcher, get, request_for, settings, url};
use fetch::{FetchRequest, FetchSettings};
use model::{CanonicalUrl, Reason, Truncation};

const MENU: &str = "iWelcome <all>\tfake\t(NULL)\t0\r\n0About us\t/about us.txt\texample.org\t70\r\n\
                    1More\t/more\texample.org\t7070\r\nhWeb\tURL:http://example.com/?a&b\texample.org\t70\r\n\
                    rubbish\r\n3Gone\t\t\t\r\n.\r\n1Beyond the end\t/x\texample.org\t70\r\n";

fn serving(response: impl AsRef<[u8]> + Send + Sync + 'static) -> Server {
    Server::start(move |_, mut peer| {
        peer.read_line();
        peer.send(response.as_ref());
    })
}

fn item(server: &Server, path: &str) -> CanonicalUrl {
    url(&format!("gopher://{}{path}", server.address))
}

#[tokio::test]
async fn a_menu_becomes_a_page_of_links() {
    let server = serving(MENU);
    for (path, selector) in [("", ""), ("/1", ""), ("/1/a%20b", "/a b"), ("/7/find%09what", "/find\twhat")] {
        let response = get(settings(), &item(&server, path)).await;
        assert_eq!((response.status, response.truncation, response.failure), (200, None, None));
        assert_eq!(response.head, b"HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n");
        assert_eq!(
            (response.protocols, response.request),
            (&["gopher"][..], format!("{selector}\r\n").into_bytes())
        );
        assert_eq!(server.requests().pop().unwrap(), selector);
        let page = String::from_utf8(response.body).unwrap();
        assert!(page.contains("<li>Welcome &lt;all&gt;\n"));
        assert!(page.contains("<a href=\"gopher://example.org:70/0/about%20us.txt\">About us</a>"));
        assert!(page.contains("<a href=\"gopher://example.org:7070/1/more\">More</a>"));
        assert!(page.contains("<a href=\"http://example.com/?a&amp;b\">Web</a>"));
        assert!(!page.contains("rubbish") && !page.contains("Beyond"));
    }
}

#[tokio::test]
async fn texts_lose_their_terminator_and_other_items_are_unchanged() {
    let server = serving("one\r\ntwo\r\n.\r\n");
    let text = get(settings(), &item(&server, "/0/text")).await;
    assert_eq!(text.head, b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n");
    assert_eq!(text.body, b"one\r\ntwo\r\n");
    let page = get(settings(), &item(&server, "/h/page")).await;
    assert_eq!((page.head.ends_with(b"text/html\r\n\r\n"), page.body.len()), (true, 13));
    let connections = server.connections();
    let image = item(&server, "/g/image");
    assert_eq!(get(settings(), &image).await.failure, Some(Reason::MimeType));
    assert_eq!(server.connections(), connections);
    let (image, _) =
        fetcher(settings()).fetch(&FetchRequest { any_mime_type: true, ..request_for(&image) }, None).await;
    assert_eq!((image.head.ends_with(b"image/gif\r\n\r\n"), image.body.len()), (true, 13));
}

#[tokio::test]
async fn a_selector_cannot_inject_a_request() {
    let server = serving(MENU);
    for path in ["/1/a%0D%0ADELE%201", "/0%0a", "/0a%00"] {
        assert_eq!(
            get(settings(), &item(&server, path)).await.failure,
            Some(Reason::SchemeNotAllowed),
            "{path}"
        );
    }
    let blocked = get(FetchSettings::default(), &item(&server, "/1")).await;
    assert_eq!(blocked.failure, Some(Reason::IpBlocked));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn limits_apply_to_gopher() {
    let server = Server::start(|_, mut peer| {
        peer.read_line();
        peer.send_forever("iline\t\t\t\r\n", std::time::Duration::ZERO);
    });
    for path in ["/1", "/0/text"] {
        let response = get(settings(), &item(&server, path)).await;
        assert_eq!((response.status, response.truncation), (200, Some(Truncation::Length)), "{path}");
        assert!((900..=1000).contains(&response.body.len()), "{path}");
    }
    let silent = Server::start(|_, mut peer| peer.wait_for_close());
    let short = FetchSettings { first_byte_timeout: std::time::Duration::from_millis(50), ..settings() };
    assert_eq!(get(short, &item(&silent, "/1")).await.failure, Some(Reason::FirstByteTimeout));
    let mute = Server::start(|_, mut peer| drop(peer.read_line()));
    let empty = get(settings(), &item(&mute, "/0/a")).await;
    assert_eq!((empty.status, empty.body.len(), empty.failure), (200, 0, None));
}
