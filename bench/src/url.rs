//! URL canonicalisation: references per second with all rules, compared with `Url::join` alone on the same
//! references.
//!
//! The references are the links of the corpus as written, page by page. Both sides get the base parsed, as a crawler
//! has it; Weir writes into one buffer, which `Url::join` cannot.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use model::{CanonicalUrl, UrlRules};
use url::Url;

use crate::corpus::{self, Page};

/// Size of the corpus: about 200,000 references.
const CORPUS_LIMIT_BYTES: usize = 24 << 20;
/// Number of rounds. The sides alternate, and the best round of each counts: other programs can only slow a round
/// down.
const ROUNDS: usize = 15;

/// References of one page.
struct Links {
    base: String,
    references: Vec<String>,
}

/// Runs the benchmark and prints its figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let pages: Vec<Links> = corpus::load(CORPUS_LIMIT_BYTES)?.iter().map(links).collect();
    compare("all references", &pages)?;
    let is_absolute = |reference: &String| reference.starts_with("http");
    compare("absolute ones", &select(&pages, is_absolute))?;
    compare("others", &select(&pages, |reference| !is_absolute(reference)))
}

fn compare(name: &str, pages: &[Links]) -> anyhow::Result<()> {
    let rules = UrlRules::default();
    let ours: Vec<CanonicalUrl> =
        pages.iter().map(|page| rules.canonical(&page.base)).collect::<Result<_, _>>()?;
    let theirs: Vec<Url> = pages.iter().map(|page| Url::parse(&page.base)).collect::<Result<_, _>>()?;
    let (mut our_seconds, mut their_seconds) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        our_seconds = our_seconds.min(seconds(|| canonicalise(&rules, &ours, pages)));
        their_seconds = their_seconds.min(seconds(|| join(&theirs, pages)));
    }
    let count: usize = pages.iter().map(|page| page.references.len()).sum();
    let millions = |seconds: f64| count as f64 / seconds / 1e6;
    writeln!(
        io::stdout(),
        "url, {name}: {count}: {:.2} M/s canonical, {:.2} times Url::join alone ({:.2} M/s)",
        millions(our_seconds),
        their_seconds / our_seconds,
        millions(their_seconds)
    )?;
    Ok(())
}

fn canonicalise(rules: &UrlRules, bases: &[CanonicalUrl], pages: &[Links]) {
    for (base, page) in bases.iter().zip(pages) {
        let mut out = base.clone();
        for reference in &page.references {
            black_box(rules.join_into(base, black_box(reference), &mut out).is_ok());
            black_box(&out);
        }
    }
}

fn join(bases: &[Url], pages: &[Links]) {
    for (base, page) in bases.iter().zip(pages) {
        for reference in &page.references {
            black_box(base.join(black_box(reference)).is_ok());
        }
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn select(pages: &[Links], wanted: impl Fn(&String) -> bool) -> Vec<Links> {
    let of_page = |page: &Links| Links {
        base: page.base.clone(),
        references: page.references.iter().filter(|reference| wanted(reference)).cloned().collect(),
    };
    pages.iter().map(of_page).collect()
}

/// Finds references by a plain search for `href="..."`, independent of the parser.
fn links(page: &Page) -> Links {
    let text = String::from_utf8_lossy(&page.bytes);
    let attributes = text.split("href=\"").skip(1);
    let references =
        attributes.filter_map(|rest| Some(rest.split_once('"')?.0.replace("&amp;", "&"))).collect();
    let path = page.path.to_string_lossy().replace('\\', "/");
    Links { base: format!("https://docs.example.org/{path}"), references }
}
