//! `weir why`: the story of a URL. What is known of it and of its site, what the rules say, what a visit is worth, who links
//! to it, and what came of each visit.

mod tell;

use std::path::PathBuf;
use std::process::ExitCode;

use store::Snapshot;

use crate::printer::Printer;
use crate::process::now_ms;
use crate::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  weir why web https://example.org/news/
  weir why web https://example.org/news/ --json | jq .reason

A URL that the crawl does not know is judged by the settings, and looked for among the links
that were not followed.";

/// Tell why a page was fetched, or why not.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// The page; it need not be written as the crawl writes it.
    url: String,

    /// A snapshot by its name or generation, instead of the last commit.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let rules = Settings::load(&args.dir)?.crawl_settings(&args.dir)?;
    let story = crawl::story(&snapshot, &rules, &args.url, now_ms())?;
    if printer.json() {
        printer.object(&story)?;
    } else {
        tell::tell(&story, printer)?;
    }
    Ok(ExitCode::SUCCESS)
}
