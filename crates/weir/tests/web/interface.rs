//! Do programs get what the description says? Every address is asked, rightly and wrongly, and every answer is held against
//! its schema.

use serde_json::Value;

use crate::archive::Sample;
use crate::schema::faults;
use crate::served::{Reply, Served};

/// Holds an answer against the schema of its address.
fn check(document: &Value, path: &str, method: &str, reply: &Reply) {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let responses = &document["paths"][path][method]["responses"];
    let described = responses.get(reply.status.to_string()).unwrap_or(&responses["default"]);
    let schema = &described["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{path}: no schema for the status {}", reply.status);
    assert!(reply.header("content-type").starts_with("application/json"), "{path}: {}", reply.head);
    let found = faults(document, schema, &reply.json(), path);
    assert!(found.is_empty(), "{path}: {found:#?}");
}

#[test]
fn answers_fit_their_description() {
    let sample = Sample::rivers();
    let served = Served::start(&sample.dir(), &[]);
    let document = served.get("/api/v1/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let right = [
        "/api/v1/status",
        "/api/v1/search?q=river&explain=true",
        "/api/v1/search?q=river&facets=false&count=3&from=2&sort=date",
        "/api/v1/search?q=rivr",
        "/api/v1/search?f=lang:de",
        "/api/v1/search?q=links-to:https://rivers.test/weirs&sort=rank&fold=false",
        "/api/v1/page?url=https://rivers.test/weirs",
        "/api/v1/page?id=0",
        "/api/v1/page?url=https://unknown.test/",
        "/api/v1/similar?url=https://rivers.test/weirs",
        "/api/v1/similar?url=https://rivers.test/weirs&by=links&count=2",
        "/api/v1/site?name=rivers.test",
        "/api/v1/sites?sort=name&filter=test&count=1",
        "/api/v1/snapshots",
        "/api/v1/crawl?history=0",
        "/health",
    ];
    let mut asked = std::collections::BTreeSet::new();
    for path in right {
        let reply = served.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        check(&document, path, "get", &reply);
        asked.insert(path.split('?').next().unwrap().to_owned());
    }
    // Whatever is described with JSON is asked above.
    for (path, methods) in document["paths"].as_object().unwrap() {
        let is_asked = asked.contains(path) || path == "/metrics" || path.ends_with("openapi.json");
        assert!(is_asked || methods.get("get").is_none(), "{path} is not tested");
    }
    let wrong = [
        ("/api/v1/search", 400, "wrong-question"),
        ("/api/v1/search?q=(river", 400, "wrong-query"),
        ("/api/v1/search?q=river&count=0", 400, "wrong-question"),
        ("/api/v1/search?q=river&from=9999999", 400, "wrong-question"),
        ("/api/v1/search?q=river&sort=size", 400, "wrong-question"),
        ("/api/v1/page?url=nonsense", 400, "wrong-question"),
        ("/api/v1/page", 400, "wrong-question"),
        ("/api/v1/page?id=4000000000", 404, "not-there"),
        ("/api/v1/similar?url=https://unknown.test/", 404, "not-there"),
        ("/api/v1/site?name=unknown.test", 404, "not-there"),
        ("/api/v1/sites?from=x", 400, "wrong-question"),
    ];
    for (path, status, word) in wrong {
        let reply = served.get(path);
        assert_eq!(
            (reply.status, reply.json()["error"].as_str()),
            (status, Some(word)),
            "{path}: {}",
            reply.body
        );
        check(&document, path, "get", &reply);
    }
    assert_eq!(served.get("/api/v1/search?q=(river").json()["column"], 7);
    assert_eq!(served.get("/api/v1/nothing").json()["error"], "not-there");
}

#[test]
fn what_is_found_is_what_is_there() {
    let sample = Sample::rivers();
    let served = Served::start(&sample.dir(), &[]);
    let found = served.get("/api/v1/search?q=weir%20dam").json();
    let urls: Vec<&str> =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["url"].as_str().unwrap()).collect();
    assert!(urls.contains(&"https://rivers.test/weirs"), "{found}");
    let hit = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .find(|hit| hit["url"] == "https://rivers.test/weirs")
        .unwrap();
    let snippet: Vec<char> = hit["snippet"].as_str().unwrap().chars().collect();
    let matched: Vec<String> = hit["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| {
            let at = |place: usize| span[place].as_u64().unwrap() as usize;
            snippet[at(0)..at(1)].iter().collect::<String>().to_lowercase()
        })
        .collect();
    assert!(matched.iter().any(|word| word.starts_with("weir")), "{matched:?}: {hit}");
    let linking = served.get("/api/v1/search?q=links-to:https://flow.test/wehr").json();
    assert_eq!(
        (&linking["total"], &linking["hits"][0]["url"]),
        (&1.into(), &"https://rivers.test/weirs".into())
    );
    let page = served.get("/api/v1/page?url=HTTPS://RIVERS.test:443/weirs").json();
    assert_eq!(
        (&page["state"], &page["title"], &page["links_total"]),
        (&"fetched".into(), &"Weirs".into(), &2.into())
    );
    assert_eq!(served.get("/api/v1/status").json()["pages_fetched"], 29);
}

#[test]
fn metrics_are_in_the_text_format() {
    let sample = Sample::of(&[("https://a.test/", "<title>A</title>one page")]);
    let served = Served::start(&sample.dir(), &[]);
    let reply = served.get("/metrics");
    assert!(reply.header("content-type").starts_with("text/plain; version=0.0.4"), "{}", reply.head);
    let mut described = None;
    for line in reply.body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(name.starts_with("weir_") && ["gauge", "counter"].contains(&kind), "{line}");
            described = Some(name.to_owned());
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let bare = name.split('{').next().unwrap();
            assert_eq!(Some(bare), described.as_deref(), "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
    assert!(reply.body.contains("weir_pages{state=\"fetched\"} 1\n"), "{}", reply.body);
}
