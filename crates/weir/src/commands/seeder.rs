//! `weir seeder`: takes links in that the gatherer has found, and pages that the user names.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use crawl::{SeedSummary, add_seeds, seed};
use serde::Serialize;
use store::Collection;

use super::init::SeedArgs;
use crate::printer::Printer;
use crate::settings::{self, Settings, SiteSection, sites_to_toml};
use crate::words::counted;

const EXAMPLES: &str = "\
Examples:
  weir seeder web
  weir seeder web --seed https://www.example.org/
  weir seeder web --seeds more.txt

A line of a list is a URL and, if its site needs them, settings of its site, which are added to weir.toml; # begins a comment:
  https://www.example.org/ wait=30s pages=1000 depth=3";

/// Take links in: number the pages that they lead to. Or name pages to start from.
///
/// One of the four programs that `weir crawl` runs together. Seeds can be added at any time when no crawl is running.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    #[command(flatten)]
    seeds: SeedArgs,
}

/// Scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    folders: u64,
    links: u64,
    new_pages: u64,
    new_seeds: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let settings = Settings::load(&args.dir)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    let seeds = args.seeds.read(&settings.url_rules(), printer)?;
    add_sites(&args.dir, &seeds.sites)?;
    let typed = Arc::new(settings.crawl_settings(&args.dir)?);
    let new_seeds = if seeds.urls.is_empty() {
        0
    } else {
        add_seeds(&mut collection, &typed.gather.scope.extensions, &typed.limits, &seeds.urls)?
    };
    let SeedSummary { folders, links, new_pages } = seed(&mut collection, &typed)?;
    let seconds = start.elapsed().as_secs_f64();
    if printer.json() {
        printer.object(&Answer { folders, links, new_pages, new_seeds, seconds })?;
        return Ok(ExitCode::SUCCESS);
    }
    if !seeds.urls.is_empty() {
        let given = counted(seeds.urls.len() as u64, "seed");
        printer.line(&format!("{given}, {new_seeds} of them not known before"))?;
    }
    printer.line(&format!(
        "took in {} to {} in {seconds:.1} s",
        counted(links, "link"),
        counted(new_pages, "new page")
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Adds entries for sites at the end of the file; what stands there stays as it is.
fn add_sites(folder: &Path, sites: &[SiteSection]) -> anyhow::Result<()> {
    if sites.is_empty() {
        return Ok(());
    }
    let path = folder.join(settings::FILE);
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(sites_to_toml(sites).as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))
}
