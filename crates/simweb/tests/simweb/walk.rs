//! Comparison of the ground truth with the served pages, by a simple crawler with its own client and link extraction.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use crate::support::{Reply, get, lookup};
use simweb::{Endpoints, PageGroundTruth, PageKind, Settings, SimWeb, World};
use url::Url;

/// All faults and features, except https, which this client does not support, and those that would slow it down:
/// unresponsive sites, slow bodies, rate limits. The clock is stopped, so that no page changes during the walk.
fn settings() -> Settings {
    Settings {
        sites: 60,
        pages: 1_500,
        seed: 7,
        page_bytes: 9_000.0,
        https: 0.0,
        slow_ms: 1,
        slow_body: 0.0,
        unresponsive: 0.0,
        rate_limited: 0.0,
        clock: 0.0,
        nxdomain: 0.05,
        servfail: 0.05,
        down: 0.05,
        traps: 0.2,
        session_ids: 0.2,
        mirrors: 0.1,
        aliases: 0.1,
        truncated: 0.02,
        reset: 0.02,
        nxdomain_links: 0.05,
        closed_port_links: 0.02,
        ..Settings::default()
    }
}

/// An `a` element of a page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Anchor {
    target: String,
    nofollow: bool,
    text: String,
    /// Whether it is in the list of children.
    child: bool,
}

struct Walk {
    world: Arc<World>,
    dns: SocketAddr,
    /// Whether it obeys `nofollow`.
    polite: bool,
    addresses: HashMap<String, Option<SocketAddr>>,
    replies: BTreeMap<String, Reply>,
    links: BTreeMap<String, Vec<Anchor>>,
}

impl Walk {
    fn new(running: &SimWeb) -> Walk {
        Walk {
            world: Arc::clone(&running.world),
            dns: running.dns.expect("a name server"),
            polite: false,
            addresses: HashMap::new(),
            replies: BTreeMap::new(),
            links: BTreeMap::new(),
        }
    }

    /// Follows all links that `may` accepts.
    fn run(&mut self, start: &str, may: impl Fn(&str) -> bool) {
        let mut queue = VecDeque::from([start.to_owned()]);
        let mut seen = BTreeSet::from([start.to_owned()]);
        while let Some(url) = queue.pop_front() {
            for next in self.visit(&url) {
                if may(&next) && seen.insert(next.clone()) {
                    queue.push_back(next);
                }
            }
        }
    }

    /// Fetches a page and returns its targets; traps are not followed.
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
            let html = decoded(&self.world, url, &reply);
            let found = anchors(&html, &base);
            let follows = |anchor: &&Anchor| !(self.polite && anchor.nofollow);
            next = found.iter().filter(follows).map(|anchor| anchor.target.clone()).collect();
            next.extend(refresh(&html, &base));
            if self.polite && asks_no_following(&reply, &html) {
                next.clear();
            }
            self.links.insert(url.to_owned(), found);
        }
        self.replies.insert(url.to_owned(), reply);
        next
    }

    /// Fetches a URL; retries after server errors.
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

/// Removes session ids, tracking parameters and the fragment.
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

/// Decodes a page in the charset of the ground truth.
fn decoded(world: &World, url: &str, reply: &Reply) -> String {
    let label = world.page_by_url(url).and_then(|page| {
        let site = world.site(page.site);
        world.page_ground_truth(&site, page.page).charset
    });
    let encoding = encoding_rs::Encoding::for_label(label.unwrap_or("utf-8").as_bytes()).expect("a label");
    encoding.decode(&reply.body).0.into_owned()
}

/// Returns all `a` elements outside scripts and comments.
fn anchors(html: &str, page: &Url) -> Vec<Anchor> {
    let html = without(&without(html, "<!--", "-->"), "<script>", "</script>");
    let base =
        attribute_of(&html, "<base ").map_or_else(|| page.clone(), |base| page.join(&base).expect("a base"));
    let start = html.find("<ul class=\"pages\">").unwrap_or(html.len());
    let children = start..start + html[start..].find("</ul>").unwrap_or(0);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = html[at..].find("<a ").into_iter().chain(html[at..].find("<A ")).min() {
        at += next;
        // A truncated page may end within a tag or an element.
        let Some((tag, rest)) = html[at..].split_once('>') else { break };
        let Some((text, _)) = rest.split_once("</a>") else { break };
        let href = attribute_of(&html[at..], "<").expect("a link has a target");
        let target = base.join(&href).unwrap_or_else(|error| panic!("{href}: {error}"));
        found.push(Anchor {
            target: clean(&target),
            nofollow: tag
                .to_ascii_lowercase()
                .rsplit_once(" rel=")
                .is_some_and(|(_, rel)| rel.contains("nofollow")),
            text: unescaped(text),
            child: children.contains(&at),
        });
        at += tag.len();
    }
    found
}

/// Decodes numeric character references, which replace characters that the charset lacks.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split("&#");
    let mut whole = pieces.next().unwrap_or("").to_owned();
    for piece in pieces {
        let (number, rest) = piece.split_once(';').expect("a reference ends");
        whole.push(number.parse::<u32>().ok().and_then(char::from_u32).expect("a letter"));
        whole.push_str(rest);
    }
    whole
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

/// Returns the `href` of the first tag that starts with `start`.
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

fn all_pages(world: &World) -> Vec<PageGroundTruth> {
    let sites = world.site_indexes().map(|index| world.site(index));
    sites.flat_map(|site| (0..site.pages).map(move |page| world.page_ground_truth(&site, page))).collect()
}

#[test]
fn a_walk_along_all_links_finds_exactly_the_reachable_pages() {
    let running = SimWeb::start(settings(), &Endpoints::default()).unwrap();
    let world = &running.world;
    let mut walk = Walk::new(&running);
    walk.run(&world.url(simweb::PageRef { site: 0, page: 0 }), |_| true);

    let truth = all_pages(world);
    let expected: BTreeSet<&str> =
        truth.iter().filter(|page| page.reachable).map(|page| page.url.as_str()).collect();
    // Later hops of a redirect are URLs of the same page; sites that are down have URLs, but no pages.
    let found: BTreeSet<&str> = walk
        .replies
        .iter()
        .filter(|(_, reply)| reply.status != 503)
        .map(|(url, _)| url.as_str())
        .filter(|url| !is_later_hop(world, url))
        .collect();
    let missed: Vec<_> = expected.difference(&found).take(5).collect();
    let extra: Vec<_> = found.difference(&expected).take(5).collect();
    assert!(missed.is_empty() && extra.is_empty(), "missed {missed:?}, extra {extra:?}");
    assert!(expected.len() > 1_000, "only {} pages", expected.len());

    for page in truth.iter().filter(|page| page.reachable) {
        let reply = &walk.replies[&page.url];
        assert_eq!(reply.status, page.status, "{}", page.url);
        check_links(world, page, &walk);
        check_copies(page, &walk, world);
        check_directives(page, &walk);
        check_redirect(page, &walk);
    }
    check_depths(&truth, &walk);
    let kinds: BTreeSet<&str> = truth.iter().map(|page| page.kind).collect();
    assert_eq!(kinds.len(), 14, "every kind of page is met: {kinds:?}");
}

/// A polite crawler, simulated without the field `crawlable`: it requests no page that robots.txt disallows and
/// follows no nofollow links.
#[test]
fn a_polite_walk_fetches_exactly_the_crawlable_pages() {
    let running = SimWeb::start(settings(), &Endpoints::default()).unwrap();
    let world = &running.world;
    let truth = all_pages(world);
    let allowed: BTreeSet<String> =
        truth.iter().filter(|page| page.allowed).map(|page| page.url.clone()).collect();
    let is_page = |url: &str| world.page_by_url(url).is_some();
    let mut walk = Walk::new(&running);
    walk.polite = true;
    walk.run(&world.url(simweb::PageRef { site: 0, page: 0 }), |url| {
        !is_page(url) || is_later_hop(world, url) || allowed.contains(url)
    });
    let whole = walk.replies.iter().filter(|(url, reply)| {
        reply.status == 200 && reply.complete && is_page(url) && !is_later_hop(world, url)
    });
    let found: BTreeSet<&str> = whole.map(|(url, _)| url.as_str()).collect();
    let expected: BTreeSet<&str> =
        truth.iter().filter(|page| page.crawlable).map(|page| page.url.as_str()).collect();
    let missed: Vec<_> = expected.difference(&found).take(5).collect();
    let extra: Vec<_> = found.difference(&expected).take(5).collect();
    assert!(missed.is_empty() && extra.is_empty(), "missed {missed:?}, extra {extra:?}");
    assert!(expected.len() > 800, "only {} pages", expected.len());
    for (kind, crawlable) in
        [("redirect", 0), ("truncated", 0), ("reset", 0), ("not_found", 0), ("soft_404", 1)]
    {
        let found = truth.iter().filter(|page| page.kind == kind && page.crawlable).count();
        assert_eq!(found.min(1), crawlable, "{kind}");
    }
    for page in truth.iter().filter(|page| !world.site(page.page.site).health.responds()) {
        assert!(!page.allowed, "{}: its robots.txt cannot be had", page.url);
    }
}

fn is_later_hop(world: &World, url: &str) -> bool {
    world.page_by_url(url).is_some_and(|page| world.url(page) != url)
}

fn check_links(world: &World, page: &PageGroundTruth, walk: &Walk) {
    let site = world.site(page.page.site);
    if matches!(world.page(&site, page.page.page).kind, PageKind::NotFound | PageKind::Gone) {
        return;
    }
    let link = |anchor: &Anchor| (anchor.target.clone(), anchor.nofollow, anchor.text.clone());
    let expected = world.links_ground_truth(&site, page.page.page);
    let mut expected: Vec<_> = expected.map(|link| (link.target, link.nofollow, link.anchor)).collect();
    let mut found: Vec<_> = walk.links.get(&page.url).into_iter().flatten().map(link).collect();
    if walk.replies[&page.url].complete {
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "links of {}", page.url);
        if page.kind == "html" {
            assert!(found.len() >= 40, "{} has {} links", page.url, found.len());
        }
    } else {
        assert!(found.iter().all(|link| expected.contains(link)), "links of the half of {}", page.url);
    }
}

/// Returns the robots directives of a page from its header or meta element.
fn asked<'a>(reply: &'a Reply, html: &'a str) -> &'a str {
    let meta = html.split_once("<meta name=\"robots\" content=\"").map(|(_, rest)| rest.split('"').next());
    reply.header("x-robots-tag").or(meta.flatten()).unwrap_or("")
}

fn asks_no_following(reply: &Reply, html: &str) -> bool {
    matches!(asked(reply, html), "nofollow" | "none")
}

fn check_directives(page: &PageGroundTruth, walk: &Walk) {
    let reply = &walk.replies[&page.url];
    let text = reply.text();
    let asked = asked(reply, &text);
    let found = (matches!(asked, "noindex" | "none"), asks_no_following(reply, &text));
    assert_eq!(found, (page.noindex, page.nofollow), "{} has the directive {asked:?}", page.url);
}

/// Follows redirects until they end or repeat.
fn check_redirect(page: &PageGroundTruth, walk: &Walk) {
    let (mut here, mut hops, mut seen) = (page.url.clone(), 0, BTreeSet::new());
    while let Some(reply) = walk.replies.get(&here).filter(|reply| reply.header("location").is_some()) {
        if !seen.insert(here.clone()) {
            assert_eq!(page.redirect_to, None, "{} never ends", page.url);
            return;
        }
        let base = Url::parse(&here).expect("a URL");
        here = clean(&base.join(reply.header("location").expect("a location")).expect("a location"));
        hops += 1;
    }
    let refreshed = refresh(&walk.replies[&page.url].text(), &Url::parse(&page.url).expect("a URL"));
    let found = if hops > 0 { Some(here) } else { refreshed };
    assert_eq!(found, page.redirect_to, "{}", page.url);
    assert_eq!((hops > 0).then_some(hops), page.redirect_hops, "{}", page.url);
}

/// Compares depths by following the lists of children, level by level.
fn check_depths(truth: &[PageGroundTruth], walk: &Walk) {
    let mut found = BTreeMap::<String, u32>::new();
    let roots = truth.iter().filter(|page| page.page.page == 0).map(|page| page.url.clone());
    let mut queue: VecDeque<(String, u32)> = roots.map(|root| (root, 0)).collect();
    while let Some((url, depth)) = queue.pop_front() {
        if found.contains_key(&url) {
            continue;
        }
        let links = walk.links.get(&url).into_iter().flatten();
        queue.extend(links.filter(|link| link.child).map(|link| (link.target.clone(), depth + 1)));
        found.insert(url, depth);
    }
    for page in truth.iter().filter(|page| page.reachable) {
        assert_eq!(page.depth, found.get(&page.url).copied(), "{}", page.url);
    }
    assert!(truth.iter().any(|page| page.depth.is_none()), "isolated pages have no depth");
}

fn check_copies(page: &PageGroundTruth, walk: &Walk, world: &World) {
    let Some(original) = &page.duplicate_of else { return };
    let site = world.site(page.page.site);
    // Pages with session ids and counters differ in every response.
    if site.session.is_some() || walk.replies[&page.url].text().contains("class=\"visitors\"") {
        return;
    }
    let (copy, original) = (&walk.replies[&page.url], &walk.replies[original]);
    assert!(copy.body == original.body, "{} differs from {:?}", page.url, page.duplicate_of);
}
