//! `weir similar`: which pages are like a page? By their words, and by the links that they have in common.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;

use analysis::{Alike, Cores, LinkGraph, LinkedAlike, PageText, SimilarText, linked_alike, similar_texts};
use clap::ValueEnum;
use model::PageId;
use serde::Serialize;
use store::Snapshot;

use crate::failure::WrongUse;
use crate::known_sites;
use crate::printer::{Meaning, Printer, printable};
use crate::settings::Settings;
use crate::words::counted;

const EXAMPLES: &str = "\
Examples:
  weir similar web https://example.org/news/
  weir similar web https://example.org/ --by links --top 50
  weir similar web https://example.org/ --json | jq -r .url

Links are those of the last analysis: `weir analyze` finds them. Texts are compared by the rarity of the
words that they have in common; pages with the same text are told of once.";

/// Pages by links whose texts are looked at, too.
const MOST_BY_LINKS: usize = 100;

/// Find pages that are like a page.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// The page; it need not be written as the crawl writes it.
    url: String,

    /// What makes pages alike.
    #[arg(long, value_enum, default_value_t = By::All)]
    by: By,

    /// So many of them.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// The words of their main texts.
    Text,
    /// Pages that link to both, or that both link to.
    Links,
    /// Both; of each page what makes it more alike.
    All,
}

/// Scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    url: String,
    by: &'static str,
    score: f32,
    why: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    common_links: Option<u32>,
    /// Other pages with the same text that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    copies: usize,
    title: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, None)?;
    let url = Settings::load(&args.dir)?
        .url_rules()
        .canonical(&args.url)
        .map_err(|rejected| known_sites::mistyped(&snapshot, &args.url, &rejected))?;
    let page = snapshot.urls.find(&url)?.ok_or_else(|| unknown(&snapshot, args, url.as_str()))?;
    let by_links = match args.by {
        By::Text => Ok(Vec::new()),
        By::Links | By::All => by_links(args, page)?,
    };
    let also: Vec<u32> = by_links.iter().flatten().take(MOST_BY_LINKS).map(|alike| alike.page).collect();
    let by_text = match args.by {
        By::Links => Ok(Vec::new()),
        By::Text | By::All => by_text(&snapshot, page, &also)?,
    };
    let (by_text, by_links) = match (args.by, by_text, by_links) {
        (_, Ok(by_text), Ok(by_links)) => (by_text, by_links),
        (By::All, by_text, by_links) if by_text.is_ok() || by_links.is_ok() => {
            for missing in [by_text.as_ref().err(), by_links.as_ref().err()].into_iter().flatten() {
                printer.complain(missing)?;
            }
            (by_text.unwrap_or_default(), by_links.unwrap_or_default())
        }
        (_, Err(missing), _) | (_, _, Err(missing)) => return Err(WrongUse(missing).into()),
    };
    let answers = answers(&snapshot, page, by_text, &by_links, args.top)?;
    if answers.is_empty() && !printer.json() {
        printer.line(&format!("no page of {} is like {}", args.dir.display(), printable(url.as_str())))?;
    }
    for answer in &answers {
        if printer.json() {
            printer.object(answer)?;
        } else {
            print(answer, printer)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown(snapshot: &Snapshot, args: &Args, url: &str) -> WrongUse {
    let known = known_sites::suggestion(snapshot, url);
    let known = known.map_or_else(String::new, |known| format!("; {known}"));
    WrongUse(format!("{} does not know {url}{known}", args.dir.display()))
}

/// What was found, or a sentence that tells what is missing.
type Found<T> = Result<Vec<T>, String>;

fn by_links(args: &Args, page: PageId) -> anyhow::Result<Found<LinkedAlike>> {
    let dir = args.dir.display();
    let Some(graph) = LinkGraph::newest(&args.dir)? else {
        return Ok(Err(format!("links cannot be compared yet: run `weir analyze {dir}` first")));
    };
    let found = linked_alike(&graph, page.0)?;
    Ok(found
        .ok_or_else(|| format!("the last analysis does not know the page: run `weir analyze {dir}` again")))
}

fn by_text(snapshot: &Snapshot, page: PageId, also: &[u32]) -> anyhow::Result<Found<SimilarText>> {
    if let Some(texts) = similar_texts(snapshot, page, also, Cores::all())? {
        return Ok(Ok(texts));
    }
    let was_fetched = snapshot.pages.get(page)?.is_some_and(|page| page.stored.is_some());
    let why = if was_fetched { "it has no text" } else { "it was never fetched" };
    Ok(Err(format!("texts cannot be compared with that of this page: {why}")))
}

/// The best of both ways, each page once.
fn answers(
    snapshot: &Snapshot,
    page: PageId,
    by_text: Vec<SimilarText>,
    by_links: &[LinkedAlike],
    top: usize,
) -> anyhow::Result<Vec<Answer>> {
    let mut own_digest = None;
    let mut copies: HashMap<u64, u32> = HashMap::new();
    let mut folded: HashSet<u32> = HashSet::new();
    let mut found: HashMap<u32, Answer> = HashMap::new();
    for text in by_text {
        if text.page == page.0 {
            own_digest = Some(text.digest);
            continue;
        }
        let is_same = own_digest == Some(text.digest);
        // Copies of the page itself are all told of; of others, the first.
        if let Some(first) = copies.get(&text.digest).filter(|_| !is_same) {
            folded.insert(text.page);
            if let Some(first) = found.get_mut(first) {
                first.copies += 1;
            }
            continue;
        }
        copies.insert(text.digest, text.page);
        if text.cosine > 0.0 {
            found.insert(text.page, text_answer(text, is_same));
        }
    }
    for alike in by_links.iter().filter(|alike| !folded.contains(&alike.page)) {
        let answer = found.entry(alike.page).or_insert_with(|| link_answer(alike));
        let is_nearer = answer.common_links.is_none() && alike.score > answer.score;
        answer.common_links = answer.common_links.or(Some(alike.common_links));
        if is_nearer {
            let LinkedAlike { way, score, .. } = *alike;
            (answer.by, answer.score, answer.why) = ("links", score, way_word(way));
        }
    }
    let mut answers: Vec<(u32, Answer)> = found.into_iter().collect();
    answers.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
    answers.truncate(top);
    let finish = |(page, answer)| finish(snapshot, PageId(page), answer);
    answers.into_iter().map(finish).collect()
}

fn text_answer(text: SimilarText, is_same: bool) -> Answer {
    let why = match (is_same, text.is_near) {
        (true, _) => "same-text",
        (false, true) => "near-text",
        (false, false) => "words",
    };
    let SimilarText { cosine: score, distance, title, .. } = text;
    let distance = Some(distance);
    Answer { url: String::new(), by: "text", score, why, distance, common_links: None, copies: 0, title }
}

fn link_answer(alike: &LinkedAlike) -> Answer {
    let LinkedAlike { way, score, common_links, .. } = *alike;
    let (url, title, common_links) = (String::new(), String::new(), Some(common_links));
    Answer { url, by: "links", score, why: way_word(way), distance: None, common_links, copies: 0, title }
}

fn way_word(way: Alike) -> &'static str {
    match way {
        Alike::CitedTogether => "cited-together",
        Alike::LinkingAlike => "linking-alike",
    }
}

/// Looks up the URL, and the title if nobody did.
fn finish(snapshot: &Snapshot, page: PageId, answer: Answer) -> anyhow::Result<Answer> {
    let url = snapshot.urls.url(page)?.unwrap_or_default();
    let title = match (answer.distance, snapshot.pages.get(page)?) {
        (None, Some(record)) => PageText::read(snapshot, &record)?.unwrap_or_default().title,
        _ => answer.title,
    };
    Ok(Answer { url, title, ..answer })
}

fn print(answer: &Answer, printer: &mut Printer) -> anyhow::Result<()> {
    let common = u64::from(answer.common_links.unwrap_or(0));
    let why = match answer.why {
        "same-text" => "the same text".to_owned(),
        "near-text" => "nearly the same text".to_owned(),
        "words" => "words in common".to_owned(),
        "cited-together" => format!("both are linked from {}", counted(common, "page")),
        _ => format!("both link to {}", counted(common, "page")),
    };
    let copies = match answer.copies {
        0 => String::new(),
        copies => format!("; {} with its text", counted(copies as u64, "more page")),
    };
    printer.line(&format!("{:.2}  {}", answer.score, printable(&answer.url)))?;
    let title = printable(&answer.title).replace(['\n', '\t'], " ");
    let gap = if title.is_empty() { "" } else { "  " };
    let aside = printer.paint(Meaning::Aside, &format!("{why}{copies}"));
    printer.line(&format!("      {title}{gap}{aside}"))
}
