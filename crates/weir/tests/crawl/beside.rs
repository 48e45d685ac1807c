//! What goes on beside a crawl: a server that shows and steers it, an index that follows it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use simweb::{Endpoints, Settings, SimWeb};

use crate::process::{Collection, Crawl, now_us, run};

const TOKEN: &str = "0123456789abcdef";
const SLOWLY: &str = "[politeness]\nwait = '30ms'\nlarge_site_wait = '30ms'\n[commit]\ninterval = '1s'\n";

fn web(pages: u64) -> SimWeb {
    SimWeb::start(Settings { sites: 10, pages, ..Settings::plain() }, &Endpoints::default()).unwrap()
}

/// Asks the server for JSON.
fn ask(address: &str, method: &str, path: &str) -> std::io::Result<Value> {
    let (path, form) = path.split_once('?').unwrap_or((path, ""));
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{form}",
        form.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let body = &answer[answer.find('{').unwrap()..=answer.rfind('}').unwrap()];
    Ok(serde_json::from_str(body).unwrap())
}

/// Waits until a crawl looks like this.
fn until(crawl: &mut Crawl, address: &str, wanted: impl Fn(&Value) -> bool) {
    crawl.until(|| wanted(&ask(address, "GET", "/api/v1/crawl").unwrap()["crawl"]));
}

#[test]
fn a_crawl_can_be_watched_and_steered_as_long_as_it_runs() {
    let web = web(300);
    let collection = Collection::of_web(&web, SLOWLY);
    let token = collection.path().join("token");
    fs::write(&token, TOKEN).unwrap();
    let began = Instant::now();
    let mut crawl = collection.start(&["--serve", "127.0.0.1:0", "--token-file", token.to_str().unwrap()]);
    crawl.wait_for("/dashboard\n");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let told = crawl.told();
    let address = told.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    until(&mut crawl, &address, |live| live["progress"]["pages"].as_u64() > Some(20));
    ask(&address, "POST", "/api/v1/crawl/pause").unwrap();
    until(&mut crawl, &address, |live| {
        live["progress"]["paused"] == true && live["progress"]["requests_under_way"] == 0
    });
    // One may just have been about to begin.
    let (paused_us, requests) = (now_us() + 100_000, web.log.entries().len());
    crawl.until(|| now_us() > paused_us + 1_000_000);
    let resumed_us = now_us();
    let within = |entry: &&simweb::LogEntry| (paused_us..resumed_us).contains(&entry.wall_us);
    assert_eq!(web.log.entries().iter().filter(within).count(), 0);
    ask(&address, "POST", "/api/v1/crawl/resume").unwrap();
    crawl.until(|| web.log.entries().len() > requests + 10);
    ask(&address, "POST", "/api/v1/crawl/stop?how=in-order").unwrap();
    let ended = crawl.wait();
    assert_eq!((ended.code, &ended.summary()["stopped"]), (Some(0), &true.into()), "{}", ended.stderr);
    assert!(TcpStream::connect(&address).is_err(), "nobody answers any more");
    collection.assert_sound();
}

#[test]
fn an_address_for_others_needs_a_token_and_is_refused_before_anything_is_asked_for() {
    let web = web(20);
    let collection = Collection::of_web(&web, "");
    for (arguments, word) in [
        (&["--serve", "0.0.0.0:0"][..], "--token-file"),
        (&["--serve", "nowhere"], "--serve"),
        (&["--token-file", "x"], "--serve"),
    ] {
        let output = run(&[&["crawl", &collection.dir()][..], arguments].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(word), "{err}");
    }
    assert_eq!(web.log.entries().len(), 0);
}

#[test]
fn the_index_follows_a_crawl_and_has_all_of_it_in_the_end() {
    let web = web(200);
    let collection = Collection::of_web(&web, SLOWLY);
    let mut crawl = collection.start(&["--index"]);
    // Before the crawl is over.
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
fn an_index_that_cannot_be_made_is_told_and_does_not_stop_the_crawl() {
    let web = web(50);
    let collection = Collection::of_web(&web, "[politeness]\nwait = '1ms'\nlarge_site_wait = '1ms'\n");
    fs::write(collection.path().join("text"), "in the way").unwrap();
    let ended = collection.start(&["--index"]).wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("weir: the index is not up to date"), "{}", ended.stderr);
    assert!(ended.summary()["pages_fetched"].as_u64() > Some(20), "{}", ended.stdout);
}
