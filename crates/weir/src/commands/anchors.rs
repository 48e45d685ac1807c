//! `weir anchors`: what do others call a page? The words of the links that lead to it, the most frequent first.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;

use model::SiteId;
use serde::Serialize;
use store::{InLink, Snapshot, links_to};

use crate::printer::{Meaning, Printer, printable};
use crate::settings::Settings;
use crate::words::count;

const EXAMPLES: &str = "\
Examples:
  weir anchors web https://example.org/
  weir anchors web https://elsewhere.example/ --top 5    also of pages that were never fetched
  weir anchors web https://example.org/ --json | jq -r .anchor";

/// Pages that are looked at; of a page that more lead to, the words of so many will do.
const MOST_PAGES: usize = 1_000_000;

/// Tell the words of the links that lead to a page.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// The page; it need not be written as the crawl writes it.
    url: String,

    /// Only so many of them.
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// A snapshot by its name or generation, instead of the last commit.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

/// Scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    anchor: String,
    pages: u64,
    sites: u64,
}

/// Who uses some words; a page counts once, with the first of its links.
#[derive(Default)]
struct Users {
    pages: u64,
    sites: HashSet<SiteId>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let rules = Settings::load(&args.dir)?.url_rules();
    let url =
        rules.canonical(&args.url).map_err(|rejected| crawl::mistyped_url(&snapshot, &args.url, rejected))?;
    let page = snapshot.urls.find(&url)?;
    let links = links_to(snapshot.folder(), &snapshot.manifest, page, url.as_str(), MOST_PAGES)?;
    let answers = answers(&snapshot, &links)?;
    if answers.is_empty() && !printer.json() {
        printer.line(&format!("no page of {} links to {}", args.dir.display(), printable(url.as_str())))?;
    }
    for answer in answers.iter().take(args.top.unwrap_or(usize::MAX)) {
        if printer.json() {
            printer.object(answer)?;
        } else {
            printer.line(&line(answer, printer))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The words, those of most pages first.
fn answers(snapshot: &Snapshot, links: &[InLink]) -> store::Result<Vec<Answer>> {
    let mut users: HashMap<&str, Users> = HashMap::new();
    for link in links {
        let of = users.entry(link.anchor.as_deref().unwrap_or_default().trim()).or_default();
        of.pages += 1;
        of.sites.extend(snapshot.pages.get(link.source)?.map(|page| page.site));
    }
    let answer = |(anchor, users): (&str, Users)| Answer {
        anchor: anchor.to_owned(),
        pages: users.pages,
        sites: users.sites.len() as u64,
    };
    let mut answers: Vec<Answer> = users.into_iter().map(answer).collect();
    answers.sort_by(|one, other| other.pages.cmp(&one.pages).then_with(|| one.anchor.cmp(&other.anchor)));
    Ok(answers)
}

fn line(answer: &Answer, printer: &Printer) -> String {
    let words = match answer.anchor.as_str() {
        "" => printer.paint(Meaning::Aside, "no words"),
        words => printable(words).to_string(),
    };
    let (pages, sites) = (count(answer.pages), count(answer.sites));
    format!("{pages:>9} pages {sites:>7} sites  {words}")
}
