//! `weir why`: explanation of the stage of a URL: page and site state, robots.txt rule, priority, inlinks and fetches.

mod print;

use std::path::PathBuf;
use std::process::ExitCode;

use store::Snapshot;

use crate::output::Printer;
use crate::settings::SetArgs;
use crate::system::now_ms;

const EXAMPLES: &str = "\
Examples:
  weir why web https://example.org/news/
  weir why web https://example.org/news/ --json | jq .reason

A URL that is not in the collection is checked against the settings and searched in the rejected
links.";

/// Explain why a URL was fetched or not.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// URL of the page; canonicalised before lookup.
    url: String,

    /// Snapshot name or generation (default: last commit).
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,

    #[command(flatten)]
    set: SetArgs,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let mut settings = args.set.load(&args.dir)?;
    settings.accept_seed_hosts(&snapshot)?;
    let settings = settings.crawl_settings(&args.dir)?;
    let report =
        inspect::explain_url(&snapshot, &settings, &args.url, now_ms(), &store::Cancellation::default())?;
    if printer.json() {
        printer.object(&report)?;
    } else {
        print::print(&report, printer)?;
    }
    Ok(ExitCode::SUCCESS)
}
