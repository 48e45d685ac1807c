//! Who may ask what? Requests as strangers would send them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::archive::{Sample, program};
use crate::served::Served;

const TOKEN: &str = "0123456789abcdef0123";

fn one_page() -> Sample {
    Sample::of(&[("https://a.test/", "<title>A</title><p>one page about rivers")])
}

/// The secret in a form of a page.
fn secret(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"secret\" value=\"").unwrap();
    rest.split('"').next().unwrap()
}

#[test]
fn only_names_of_ours_are_answered() {
    let sample = one_page();
    std::fs::write(sample.path().join("weir.toml"), "[web]\nnames = ['search.example.org']\n").unwrap();
    let served = Served::start(&sample.dir(), &[]);
    let port = served.address.port();
    let status = |host: &str| served.ask("GET", "/api/v1/status", &[("Host", host)], "").status;
    for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:9", "10.0.0.1:80", "search.example.org"] {
        assert_eq!(status(host), 200, "{host}");
    }
    let rebound = format!("evil.example:{port}");
    for host in [rebound.as_str(), "localhost.evil.example", "127.0.0.1.evil.example", "", "a b"] {
        assert_eq!(status(host), 421, "{host}");
    }
}

#[test]
fn a_server_for_others_wants_a_token() {
    let sample = one_page();
    let serve = |arguments: &[&str]| {
        let output = Command::new(program()).args(["serve", &sample.dir()]).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = serve(&["--listen", "0.0.0.0:0"]);
    assert!(code == Some(2) && said.contains("--token-file"), "{said}");
    let weak = sample.file("weak", "secret");
    let (code, said) = serve(&["--listen", "0.0.0.0:0", "--token-file", weak.to_str().unwrap()]);
    assert!(code == Some(2) && said.contains("at least 16 characters"), "{said}");
    let (code, said) = serve(&["--token-file", "/nowhere/at/all"]);
    assert!(code == Some(2) && said.contains("cannot read"), "{said}");
    let (code, said) = serve(&["--listen", "localhost"]);
    assert!(code == Some(2) && said.contains("--listen"), "{said}");
}

#[test]
fn with_a_token_nothing_is_told_without_it() {
    let sample = one_page();
    let file = sample.file("token", &format!("{TOKEN}\n"));
    let served = Served::start(&sample.dir(), &["--token-file", file.to_str().unwrap()]);
    let bearer = |token: &str| format!("Bearer {token}");
    for path in ["/api/v1/status", "/api/v1/search?q=a", "/metrics", "/api/v1/nothing"] {
        assert_eq!(served.get(path).status, 401, "{path}");
        let wrong = served.ask("GET", path, &[("Authorization", &bearer("0123456789abcdef012x"))], "");
        assert_eq!(wrong.status, 401, "{path}");
    }
    for path in ["/", "/sites", "/cached?id=0", "/cached/file?id=0", "/report/whole", "/dashboard/live"] {
        let reply = served.get(path);
        assert_eq!((reply.status, reply.header("location")), (303, "/login"), "{path}");
        assert!(reply.header("set-cookie").is_empty() && !reply.body.contains("rivers"), "{path}");
    }
    assert_eq!(served.get("/health").status, 200);
    assert!(!served.get("/login").body.contains("rivers"), "not even the name of the collection");
    let right = served.ask("GET", "/api/v1/status", &[("Authorization", &bearer(TOKEN))], "");
    assert_eq!(right.status, 200);

    let wrong = served.ask("POST", "/login", &[], "token=0123456789abcdef012x");
    assert!(wrong.status == 403 && wrong.header("set-cookie").is_empty(), "{wrong:?}");
    let login = served.ask("POST", "/login", &[], &format!("token={TOKEN}"));
    assert_eq!(login.status, 303);
    let cookie = login.cookie();
    for part in ["HttpOnly", "SameSite=Strict"] {
        assert!(login.header("set-cookie").contains(part), "{}", login.head);
    }
    assert!(!cookie.contains(TOKEN));
    assert_eq!(served.ask("GET", "/sites", &[("Cookie", cookie)], "").status, 200);
}

#[test]
fn what_changes_something_comes_from_our_pages() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    let cookie = served.log_in();
    let cookie = cookie.as_str();
    let page = served.ask("GET", "/snapshots", &[("Cookie", cookie)], "");
    let secret = secret(&page.body);
    let form = format!("secret={secret}&name=kept");
    let origin = served.url("");
    let keep =
        |headers: &[(&str, &str)], form: &str| served.ask("POST", "/snapshots/keep", headers, form).status;
    let refused: [(&[(&str, &str)], &str); 7] = [
        (&[], &form),
        (&[("Cookie", cookie)], "name=kept"),
        (&[("Cookie", cookie)], "secret=0&name=kept"),
        (&[("Cookie", "weir-1=1")], &form),
        (&[("Cookie", cookie), ("Origin", "https://evil.example")], &form),
        (&[("Cookie", cookie), ("Origin", "null")], &form),
        (&[("Cookie", cookie), ("Sec-Fetch-Site", "cross-site")], &form),
    ];
    for (headers, form) in refused {
        assert_eq!(keep(headers, form), 403, "{headers:?} {form}");
    }
    assert!(!served.get("/snapshots").body.contains("kept"));
    let ours = [("Cookie", cookie), ("Origin", origin.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(keep(&ours, &form), 303);
    assert!(served.get("/snapshots").body.contains("kept"));
    assert_eq!(served.get("/api/v1/snapshots").json()["snapshots"][0]["name"], "kept");
    // A name that cannot be one.
    assert_eq!(keep(&ours, &format!("secret={secret}&name=7")), 400);
    assert_eq!(served.ask("GET", "/snapshots/keep", &ours, "").status, 400, "not by a link");
    // Nothing that could be steered runs here.
    assert_eq!(served.ask("POST", "/api/v1/crawl/pause", &ours, &form).status, 409);
    assert_eq!(served.ask("POST", "/api/v1/crawl/pause", &[], "").status, 403);
}

#[test]
fn without_the_token_one_may_look_and_change_nothing() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    for path in ["/", "/snapshots", "/dashboard", "/api/v1/status", "/login"] {
        let reply = served.get(path);
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.header("set-cookie").is_empty(), "{path} lets everybody in: {}", reply.head);
        assert!(!reply.body.contains("name=\"secret\""), "{path}");
    }
    assert!(served.get("/snapshots").body.contains("href=\"/login?to=/snapshots\""));
    for (path, form) in
        [("/snapshots/keep", "name=kept"), ("/dashboard/stop", ""), ("/api/v1/crawl/stop", "")]
    {
        assert_eq!(served.ask("POST", path, &[], form).status, 403, "{path}");
    }
    // The address that was told lets in, once, and leads on.
    let token = served.login.split_once("?token=").unwrap().1;
    let wrong = served.get(&format!("/login?token={}", "0".repeat(token.len())));
    assert!(wrong.status == 403 && wrong.header("set-cookie").is_empty(), "{wrong:?}");
    let right = served.get(&format!("{}&to=/snapshots", served.login));
    assert_eq!((right.status, right.header("location")), (303, "/snapshots"));
    for part in ["HttpOnly", "SameSite=Strict"] {
        assert!(right.header("set-cookie").contains(part), "{}", right.head);
    }
    assert!(!right.header("set-cookie").contains(token));
    let elsewhere = served.get(&format!("{}&to=//evil.example/", served.login));
    assert_eq!(elsewhere.header("location"), "/", "nobody is led elsewhere");
    // Programs send the token itself; here there is only nothing to steer.
    let bearer = format!("Bearer {token}");
    let steered = served.ask("POST", "/api/v1/crawl/stop", &[("Authorization", &bearer)], "");
    assert_eq!(steered.status, 409);
}

#[test]
fn pages_of_others_may_lead_here_and_no_more() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    let status = |site: &str, mode: &str, purpose: &str, path: &str| {
        let headers = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", purpose)];
        served.ask("GET", path, &headers, "").status
    };
    for site in ["cross-site", "same-site"] {
        assert_eq!(status(site, "navigate", "document", "/?q=rivers"), 200, "{site}: a link");
        assert_eq!(status(site, "navigate", "iframe", "/"), 403, "{site}");
        assert_eq!(status(site, "no-cors", "image", "/assets/icon.svg"), 403, "{site}");
        assert_eq!(status(site, "no-cors", "empty", "/api/v1/search?q=rivers"), 403, "{site}");
        assert_eq!(status(site, "cors", "empty", "/stream"), 403, "{site}");
    }
    assert_eq!(status("none", "navigate", "document", "/"), 200, "an address that was typed");
    assert_eq!(status("same-origin", "cors", "empty", "/dashboard/live"), 200);
}

#[test]
fn no_path_leads_to_a_file() {
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
fn too_much_is_refused() {
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
    let page = served.ask("GET", "/snapshots", &[("Cookie", &cookie)], "");
    let form = format!("secret={}&name={long}", secret(&page.body));
    let reply = served.ask("POST", "/snapshots/keep", &[("Cookie", &cookie)], &form);
    assert!([400, 413].contains(&reply.status), "{reply:?}");
    // A query that is dear has a limit of its own, and others are answered beside it.
    let deep = "(".repeat(2_000);
    assert_eq!(served.get(&format!("/api/v1/search?q={deep}")).status, 400);
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn who_is_slow_holds_nobody_up() {
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
    let began = Instant::now();
    assert_eq!(served.get("/health").status, 200);
    assert!(began.elapsed() < Duration::from_secs(5));
    let mut first = idle.into_iter().next().unwrap();
    first.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    let mut left = Vec::new();
    // Whether with an answer or without: the connection is closed, and does not last for ever.
    let ended = first.read_to_end(&mut left);
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
}

#[test]
fn who_takes_nothing_holds_no_connection() {
    let text = "river ".repeat(60_000);
    let sample = Sample::of(&[("https://a.test/", &text)]);
    let served = Served::start(&sample.dir(), &[]);
    let mut stream = TcpStream::connect(served.address).unwrap();
    // More than the system keeps on the way for somebody who takes nothing.
    let ask = "GET /cached/file?id=0 HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    stream.write_all(ask.as_bytes()).unwrap();
    let began = Instant::now();
    // Who writes to a connection that is gone is told.
    while stream.write_all(b"G").is_ok() {
        assert!(began.elapsed() < Duration::from_secs(90), "it is held for ever");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(began.elapsed() > Duration::from_secs(15), "that was no patience");
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn one_client_has_so_many_connections() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    let mut held = Vec::new();
    let refused = loop {
        assert!(held.len() < 1_000, "one client may have as many connections as it likes");
        held.push(TcpStream::connect(served.address).unwrap());
        let reply = served.get("/health");
        if reply.status != 200 {
            break reply;
        }
    };
    assert_eq!((refused.status, refused.header("retry-after")), (503, "5"), "{refused:?}");
    assert!(refused.body.contains("enough for one client"), "{}", refused.body);
    assert!(held.len() >= 100, "{} are few", held.len());
    drop(held);
    let began = Instant::now();
    while served.get("/health").status != 200 {
        assert!(began.elapsed() < Duration::from_secs(10), "they count for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn answers_say_what_browsers_should_obey() {
    let sample = one_page();
    let served = Served::start(&sample.dir(), &[]);
    for path in ["/", "/?q=rivers", "/sites", "/dashboard", "/nothing", "/api/v1/status", "/cached?id=0"] {
        let reply = served.get(path);
        let policy = reply.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(reply.header("referrer-policy"), "same-origin", "{path}");
        assert!(!reply.body.contains("<script>") && !reply.body.contains(" style="), "{path}");
    }
    let copy = served.get("/cached/copy?id=0");
    let policy = copy.header("content-security-policy");
    assert!(policy.contains("sandbox") && !policy.contains("script"), "{policy}");
    let file = served.get("/cached/file?id=0");
    assert!(file.header("content-disposition").starts_with("attachment"), "{}", file.head);
    assert_eq!(file.header("content-type"), "application/octet-stream");
}
