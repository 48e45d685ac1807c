//! End of a crawl by signals and limits, and continuation by the next run.

use simweb::{Endpoints, Settings, SimWeb};

use crate::process::{Collection, reach, run};
use crate::servers::{Server, hosts};

fn web() -> SimWeb {
    let settings = Settings { sites: 10, pages: 200, page_bytes: 4_000.0, ..Settings::plain() };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

fn delays(delay: &str) -> String {
    format!("[politeness]\ndelay = '{delay}'\nlarge_site_delay = '{delay}'\n")
}

/// Number of page requests.
fn pages(web: &SimWeb) -> usize {
    web.log.entries().iter().filter(|entry| !entry.path.starts_with("/robots.")).count()
}

#[test]
fn the_first_interrupt_waits_for_requests_in_flight() {
    let slow = Server::site("slow", [127, 77, 3, 1], |_, peer| {
        peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n\r\nfirst half, ");
        std::thread::sleep(std::time::Duration::from_millis(700));
        peer.send("second half");
    });
    let collection = Collection::new(&[slow.url("/")], &(hosts(&[&slow]) + &delays("1ms")));
    let mut crawl = collection.start(&[]);
    crawl.until(|| slow.paths().contains(&"/".to_owned()));
    crawl.signal("INT");
    crawl.wait_for("stopping: waiting for requests in flight (Ctrl-C again to stop immediately)");
    let ended = crawl.wait();
    assert_eq!(
        (ended.code, &ended.summary()["stopped_early"]),
        (Some(130), &true.into()),
        "{}",
        ended.stderr
    );
    assert_eq!(collection.journals(), None, "the journal remains");
    assert_eq!(collection.why(&slow.url("/"))["fetches"][0]["body_bytes"], 23);
}

#[test]
fn the_second_interrupt_stops_immediately_and_the_next_run_continues() {
    let mute = Server::site("mute", [127, 77, 3, 2], |_, peer| {
        peer.send("HTTP/1.1 200 OK\r\n");
        std::thread::sleep(std::time::Duration::from_secs(20));
    });
    let web = web();
    let portal = web.world.url(simweb::PageRef { site: 0, page: 0 });
    let settings = format!("dns.servers = ['{}']\n", web.dns.unwrap()) + &hosts(&[&mute]);
    let collection = Collection::new(&[mute.url("/"), portal], &(settings.clone() + &delays("50ms")));
    let mut crawl = collection.start(&[]);
    crawl.until(|| mute.paths().contains(&"/".to_owned()) && pages(&web) > 5);
    crawl.signal("INT");
    crawl.wait_for("stopping: waiting for requests in flight");
    crawl.signal("INT");
    let began = std::time::Instant::now();
    let ended = crawl.wait();
    assert!(began.elapsed().as_secs() < 10, "the crawl waited for the mute server");
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(collection.journals().is_some(), "the request to the mute server is in the journal");
    collection.assert_sound();

    let before = pages(&web);
    collection.set(
        &(settings
            + &delays("1ms")
            + "[fetch]\nfirst_byte_timeout = '1s'\ntotal_timeout = '1s'\n[crawl]\nmax_idle = '1s'\n"),
    );
    collection.crawl(&[]);
    assert_eq!(collection.journals(), None);
    assert!(pages(&web) > before && pages(&web) <= 200 + before, "{before} pages, then {}", pages(&web));
}

#[test]
fn limits_of_a_run_hold() {
    let web = web();
    let collection = Collection::of_web(&web, &delays("1ms"));
    let summary = collection.crawl(&["--max-batches", "1"]);
    assert_eq!((&summary["last_batch"], &summary["pages_this_run"]), (&1.into(), &1.into()), "{summary}");
    let summary = collection.crawl(&["--max-pages", "7"]);
    assert_eq!(
        (&summary["stopped_early"], &summary["pages_this_run"]),
        (&true.into(), &7.into()),
        "{summary}"
    );
    assert_eq!(pages(&web), 8);
    collection.set(&(reach(&web) + &delays("1s")));
    let summary = collection.crawl(&["--max-time", "2s"]);
    let seconds = summary["seconds"].as_f64().unwrap();
    assert!(summary["stopped_early"] == true && (2.0..10.0).contains(&seconds), "{summary}");
}

#[test]
fn sighup_changes_the_delay_of_a_running_crawl() {
    let endless = Server::site("endless", [127, 77, 3, 3], |path, peer| {
        let number: u32 = path.trim_start_matches("/p").parse().unwrap_or(0);
        peer.page(&format!("<a href=/p{}>{number}</a>", number + 1));
    });
    let settings = |delay: &str| {
        hosts(&[&endless])
            + &format!(
                "limits.max_depth_static = 200\n[[site]]\nmatch = '{}'\ndelay = '{delay}'\n",
                endless.name
            )
    };
    let collection = Collection::new(&[endless.url("/")], &settings("10ms"));
    let mut crawl = collection.start(&[]);
    crawl.until(|| endless.log().len() > 5);
    collection.set(&settings("400ms"));
    crawl.signal("HUP");
    crawl.wait_for("settings reloaded: site");
    let before = endless.log().len();
    crawl.until(|| endless.log().len() > before + 3);
    crawl.signal("INT");
    crawl.wait();
    // The first request after the signal may have been scheduled before it.
    for pair in endless.log()[before + 1..].windows(2) {
        let gap = pair[1].began.duration_since(pair[0].ended.unwrap());
        assert!(gap.as_millis() >= 399, "{gap:?}");
    }
}

#[test]
fn invalid_settings_are_not_reloaded() {
    let web = web();
    let collection = Collection::of_web(&web, &delays("200ms"));
    let mut crawl = collection.start(&[]);
    crawl.until(|| pages(&web) > 1);
    collection.set("[politeness]\ndelay = 1");
    crawl.signal("HUP");
    crawl.wait_for("settings not reloaded: ");
    collection.set(&(reach(&web) + &delays("1ms")));
    crawl.signal("HUP");
    crawl.wait_for("settings reloaded: politeness.delay, politeness.large_site_delay");
    let ended = crawl.wait();
    assert_eq!((ended.code, &ended.summary()["stopped_early"]), (Some(0), &false.into()), "{}", ended.stderr);
}

#[test]
fn a_weight_for_a_rank_that_was_not_computed_is_not_reloaded() {
    let web = web();
    let collection = Collection::of_web(&web, &delays("50ms"));
    let mut crawl = collection.start(&[]);
    crawl.until(|| pages(&web) > 1);
    collection.set(&(reach(&web) + &delays("1ms") + "[quality]\nweights = { hub = 1 }\n"));
    crawl.signal("HUP");
    crawl.wait_for("settings not reloaded: quality.weights: the rank hub is not computed");
    let ended = crawl.wait();
    assert_eq!((ended.code, &ended.summary()["stopped_early"]), (Some(0), &false.into()), "{}", ended.stderr);
}

#[test]
fn a_second_crawl_of_a_collection_is_refused() {
    let web = web();
    let collection = Collection::of_web(&web, &delays("200ms"));
    let mut crawl = collection.start(&[]);
    crawl.until(|| pages(&web) > 1);
    let second = run(&["crawl", &collection.dir()]);
    let message = String::from_utf8_lossy(&second.stderr);
    assert_eq!((second.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    assert!(message.starts_with("weir: "), "{message}");
    crawl.signal("INT");
    assert_eq!(crawl.wait().code, Some(130));
}
