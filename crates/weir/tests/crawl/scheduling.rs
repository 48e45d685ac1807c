//! Selection of pages by the manager: focused crawls, daily limits, quality terms, and the state of an earlier collection.

use std::time::SystemTime;

use crate::process::{Collection, run};
use crate::servers::{Server, hosts};

const NO_DELAY: &str = "[politeness]\ndelay = '1ms'\nlarge_site_delay = '1ms'\n";

/// Tree of pages on two topics: every page links to three pages of its topic and one of the other.
fn two_topics(ip: [u8; 4]) -> Server {
    Server::site("topics", ip, |path, peer| {
        let (topic, number) = path.trim_start_matches('/').split_once('/').unwrap_or(("trains", "0"));
        let number: u64 = number.parse().unwrap_or(0);
        let other = if topic == "trains" { "whales" } else { "trains" };
        let links: String = (1..=4)
            .map(|child| {
                let topic = if child == 1 { other } else { topic };
                format!("<a href='/{topic}/{}'>more</a> ", number * 4 + child)
            })
            .collect();
        let text = format!("A page about {topic}, of which there is much to say. ").repeat(5);
        peer.page(&format!("<title>{topic}</title><p>{text}</p>{links}"));
    })
}

/// Whether each requested page is about whales, in the order of the requests.
fn topics(server: &Server) -> Vec<bool> {
    let paths = server.paths();
    let pages = paths.iter().filter(|path| path.starts_with("/trains/") || path.starts_with("/whales/"));
    pages.map(|path| path.starts_with("/whales/")).collect()
}

#[test]
fn a_focused_crawl_finds_relevant_pages_before_breadth_first() {
    const PAGES: usize = 60;
    let whales = |ip: [u8; 4], strategy: &str, focus: &str| {
        let server = two_topics(ip);
        let settings = format!(
            "{}{NO_DELAY}[crawl]\nstrategy = '{strategy}'\nmax_batch_pages = 5\n{focus}",
            hosts(&[&server])
        );
        let collection = Collection::new(&[server.url("/")], &settings);
        // One batch at a time, so that each batch uses the links of the one before.
        while topics(&server).len() < PAGES {
            collection.crawl(&["--max-batches", "1"]);
        }
        (topics(&server)[..PAGES].iter().filter(|whale| **whale).count(), collection, server)
    };
    let (by_breadth, ..) = whales([127, 77, 21, 1], "breadth-first", "");
    let (by_focus, collection, server) = whales([127, 77, 21, 2], "focused", "[focus]\nquery = 'whales'\n");
    assert!(by_focus > 45 && by_breadth < 40, "{by_focus} by focus, {by_breadth} by breadth");
    let relevance = |path: &str| {
        let report = collection.why(&server.url(path));
        let terms = report["priority"]["terms"].as_array().unwrap().clone();
        let relevance = terms.iter().find(|term| term["name"] == "relevance").unwrap();
        relevance["score"].as_f64().unwrap()
    };
    assert!(relevance("/whales/1") > 0.4 && relevance("/") == 0.0);
    // An example page has the same effect as a query.
    std::fs::write(collection.path().join("whales.html"), "<p>Whales and more whales, all about whales.</p>")
        .unwrap();
    let text = std::fs::read_to_string(collection.path().join("weir.toml")).unwrap();
    collection.set(&text.replace("query = 'whales'", "example_pages = ['whales.html']"));
    collection.crawl(&["--max-batches", "1"]);
    let requested = topics(&server);
    let by_example = requested[requested.len() - 5..].iter().filter(|whale| **whale).count();
    assert!(by_example >= 4, "{by_example} of five by the example");
    collection.set(&text.replace("query = 'whales'", "example_pages = ['nothing.html']"));
    let refused = run(&["crawl", &collection.dir()]);
    let err = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{err}");
    assert!(
        err.contains("focus.example_pages: nothing.html: cannot read") && err.lines().count() == 1,
        "{err}"
    );
}

/// Site with an infinite number of pages.
fn endless(name: &str, ip: [u8; 4]) -> Server {
    // Equal pages of two sites would be duplicates, whose links are not followed.
    let title = name.to_owned();
    Server::site(name, ip, move |path, peer| {
        let number: u64 = path.trim_start_matches("/p").parse().unwrap_or(0);
        let links: String =
            (1..=3).map(|child| format!("<a href='/p{}'>x</a>", number * 3 + child)).collect();
        peer.page(&format!("<title>{title}</title><p>Page {number}.</p>{links}"));
    })
}

fn pages(server: &Server) -> usize {
    server.paths().iter().filter(|path| *path == "/" || path.starts_with("/p")).count()
}

fn day() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 86_400
}

#[test]
fn a_continuous_crawl_keeps_the_daily_limit_over_restarts() {
    let began = day();
    let server = endless("budget", [127, 77, 22, 1]);
    let settings = hosts(&[&server]) + NO_DELAY + "[crawl]\nmax_requests_per_day = 7\nmax_batch_pages = 3\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    let mut crawl = collection.start(&["--continuous"]);
    crawl.wait_for("daily limit reached until ");
    crawl.signal("INT");
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let requested = pages(&server);
    collection.crawl(&["--continuous", "--max-time", "2s"]);
    let (status, report) = (budgets(&collection), waiting(&collection));
    if day() == began {
        assert_eq!((requested, pages(&server)), (7, 7));
        assert_eq!((&status["requests_today"], &status["max_requests_per_day"]), (&7.into(), &7.into()));
        let notes = report["notes"].to_string();
        assert!(notes.contains("daily request limit reached until "), "{report}");
    }
}

#[test]
fn no_site_gets_more_requests_than_its_daily_limit() {
    let began = day();
    let servers = [endless("one", [127, 77, 23, 1]), endless("two", [127, 77, 23, 2])];
    let settings = hosts(&[&servers[0], &servers[1]])
        + NO_DELAY
        + "[crawl]\nmax_requests_per_site_per_day = 4\nmax_batch_pages = 3\n[revisit]\nmin_interval_ok = '0s'\n";
    let seeds: Vec<String> = servers.iter().map(|server| server.url("/")).collect();
    let collection = Collection::new(&seeds, &settings);
    collection.crawl(&["--continuous", "--max-time", "2s"]);
    let summary = collection.crawl(&["--continuous", "--max-time", "2s"]);
    if day() == began {
        assert_eq!(servers.each_ref().map(pages), [4, 4], "{summary}");
        assert_eq!(summary["next_due_ms"], (began + 1) * 86_400_000);
        assert_eq!(budgets(&collection)["sites_at_daily_limit"], 2);
        let report = waiting(&collection);
        assert_eq!(report["budget"]["site_requests_remaining"], 0, "{report}");
        assert!(
            report["notes"].to_string().contains("daily request limit of the site reached until "),
            "{report}"
        );
    }
}

#[test]
fn a_domain_that_has_used_its_page_budget_is_reported() {
    let server = endless("earned", [127, 77, 25, 1]);
    let limits = "[limits]\ndomain_budget_base = 5\ndomain_budget_per_linking_domain = 0\n";
    let collection = Collection::new(&[server.url("/")], &(hosts(&[&server]) + NO_DELAY + limits));
    collection.crawl(&[]);
    assert_eq!(budgets(&collection)["sites_at_domain_budget"], 1);
    let report = waiting(&collection);
    let (pages, budget) = (&report["budget"]["domain_pages"], &report["budget"]["domain_max_pages"]);
    assert!(pages == budget && budget == 5 && report["reason"] == "domain-budget", "{report}");
    assert!(report["notes"].to_string().contains("of 5 pages"), "{report}");
}

#[test]
fn pages_that_were_not_requested_do_not_count_against_the_daily_limit() {
    let began = day();
    let server = endless("unused", [127, 77, 26, 1]);
    let settings = hosts(&[&server]) + NO_DELAY + "[crawl]\nmax_requests_per_day = 40\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    collection.crawl(&["--max-pages", "12"]);
    let (requested, counted) = (pages(&server), budgets(&collection)["requests_today"].clone());
    let summary = collection.crawl(&[]);
    if day() == began {
        assert_eq!(counted, requested, "pages of open batches are not counted");
        assert_eq!(pages(&server), 40);
        assert_eq!(
            (&summary["daily_limit_reached"], &summary["stopped_early"]),
            (&true.into(), &false.into())
        );
        let output = run(&["crawl", &collection.dir()]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("daily limit reached until "), "{text}");
    }
}

#[test]
fn a_number_of_pages_counts_fetched_pages_and_a_number_of_batches_leaves_pages() {
    let server = Server::site("failing", [127, 77, 26, 2], |path, peer| match path {
        "/" => peer.page(&(0..40).map(|page| format!("<a href=/{page}>{page}</a>")).collect::<String>()),
        _ if path.ends_with(['1', '3', '5', '7', '9']) => peer.status("404 Not Found", ""),
        _ => peer.page(path),
    });
    let collection = Collection::new(&[server.url("/")], &(hosts(&[&server]) + NO_DELAY));
    let batch = run(&["crawl", &collection.dir(), "--max-batches", "1"]);
    let text = String::from_utf8_lossy(&batch.stdout).into_owned();
    assert!(text.contains("stopped; resume with"), "{text}");
    let summary = collection.crawl(&["--max-pages", "10"]);
    assert_eq!(
        (&summary["pages_this_run"], &summary["stopped_early"]),
        (&10.into(), &true.into()),
        "{summary}"
    );
    let summary = collection.crawl(&["--max-batches", "9"]);
    assert_eq!(
        (&summary["pages_known"], &summary["stopped_early"]),
        (&41.into(), &false.into()),
        "{summary}"
    );
}

#[test]
fn pages_beyond_the_limit_of_their_site_have_the_reason() {
    let server = endless("limited", [127, 77, 26, 3]);
    let limit = format!("[[site]]\nmatch = '{}'\nmax_pages = 4\n", server.name);
    let collection = Collection::new(&[server.url("/")], &(hosts(&[&server]) + NO_DELAY + &limit));
    collection.crawl(&[]);
    let report = waiting(&collection);
    assert_eq!((pages(&server), report["reason"].as_str()), (4, Some("site-page-limit")), "{report}");
    collection.set(&(hosts(&[&server]) + NO_DELAY + &limit.replace("= 4", "= 6")));
    collection.crawl(&[]);
    assert_eq!(pages(&server), 6);
}

/// Budgets of `weir status`.
fn budgets(collection: &Collection) -> serde_json::Value {
    let output = run(&["status", &collection.dir(), "--json"]);
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    status["budgets"].clone()
}

/// `weir why` for a page that was never fetched.
fn waiting(collection: &Collection) -> serde_json::Value {
    let waiting = collection.urls(|record| record.stage == store::PageStage::Discovered);
    collection.why(waiting.first().unwrap())
}

#[test]
fn a_continuous_crawl_revisits_due_pages() {
    let server = Server::site("again", [127, 77, 24, 1], |_, peer| peer.page("<p>One page.</p>"));
    let settings = hosts(&[&server]) + NO_DELAY + "[revisit]\nmin_interval_ok = '1s'\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    let mut crawl = collection.start(&["--continuous"]);
    crawl.until(|| server.paths().iter().filter(|path| *path == "/").count() >= 3);
    crawl.signal("INT");
    assert_eq!(crawl.wait().code, Some(130));
}

#[test]
fn due_pages_do_not_wait_for_a_slow_site() {
    let slow = endless("slow", [127, 77, 29, 2]);
    let quick = Server::site("quick", [127, 77, 29, 3], |_, peer| peer.page("<p>One page.</p>"));
    let waits = format!("[[site]]\nmatch = '{}'\ndelay = '1h'\n", slow.name);
    let settings = hosts(&[&slow, &quick]) + NO_DELAY + "[revisit]\nmin_interval_ok = '1s'\n" + &waits;
    let collection = Collection::new(&[slow.url("/"), quick.url("/")], &settings);
    let mut crawl = collection.start(&["--continuous"]);
    crawl.until(|| quick.paths().iter().filter(|path| *path == "/").count() >= 4);
    crawl.signal("INT");
    // Its robots.txt was fetched, and none of its pages.
    assert_eq!((crawl.wait().code, pages(&slow)), (Some(130), 0));
}

#[test]
fn the_revisit_interval_follows_the_current_settings() {
    let server = Server::site("sooner", [127, 77, 29, 1], |_, peer| peer.page("<p>One page.</p>"));
    let settings = hosts(&[&server]) + NO_DELAY;
    let collection = Collection::new(&[server.url("/")], &settings);
    collection.crawl(&[]);
    collection.set(&(settings + "[revisit]\nmin_interval_ok = '1h'\n"));
    let report = collection.why(&server.url("/"));
    let [due_ms, fetch_ms] =
        [&report["priority"]["due_ms"], &report["page"]["last_fetch_ms"]].map(|time| time.as_u64().unwrap());
    let next_ms = &report["page"]["next_fetch_after_ms"];
    assert_eq!((due_ms - fetch_ms, next_ms), (3_600_000, &due_ms.into()), "{report}");
    let summary = collection.crawl(&["--continuous", "--max-time", "1s"]);
    assert_eq!(summary["next_due_ms"], due_ms);
}

#[test]
fn the_quality_terms_of_why_add_up() {
    let server = endless("why", [127, 77, 25, 1]);
    let weights =
        "[quality]\nweights = { depth = 3, inlinks = 1, cash = 0.5, random = 0.5 }\nobjective = 'profit'\n";
    let collection = Collection::new(&[server.url("/")], &(hosts(&[&server]) + NO_DELAY + weights));
    collection.crawl(&["--max-pages", "20"]);
    let waiting = collection.urls(|record| record.fetch_count == 0);
    for url in [server.url("/"), waiting.first().unwrap().clone()] {
        let priority = &collection.why(&url)["priority"];
        let terms = priority["terms"].as_array().unwrap();
        let names: Vec<&str> = terms.iter().map(|term| term["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["depth", "inlinks", "cash", "random"]);
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let sum: f64 = terms.iter().map(|term| number(&term["contribution"])).sum();
        let parts: f64 =
            terms.iter().map(|term| number(&term["score"]) * number(&term["weight"]) / 5.0).sum();
        let quality = number(&priority["quality"]);
        assert!((sum - quality).abs() < 1e-5 && (parts - quality).abs() < 1e-5, "{priority}");
        // The priority of a page that was never fetched is its quality; that of a fresh copy is close to 0.
        let freshness = &priority["freshness"];
        let expected = if freshness.is_null() { quality } else { quality * (1.0 - number(freshness)) };
        assert!((number(&priority["value"]) - expected).abs() < 1e-5, "{priority}");
    }
    let output = run(&["why", &collection.dir(), &server.url("/")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("quality") && text.contains(" = depth 0.") && text.contains(" (profit), "),
        "{text}"
    );
}

#[test]
fn a_collection_can_be_created_from_an_earlier_one() {
    let linked = Server::site("linked", [127, 77, 26, 1], |path, peer| match path {
        "/" => peer.page("<a href='/a'>a</a>"),
        "/a" | "/alone" => peer.page("<p>text</p>"),
        _ => peer.status("404 Not Found", ""),
    });
    let gone = Server::site("gone", [127, 77, 26, 2], |_, peer| peer.status("404 Not Found", ""));
    let settings = hosts(&[&linked, &gone]) + NO_DELAY + "[crawl]\ncontact = 'me@example.org'\n";
    let seeds = [linked.url("/"), linked.url("/alone"), gone.url("/x")];
    let old = Collection::new(&seeds, &settings);
    old.crawl(&[]);
    let temp = tempfile::tempdir().unwrap();
    let create = |name: &str, arguments: &[&str]| {
        let dir = temp.path().join(name).into_os_string().into_string().unwrap();
        let created = run(&[&["init", &dir, "--copy-from", &old.dir()], arguments].concat());
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        let snapshot = store::Snapshot::open(dir.as_ref(), None).unwrap();
        let pages: Vec<model::PageId> = (0..snapshot.page_state.pages()).map(model::PageId).collect();
        let mut urls: Vec<String> = snapshot.urls.urls(&pages).unwrap().into_iter().flatten().collect();
        urls.sort();
        let settings = std::fs::read_to_string(temp.path().join(name).join("weir.toml")).unwrap();
        assert!(settings.contains("me@example.org") && settings.contains("linked.test"), "{settings}");
        (urls, settings)
    };
    let (all, _) = create("all", &[]);
    assert_eq!(all, [gone.url("/"), linked.url("/"), linked.url("/alone")]);
    let (front_pages, settings) = create("front-pages", &["--front-pages-only"]);
    assert_eq!(front_pages, [gone.url("/"), linked.url("/")]);
    assert!(settings.contains("enter_by_front_page = true"), "{settings}");
    let refused = run(&["init", &old.dir(), "--front-pages-only"]);
    assert_eq!(refused.status.code(), Some(2));
    let nowhere = temp.path().join("nowhere").into_os_string().into_string().unwrap();
    let refused = run(&["init", &(nowhere.clone() + "-new"), "--copy-from", &nowhere]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn a_weight_for_a_rank_that_was_not_computed_is_a_usage_error() {
    let server = endless("ranks", [127, 77, 27, 1]);
    let settings = hosts(&[&server]) + NO_DELAY + "[quality]\nweights = { hub = 1 }\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    for command in ["crawl", "manager"] {
        let refused = run(&[command, &collection.dir()]);
        let err = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{command}: {err}");
        assert!(err.contains("the rank hub is not computed; run `weir analyze` first"), "{err}");
        assert_eq!((collection.journals(), pages(&server)), (None, 0), "the crawl has started");
    }
}

#[test]
fn a_run_is_breadth_first_across_batches() {
    let server = endless("breadth", [127, 77, 28, 1]);
    let settings = hosts(&[&server])
        + NO_DELAY
        + "[traps]\nmax_pages_per_template = 0\n[crawl]\nstrategy = 'breadth-first'\nmax_batch_pages = 3\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    collection.crawl(&["--max-pages", "60"]);
    // The depth of page n of the tree is the number of its ancestors.
    let parents =
        |number: u64| std::iter::successors(Some(number), |n| n.checked_sub(1).map(|n| n / 3)).count();
    let paths = server.paths();
    let numbers = paths.iter().filter_map(|path| path.strip_prefix("/p")?.parse().ok());
    let depths: Vec<usize> = numbers.map(parents).collect();
    assert!(depths.len() >= 55 && depths.is_sorted(), "{depths:?}");
}
