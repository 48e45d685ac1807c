//! robots.txt: URL checks per second with 100 rules, compared with a simple implementation of RFC 9309.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use parse::RobotsRules;

const URLS: usize = 10_000;
const ROUNDS: usize = 50;

/// Runs the benchmark and prints its figure.
pub(crate) fn run() -> anyhow::Result<()> {
    let robots = robots_txt();
    let rules = RobotsRules::parse(robots.as_bytes(), "weir");
    let naive = naive_rules(&robots);
    let paths = paths();
    let allowed = paths.iter().filter(|path| rules.decide(path).allowed).count();
    anyhow::ensure!(
        paths.iter().all(|path| rules.decide(path).allowed == decide_naively(&naive, path)),
        "the two matchers disagree"
    );
    let ours = checks_per_second(ROUNDS, &paths, |path| rules.decide(path).allowed);
    let baseline = checks_per_second(ROUNDS / 10, &paths, |path| decide_naively(&naive, path));
    writeln!(
        io::stdout(),
        "robots: {} rules, {} paths ({allowed} allowed): {:.2} M checks/s, {:.1} times a simple implementation ({:.2} M/s)",
        rules.len(),
        paths.len(),
        ours / 1e6,
        ours / baseline,
        baseline / 1e6
    )?;
    Ok(())
}

fn checks_per_second(rounds: usize, paths: &[String], decide: impl Fn(&str) -> bool) -> f64 {
    let start = Instant::now();
    for _ in 0..rounds {
        for path in paths {
            black_box(decide(black_box(path)));
        }
    }
    (rounds * paths.len()) as f64 / start.elapsed().as_secs_f64()
}

/// A hundred rules as on shops and portals: mostly directories, some wildcards, a few exceptions.
fn robots_txt() -> String {
    let folders = [
        "admin",
        "cart",
        "checkout",
        "account",
        "login",
        "search",
        "tmp",
        "private",
        "cgi-bin",
        "includes",
        "misc",
        "modules",
        "profiles",
        "scripts",
        "themes",
        "comment/reply",
        "filter/tips",
        "node/add",
        "user/register",
        "user/password",
        "wp-admin",
        "wp-includes",
        "customer",
        "wishlist",
        "compare",
        "review",
        "sendfriend",
        "newsletter",
        "catalogsearch",
        "downloader",
    ];
    let wildcards = [
        "/*?sort=",
        "/*&sort=",
        "/*?dir=",
        "/*?limit=",
        "/*?SID=",
        "/*.php$",
        "*.pdf$",
        "/*/print$",
        "/*?q=*&page=",
        "/*/feed/",
        "/*?replytocom",
        "/*sessionid=",
        "/*.js$",
        "/*/trackback",
        "*/amp$",
    ];
    let mut robots = "User-agent: *\n".to_owned();
    for dir in folders {
        robots.push_str(&format!("Disallow: /{dir}/\nDisallow: /index.php/{dir}/\n"));
    }
    for wildcard in wildcards {
        robots.push_str(&format!("Disallow: {wildcard}\n"));
    }
    for at in 0..25 {
        robots.push_str(&format!("Allow: /misc/asset-{at}.css\n"));
    }
    robots
}

/// Paths that mostly match no rule, as in a crawl.
fn paths() -> Vec<String> {
    let words = [
        "news",
        "articles",
        "2024",
        "research",
        "about-us",
        "products",
        "shoes",
        "blog",
        "the-long-title-of-a-post",
    ];
    let mut state = 7_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let mut path = |at: usize| {
        let mut path = String::new();
        for _ in 0..2 + below(4) {
            path.push('/');
            path.push_str(words[below(words.len())]);
        }
        path.push_str(&format!("/{at}"));
        match below(20) {
            0 => path.insert_str(0, "/admin"),
            1 => path.push_str("?page=3&sort=price"),
            2 => path.push_str(".pdf"),
            3 => path.push_str("?id=17&lang=en"),
            4 => path.push_str("/caf%C3%A9"),
            _ => path.push_str(".html"),
        }
        path
    };
    (0..URLS).map(&mut path).collect()
}

/// Rule of the baseline: whether it allows, and its pattern.
type NaiveRule<'a> = (bool, &'a str);

fn naive_rules(robots: &str) -> Vec<NaiveRule<'_>> {
    let rule = |line| match str::split_once(line, ": ")? {
        ("Allow", pattern) => Some((true, pattern)),
        ("Disallow", pattern) => Some((false, pattern)),
        _ => None,
    };
    robots.lines().filter_map(rule).collect()
}

/// Tries all rules; the longest match decides.
fn decide_naively(rules: &[NaiveRule<'_>], path: &str) -> bool {
    let matching = rules.iter().filter(|(_, pattern)| matches_naively(pattern.as_bytes(), path.as_bytes()));
    matching.max_by_key(|(allow, pattern)| (pattern.len(), *allow)).is_none_or(|(allow, _)| *allow)
}

/// Computes the set of positions in the pattern byte by byte: the usual simple matcher.
fn matches_naively(pattern: &[u8], path: &[u8]) -> bool {
    let mut reached = vec![0];
    for (at, &byte) in pattern.iter().enumerate() {
        match byte {
            b'$' if at + 1 == pattern.len() => return reached.last() == Some(&path.len()),
            b'*' => reached = (reached[0]..=path.len()).collect(),
            _ => {
                let next = reached.iter().filter(|&&place| path.get(place) == Some(&byte));
                reached = next.map(|place| place + 1).collect();
            }
        }
        if reached.is_empty() {
            return false;
        }
    }
    true
}
