//! Tests of `weir simweb`, and comparison of other commands with its ground truth.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn weir(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir")).args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn objects(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Free ports, so that tests can run concurrently.
const FREE_PORTS: [&str; 6] =
    ["--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0", "--dns", "127.0.0.1:0"];

struct Server {
    child: Child,
    started: Value,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["simweb", "--json"])
            .args(FREE_PORTS)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Server { child, started: serde_json::from_str(&line).unwrap() }
    }

    fn port(&self) -> u16 {
        self.started["http"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Status, content type and body of a page.
    fn get(&self, address: Ipv4Addr, host: &str, path: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect((address, self.port())).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}:{}\r\nConnection: close\r\n\r\n", self.port())
            .unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        let end = reply.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&reply[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let content_type = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or("");
        (status, content_type.to_owned(), reply[end + 4..].to_vec())
    }

    /// Sends SIGINT, as Ctrl-C does, and returns the exit code.
    fn stop(mut self) -> i32 {
        // `kill` is built into every shell, but not a program on every system.
        let interrupt = format!("kill -INT {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &interrupt]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already stopped, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn invalid_settings_are_usage_errors() {
    let cases = [
        (vec!["--set", "duplicate=0.1"], "did you mean `duplicates`?"),
        (vec!["--set", "duplicates=2"], "a share from 0 to 1"),
        (vec!["--set", "duplicates"], "write name=value"),
        (vec!["--sites", "0"], "sites must be at least 1"),
        (vec!["--seed", "9007199254740993"], "a whole number from 0 to 9007199254740991"),
        (vec!["--listen", "0.0.0.0:0"], "not an IPv4 loopback address"),
        (vec!["--listen", "[::1]:0"], "not an IPv4 loopback address"),
        (vec!["--listen", "nonsense"], "invalid"),
        (vec!["--ground-truth", "lies"], "pages"),
    ];
    for (arguments, expected) in cases {
        let output = weir(&[&["simweb"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("web.toml");
    std::fs::write(&file, "sites = 3\npages = = 4\n").unwrap();
    let broken = weir(&["simweb", "--settings", file.to_str().unwrap()]);
    assert_eq!(broken.status.code(), Some(2));
    assert!(stderr(&broken).contains("web.toml: invalid TOML in line 2"), "{}", stderr(&broken));
    let missing = weir(&["simweb", "--settings", "/no/such/file.toml"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).starts_with("weir: cannot read /no/such/file.toml"));
}

#[test]
fn a_port_in_use_is_reported_with_a_hint() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = weir(&["simweb", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    let err = stderr(&output);
    assert!(err.contains(&address) && err.contains("--listen") && err.lines().count() == 1, "{err}");
}

#[test]
fn options_override_the_settings_of_a_file() {
    let file = std::env::temp_dir().join(format!("weir-simweb-{}.toml", std::process::id()));
    std::fs::write(&file, "sites = 5\nhttps = 1.0\n").unwrap();
    let path = file.to_str().unwrap();
    let sites =
        objects(&weir(&["simweb", "--settings", path, "--sites", "7", "--ground-truth", "sites", "--json"]));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(sites.len(), 7);
    assert!(sites[1..].iter().all(|site| site["url"].as_str().unwrap().starts_with("https://")));
}

#[test]
fn the_ground_truth_is_deterministic_by_seed() {
    let ground_truth = |seed: &str, kind: &str| {
        weir(&["simweb", "--sites", "9", "--pages", "200", "--seed", seed, "--ground-truth", kind]).stdout
    };
    for kind in ["sites", "pages", "links", "duplicates", "ranks", "hosts"] {
        let first = ground_truth("7", kind);
        assert!(!first.is_empty() && first == ground_truth("7", kind), "{kind}");
        assert!(first != ground_truth("8", kind), "{kind}");
    }
}

#[test]
fn all_settings_are_listed_with_their_defaults() {
    let settings = objects(&weir(&["simweb", "--list-settings", "--json"]));
    assert!(settings.len() > 60);
    assert!(settings.iter().any(|setting| setting["name"] == "duplicates" && setting["default"] == 0.05));
}

#[test]
fn the_server_prints_its_addresses_serves_and_stops_gracefully() {
    let file = |kind: &str| std::env::temp_dir().join(format!("weir-simweb-{}.{kind}", std::process::id()));
    let (ca, log) = (file("pem"), file("log"));
    let server = Server::start(&[
        "--sites",
        "20",
        "--ca-file",
        ca.to_str().unwrap(),
        "--request-log",
        log.to_str().unwrap(),
    ]);
    assert_eq!(server.started["sites"], 20);
    assert_eq!(server.started["portal_url"], format!("http://portal.test:{}/", server.port()));
    let (status, _, body) = server.get(Ipv4Addr::LOCALHOST, "127.0.0.1", "/");
    assert_eq!(status, 200);
    assert!(String::from_utf8(body).unwrap().contains("This is a synthetic Web"));
    assert!(std::fs::read_to_string(&ca).unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    assert_eq!(server.stop(), 0, "an interrupted server exits with code 0");
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(logged.contains("\"status\":200"), "{logged}");
    std::fs::remove_file(ca).unwrap();
    std::fs::remove_file(log).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_request_log_is_a_failure() {
    let server = Server::start(&["--sites", "5", "--request-log", "/dev/full"]);
    assert_eq!(server.get(Ipv4Addr::LOCALHOST, "127.0.0.1", "/").0, 200);
    assert_eq!(server.stop(), 1);
}

#[test]
fn the_output_has_whether_sites_share_one_ip_address() {
    let server = Server::start(&["--sites", "5", "--single-ip"]);
    assert_eq!(server.started["single_ip"], true);
    assert_eq!(server.stop(), 0);
}

/// All faults and features but those that the simple client of the test cannot handle or would have to wait for.
const WORLD: [&str; 20] = [
    "--sites",
    "40",
    "--pages",
    "1200",
    "--seed",
    "11",
    "--set",
    "https=0",
    "--set",
    "rate_limited=0",
    "--set",
    "unresponsive=0",
    "--set",
    "slow_body=0",
    "--set",
    "slow_ms=1",
    "--set",
    "flaky=0",
    "--set",
    "chunked=0",
];

fn ground_truth(server: &Server, kind: &str) -> Vec<Value> {
    let listen = format!("127.0.0.1:{}", server.port());
    objects(&weir(&[&["simweb", "--json", "--ground-truth", kind, "--listen", &listen], &WORLD[..]].concat()))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_else(|| panic!("no {field} in {object}"))
}

/// Runs a command with an input on standard input.
fn weir_with_input(arguments: &[&str], input: &[u8]) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    objects(&output)
}

#[test]
fn url_parse_and_robots_agree_with_the_ground_truth() {
    let server = Server::start(&WORLD);
    let (sites, pages) = (ground_truth(&server, "sites"), ground_truth(&server, "pages"));
    let site_of = |page: &Value| sites[page["site"].as_u64().unwrap() as usize].clone();

    let urls: Vec<&str> = pages.iter().map(|page| text(page, "url")).collect();
    for (output, url) in weir_with_input(&["url", "--json"], urls.join("\n").as_bytes()).iter().zip(&urls) {
        assert_eq!(text(output, "canonical"), *url);
    }

    let mut links = BTreeMap::<String, Vec<String>>::new();
    for link in ground_truth(&server, "links") {
        links.entry(text(&link, "source").to_owned()).or_default().push(text(&link, "target").to_owned());
    }
    let is_html = |page: &&Value| {
        page["reachable"] == true && ["html", "duplicate", "near_duplicate"].contains(&text(page, "kind"))
    };
    let mut checked = 0;
    for page in pages.iter().filter(is_html).step_by(7) {
        check_page(&server, page, &site_of(page), &links[text(page, "url")]);
        checked += 1;
    }
    assert!(checked > 80, "only {checked} pages");
    for site in sites.iter().filter(|site| ["good", "slow"].contains(&text(site, "health"))) {
        check_robots(&server, site, pages.iter().filter(|page| page["site"] == site["site"]));
    }
    assert_eq!(server.stop(), 0);
}

fn check_page(server: &Server, page: &Value, site: &Value, links: &[String]) {
    let url = text(page, "url");
    let path = &url[url.match_indices('/').nth(2).unwrap().0..];
    let (status, content_type, body) =
        server.get(text(site, "ip_address").parse().unwrap(), text(site, "name"), path);
    assert_eq!(status, 200, "{url}");
    let parsed =
        &weir_with_input(&["parse", "-", "--json", "--url", url, "--content-type", &content_type], &body)[0];
    assert_eq!(text(parsed, "language"), text(page, "language"), "{url}");
    let label = match text(page, "charset") {
        "iso-8859-1" => "windows-1252",
        "iso-8859-9" => "windows-1254",
        other => other,
    };
    assert_eq!(text(parsed, "charset").to_lowercase(), label, "{url}");
    let anchors = parsed["links"].as_array().unwrap().iter().filter(|link| link["kind"] == "a");
    let found: Vec<&str> = anchors.map(|link| text(link, "url")).collect();
    let canonical = weir_with_input(&["url", "--json"], found.join("\n").as_bytes());
    let mut found: Vec<&str> = canonical.iter().map(|output| text(output, "canonical")).collect();
    let mut expected: Vec<&str> = links.iter().map(String::as_str).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{url}");
}

fn check_robots<'a>(server: &Server, site: &Value, pages: impl Iterator<Item = &'a Value>) {
    let (status, _, body) =
        server.get(text(site, "ip_address").parse().unwrap(), text(site, "name"), "/robots.txt");
    if status != 200 {
        return;
    }
    let pages: Vec<&Value> = pages.take(100).collect();
    let file = std::env::temp_dir().join(format!("weir-robots-{}-{}", std::process::id(), site["site"]));
    std::fs::write(&file, body).unwrap();
    let urls = pages.iter().map(|page| text(page, "url"));
    let arguments: Vec<&str> =
        ["robots", file.to_str().unwrap(), "--agent", "weir", "--json"].into_iter().chain(urls).collect();
    for (output, page) in objects(&weir(&arguments)).iter().zip(&pages) {
        assert_eq!(output["allowed"], page["allowed"], "{}: {page}", text(site, "robots"));
    }
    std::fs::remove_file(file).unwrap();
}
