//! `weir similar`: which pages are like a page? By their words, and by the links that they have in common.

use std::path::PathBuf;
use std::process::ExitCode;

use analysis::{Cores, SimilarBy, SimilarPage, similar_pages};
use clap::ValueEnum;
use store::Snapshot;

use crate::failure::WrongUse;
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

impl From<By> for SimilarBy {
    fn from(by: By) -> SimilarBy {
        match by {
            By::Text => SimilarBy::Text,
            By::Links => SimilarBy::Links,
            By::All => SimilarBy::All,
        }
    }
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, None)?;
    let url = Settings::load(&args.dir)?
        .url_rules()
        .canonical(&args.url)
        .map_err(|rejected| crawl::mistyped_url(&snapshot, &args.url, rejected))?;
    let page = snapshot.urls.find(&url)?.ok_or_else(|| unknown(&snapshot, args, url.as_str()))?;
    let found = similar_pages(&snapshot, page, args.by.into(), args.top, Cores::all())?;
    // What was asked for alone must be there; of both, one will do.
    let is_nothing = found.missing.len() == if args.by == By::All { 2 } else { 1 };
    match found.missing.first() {
        Some(missing) if is_nothing => return Err(WrongUse(missing.clone()).into()),
        Some(missing) => printer.complain(missing)?,
        None => {}
    }
    let answers = found.pages;
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
    let known = crawl::suggest_sites(snapshot, url);
    let known = known.map_or_else(String::new, |known| format!("; {known}"));
    WrongUse(format!("{} does not know {url}{known}", args.dir.display()))
}

fn print(answer: &SimilarPage, printer: &mut Printer) -> anyhow::Result<()> {
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
