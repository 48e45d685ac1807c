//! `weir similar`: pages similar to a page, by term vectors and by common links.

use std::path::PathBuf;
use std::process::ExitCode;

use analysis::{SimilarBy, SimilarPage, Threads, similar_pages};
use clap::ValueEnum;
use store::{Cancellation, Snapshot};

use crate::exit::UsageError;
use crate::human::plural;
use crate::output::{Printer, TextStyle, printable};
use crate::settings::SetArgs;

const EXAMPLES: &str = "\
Examples:
  weir similar web https://example.org/news/
  weir similar web https://example.org/ --by links --limit 50
  weir similar web https://example.org/ --json | jq -r .url

Links are those of the last `weir analyze`. Texts are compared by TF-IDF vectors; exact duplicates
are listed once.";

/// Find pages similar to a page.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// URL of the page; canonicalised before lookup.
    url: String,

    /// Similarity measure.
    #[arg(long, value_enum, default_value_t = By::All)]
    by: By,

    /// Maximum number of results.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    #[command(flatten)]
    set: SetArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Term vectors of the main text.
    Text,
    /// Co-citation and bibliographic coupling.
    Links,
    /// The higher of both.
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
    let url = args
        .set
        .load(&args.dir)?
        .url_rules()
        .canonical(&args.url)
        .map_err(|rejected| inspect::invalid_url_error(&snapshot, &args.url, rejected))?;
    let page = snapshot.urls.find(&url)?.ok_or_else(|| unknown(&snapshot, args, url.as_str()))?;
    let found = similar_pages(
        &snapshot,
        page,
        args.by.into(),
        args.limit,
        Threads::available(),
        &Cancellation::default(),
    )?;
    // A single measure must be available; of both, one suffices.
    let is_unavailable = found.unavailable.len() == if args.by == By::All { 2 } else { 1 };
    match found.unavailable.first() {
        Some(message) if is_unavailable => return Err(UsageError(message.clone()).into()),
        Some(message) => printer.warn(message)?,
        None => {}
    }
    if found.pages.is_empty() && !printer.json() {
        printer.line("no similar pages")?;
    }
    for page in &found.pages {
        if printer.json() {
            printer.object(page)?;
        } else {
            print(page, printer)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown(snapshot: &Snapshot, args: &Args, url: &str) -> UsageError {
    let known = inspect::suggest_sites(snapshot, url);
    let known = known.map_or_else(String::new, |known| format!("; {known}"));
    UsageError(format!("{url} is not in {}{known}", args.dir.display()))
}

fn print(page: &SimilarPage, printer: &mut Printer) -> anyhow::Result<()> {
    let common = u64::from(page.common_links.unwrap_or(0));
    let relation = match page.relation {
        "exact-duplicate" => "exact duplicate".to_owned(),
        "near-duplicate" => "near duplicate".to_owned(),
        "similar-text" => "similar text".to_owned(),
        "co-citation" => format!("both are linked from {}", plural(common, "page")),
        _ => format!("both link to {}", plural(common, "page")),
    };
    let duplicates = match page.duplicates {
        0 => String::new(),
        duplicates => format!("; {}", plural(duplicates as u64, "exact duplicate")),
    };
    printer.line(&format!("{:.2}  {}", page.score, printable(&page.url)))?;
    let title = printable(&page.title).replace(['\n', '\t'], " ");
    let gap = if title.is_empty() { "" } else { "  " };
    let remark = printer.style(TextStyle::Dim, &format!("{relation}{duplicates}"));
    printer.line(&format!("      {title}{gap}{remark}"))
}
