//! `weir manager`: makes batches of pages, for harvesters here or on other machines.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use crawl::{BatchMade, manage};
use serde::Serialize;
use store::Collection;

use crate::printer::Printer;
use crate::settings::Settings;
use crate::words::{counted, time};

const EXAMPLES: &str = "\
Examples:
  weir manager web --batches 3                  a batch for each of three machines
  scp -r web/batches/000002 web/weir.toml other:
  weir manager web && weir harvester web && weir gatherer web && weir seeder web

The last line is one cycle of a crawl. The batches lie in web/batches. Leave them there, and copy
them to where they are to be harvested: their sites, and all others at the addresses of these, are
left alone until `weir gatherer` has taken in what came back. To give up a batch, remove its folder.";

/// Make batches of the best pages to be fetched next.
///
/// One of the four programs that `weir crawl` runs together: manager, harvester, gatherer, seeder. A site is in at most
/// one open batch, and so is an address: names are resolved before they are lent.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// Make so many, as far as there are pages.
    #[arg(long, value_name = "N", default_value_t = 1)]
    batches: u64,
}

/// Scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    batches: Vec<Made>,
    /// When the next page is due, in Unix milliseconds, if there was none for another batch.
    next_due_ms: Option<u64>,
}

#[derive(Serialize)]
struct Made {
    folder: String,
    number: u64,
    sites: usize,
    pages: usize,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let settings = Settings::load(&args.dir)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    let managed = manage(&mut collection, &Arc::new(settings.crawl_settings(&args.dir)?), args.batches)?;
    if printer.json() {
        let made = |batch: BatchMade| {
            let BatchMade { folder, number, sites, pages } = batch;
            Made { folder: folder.display().to_string(), number, sites, pages }
        };
        let batches = managed.batches.into_iter().map(made).collect();
        printer.object(&Answer { batches, next_due_ms: managed.next_due_ms })?;
        return Ok(ExitCode::SUCCESS);
    }
    for batch in &managed.batches {
        let (pages, sites) = (counted(batch.pages as u64, "page"), counted(batch.sites as u64, "site"));
        printer.line(&format!("{}: {pages} of {sites}", batch.folder.display()))?;
    }
    match (managed.batches.is_empty(), managed.next_due_ms) {
        (false, _) => {}
        (true, Some(due_ms)) => {
            printer.line(&format!("nothing is due; the next page is at {}", time(due_ms as i64)))?;
        }
        (true, None) => printer.line("nothing is left to fetch, or all of it is in open batches")?,
    }
    Ok(ExitCode::SUCCESS)
}
