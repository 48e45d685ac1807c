//! `weir refetch`: pages that the next crawl fetches first.

use std::path::PathBuf;
use std::process::ExitCode;

use crawl::{RefetchSummary, request_refetch};
use serde::Serialize;
use store::{Collection, Snapshot};

use crate::human::plural;
use crate::output::Printer;
use crate::page_selection::PageSelection;
use crate::settings::SetArgs;
use crate::system;

const EXAMPLES: &str = "\
Examples:
  weir refetch web https://example.org/news/
  weir refetch web --site https://example.org
  weir refetch web --where \"status = 404 and host like '%.org'\" && weir crawl web

The next crawl fetches these pages before all others, whatever their revisit interval, and without
If-Modified-Since. Delays and robots.txt apply as always; pages that the settings reject are not
fetched.";

/// Fetch pages again, before all others.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    #[command(flatten)]
    pages: PageSelection,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct RefetchOutput {
    pages: u64,
    rejected: u64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let settings = args.set.load(&args.dir)?;
    let pages = args.pages.pages(&Snapshot::open(&args.dir, None)?, &settings.url_rules())?;
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    let RefetchSummary { pages, rejected } = request_refetch(&mut collection, &pages)?;
    collection.commit(system::now_ms() as i64)?;
    if printer.json() {
        printer.object(&RefetchOutput { pages, rejected })?;
        return Ok(ExitCode::SUCCESS);
    }
    printer.line(&format!(
        "{} will be fetched first by `weir crawl {}`",
        plural(pages, "page"),
        args.dir.display()
    ))?;
    if rejected > 0 {
        let hint = "`weir why` shows the reason of each";
        printer.line(&format!(
            "{} not requested, because they are rejected; {hint}",
            plural(rejected, "page")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
