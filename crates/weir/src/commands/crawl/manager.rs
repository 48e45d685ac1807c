//! `weir manager`: creates batches of pages, for harvesters here or on other machines.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use crawl::{CreatedBatch, manage};
use serde::Serialize;
use store::Collection;

use crate::commands::crawl::crawl::require_permission;
use crate::human::{plural, timestamp};
use crate::output::Printer;
use crate::settings::SetArgs;

const EXAMPLES: &str = "\
Examples:
  weir manager web --batches 3                  a batch for each of three machines
  scp -r web/batches/000002 web/weir.toml other:
  weir manager web && weir harvester web && weir gatherer web && weir seeder web

The last line is one batch of a crawl. Batches are in web/batches. Keep them there and copy them
to the machine of the harvester: their sites, and all sites at the same IP addresses, are not put
into other batches until `weir gatherer` has stored the harvest. To discard a batch, remove its
directory.";

/// Create batches of the pages with the highest priority.
///
/// One of the four programs that `weir crawl` combines: manager, harvester, gatherer, seeder. A site and an IP address
/// are in at most one open batch; host names are resolved when a batch is created.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Number of batches to create.
    #[arg(long, value_name = "N", default_value_t = 1)]
    batches: u64,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct ManagerOutput {
    batches: Vec<BatchOutput>,
    /// Time at which the next page is due, in Unix milliseconds, if no page was left for another batch.
    next_due_ms: Option<u64>,
}

#[derive(Serialize)]
struct BatchOutput {
    directory: String,
    id: u64,
    sites: usize,
    pages: usize,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let mut settings = args.set.load(&args.dir)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    settings.accept_hosts_of(&settings.seeds(&collection)?)?;
    require_permission(&mut collection, &settings, false)?;
    let managed = manage(&mut collection, &Arc::new(settings.crawl_settings(&args.dir)?), args.batches)?;
    if printer.json() {
        let output = |batch: CreatedBatch| {
            let CreatedBatch { dir, id, sites, pages } = batch;
            BatchOutput { directory: dir.display().to_string(), id, sites, pages }
        };
        let batches = managed.batches.into_iter().map(output).collect();
        printer.object(&ManagerOutput { batches, next_due_ms: managed.next_due_ms })?;
        return Ok(ExitCode::SUCCESS);
    }
    for batch in &managed.batches {
        let (pages, sites) = (plural(batch.pages as u64, "page"), plural(batch.sites as u64, "site"));
        printer.line(&format!("{}: {pages} of {sites}", batch.dir.display()))?;
    }
    match (managed.batches.is_empty(), managed.next_due_ms) {
        (false, _) => {}
        (true, Some(due_ms)) => {
            printer.line(&format!("no page is due before {}", timestamp(due_ms as i64)))?;
        }
        (true, None) => printer.line("no pages to fetch outside the open batches")?,
    }
    Ok(ExitCode::SUCCESS)
}
