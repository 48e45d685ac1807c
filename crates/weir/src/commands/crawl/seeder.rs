//! `weir seeder`: adds discovered links and new seeds to the collection.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use crawl::{SeedSummary, add_seeds, seed};
use serde::Serialize;
use store::Collection;

use crate::commands::collection::init::SeedArgs;
use crate::human::plural;
use crate::output::Printer;
use crate::settings::{self, SetArgs, SiteSection};

const EXAMPLES: &str = "\
Examples:
  weir seeder web
  weir seeder web --seed https://www.example.org/
  weir seeder web --seeds more.txt

A line of a seed file is a URL, optionally followed by [[site]] settings of its site, which are
added to weir.toml; # begins a comment:
  https://www.example.org/ delay=30s max_pages=1000 max_depth=3";

/// Add discovered links, or new seeds, to the collection.
///
/// One of the four programs that `weir crawl` combines. Seeds can be added whenever no crawl is running.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    #[command(flatten)]
    seeds: SeedArgs,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct SeederOutput {
    link_files: u64,
    links: u64,
    new_pages: u64,
    new_seeds: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let settings = args.set.load(&args.dir)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    let seeds = args.seeds.read(&settings.url_rules(), printer)?;
    add_sites(&args.dir, &seeds.sites)?;
    let typed = Arc::new(settings.crawl_settings(&args.dir)?);
    let new_seeds = if seeds.urls.is_empty() {
        0
    } else {
        add_seeds(&mut collection, &typed.gathering.scope.extensions, &typed.limits, &seeds.urls)?
    };
    let SeedSummary { link_files, links, new_pages } = seed(&mut collection, &typed)?;
    let seconds = start.elapsed().as_secs_f64();
    if printer.json() {
        printer.object(&SeederOutput { link_files, links, new_pages, new_seeds, seconds })?;
        return Ok(ExitCode::SUCCESS);
    }
    if !seeds.urls.is_empty() {
        let seeds = plural(seeds.urls.len() as u64, "seed");
        printer.line(&format!("{seeds}, {new_seeds} new"))?;
    }
    printer.line(&format!(
        "added {} from {} in {seconds:.1} s",
        plural(new_pages, "new page"),
        plural(links, "link")
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Appends `[[site]]` entries to the settings file.
fn add_sites(dir: &Path, sites: &[SiteSection]) -> anyhow::Result<()> {
    if sites.is_empty() {
        return Ok(());
    }
    let path = dir.join(settings::FILE);
    settings::append_sites(&path, sites).with_context(|| format!("cannot write {}", path.display()))
}
