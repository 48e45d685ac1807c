//! Does the truth agree with what is served? A naive walker, with its own client and its own crude way of finding links,
//! goes through the whole Web from the portal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]

mod support;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;

use simweb::{Endpoints, Kind, PageTruth, Settings, SimWeb, World};
use support::{Reply, get, lookup};
use url::Url;

/// All phenomena on, but those that only cost time.
fn settings() -> Settings {
    Settings {
        sites: 60,
        pages: 1_500,
        seed: 7,
        page_bytes: 9_000.0,
        https: 0.0,
        slow_ms: 1,
        dripping: 0.0,
        silent: 0.0,
        rate_limited: 0.0,
        clock: 0.0,
        nameless: 0.05,
        servfail: 0.05,
        down: 0.05,
        traps: 0.2,
        session_ids: 0.2,
        mirrors: 0.1,
        aliases: 0.1,
        truncated: 0.02,
        reset: 0.02,
        dead_links: 0.05,
        refused_links: 0.02,
        ..Settings::default()
    }
}

struct Walk {
    dns: SocketAddr,
    addresses: HashMap<String, Option<SocketAddr>>,
    replies: BTreeMap<String, Reply>,
    links: BTreeMap<String, Vec<String>>,
}

impl Walk {
    fn from(running: &SimWeb, start: &str) -> Walk {
        let dns = running.dns.expect("a name server");
        let mut walk =
            Walk { dns, addresses: HashMap::new(), replies: BTreeMap::new(), links: BTreeMap::new() };
        let mut queue = VecDeque::from([start.to_owned()]);
        let mut seen = BTreeSet::from([start.to_owned()]);
        while let Some(url) = queue.pop_front() {
            for next in walk.visit(&url) {
                if seen.insert(next.clone()) {
                    queue.push_back(next);
                }
            }
        }
        walk
    }

    /// Fetches a page and returns where it leads; a trap leads nowhere here.
    fn visit(&mut self, url: &str) -> Vec<String> {
        let base = Url::parse(url).expect("a URL");
        if ["/calendar/", "/archive/", "/maze/"].iter().any(|trap| base.path().starts_with(trap)) {
            return Vec::new();
        }
        let Some(reply) = self.fetch(&base) else { return Vec::new() };
        let mut next = Vec::new();
        if let Some(location) = reply.header("location") {
            next.push(clean(&base.join(location).expect("a location")));
        } else if reply.header("content-type").is_some_and(|media| media.starts_with("text/html")) {
            let found = hrefs(&reply.text(), &base);
            self.links.insert(url.to_owned(), found.iter().map(clean).collect());
            next = self.links[url].clone();
            next.extend(refresh(&reply.text(), &base));
        }
        self.replies.insert(url.to_owned(), reply);
        next
    }

    /// Tries again when the server has a bad moment.
    fn fetch(&mut self, url: &Url) -> Option<Reply> {
        let host = url.host_str()?.to_owned();
        let (dns, port) = (self.dns, url.port().unwrap_or(80));
        let mut address = *self.addresses.entry(host.clone()).or_insert_with(|| {
            let (code, address) = lookup(dns, &host);
            assert!(matches!(code, 0 | 2 | 3), "{host}: code {code}");
            address.map(|address| SocketAddr::from((address, port)))
        });
        address.as_mut()?.set_port(port);
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let mut last = None;
        for _ in 0..40 {
            let reply =
                get(address?, url[url::Position::BeforeHost..url::Position::AfterPort].as_ref(), path, "")
                    .ok()?;
            if !matches!(reply.status, 500 | 503) {
                return Some(reply);
            }
            last = Some(reply);
        }
        last
    }
}

/// Takes off what the rules of this Web call marks, and the fragment.
fn clean(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let path = url.path().split(";jsessionid=").next().unwrap_or("").to_owned();
    url.set_path(&path);
    let marks = ["PHPSESSID=", "osCsid=", "utm_source=", "utm_medium="];
    let query = url.query().unwrap_or("").to_owned();
    let kept: Vec<&str> =
        query.split('&').filter(|p| !p.is_empty() && !marks.iter().any(|m| p.starts_with(m))).collect();
    url.set_query((!kept.is_empty()).then(|| kept.join("&")).as_deref());
    url.to_string()
}

/// The targets of all `a` elements outside scripts and comments.
fn hrefs(html: &str, page: &Url) -> Vec<Url> {
    let html = without(&without(html, "<!--", "-->"), "<script>", "</script>");
    let base =
        attribute_of(&html, "<base ").map_or_else(|| page.clone(), |base| page.join(&base).expect("a base"));
    let mut found = Vec::new();
    let mut rest = html.as_str();
    while let Some(at) = rest.find("<a ").into_iter().chain(rest.find("<A ")).min() {
        rest = &rest[at..];
        let end = rest.find('>').unwrap_or(rest.len());
        // A page cut short may end inside a tag.
        if end == rest.len() {
            break;
        }
        let href = attribute_of(rest, "<").expect("a link has a target");
        found.push(base.join(&href).unwrap_or_else(|error| panic!("{href}: {error}")));
        rest = &rest[end..];
    }
    found
}

fn without(html: &str, from: &str, to: &str) -> String {
    let mut kept = String::new();
    let mut rest = html;
    while let Some(start) = rest.find(from) {
        kept.push_str(&rest[..start]);
        rest = rest[start..].find(to).map_or("", |end| &rest[start + end + to.len()..]);
    }
    kept + rest
}

/// The `href` of the first tag that starts so.
fn attribute_of(html: &str, start: &str) -> Option<String> {
    let tag = &html[html.find(start)?..];
    let tag = &tag[..tag.find('>')?];
    let at = tag.to_ascii_lowercase().find("href")?;
    let value = tag[at + 4..].trim_start().strip_prefix('=')?.trim_start();
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value.split_whitespace().next()?,
    };
    Some(value.replace("&#47;", "/").replace("&#x65;", "e").replace("&amp;", "&"))
}

fn refresh(html: &str, base: &Url) -> Option<String> {
    let target = html.split_once("content=\"0; url=")?.1.split('"').next()?.replace("&amp;", "&");
    Some(clean(&base.join(&target).ok()?))
}

fn all_pages(world: &World) -> Vec<PageTruth> {
    let sites = world.site_indexes().map(|index| world.site(index));
    sites.flat_map(|site| (0..site.pages).map(move |page| world.page_truth(&site, page))).collect()
}

#[test]
fn a_naive_walk_finds_exactly_the_pages_and_links_that_truth_tells() {
    let running = SimWeb::start(settings(), &Endpoints::default()).unwrap();
    let world = &running.world;
    let walk = Walk::from(&running, &world.url(simweb::PageRef { site: 0, page: 0 }));

    let truth = all_pages(world);
    let told: BTreeSet<&str> =
        truth.iter().filter(|page| page.reachable).map(|page| page.url.as_str()).collect();
    // A redirect's later hops are URLs of the same page; sites that are down have URLs, but no pages.
    let found: BTreeSet<&str> = walk
        .replies
        .iter()
        .filter(|(_, reply)| reply.status != 503)
        .map(|(url, _)| url.as_str())
        .filter(|url| !is_later_hop(world, url))
        .collect();
    let missed: Vec<_> = told.difference(&found).take(5).collect();
    let extra: Vec<_> = found.difference(&told).take(5).collect();
    assert!(missed.is_empty() && extra.is_empty(), "missed {missed:?}, extra {extra:?}");
    assert!(told.len() > 1_000, "only {} pages", told.len());

    for page in truth.iter().filter(|page| page.reachable) {
        let reply = &walk.replies[&page.url];
        assert_eq!(reply.status, page.status, "{}", page.url);
        check_links(world, page, &walk);
        check_copies(page, &walk, world);
    }
    let kinds: BTreeSet<&str> = truth.iter().map(|page| page.kind).collect();
    assert_eq!(kinds.len(), 14, "every kind of page is met: {kinds:?}");
}

fn is_later_hop(world: &World, url: &str) -> bool {
    world.page_by_url(url).is_some_and(|page| world.url(page) != url)
}

fn check_links(world: &World, page: &PageTruth, walk: &Walk) {
    let site = world.site(page.page.site);
    if matches!(
        world.page(&site, page.page.page).kind,
        Kind::Refresh { .. } | Kind::SoftMissing | Kind::Missing | Kind::Gone
    ) {
        return;
    }
    let mut told: Vec<String> = world.links_truth(&site, page.page.page).map(|link| link.target).collect();
    let mut found = walk.links.get(&page.url).cloned().unwrap_or_default();
    if walk.replies[&page.url].complete {
        told.sort();
        found.sort();
        assert_eq!(found, told, "links of {}", page.url);
        if page.kind == "html" {
            assert!(found.len() >= 40, "{} has {} links", page.url, found.len());
        }
    } else {
        assert!(found.iter().all(|url| told.contains(url)), "links of the half of {}", page.url);
    }
}

fn check_copies(page: &PageTruth, walk: &Walk, world: &World) {
    let Some(original) = &page.duplicate_of else { return };
    let site = world.site(page.page.site);
    // Where session ids and counters are shown, the same page is never the same twice.
    if site.session.is_some() || walk.replies[&page.url].text().contains("class=\"visitors\"") {
        return;
    }
    let (copy, original) = (&walk.replies[&page.url], &walk.replies[original]);
    assert!(copy.body == original.body, "{} differs from {:?}", page.url, page.duplicate_of);
}
