//! Dashboard and text index during a crawl.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use simweb::{Endpoints, Settings, SimWeb};

use crate::process::{Collection, Crawl, now_us, run};

const TOKEN: &str = "0123456789abcdef";
const SLOW: &str = "[politeness]\ndelay = '30ms'\nlarge_site_delay = '30ms'\n[commit]\ninterval = '1s'\n";

fn web(pages: u64) -> SimWeb {
    SimWeb::start(Settings { sites: 10, pages, ..Settings::plain() }, &Endpoints::default()).unwrap()
}

/// Sends a request to the API.
fn request(address: &str, method: &str, path: &str) -> std::io::Result<Value> {
    let (path, form) = path.split_once('?').unwrap_or((path, ""));
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{form}",
        form.len()
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    let body = &response[response.find('{').unwrap()..=response.rfind('}').unwrap()];
    Ok(serde_json::from_str(body).unwrap())
}

/// Waits until the live status of a crawl fulfils a condition.
fn until(crawl: &mut Crawl, address: &str, condition: impl Fn(&Value) -> bool) {
    crawl.until(|| condition(&request(address, "GET", "/api/v1/crawl").unwrap()["crawl"]));
}

#[test]
fn a_running_crawl_is_controlled_by_the_api() {
    let web = web(300);
    let collection = Collection::of_web(&web, SLOW);
    let token = collection.path().join("token");
    fs::write(&token, TOKEN).unwrap();
    let start = Instant::now();
    let mut crawl = collection.start(&["--serve", "127.0.0.1:0", "--token-file", token.to_str().unwrap()]);
    crawl.wait_for("/dashboard\n");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let stderr = crawl.stderr_so_far();
    let address = stderr.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    until(&mut crawl, &address, |live| live["progress"]["pages_fetched"].as_u64() > Some(20));
    request(&address, "POST", "/api/v1/crawl/pause").unwrap();
    until(&mut crawl, &address, |live| {
        live["progress"]["paused"] == true && live["progress"]["requests_in_flight"] == 0
    });
    // A request may have been about to start.
    let (paused_us, requests) = (now_us() + 100_000, web.log.entries().len());
    crawl.until(|| now_us() > paused_us + 1_000_000);
    let resumed_us = now_us();
    let within = |entry: &&simweb::LogEntry| (paused_us..resumed_us).contains(&entry.unix_us);
    assert_eq!(web.log.entries().iter().filter(within).count(), 0);
    request(&address, "POST", "/api/v1/crawl/resume").unwrap();
    crawl.until(|| web.log.entries().len() > requests + 10);
    request(&address, "POST", "/api/v1/crawl/stop?mode=graceful").unwrap();
    let ended = crawl.wait();
    assert_eq!((ended.code, &ended.summary()["stopped_early"]), (Some(0), &true.into()), "{}", ended.stderr);
    assert!(TcpStream::connect(&address).is_err(), "the server still runs");
    collection.assert_sound();
}

#[test]
fn serving_off_loopback_without_a_token_is_refused_before_the_first_request() {
    let web = web(20);
    let collection = Collection::of_web(&web, "");
    for (arguments, option) in [
        (&["--serve", "0.0.0.0:0"][..], "--token-file"),
        (&["--serve", "nowhere"], "--serve"),
        (&["--token-file", "x"], "--serve"),
    ] {
        let output = run(&[&["crawl", &collection.dir()][..], arguments].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(option), "{err}");
    }
    assert_eq!(web.log.entries().len(), 0);
}

#[test]
fn the_index_is_updated_during_a_crawl_and_complete_at_its_end() {
    let web = web(200);
    let collection = Collection::of_web(&web, SLOW);
    let mut crawl = collection.start(&["--index"]);
    // While the crawl runs.
    crawl.until(|| fs::read_dir(collection.path().join("text")).is_ok());
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let indexed = ended.summary()["pages_indexed"].as_u64().unwrap();
    assert!(indexed > 100, "{}", ended.stdout);
    let again = run(&["index", &collection.dir(), "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((again["pages"].as_u64(), again["pages_read"].as_u64()), (Some(indexed), Some(0)), "{again}");
}

#[test]
fn an_error_of_the_index_is_printed_and_does_not_stop_the_crawl() {
    let web = web(50);
    let collection = Collection::of_web(&web, "[politeness]\ndelay = '1ms'\nlarge_site_delay = '1ms'\n");
    fs::write(collection.path().join("text"), "in the way").unwrap();
    let ended = collection.start(&["--index"]).wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("weir: cannot update the text index"), "{}", ended.stderr);
    assert!(ended.summary()["pages_fetched"].as_u64() > Some(20), "{}", ended.stdout);
}
