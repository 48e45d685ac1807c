//! Traps and large lists of other forms than those of the synthetic Web: paths of free words, lists with real content, shops with
//! facets, session ids in paths. Each server knows its real pages.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::process::Collection;
use crate::servers::{Server, hosts};

const SETTINGS: &str = "\
[politeness]
delay = '0ms'
large_site_delay = '0ms'
[sitemaps]
robots_rdf = false
[traps]
max_pages_per_template = 40
pages_per_supporting_link = 2
max_unsupported_pages_per_site = 120
";

const WORDS: [&str; 16] = [
    "river", "stone", "walk", "home", "blue", "old", "town", "bridge", "mill", "field", "north", "lake",
    "wood", "path", "light", "hill",
];

/// Text that no other page has.
fn text(seed: u64) -> String {
    (0..40).map(|word| WORDS[hash(seed.wrapping_mul(64) + word) as usize % 16].to_owned() + " ").collect()
}

/// Random number (SplitMix64).
fn hash(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn link(path: &str) -> String {
    format!("<a href='{path}'>{path}</a> ")
}

/// Pages of a real site, which link to their neighbours and to some others.
fn articles(number: u64, count: u64, directory: &str) -> String {
    let others = [number + 1, number * 2 + 1, number * 2 + 2, hash(number) % count];
    others
        .iter()
        .filter(|other| **other < count)
        .map(|other| link(&format!("/{directory}/mill-{other}.html")))
        .collect()
}

/// Crawls a server; returns the number of pages requested, and how many of the real pages were fetched.
fn crawl(server: &Server, real: &BTreeSet<String>) -> (usize, usize, Collection) {
    let collection = Collection::new(&[server.url("/")], &(hosts(&[server]) + SETTINGS));
    collection.crawl(&[]);
    let fetched: BTreeSet<String> = server.paths().into_iter().collect();
    let requested = server.paths().iter().filter(|path| !path.starts_with("/robots")).count();
    (requested, real.iter().filter(|path| fetched.contains(*path)).count(), collection)
}

#[test]
fn a_maze_of_free_words_ends_and_the_site_around_it_is_crawled_whole() {
    let server = Server::site("words", [127, 77, 31, 1], |path, peer| {
        let number =
            path.strip_prefix("/articles/mill-").and_then(|name| name.strip_suffix(".html")?.parse().ok());
        match number {
            Some(number) => peer.page(&(text(number) + &articles(number, 300, "articles"))),
            None => {
                let seed = path.bytes().fold(7, |seed, byte| hash(seed ^ u64::from(byte)));
                let word = |step: u64| WORDS[hash(seed.wrapping_add(step)) as usize % 16];
                let room = |n: u64| {
                    format!(
                        "/{0}-{1}/{2}/{3}{4}-{5}{6}",
                        word(n),
                        word(n + 9),
                        word(n + 20),
                        word(n + 30),
                        word(n + 40),
                        word(n + 50),
                        word(n + 60)
                    )
                };
                let maze: String = (0..6).map(|n| link(&room(n))).collect();
                let entrance = if path == "/" { articles(0, 300, "articles") } else { String::new() };
                peer.page(&(text(seed) + &maze + &entrance));
            }
        }
    });
    let real: BTreeSet<String> = (0..300).map(|number| format!("/articles/mill-{number}.html")).collect();
    let (requested, found, collection) = crawl(&server, &real);
    assert!(found >= 297 && requested <= 300 + 1_300, "{found} of 300 in {requested} requests");
    let rejected = collection.urls(|record| record.reason == Some(model::Reason::TemplateBudget));
    let why = collection.why(rejected.first().unwrap());
    assert_eq!(why["reason"], "template-budget", "{why:#}");
    assert!(why["notes"].to_string().contains("linked only from each other"), "{why:#}");
}

#[test]
fn a_long_list_with_real_items_is_crawled_whole() {
    let server = Server::site("list", [127, 77, 31, 2], |path, peer| {
        if let Some(page) = path.strip_prefix("/list?page=").and_then(|page| page.parse::<u64>().ok()) {
            let items: String = (0..4).map(|item| link(&format!("/item/{}", page * 4 + item))).collect();
            let next = if page < 149 { link(&format!("/list?page={}", page + 1)) } else { String::new() };
            return peer.page(&(items + &next));
        }
        let seed = path.bytes().fold(3, |seed, byte| hash(seed ^ u64::from(byte)));
        peer.page(&(text(seed) + &link("/list?page=0")));
    });
    let lists = (0..150).map(|page| format!("/list?page={page}"));
    let real: BTreeSet<String> = lists.chain((0..600).map(|item| format!("/item/{item}"))).collect();
    let collection = Collection::new(
        &[server.url("/")],
        &(hosts(&[&server]) + SETTINGS + "[limits]\nmax_depth_dynamic = 200\nmax_depth_static = 200\n"),
    );
    collection.crawl(&[]);
    let fetched: BTreeSet<String> = server.paths().into_iter().collect();
    let missing: Vec<&String> = real.difference(&fetched).collect();
    assert!(missing.len() <= 7, "{} of {} are missing: {:?}", missing.len(), real.len(), missing.first());
}

#[test]
fn a_shop_with_facets_costs_no_more_than_its_items_justify() {
    const FACETS: [&str; 5] = ["color", "size", "brand", "price", "sort"];
    let server = Server::site("shop", [127, 77, 31, 3], |path, peer| {
        let seed = path.bytes().fold(5, |seed, byte| hash(seed ^ u64::from(byte)));
        if path.starts_with("/item/") {
            return peer.page(&(text(seed) + &link("/shop")));
        }
        // Every page offers each value of each facet that is not chosen yet, and shows some items.
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let items: String =
            (0..5).map(|n| link(&format!("/item/{}.html", hash(seed.wrapping_add(n)) % 80))).collect();
        let open = FACETS.iter().filter(|facet| !query.contains(**facet));
        let choices: String = open
            .flat_map(|facet| (0..4).map(move |value| format!("{facet}={value}")))
            .map(|choice| {
                link(&format!(
                    "/shop?{}",
                    if query.is_empty() { choice } else { format!("{query}&{choice}") }
                ))
            })
            .collect();
        peer.page(&(items + &choices));
    });
    let real: BTreeSet<String> = (0..80).map(|item| format!("/item/{item}.html")).collect();
    let (requested, found, _) = crawl(&server, &real);
    // There are 5^5 combinations of values, in any order of the facets.
    assert!(found == 80 && requested <= 80 + 500, "{found} of 80 in {requested} requests");
}

#[test]
fn session_ids_in_paths_cost_a_bounded_number_of_copies() {
    let sessions = AtomicU64::new(0);
    let server = Server::site("session", [127, 77, 31, 4], move |path, peer| {
        let session = hash(sessions.fetch_add(1, Relaxed));
        let number: u64 =
            path.rsplit('/').next().and_then(|name| name.strip_suffix(".html")?.parse().ok()).unwrap_or(0);
        let links: String = (0..30).map(|page| link(&format!("/s{session:x}/{page}.html"))).collect();
        peer.page(&(text(number) + &links));
    });
    let (requested, _, _) = crawl(&server, &BTreeSet::new());
    let pages: BTreeSet<String> =
        server.paths().iter().filter_map(|path| Some(path.rsplit('/').next()?.to_owned())).collect();
    let found = (0..30).filter(|page| pages.contains(&format!("{page}.html"))).count();
    assert!(found == 30 && requested <= 200, "{found} of 30 in {requested} requests");
}
