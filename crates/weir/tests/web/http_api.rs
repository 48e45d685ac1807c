//! Tests of the HTTP API: all endpoints with valid and invalid parameters, each response validated against its schema.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::archive::{Sample, program, weir};
use crate::schema::violations;
use crate::served::{Reply, Served};

/// Validates a response against its schema.
fn check(document: &Value, path: &str, method: &str, reply: &Reply) {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let responses = &document["paths"][path][method]["responses"];
    let described = responses.get(reply.status.to_string()).unwrap_or(&responses["default"]);
    let schema = &described["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{path}: no schema for the status {}", reply.status);
    assert!(reply.header("content-type").starts_with("application/json"), "{path}: {}", reply.head);
    let found = violations(document, schema, &reply.json(), path);
    assert!(found.is_empty(), "{path}: {found:#?}");
}

#[test]
fn responses_match_the_openapi_description() {
    let sample = Sample::rivers();
    let served = Served::start(&sample.dir(), &[]);
    let document = served.get("/api/v1/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let valid = [
        "/api/v1/status",
        "/api/v1/search?q=river&explain=true",
        "/api/v1/search?q=river&facets=false&limit=3&offset=2&sort=date",
        "/api/v1/search?q=rivr",
        "/api/v1/search?q=what+is+a+river&mode=any",
        "/api/v1/search?q=river+absent1",
        "/api/v1/search?filter=lang:de",
        "/api/v1/search?q=links-to:https://rivers.test/weirs&sort=rank&collapse=false",
        "/api/v1/search?q=linked-from:https://rivers.test/weirs",
        "/api/v1/search?q=related:https://rivers.test/weirs",
        "/api/v1/search?q=*er*",
        "/api/v1/page?url=https://rivers.test/weirs",
        "/api/v1/page?page_id=0",
        "/api/v1/page?url=https://unknown.test/",
        "/api/v1/similar?url=https://rivers.test/weirs",
        "/api/v1/similar?url=https://rivers.test/weirs&by=links&limit=2",
        "/api/v1/site?site=rivers.test",
        "/api/v1/sites?sort=name&filter=test&limit=1",
        "/api/v1/snapshots",
        "/api/v1/crawl?samples=0",
        "/health",
    ];
    let mut requested = std::collections::BTreeSet::new();
    for path in valid {
        let reply = served.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        check(&document, path, "get", &reply);
        requested.insert(path.split('?').next().unwrap().to_owned());
    }
    // Every endpoint with a JSON response is requested above.
    for (path, methods) in document["paths"].as_object().unwrap() {
        let others = ["/metrics", "/stream", "/api/v1/openapi.json"];
        let is_tested = requested.contains(path) || others.contains(&path.as_str());
        assert!(is_tested || methods.get("get").is_none(), "{path} is not tested");
    }
    let invalid = [
        ("/api/v1/search", 400, "bad-request"),
        ("/api/v1/search?q=(river", 400, "invalid-query"),
        ("/api/v1/search?q=river&limit=0", 400, "bad-request"),
        ("/api/v1/search?q=river&offset=9999999", 400, "bad-request"),
        ("/api/v1/search?q=river&sort=size", 400, "bad-request"),
        ("/api/v1/search?q=river&mode=some", 400, "bad-request"),
        ("/api/v1/search?q=links-to:rivers.test", 400, "bad-request"),
        ("/api/v1/search?q=links-to:https://unknown.test/", 404, "not-found"),
        ("/api/v1/page?url=nonsense", 400, "bad-request"),
        ("/api/v1/page", 400, "bad-request"),
        ("/api/v1/page?page_id=4000000000", 404, "not-found"),
        ("/api/v1/similar?url=https://unknown.test/", 404, "not-found"),
        ("/api/v1/site?site=unknown.test", 404, "not-found"),
        ("/api/v1/sites?offset=x", 400, "bad-request"),
    ];
    for (path, status, code) in invalid {
        let reply = served.get(path);
        assert_eq!(
            (reply.status, reply.json()["error"].as_str()),
            (status, Some(code)),
            "{path}: {}",
            reply.body
        );
        check(&document, path, "get", &reply);
    }
    assert_eq!(served.get("/api/v1/search?q=(river").json()["column"], 7);
    assert_eq!(served.get("/api/v1/nothing").json()["error"], "not-found");
}

#[test]
fn the_stream_matches_the_openapi_description() {
    let sample = Sample::rivers();
    let file = sample.file("token", "0123456789abcdef0123");
    let served = Served::start(&sample.dir(), &[]);
    let document = served.get("/api/v1/openapi.json").json();
    let described = &document["paths"]["/stream"]["get"];
    let formats = described["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .find(|parameter| parameter["name"] == "format")
        .unwrap();
    for format in formats["schema"]["enum"].as_array().unwrap() {
        let reply = served.get(&format!("/stream?limit=2&format={}", format.as_str().unwrap()));
        assert_eq!(reply.status, 200, "{format}");
        let kind = reply.header("content-type").split(';').next().unwrap();
        assert!(described["responses"]["200"]["content"].get(kind).is_some(), "{format}: {kind}");
        for header in described["responses"]["200"]["headers"].as_object().unwrap().keys() {
            assert!(!reply.header(header).is_empty(), "{format}: {header}");
        }
    }
    // The columns are exactly the properties of a row.
    let schema = &document["components"]["schemas"]["PageRow"];
    let names: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let columns = names.iter().filter(|name| **name != "error").copied().collect::<Vec<_>>().join(",");
    let reply = served.get(&format!("/stream?format=jsonl&columns={columns}"));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let rows: Vec<Value> = reply
        .body
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 29);
    for row in &rows {
        assert_eq!(row.as_object().unwrap().len(), names.len() - 1, "{row}");
        assert_eq!(violations(&document, schema, row, "row"), Vec::<String>::new());
    }
    let wrong = served.get("/stream?columns=colour");
    let message = wrong.json()["error"].as_str().unwrap().to_owned();
    assert!(columns.split(',').all(|name| message.contains(name)), "{message}");
    // The parameters are exactly the described ones.
    let wrong = served.get("/stream?colour=red");
    check(&document, "/stream", "get", &wrong);
    let message = wrong.json()["error"].as_str().unwrap().to_owned();
    let (_, known) = message.split_once("expected one of: ").unwrap();
    let names: Vec<&str> = described["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect();
    assert_eq!(known.split(", ").collect::<Vec<_>>(), names);
    // An unauthorised request has the same error format.
    drop(served);
    let served = Served::start(&sample.dir(), &["--token-file", file.to_str().unwrap()]);
    let rejected = served.get("/stream");
    assert_eq!(rejected.status, 401);
    check(&document, "/stream", "get", &rejected);
}

#[test]
fn responses_describe_the_collection() {
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
            let at = |index: usize| span[index].as_u64().unwrap() as usize;
            snippet[at(0)..at(1)].iter().collect::<String>().to_lowercase()
        })
        .collect();
    assert!(matched.iter().any(|word| word.starts_with("weir")), "{matched:?}: {hit}");
    let inlinks = served.get("/api/v1/search?q=links-to:https://flow.test/wehr").json();
    assert_eq!(
        (&inlinks["total"], &inlinks["hits"][0]["url"]),
        (&1.into(), &"https://rivers.test/weirs".into())
    );
    let page = served.get("/api/v1/page?url=HTTPS://RIVERS.test:443/weirs").json();
    assert_eq!(
        (&page["stage"], &page["title"], &page["outlinks_total"]),
        (&"fetched".into(), &"Weirs".into(), &2.into())
    );
    assert_eq!(served.get("/api/v1/status").json()["pages_fetched"], 29);
}

#[test]
fn the_command_line_and_the_server_return_the_same_json() {
    let sample = Sample::rivers();
    let served = Served::start(&sample.dir(), &[]);
    let there = served.get("/api/v1/search?q=links-to:https://rivers.test/weirs+river&explain=true").json();
    let query = [
        "search",
        &sample.dir(),
        "links-to:https://rivers.test/weirs river",
        "--json",
        "--explain",
        "--facets",
    ];
    let output = Command::new(program()).args(query).output().unwrap();
    let mut here: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Only the duration differs.
    here["seconds"] = there["seconds"].clone();
    assert_eq!(here, there);
    assert!(there["total"].as_u64().unwrap() > 20, "{there}");

    // The error messages are the same as well.
    let there = served.get("/api/v1/search?q=linked-from:https://rivers.test/none").json();
    let query = ["search", &sample.dir(), "linked-from:https://rivers.test/none"];
    let output = Command::new(program()).args(query).output().unwrap();
    let here = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(here, format!("weir: {}\n", there["message"].as_str().unwrap()));
    // The search page shows the message below the query.
    let page = served.get("/?q=linked-from:https://rivers.test/none");
    assert!(
        page.status == 200 && page.body.contains("https://rivers.test/none is not in the collection"),
        "{page:?}"
    );
}

#[test]
fn searches_use_the_old_index_during_a_rebuild() {
    let sample = Sample::rivers();
    let served = Served::start(&sample.dir(), &[]);
    let total = |query: &str| served.get(&format!("/api/v1/search?q={query}")).json()["total"].clone();
    assert_eq!(total("river"), 28);
    // During a rebuild the index is missing at first.
    let (text, aside) = (sample.path().join("text"), sample.path().join("aside"));
    fs::rename(&text, &aside).unwrap();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        assert_eq!(total("river"), 28);
    }
    // An index without positions is a new index of the same commit; the server switches to it.
    fs::write(sample.path().join("weir.toml"), "[search]\npositions = false\n").unwrap();
    weir(&["index", &sample.dir()]);
    let start = Instant::now();
    while served.get("/api/v1/search?q=%22low+dam%22").status == 200 {
        assert!(start.elapsed() < Duration::from_secs(10), "the old index is still in use");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(total("river"), 28);
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
    assert!(reply.body.contains("weir_pages{stage=\"fetched\"} 1\n"), "{}", reply.body);
}
