//! Access control and limits, tested with hostile requests.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::archive::{Sample, program};
use crate::served::Served;

const TOKEN: &str = "0123456789abcdef0123";

fn one_page() -> Sample {
    Sample::of(&[("https://a.test/", "<title>A</title><p>one page about rivers")])
}

/// The CSRF token in a form of a page.
fn csrf_token(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"csrf_token\" value=\"").unwrap();
    rest.split('"').next().unwrap()
}

#[test]
fn only_allowed_hosts_are_accepted() {
    let sample = one_page();
    std::fs::write(sample.path().join("weir.toml"), "[web]\nallowed_hosts = ['search.example.org']\n")
        .unwrap();
    let served = Served::start(&sample.dir(), &[]);
    let port = served.address.port();
    let status = |host: &str| served.request("GET", "/api/v1/status", &[("Host", host)], "").status;
    for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:9", "10.0.0.1:80", "search.example.org"] {
        assert_eq!(status(host), 200, "{host}");
    }
    let rebound = format!("evil.example:{port}");
    for host in [rebound.as_str(), "localhost.evil.example", "127.0.0.1.evil.example", "", "a b"] {
        assert_eq!(status(host), 421, "{host}");
    }
    let raw = |lines: &str| served.send(format!("{lines}\r\nConnection: close\r\n\r\n").as_bytes()).status;
    // The host of an absolute URL counts too, and two Host headers contradict each other.
    assert_eq!(raw("GET http://localhost/health HTTP/1.1\r\nHost: localhost"), 200);
    assert_eq!(raw("GET http://evil.example/health HTTP/1.1\r\nHost: localhost"), 421);
    assert_eq!(raw("GET http://localhost/health HTTP/1.1\r\nHost: evil.example"), 421);
    assert_eq!(raw("GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example"), 400);
    assert_eq!(raw("GET /health HTTP/1.1"), 421);
}

#[test]
fn a_token_is_required_off_loopback() {
    let sample = one_page();
    let serve = |arguments: &[&str]| {
        let output = Command::new(program()).args(["serve", &sample.dir()]).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, stderr) = serve(&["--listen", "0.0.0.0:0"]);
    assert!(code == Some(2) && stderr.contains("--token-file"), "{stderr}");
    let weak = sample.file("weak", "secret");
    let (code, stderr) = serve(&["--listen", "0.0.0.0:0", "--token-file", weak.to_str().unwrap()]);
    assert!(code == Some(2) && stderr.contains("at least 16 characters"), "{stderr}");
    let (code, stderr) = serve(&["--token-file", "/nowhere/at/all"]);
    assert!(code == Some(2) && stderr.contains("cannot read"), "{stderr}");
    let (code, stderr) = serve(&["--listen", "localhost"]);
    assert!(code == Some(2) && stderr.contains("--listen"), "{stderr}");
}

#[test]
fn a_set_token_is_required_for_everything() {
    let sample = one_page();
    let file = sample.file("token", &format!("{TOKEN}\n"));
    let served = Served::start(&sample.dir(), &["--token-file", file.to_str().unwrap()]);
    let bearer = |token: &str| format!("Bearer {token}");
    for path in ["/api/v1/status", "/api/v1/search?q=a", "/metrics", "/api/v1/nothing"] {
        assert_eq!(served.get(path).status, 401, "{path}");
        let wrong = served.request("GET", path, &[("Authorization", &bearer("0123456789abcdef012x"))], "");
        assert_eq!(wrong.status, 401, "{path}");
    }
    for path in
        ["/", "/sites", "/cached?page_id=0", "/cached/file?page_id=0", "/report/full", "/dashboard/live"]
    {
        let reply = served.get(path);
        assert_eq!((reply.status, reply.header("location")), (303, "/login"), "{path}");
        assert!(reply.header("set-cookie").is_empty() && !reply.body.contains("rivers"), "{path}");
    }
    assert_eq!(served.get("/health").status, 200);
    assert!(!served.get("/login").body.contains("rivers"), "the name of the collection is hidden");
    let authorized = served.request("GET", "/api/v1/status", &[("Authorization", &bearer(TOKEN))], "");
    assert_eq!(authorized.status, 200);

    let wrong = served.request("POST", "/login", &[], "token=0123456789abcdef012x");
    assert!(wrong.status == 403 && wrong.header("set-cookie").is_empty(), "{wrong:?}");
    let login = served.request("POST", "/login", &[], &format!("token={TOKEN}"));
    assert_eq!(login.status, 303);
    let cookie = login.cookie();
    for part in ["HttpOnly", "SameSite=Strict"] {
        assert!(login.header("set-cookie").contains(part), "{}", login.head);
    }
    assert!(!cookie.contains(TOKEN));
    assert_eq!(served.request("GET", "/sites", &[("Cookie", cookie)], "").status, 200);
}

#[test]
fn changes_need_cookie_and_csrf_token() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    let cookie = served.log_in();
    let cookie = cookie.as_str();
    let page = served.request("GET", "/snapshots", &[("Cookie", cookie)], "");
    let csrf_token = csrf_token(&page.body);
    let form = format!("csrf_token={csrf_token}&name=first-crawl");
    let origin = served.url("");
    let create = |headers: &[(&str, &str)], form: &str| {
        served.request("POST", "/snapshots/create", headers, form).status
    };
    let rejected: [(&[(&str, &str)], &str); 7] = [
        (&[], &form),
        (&[("Cookie", cookie)], "name=first-crawl"),
        (&[("Cookie", cookie)], "csrf_token=0&name=first-crawl"),
        (&[("Cookie", "weir-1=1")], &form),
        (&[("Cookie", cookie), ("Origin", "https://evil.example")], &form),
        (&[("Cookie", cookie), ("Origin", "null")], &form),
        (&[("Cookie", cookie), ("Sec-Fetch-Site", "cross-site")], &form),
    ];
    for (headers, form) in rejected {
        assert_eq!(create(headers, form), 403, "{headers:?} {form}");
    }
    assert!(!served.get("/snapshots").body.contains("first-crawl"));
    let own_page = [("Cookie", cookie), ("Origin", origin.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(create(&own_page, &form), 303);
    assert!(served.get("/snapshots").body.contains("first-crawl"));
    assert_eq!(served.get("/api/v1/snapshots").json()["snapshots"][0]["name"], "first-crawl");
    // An invalid name.
    assert_eq!(create(&own_page, &format!("csrf_token={csrf_token}&name=7")), 400);
    assert_eq!(served.request("GET", "/snapshots/create", &own_page, "").status, 405, "GET is not allowed");
    // No crawl runs in this process.
    assert_eq!(served.request("POST", "/api/v1/crawl/pause", &own_page, &form).status, 409);
    assert_eq!(served.request("POST", "/api/v1/crawl/pause", &[], "").status, 403);
}

#[test]
fn access_without_the_generated_token_is_read_only() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    for path in ["/", "/snapshots", "/dashboard", "/api/v1/status", "/login"] {
        let reply = served.get(path);
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.header("set-cookie").is_empty(), "{path} sets a cookie: {}", reply.head);
        assert!(!reply.body.contains("name=\"csrf_token\""), "{path}");
    }
    assert!(served.get("/snapshots").body.contains("href=\"/login?to=/snapshots\""));
    for (path, form) in
        [("/snapshots/create", "name=kept"), ("/dashboard/stop", ""), ("/api/v1/crawl/stop", "")]
    {
        assert_eq!(served.request("POST", path, &[], form).status, 403, "{path}");
    }
    // The login URL sets the cookie and redirects.
    let token = served.login.split_once("?token=").unwrap().1;
    let wrong = served.get(&format!("/login?token={}", "0".repeat(token.len())));
    assert!(wrong.status == 403 && wrong.header("set-cookie").is_empty(), "{wrong:?}");
    let authorized = served.get(&format!("{}&to=/snapshots", served.login));
    assert_eq!((authorized.status, authorized.header("location")), (303, "/snapshots"));
    for part in ["HttpOnly", "SameSite=Strict"] {
        assert!(authorized.header("set-cookie").contains(part), "{}", authorized.head);
    }
    assert!(!authorized.header("set-cookie").contains(token));
    let elsewhere = served.get(&format!("{}&to=//evil.example/", served.login));
    assert_eq!(elsewhere.header("location"), "/", "no open redirect");
    // Programs send the token; the command fails only because no crawl runs.
    let bearer = format!("Bearer {token}");
    let command = served.request("POST", "/api/v1/crawl/stop", &[("Authorization", &bearer)], "");
    assert_eq!(command.status, 409);
}

#[test]
fn cross_site_requests_are_refused_except_navigation() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    let status = |site: &str, mode: &str, purpose: &str, path: &str| {
        let headers = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", purpose)];
        served.request("GET", path, &headers, "").status
    };
    for site in ["cross-site", "same-site"] {
        assert_eq!(status(site, "navigate", "document", "/?q=rivers"), 200, "{site}: a link");
        assert_eq!(status(site, "navigate", "iframe", "/"), 403, "{site}");
        assert_eq!(status(site, "no-cors", "image", "/assets/icon.svg"), 403, "{site}");
        assert_eq!(status(site, "no-cors", "empty", "/api/v1/search?q=rivers"), 403, "{site}");
        assert_eq!(status(site, "cors", "empty", "/stream"), 403, "{site}");
    }
    assert_eq!(status("none", "navigate", "document", "/"), 200, "a URL typed by the user");
    assert_eq!(status("same-origin", "cors", "empty", "/dashboard/live"), 200);
}

#[test]
fn no_path_exposes_a_file() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    for path in [
        "/assets/../../../../etc/passwd",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/assets/%2e%2e/%2e%2e/MANIFEST",
        "/report/data/..%2f..%2fweir.toml",
        "/report/data/%00",
        "/MANIFEST",
        "//etc/passwd",
        "/cached/file?url=file:///etc/passwd",
    ] {
        let reply = served.get(path);
        assert!([400, 404].contains(&reply.status), "{path}: {}", reply.head);
        assert!(!reply.body.contains("root:"), "{path}");
    }
}

#[test]
fn oversized_requests_are_refused() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    let long = "x".repeat(100_000);
    let status = |request: &str| served.send(request.as_bytes()).status;
    assert!([414, 431, 400].contains(&status(&format!(
        "GET /?q={long} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    ))));
    assert!([431, 400].contains(&status(&format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\nConnection: close\r\n\r\n"
    ))));
    assert_eq!(served.get(&format!("/api/v1/search?q={}", "x".repeat(5_000))).status, 400);
    let cookie = served.log_in();
    let page = served.request("GET", "/snapshots", &[("Cookie", &cookie)], "");
    let form = format!("csrf_token={}&name={long}", csrf_token(&page.body));
    let reply = served.request("POST", "/snapshots/create", &[("Cookie", &cookie)], &form);
    assert!([400, 413].contains(&reply.status), "{reply:?}");
    // Deeply nested queries are rejected, and the server stays responsive.
    let deep = "(".repeat(2_000);
    assert_eq!(served.get(&format!("/api/v1/search?q={deep}")).status, 400);
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn slow_clients_do_not_block_others() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    // Half a request on each of many connections.
    let idle: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(served.address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
            stream
        })
        .collect();
    let start = Instant::now();
    assert_eq!(served.get("/health").status, 200);
    assert!(start.elapsed() < Duration::from_secs(5));
    let mut first = idle.into_iter().next().unwrap();
    first.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    let mut left = Vec::new();
    // The connection is closed, with or without a response.
    let ended = first.read_to_end(&mut left);
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
}

#[test]
fn clients_that_read_nothing_are_disconnected() {
    let text = "river ".repeat(60_000);
    let sample = Sample::of(&[("https://a.test/", &text)]);
    let served = Served::start(&sample.dir(), &[]);
    let mut stream = TcpStream::connect(served.address).unwrap();
    // More than fits into the socket buffers.
    let requests = "GET /cached/file?page_id=0 HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    stream.write_all(requests.as_bytes()).unwrap();
    let start = Instant::now();
    // Writing to a closed connection fails.
    while stream.write_all(b"G").is_ok() {
        assert!(start.elapsed() < Duration::from_secs(90), "the connection is still open");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(start.elapsed() > Duration::from_secs(15), "closed before the write timeout");
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn connections_per_client_are_limited() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    let mut held = Vec::new();
    let rejected = loop {
        assert!(held.len() < 1_000, "no limit on connections");
        held.push(TcpStream::connect(served.address).unwrap());
        let reply = served.get("/health");
        if reply.status != 200 {
            break reply;
        }
    };
    assert_eq!((rejected.status, rejected.header("retry-after")), (503, "5"), "{rejected:?}");
    assert!(rejected.body.contains("too many connections"), "{}", rejected.body);
    assert!(held.len() >= 100, "limit of {}", held.len());
    drop(held);
    let start = Instant::now();
    while served.get("/health").status != 200 {
        assert!(start.elapsed() < Duration::from_secs(10), "closed connections still count");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Connection from another loopback address, of which the server gets only the beginning of a request.
fn connect_from(host: Ipv4Addr, served: &Served, sent: &[u8]) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let connected = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((host, 0).into()).unwrap();
        socket.connect(served.address).await.unwrap().into_std().unwrap()
    });
    connected.set_nonblocking(false).unwrap();
    // The server may have closed the connection already.
    let _ = (&connected).write_all(sent);
    connected
}

#[test]
fn connections_without_a_request_do_not_keep_others_out() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    let mut first = connect_from(Ipv4Addr::new(127, 0, 0, 2), &served, b"");
    let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let held: Vec<TcpStream> = (0..600u16)
        .map(|number| {
            // Nothing, half a request, and a connection that was used before.
            let sent = [b"".as_slice(), b"GET / HTTP/1.1\r\nHost: local", request][usize::from(number % 3)];
            connect_from(Ipv4Addr::new(127, 0, 1, (number % 100) as u8), &served, sent)
        })
        .collect();
    let start = Instant::now();
    assert_eq!(served.get("/health").status, 200);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // A client with few connections keeps them.
    first.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    first.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    drop(held);
}

#[test]
fn responses_have_security_headers() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    for path in ["/", "/?q=rivers", "/sites", "/dashboard", "/nothing", "/api/v1/status", "/cached?page_id=0"]
    {
        let reply = served.get(path);
        let policy = reply.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(reply.header("referrer-policy"), "same-origin", "{path}");
        assert!(!reply.body.contains("<script>") && !reply.body.contains(" style="), "{path}");
    }
    let content = served.get("/cached/content?page_id=0");
    let policy = content.header("content-security-policy");
    assert!(policy.contains("sandbox") && !policy.contains("script"), "{policy}");
    let file = served.get("/cached/file?page_id=0");
    assert!(file.header("content-disposition").starts_with("attachment"), "{}", file.head);
    assert_eq!(file.header("content-type"), "application/octet-stream");
}

#[test]
fn a_wrong_method_is_reported_with_the_allowed_ones() {
    let sample = one_page();
    let token = sample.file("token", TOKEN);
    let served = Served::start(&sample.dir(), &["--token-file", token.to_str().unwrap()]);
    let bearer = format!("Bearer {TOKEN}");
    for (method, path) in
        [("DELETE", "/api/v1/status"), ("PUT", "/api/v1/search"), ("GET", "/api/v1/crawl/pause")]
    {
        let reply = served.request(method, path, &[("Authorization", &bearer)], "");
        assert_eq!(reply.status, 405, "{method} {path}: {reply:?}");
        assert_eq!(reply.json()["error"], "method-not-allowed", "{method} {path}");
        assert!(!reply.header("allow").is_empty(), "{method} {path}: {}", reply.head);
    }
}
