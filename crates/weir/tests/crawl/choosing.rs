//! Does the manager choose what the settings say: by a driving query, within the requests of a day, for reasons that it can
//! tell, and with what an older crawl has learned?

use std::time::SystemTime;

use crate::process::{Collection, run};
use crate::servers::{Server, hosts};

const NO_WAIT: &str = "[politeness]\nwait = '1ms'\nlarge_site_wait = '1ms'\n";

/// A tree of pages on two subjects: every page links to three of its own subject and one of the other.
fn two_subjects(ip: [u8; 4]) -> Server {
    Server::site("subjects", ip, |path, peer| {
        let (subject, number) = path.trim_start_matches('/').split_once('/').unwrap_or(("trains", "0"));
        let number: u64 = number.parse().unwrap_or(0);
        let other = if subject == "trains" { "whales" } else { "trains" };
        let links: String = (1..=4)
            .map(|child| {
                let subject = if child == 1 { other } else { subject };
                format!("<a href='/{subject}/{}'>more</a> ", number * 4 + child)
            })
            .collect();
        let text = format!("A page about {subject}, of which there is much to say. ").repeat(5);
        peer.page(&format!("<title>{subject}</title><p>{text}</p>{links}"));
    })
}

/// The subjects of pages in the order in which they were asked for.
fn subjects(server: &Server) -> Vec<bool> {
    let paths = server.paths();
    let pages = paths.iter().filter(|path| path.starts_with("/trains/") || path.starts_with("/whales/"));
    pages.map(|path| path.starts_with("/whales/")).collect()
}

#[test]
fn a_focused_crawl_finds_what_it_is_after_before_breadth_first_does() {
    const PAGES: usize = 60;
    let whales = |ip: [u8; 4], strategy: &str, focus: &str| {
        let server = two_subjects(ip);
        let settings = format!(
            "{}{NO_WAIT}[crawl]\nstrategy = '{strategy}'\nbatch_pages = 5\n{focus}",
            hosts(&[&server])
        );
        let collection = Collection::new(&[server.url("/")], &settings);
        // One batch at a time: the next one knows what this one has brought.
        while subjects(&server).len() < PAGES {
            collection.crawl(&["--cycles", "1"]);
        }
        (subjects(&server)[..PAGES].iter().filter(|whale| **whale).count(), collection, server)
    };
    let (by_breadth, ..) = whales([127, 77, 21, 1], "breadth-first", "");
    let (by_focus, collection, server) = whales([127, 77, 21, 2], "focused", "[focus]\nquery = 'whales'\n");
    assert!(by_focus > 45 && by_breadth < 40, "{by_focus} by focus, {by_breadth} by breadth");
    let relevance = |path: &str| {
        let story = collection.why(&server.url(path));
        let terms = story["worth"]["terms"].as_array().unwrap().clone();
        let of =
            |name: &str| terms.iter().find(|term| term["term"] == name).unwrap()["score"].as_f64().unwrap();
        of("relevance")
    };
    assert!(relevance("/whales/1") > 0.4 && relevance("/") == 0.0);
    // An example says the same without a query.
    std::fs::write(collection.path().join("whales.html"), "<p>Whales and more whales, all about whales.</p>")
        .unwrap();
    let text = std::fs::read_to_string(collection.path().join("weir.toml")).unwrap();
    collection.set(&text.replace("query = 'whales'", "examples = ['whales.html']"));
    collection.crawl(&["--cycles", "1"]);
    let asked = subjects(&server);
    let by_example = asked[asked.len() - 5..].iter().filter(|whale| **whale).count();
    assert!(by_example >= 4, "{by_example} of five by the example");
    collection.set(&text.replace("query = 'whales'", "examples = ['nothing.html']"));
    let refused = run(&["crawl", &collection.dir()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("focus.examples: nothing.html: cannot read") && said.lines().count() == 1,
        "{said}"
    );
}

/// Pages without end.
fn endless(name: &str, ip: [u8; 4]) -> Server {
    Server::site(name, ip, |path, peer| {
        let number: u64 = path.trim_start_matches("/p").parse().unwrap_or(0);
        let links: String =
            (1..=3).map(|child| format!("<a href='/p{}'>x</a>", number * 3 + child)).collect();
        peer.page(&format!("<p>Page {number}.</p>{links}"));
    })
}

fn pages(server: &Server) -> usize {
    server.paths().iter().filter(|path| *path == "/" || path.starts_with("/p")).count()
}

fn day() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 86_400
}

#[test]
fn a_continuous_crawl_keeps_to_the_requests_of_a_day_over_restarts() {
    let began = day();
    let server = endless("budget", [127, 77, 22, 1]);
    let settings = hosts(&[&server]) + NO_WAIT + "[crawl]\nrequests_per_day = 7\nbatch_pages = 3\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    let mut crawl = collection.start(&["--continuous"]);
    crawl.wait_for("the day's requests are used up until ");
    crawl.signal("INT");
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let asked = pages(&server);
    collection.crawl(&["--continuous", "--for", "2s"]);
    let (status, story) = (budgets(&collection), waiting(&collection));
    if day() == began {
        assert_eq!((asked, pages(&server)), (7, 7));
        assert_eq!((&status["requests_today"], &status["requests_per_day"]), (&7.into(), &7.into()));
        let notes = story["notes"].to_string();
        assert!(notes.contains("the requests of the day are used up until "), "{story}");
    }
}

#[test]
fn no_site_is_asked_for_more_than_its_requests_of_a_day() {
    let began = day();
    let servers = [endless("one", [127, 77, 23, 1]), endless("two", [127, 77, 23, 2])];
    let settings = hosts(&[&servers[0], &servers[1]])
        + NO_WAIT
        + "[crawl]\nrequests_per_site_per_day = 4\nbatch_pages = 3\n[revisit]\nok = '0s'\n";
    let seeds: Vec<String> = servers.iter().map(|server| server.url("/")).collect();
    let collection = Collection::new(&seeds, &settings);
    collection.crawl(&["--continuous", "--for", "2s"]);
    let summary = collection.crawl(&["--continuous", "--for", "2s"]);
    if day() == began {
        assert_eq!(servers.each_ref().map(pages), [4, 4], "{summary}");
        assert_eq!(summary["next_due_ms"], (began + 1) * 86_400_000);
        assert_eq!(budgets(&collection)["sites_done_today"], 2);
        let story = waiting(&collection);
        assert_eq!(story["budget"]["site_requests_left"], 0, "{story}");
        assert!(story["notes"].to_string().contains("of its site for the day are used up"), "{story}");
    }
}

#[test]
fn a_domain_with_as_many_pages_as_it_has_earned_is_told_of() {
    let server = endless("earned", [127, 77, 25, 1]);
    let limits = "[limits]\ndomain_pages = 5\ndomain_pages_per_link = 0\n[crawl]\nbatch_pages = 3\n";
    let collection = Collection::new(&[server.url("/")], &(hosts(&[&server]) + NO_WAIT + limits));
    collection.crawl(&[]);
    assert_eq!(budgets(&collection)["sites_over_domain_budget"], 1);
    let story = waiting(&collection);
    let (pages, most) = (&story["budget"]["domain_pages"], &story["budget"]["domain_most_pages"]);
    assert!(pages.as_u64() >= most.as_u64() && most == 5 && story["reason"] == "domain-budget", "{story}");
    assert!(story["notes"].to_string().contains("pages of the 5 that it has earned"), "{story}");
}

/// What `weir status` tells of budgets.
fn budgets(collection: &Collection) -> serde_json::Value {
    let output = run(&["status", &collection.dir(), "--json"]);
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    status["budgets"].clone()
}

/// The story of a page that was never fetched.
fn waiting(collection: &Collection) -> serde_json::Value {
    let waiting = collection.urls(|record| record.stage == store::Stage::New);
    collection.why(waiting.first().unwrap())
}

#[test]
fn a_continuous_crawl_visits_again_what_is_due() {
    let server = Server::site("again", [127, 77, 24, 1], |_, peer| peer.page("<p>One page.</p>"));
    let settings = hosts(&[&server]) + NO_WAIT + "[revisit]\nok = '1s'\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    let mut crawl = collection.start(&["--continuous"]);
    crawl.until(|| server.paths().iter().filter(|path| *path == "/").count() >= 3);
    crawl.signal("INT");
    assert_eq!(crawl.wait().code, Some(130));
}

#[test]
fn what_is_due_does_not_wait_for_a_slow_site() {
    let slow = endless("slow", [127, 77, 29, 2]);
    let quick = Server::site("quick", [127, 77, 29, 3], |_, peer| peer.page("<p>One page.</p>"));
    let waits = format!("[[site]]\nsite = '{}'\nwait = '1h'\n", slow.name);
    let settings = hosts(&[&slow, &quick]) + NO_WAIT + "[revisit]\nok = '1s'\n" + &waits;
    let collection = Collection::new(&[slow.url("/"), quick.url("/")], &settings);
    let mut crawl = collection.start(&["--continuous"]);
    crawl.until(|| quick.paths().iter().filter(|path| *path == "/").count() >= 4);
    crawl.signal("INT");
    // It was asked for its robots.txt, and all its pages still wait.
    assert_eq!((crawl.wait().code, pages(&slow)), (Some(130), 0));
}

#[test]
fn the_time_between_visits_is_that_of_the_settings_as_they_are() {
    let server = Server::site("sooner", [127, 77, 29, 1], |_, peer| peer.page("<p>One page.</p>"));
    let settings = hosts(&[&server]) + NO_WAIT;
    let collection = Collection::new(&[server.url("/")], &settings);
    collection.crawl(&[]);
    collection.set(&(settings + "[revisit]\nok = '1h'\n"));
    let story = collection.why(&server.url("/"));
    let [due_ms, visit_ms] =
        [&story["worth"]["due_ms"], &story["page"]["last_visit_ms"]].map(|time| time.as_u64().unwrap());
    assert_eq!((due_ms - visit_ms, &story["page"]["not_before_ms"]), (3_600_000, &due_ms.into()), "{story}");
    let summary = collection.crawl(&["--continuous", "--for", "1s"]);
    assert_eq!(summary["next_due_ms"], due_ms);
}

#[test]
fn why_tells_terms_that_add_up() {
    let server = endless("why", [127, 77, 25, 1]);
    let weights =
        "[quality]\nweights = { depth = 3, in-links = 1, cash = 0.5, random = 0.5 }\naim = 'profit'\n";
    let collection = Collection::new(&[server.url("/")], &(hosts(&[&server]) + NO_WAIT + weights));
    collection.crawl(&["--pages", "20"]);
    let waiting = collection.urls(|record| record.visits == 0);
    for url in [server.url("/"), waiting.first().unwrap().clone()] {
        let worth = &collection.why(&url)["worth"];
        let terms = worth["terms"].as_array().unwrap();
        let names: Vec<&str> = terms.iter().map(|term| term["term"].as_str().unwrap()).collect();
        assert_eq!(names, ["depth", "in-links", "cash", "random"]);
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let sum: f64 = terms.iter().map(|term| number(&term["value"])).sum();
        let parts: f64 =
            terms.iter().map(|term| number(&term["score"]) * number(&term["weight"]) / 5.0).sum();
        let quality = number(&worth["quality"]);
        assert!((sum - quality).abs() < 1e-5 && (parts - quality).abs() < 1e-5, "{worth}");
        // What nobody has is worth its quality; what was just seen is worth next to nothing.
        let expected =
            if worth["fresh"].is_null() { quality } else { quality * (1.0 - number(&worth["fresh"])) };
        assert!((number(&worth["profit"]) - expected).abs() < 1e-5, "{worth}");
    }
    let told = run(&["why", &collection.dir(), &server.url("/")]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.contains("quality") && told.contains(" = depth 0.") && told.contains("for profit, "),
        "{told}"
    );
}

#[test]
fn a_new_collection_begins_with_what_the_old_one_knew() {
    let linked = Server::site("linked", [127, 77, 26, 1], |path, peer| match path {
        "/" => peer.page("<a href='/a'>a</a>"),
        "/a" | "/alone" => peer.page("<p>text</p>"),
        _ => peer.status("404 Not Found", ""),
    });
    let gone = Server::site("gone", [127, 77, 26, 2], |_, peer| peer.status("404 Not Found", ""));
    let settings = hosts(&[&linked, &gone]) + NO_WAIT + "[crawl]\ncontact = 'me@example.org'\n";
    let seeds = [linked.url("/"), linked.url("/alone"), gone.url("/x")];
    let old = Collection::new(&seeds, &settings);
    old.crawl(&[]);
    let place = tempfile::tempdir().unwrap();
    let made = |name: &str, arguments: &[&str]| {
        let folder = place.path().join(name).into_os_string().into_string().unwrap();
        let made = run(&[&["init", &folder, "--from", &old.dir()], arguments].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let snapshot = store::Snapshot::open(folder.as_ref(), None).unwrap();
        let pages: Vec<model::PageId> = (0..snapshot.pages.pages()).map(model::PageId).collect();
        let mut urls: Vec<String> = snapshot.urls.urls(&pages).unwrap().into_iter().flatten().collect();
        urls.sort();
        let settings = std::fs::read_to_string(place.path().join(name).join("weir.toml")).unwrap();
        assert!(settings.contains("me@example.org") && settings.contains("linked.test"), "{settings}");
        (urls, settings)
    };
    let (all, _) = made("all", &[]);
    assert_eq!(all, [gone.url("/"), linked.url("/"), linked.url("/alone")]);
    let (roots, settings) = made("roots", &["--roots-only"]);
    assert_eq!(roots, [gone.url("/"), linked.url("/")]);
    assert!(settings.contains("front_page_only = true"), "{settings}");
    let refused = run(&["init", &old.dir(), "--roots-only"]);
    assert_eq!(refused.status.code(), Some(2));
    let nowhere = place.path().join("nowhere").into_os_string().into_string().unwrap();
    let refused = run(&["init", &(nowhere.clone() + "-new"), "--from", &nowhere]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn a_rank_that_nobody_has_computed_is_told_in_one_sentence() {
    let server = endless("ranks", [127, 77, 27, 1]);
    let settings = hosts(&[&server]) + NO_WAIT + "[quality]\nweights = { hub = 1 }\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    for command in ["crawl", "manager"] {
        let refused = run(&[command, &collection.dir()]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("nobody has computed hub yet; run `weir analyze` first"), "{said}");
        assert_eq!((collection.journals(), pages(&server)), (None, 0), "something was begun");
    }
}

#[test]
fn one_run_is_breadth_first_from_batch_to_batch() {
    let server = endless("breadth", [127, 77, 28, 1]);
    let settings = hosts(&[&server]) + NO_WAIT + "[crawl]\nstrategy = 'breadth-first'\nbatch_pages = 3\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    collection.crawl(&["--pages", "60"]);
    // Page n of the tree is as deep as there are parents above it.
    let parents =
        |number: u64| std::iter::successors(Some(number), |n| n.checked_sub(1).map(|n| n / 3)).count();
    let paths = server.paths();
    let numbers = paths.iter().filter_map(|path| path.strip_prefix("/p")?.parse().ok());
    let depths: Vec<usize> = numbers.map(parents).collect();
    assert!(depths.len() >= 55 && depths.is_sorted(), "{depths:?}");
}
