//! Polls of robots.txt, sitemaps and feeds over months, and aliases of sites.

use model::Reason;
use store::{PageFlags, PageStage};

use crate::scripted::ScriptedWeb;

const ALLOW_ALL: &str = "User-agent: *\nDisallow:\n";
const DISALLOW_ALL: &str = "User-agent: *\nDisallow: /\n";

fn urlset(urls: &[String]) -> String {
    let urls: String = urls.iter().map(|url| format!("<url><loc>{url}</loc></url>")).collect();
    format!("<urlset>{urls}</urlset>")
}

#[test]
fn a_site_that_disallowed_everything_is_asked_again() {
    for day in [3, 400] {
        let mut web = ScriptedWeb::start(&["a.test"]);
        web.set("a.test", "/", "<p>text");
        web.set("a.test", "/robots.txt", DISALLOW_ALL);
        assert_eq!(web.crawl(0, |_| {}), ["a.test/robots.txt"]);
        assert_eq!(web.page("a.test", "/").unwrap().reason, Some(Reason::RobotsDisallowed));
        assert_eq!(web.crawl(day - 1, |_| {}), ["a.test/robots.txt"], "still disallowed");
        assert_eq!(web.crawl(day - 1, |_| {}), [""; 0], "the copy is fresh");
        web.set("a.test", "/robots.txt", ALLOW_ALL);
        let requests = web.crawl(day + 3, |_| {});
        assert_eq!(requests, ["a.test/robots.txt", "a.test/"], "day {day}");
        assert_eq!(web.page("a.test", "/").unwrap().stage, PageStage::Fetched);
    }
}

#[test]
fn robots_txt_is_polled_less_often_the_longer_it_does_not_change() {
    let mut web = ScriptedWeb::start(&["a.test"]);
    web.set("a.test", "/", "<p>text");
    web.set("a.test", "/robots.txt", ALLOW_ALL);
    web.crawl(0, |_| {});
    let mut days: Vec<u64> = (1..17).filter(|day| !web.crawl(*day, |_| {}).is_empty()).collect();
    assert_eq!(days, [1, 3, 7, 15]);
    // A change halves the interval, and new bounds apply at once.
    web.set("a.test", "/robots.txt", DISALLOW_ALL);
    days = (30..41).filter(|day| !web.crawl(*day, |_| {}).is_empty()).collect();
    assert_eq!(days, [30, 38]);
    let bounded = |settings: &mut harvest::CrawlSettings| settings.revisits.polls.max_s = 2 * 86_400;
    days = (41..46).filter(|day| !web.crawl(*day, bounded).is_empty()).collect();
    assert_eq!(days, [41, 43, 45]);
}

#[test]
fn sitemaps_are_polled_although_no_page_is_due_and_by_what_they_yield() {
    let mut web = ScriptedWeb::start(&["a.test"]);
    web.set("a.test", "/", "<p>text");
    web.set("a.test", "/robots.txt", &format!("Sitemap: {}", web.url("a.test", "/sitemap.xml")));
    let mut urls = vec![web.url("a.test", "/0")];
    web.set("a.test", "/sitemap.xml", &urlset(&urls));
    web.crawl(0, |_| {});
    // It gains a page every other week for a month, and then no more.
    let mut polls = Vec::new();
    for day in (1..100).step_by(2) {
        if day % 14 == 7 && day < 36 {
            urls.push(web.url("a.test", &format!("/{day}")));
            web.set("a.test", "/sitemap.xml", &urlset(&urls));
        }
        if web.crawl(day, |_| {}).iter().any(|request| request.ends_with("/sitemap.xml")) {
            polls.push(day);
        }
    }
    assert!([7, 21, 35].iter().all(|day| web.page("a.test", &format!("/{day}")).is_some()));
    let (busy, quiet): (Vec<u64>, Vec<u64>) = polls.iter().partition(|day| **day < 50);
    assert!(busy.len() >= 4 && quiet.len() <= 3, "{polls:?}");
}

#[test]
fn a_sitemap_that_cannot_be_fetched_is_requested_again_after_the_minimum_interval() {
    let mut web = ScriptedWeb::start(&["a.test"]);
    web.set("a.test", "/", "<p>text");
    web.set("a.test", "/robots.txt", &format!("Sitemap: {}", web.url("a.test", "/sitemap.xml")));
    web.set("a.test", "/sitemap.xml", "ERROR");
    web.crawl(0, |_| {});
    assert!(!web.crawl(0, |_| {}).contains(&"a.test/sitemap.xml".to_owned()));
    web.set("a.test", "/sitemap.xml", &urlset(&[web.url("a.test", "/0")]));
    web.crawl(2, |_| {});
    assert!(web.page("a.test", "/0").is_some());
}

#[test]
fn a_linked_feed_is_polled_and_its_entries_become_pages_with_dates() {
    let mut web = ScriptedWeb::start(&["a.test"]);
    let feed = |items: &str, generated: u64| {
        format!("<rss><channel><lastBuildDate>{generated}</lastBuildDate>{items}</channel></rss>")
    };
    let item = |path: &str, date: &str| {
        format!("<item><link>{}</link><pubDate>{date}</pubDate></item>", web.url("a.test", path))
    };
    // The crawls begin on 2023-11-14.
    let old = item("/old", "Sun, 05 Nov 2023 10:00:00 GMT");
    let new = item("/new", "Mon, 20 Nov 2023 10:00:00 GMT");
    let changed = item("/old", "Sun, 19 Nov 2023 10:00:00 GMT");
    web.set("a.test", "/", "<link rel=alternate type='application/rss+xml' href='/news.rss'><p>text");
    for path in ["/old", "/new"] {
        web.set("a.test", path, "<p>text");
    }
    web.set("a.test", "/news.rss", &feed(&old, 1));
    web.crawl(0, |_| {});
    let dated = web.page("a.test", "/old").unwrap();
    assert_eq!((dated.stage, dated.last_change_s), (PageStage::Fetched, 1_699_178_400));
    let listed = web.page("a.test", "/news.rss").unwrap();
    assert!(listed.flags.has(PageFlags::FEED) && listed.stage == PageStage::Fetched, "{listed:?}");
    // The page itself is due in half a year, the feed after a week.
    web.set("a.test", "/news.rss", &feed(&(new + &changed), 2));
    let requests = web.crawl(8, |_| {});
    for path in ["/news.rss", "/new", "/old"] {
        assert!(requests.contains(&format!("a.test{path}")), "{requests:?}");
    }
    assert!(!requests.contains(&"a.test/".to_owned()), "{requests:?}");
    assert_eq!(web.page("a.test", "/new").unwrap().last_change_s, 1_700_474_400);
    // Without new entries it counts as unchanged, whatever its build date.
    let changes = web.page("a.test", "/news.rss").unwrap().change_count;
    for week in 2..8 {
        let body = web.url("a.test", "/new");
        web.set("a.test", "/news.rss", &feed(&format!("<item><link>{body}</link></item>"), week));
        web.crawl(8 + week * 31, |_| {});
    }
    let feed = web.page("a.test", "/news.rss").unwrap();
    assert_eq!((changes, feed.change_count, feed.comparable_visits), (1, 2, 7));
}

#[test]
fn a_sitemap_may_list_urls_of_a_site_whose_robots_txt_names_it() {
    let mut web = ScriptedWeb::start(&["s.test", "h.test", "v.test"]);
    for host in ["s.test", "h.test", "v.test"] {
        web.set(host, "/", &format!("<p>front page of {host}"));
    }
    // The victim names no sitemap. The other host names one of s.test, and another one that only it names.
    web.set("v.test", "/robots.txt", ALLOW_ALL);
    let (shared, other) = (web.url("s.test", "/shared.xml"), web.url("s.test", "/for-h.xml"));
    web.set("h.test", "/robots.txt", &format!("Sitemap: {shared}\nSitemap: {other}\n"));
    web.set("s.test", "/robots.txt", &format!("Sitemap: {shared}\n"));
    let listed = [("s.test", "/own"), ("h.test", "/named"), ("v.test", "/x"), ("v.test", "/y")];
    let urls: Vec<String> = listed.iter().map(|(host, path)| web.url(host, path)).collect();
    web.set("s.test", "/shared.xml", &urlset(&urls));
    web.set("s.test", "/for-h.xml", &urlset(&[web.url("h.test", "/elsewhere")]));
    web.crawl(0, |_| {});
    web.crawl(40, |_| {});
    assert_eq!(listed.map(|(host, path)| web.page(host, path).is_some()), [true, true, false, false]);
    // The file on the other host is a page of it, and is polled like a feed.
    assert!(web.page("s.test", "/for-h.xml").unwrap().flags.has(PageFlags::FEED));
    assert!(web.page("h.test", "/elsewhere").is_some());
    let refusals = web.site("s.test").sitemap_refusals;
    assert!(
        (4..=5).contains(&refusals),
        "{refusals}: two URLs in two polls, and one before its robots.txt was read"
    );
}

#[test]
fn the_default_path_of_sitemaps_is_requested_if_the_settings_say_so() {
    for default_path in [false, true] {
        let mut web = ScriptedWeb::start(&["a.test"]);
        web.set("a.test", "/", "<p>text");
        web.set("a.test", "/sitemap.xml", &urlset(&[web.url("a.test", "/0")]));
        let requests = web.crawl(0, |settings| settings.sitemaps.default_path = default_path);
        assert_eq!(requests.contains(&"a.test/sitemap.xml".to_owned()), default_path);
        assert_eq!(web.page("a.test", "/0").is_some(), default_path);
    }
}

#[test]
fn a_url_on_an_alias_is_fetched_from_the_site_that_it_stands_for() {
    let mut web = ScriptedWeb::start(&["b.test", "www.b.test"]);
    let text = "<p>Boats, nets and everything else that is needed on a lake, since the year 1871.";
    // Each response has another comment, time and counter.
    for (host, number) in [("b.test", 1), ("www.b.test", 2)] {
        let link = web.url("www.b.test", "/only.html");
        web.set(
            host,
            "/",
            &format!("<!-- {number} --><title>B</title>{text} 12:0{number} <a href='{link}'>only</a>"),
        );
        web.set(host, "/only.html", "<p>only");
    }
    let requests = web.crawl(0, |_| {});
    assert!(requests.contains(&"b.test/only.html".to_owned()), "{requests:?}");
    assert!(!requests.contains(&"www.b.test/only.html".to_owned()), "{requests:?}");
    assert!(web.site("www.b.test").alias_of.is_some() && web.site("b.test").alias_of.is_none());
    let (page, alias) =
        (web.page("b.test", "/only.html").unwrap(), web.page("www.b.test", "/only.html").unwrap());
    assert_eq!((page.stage, page.reason), (PageStage::Fetched, None));
    assert_eq!((alias.stage, alias.reason), (PageStage::Rejected, Some(Reason::SiteAlias)));
}
