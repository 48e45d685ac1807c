//! `weir gatherer`: stores and parses harvested pages, and writes their links for the seeder.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use crawl::{GatherSummary, gather};
use serde::Serialize;
use store::Collection;

use crate::human::{self, plural};
use crate::output::Printer;
use crate::settings::SetArgs;

const EXAMPLES: &str = "\
Examples:
  weir gatherer web
  scp -r other:harvest-000002 web/harvests/000002 && weir gatherer web && weir seeder web

A harvest is stored by one commit; then its directory and that of its batch are deleted. Items
that contradict the batch are dropped, and a damaged harvest is moved to `quarantine`; their
pages are fetched again.";

/// Store and parse harvested pages.
///
/// One of the four programs that `weir crawl` combines. Harvests are in `harvests` of the collection, each under the id
/// of its batch; incomplete harvests are skipped.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct GathererOutput {
    harvests: u64,
    pages: u64,
    bytes: u64,
    pages_with_links: u64,
    pages_not_fetched: u64,
    rejected_items: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let mut settings = args.set.load(&args.dir)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    settings.accept_hosts_of(&settings.seeds(&collection)?)?;
    let summary = gather(&mut collection, &Arc::new(settings.crawl_settings(&args.dir)?))?;
    let GatherSummary {
        harvests,
        pages,
        bytes,
        pages_with_links,
        pages_not_fetched,
        rejected_items,
        warnings,
    } = summary;
    warnings.iter().try_for_each(|warning| printer.warn(warning))?;
    let seconds = start.elapsed().as_secs_f64();
    if printer.json() {
        printer.object(&GathererOutput {
            harvests,
            pages,
            bytes,
            pages_with_links,
            pages_not_fetched,
            rejected_items,
            seconds,
        })?;
    } else {
        printer.line(&format!(
            "stored {} of {} ({}) in {seconds:.1} s; {} not fetched",
            plural(pages, "page"),
            plural(harvests, "harvest"),
            human::bytes(bytes),
            plural(pages_not_fetched, "page"),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
