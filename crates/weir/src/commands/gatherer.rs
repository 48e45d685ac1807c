//! `weir gatherer`: takes harvests into the collection, and leaves the links that it finds for the seeder.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use crawl::{GatherSummary, gather};
use serde::Serialize;
use store::Collection;

use crate::printer::Printer;
use crate::settings::Settings;
use crate::words::{counted, size};

const EXAMPLES: &str = "\
Examples:
  weir gatherer web
  scp -r other:harvest-000002 web/harvests/000002 && weir gatherer web && weir seeder web

A harvest is taken in as a whole or not at all, whatever happens meanwhile; then its folder and that of its batch go.";

/// Take harvests in: store pages, and describe them.
///
/// One of the four programs that `weir crawl` runs together. Harvests lie in the collection's folder harvests, each under
/// the number of its batch; what is not complete is left alone.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,
}

/// Scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    harvests: u64,
    pages: u64,
    bytes: u64,
    with_links: u64,
    not_asked: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let settings = Settings::load(&args.dir)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    let summary = gather(&mut collection, &Arc::new(settings.crawl_settings(&args.dir)?))?;
    let GatherSummary { harvests, pages, bytes, with_links, not_asked } = summary;
    let seconds = start.elapsed().as_secs_f64();
    if printer.json() {
        printer.object(&Answer { harvests, pages, bytes, with_links, not_asked, seconds })?;
    } else {
        printer.line(&format!(
            "took in {} with {} ({}) in {seconds:.1} s; {} not asked for",
            counted(harvests, "harvest"),
            counted(pages, "page"),
            size(bytes),
            counted(not_asked, "page"),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
