//! Does a crawl end when it should, as it should, and go on from there?

use simweb::{Endpoints, Settings, SimWeb};

use crate::process::{Collection, reach, run};
use crate::servers::{Server, hosts};

fn web() -> SimWeb {
    let settings = Settings { sites: 10, pages: 200, page_bytes: 4_000.0, ..Settings::plain() };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

fn waits(wait: &str) -> String {
    format!("[politeness]\nwait = '{wait}'\nlarge_site_wait = '{wait}'\n")
}

/// Pages that were asked for.
fn pages(web: &SimWeb) -> usize {
    web.log.entries().iter().filter(|entry| !entry.path.starts_with("/robots.")).count()
}

#[test]
fn one_interrupt_waits_for_what_is_under_way() {
    let slow = Server::site("slow", [127, 77, 3, 1], |_, peer| {
        peer.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n\r\nfirst half, ");
        std::thread::sleep(std::time::Duration::from_millis(700));
        peer.say("second half");
    });
    let collection = Collection::new(&[slow.url("/")], &(hosts(&[&slow]) + &waits("1ms")));
    let mut crawl = collection.start(&[]);
    crawl.until(|| slow.paths().contains(&"/".to_owned()));
    crawl.signal("INT");
    crawl.wait_for("stopping: requests under way are waited for; once more stops at once");
    let ended = crawl.wait();
    assert_eq!((ended.code, &ended.summary()["stopped"]), (Some(130), &true.into()), "{}", ended.stderr);
    assert_eq!(collection.journals(), None, "nothing is left to put in order");
    assert_eq!(collection.why(&slow.url("/"))["history"][0]["bytes"], 23);
}

#[test]
fn two_interrupts_stop_at_once_and_the_next_start_goes_on() {
    let mute = Server::site("mute", [127, 77, 3, 2], |_, peer| {
        peer.say("HTTP/1.1 200 OK\r\n");
        std::thread::sleep(std::time::Duration::from_secs(20));
    });
    let web = web();
    let portal = web.world.url(simweb::PageRef { site: 0, page: 0 });
    let settings = format!("dns.servers = ['{}']\n", web.dns.unwrap()) + &hosts(&[&mute]);
    let collection = Collection::new(&[mute.url("/"), portal], &(settings.clone() + &waits("50ms")));
    let mut crawl = collection.start(&[]);
    crawl.until(|| mute.paths().contains(&"/".to_owned()) && pages(&web) > 5);
    crawl.signal("INT");
    crawl.wait_for("stopping: requests under way are waited for");
    crawl.signal("INT");
    let began = std::time::Instant::now();
    let ended = crawl.wait();
    assert!(began.elapsed().as_secs() < 10, "it waited for the mute server");
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(collection.journals().is_some(), "nobody knows when the mute server was last asked");
    collection.assert_sound();

    let before = pages(&web);
    collection.set(
        &(settings
            + &waits("1ms")
            + "[fetch]\nfirst_byte_timeout = '1s'\ntotal_timeout = '1s'\n[crawl]\nlongest_pause = '1s'\n"),
    );
    collection.crawl(&[]);
    assert_eq!(collection.journals(), None);
    assert!(pages(&web) > before && pages(&web) <= 200 + before, "{before} pages, then {}", pages(&web));
}

#[test]
fn limits_of_a_run_hold() {
    let web = web();
    let collection = Collection::of_web(&web, &waits("1ms"));
    let summary = collection.crawl(&["--cycles", "1"]);
    assert_eq!((&summary["cycle"], &summary["pages_now"]), (&1.into(), &1.into()), "{summary}");
    let summary = collection.crawl(&["--pages", "7"]);
    assert_eq!((&summary["stopped"], &summary["pages_now"]), (&true.into(), &7.into()), "{summary}");
    assert_eq!(pages(&web), 8);
    collection.set(&(reach(&web) + &waits("1s")));
    let summary = collection.crawl(&["--for", "2s"]);
    let seconds = summary["seconds"].as_f64().unwrap();
    assert!(summary["stopped"] == true && (2.0..10.0).contains(&seconds), "{summary}");
}

#[test]
fn a_hang_up_changes_waits_while_it_runs() {
    let endless = Server::site("endless", [127, 77, 3, 3], |path, peer| {
        let number: u32 = path.trim_start_matches("/p").parse().unwrap_or(0);
        peer.page(&format!("<a href=/p{}>{number}</a>", number + 1));
    });
    let settings = |wait: &str| {
        hosts(&[&endless])
            + &format!("limits.depth_static = 200\n[[site]]\nsite = '{}'\nwait = '{wait}'\n", endless.name)
    };
    let collection = Collection::new(&[endless.url("/")], &settings("10ms"));
    let mut crawl = collection.start(&[]);
    crawl.until(|| endless.log().len() > 5);
    collection.set(&settings("400ms"));
    crawl.signal("HUP");
    crawl.wait_for("new settings hold from now on: site");
    let before = endless.log().len();
    crawl.until(|| endless.log().len() > before + 3);
    crawl.signal("INT");
    crawl.wait();
    // The first after the signal may have been on its way.
    for pair in endless.log()[before + 1..].windows(2) {
        let gap = pair[1].began.duration_since(pair[0].ended.unwrap());
        assert!(gap.as_millis() >= 399, "{gap:?}");
    }
}

#[test]
fn settings_that_make_no_sense_change_nothing() {
    let web = web();
    let collection = Collection::of_web(&web, &waits("200ms"));
    let mut crawl = collection.start(&[]);
    crawl.until(|| pages(&web) > 1);
    collection.set("[politeness]\nwait = 1");
    crawl.signal("HUP");
    crawl.wait_for("the settings stay as they are: ");
    collection.set(&(reach(&web) + &waits("1ms")));
    crawl.signal("HUP");
    crawl.wait_for("new settings hold from now on: politeness.wait, politeness.large_site_wait");
    let ended = crawl.wait();
    assert_eq!((ended.code, &ended.summary()["stopped"]), (Some(0), &false.into()), "{}", ended.stderr);
}

#[test]
fn a_weight_for_what_nobody_has_computed_changes_nothing() {
    let web = web();
    let collection = Collection::of_web(&web, &waits("50ms"));
    let mut crawl = collection.start(&[]);
    crawl.until(|| pages(&web) > 1);
    collection.set(&(reach(&web) + &waits("1ms") + "[quality]\nweights = { hub = 1 }\n"));
    crawl.signal("HUP");
    crawl.wait_for("the settings stay as they are: quality.weights: nobody has computed hub yet");
    let ended = crawl.wait();
    assert_eq!((ended.code, &ended.summary()["stopped"]), (Some(0), &false.into()), "{}", ended.stderr);
}

#[test]
fn two_crawls_of_one_folder_are_one_too_many() {
    let web = web();
    let collection = Collection::of_web(&web, &waits("200ms"));
    let mut crawl = collection.start(&[]);
    crawl.until(|| pages(&web) > 1);
    let second = run(&["crawl", &collection.dir()]);
    let sentence = String::from_utf8_lossy(&second.stderr);
    assert_eq!((second.status.code(), sentence.lines().count()), (Some(2), 1), "{sentence}");
    assert!(sentence.starts_with("weir: "), "{sentence}");
    crawl.signal("INT");
    assert_eq!(crawl.wait().code, Some(130));
}
