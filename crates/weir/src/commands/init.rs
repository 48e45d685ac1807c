//! `weir init`: makes a collection, with its seeds and a commented `weir.toml`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use model::UrlRules;
use serde::Serialize;
use store::{Collection, PageFlags, PageRecord, UrlBatch};

use crate::failure::WrongUse;
use crate::input;
use crate::printer::Printer;
use crate::settings::{self, Settings};
use crate::words;

const EXAMPLES: &str = "\
Examples:
  weir init crawl --seed https://example.org/ --accept .example.org
  weir init crawl --seeds seeds.txt        one URL per line; # begins a comment";

/// Make a collection: a folder for everything that a crawl learns.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder; it must be empty, or not exist.
    dir: PathBuf,

    /// A page to start from; may be given more than once.
    #[arg(long = "seed", value_name = "URL")]
    seeds: Vec<String>,

    /// A file with pages to start from, one per line; `-` is standard input.
    #[arg(long = "seeds", value_name = "FILE")]
    list: Option<String>,

    /// Stay on hosts that end so, such as .example.org; may be given more than once.
    #[arg(long, value_name = "SUFFIX")]
    accept: Vec<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    folder: &'a str,
    seeds: u64,
    sites: u32,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if args.dir.join("MANIFEST").exists() {
        return Err(store::Error::AlreadyACollection { path: args.dir }.into());
    }
    if fs::read_dir(&args.dir).is_ok_and(|mut entries| entries.next().is_some()) {
        let sentence = format!("{} is not empty; a collection needs a folder of its own", args.dir.display());
        return Err(WrongUse(sentence).into());
    }
    let mut settings = Settings::default();
    for suffix in &args.accept {
        let suffix = settings::checked_suffix(suffix).map_err(|what| WrongUse(format!("--accept {what}")))?;
        settings.accept.push(suffix);
    }
    let batch = read_seeds(&args, printer)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut collection = Collection::create(&args.dir, settings.page_settings().into())?;
    collection
        .resolve(&batch, now.as_secs() as u32, |page| PageRecord::new(page.site, 0, PageFlags::SEED))?;
    collection.commit(now.as_millis() as i64)?;
    let path = args.dir.join(settings::FILE);
    fs::write(&path, settings.to_toml()).with_context(|| format!("cannot write {}", path.display()))?;

    let known = collection.urls.known();
    let (folder, seeds) = (args.dir.display().to_string(), u64::from(known.pages()));
    if printer.json() {
        printer.object(&Answer { folder: &folder, seeds, sites: known.sites() })?;
    } else {
        let sites = words::counted(u64::from(known.sites()), "site");
        printer.line(&format!("made {folder} with {} on {sites}", words::counted(seeds, "seed")))?;
        printer.line(&format!("its settings are in {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// All seeds, or none: each bad one is told with its reason.
fn read_seeds(args: &Args, printer: &mut Printer) -> anyhow::Result<UrlBatch> {
    let rules = UrlRules::default();
    let mut batch = UrlBatch::new();
    let mut bad = 0;
    let mut take = |place: &str, text: &str, printer: &mut Printer| match rules.canonical(text) {
        Ok(url) => {
            batch.push(&url);
            Ok(())
        }
        Err(reason) => {
            bad += 1;
            printer.complain(&format!("{place}: {text} is no seed: {reason}"))
        }
    };
    for seed in &args.seeds {
        take("--seed", seed, printer)?;
    }
    if let Some(list) = &args.list {
        let mut number = 0;
        input::for_each_line_of(list, printer, |line, printer| {
            number += 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                return Ok(());
            }
            take(&format!("{list} line {number}"), line, printer)
        })?;
    }
    if bad > 0 {
        return Err(
            WrongUse(format!("{} cannot be used; nothing was made", words::counted(bad, "seed"))).into()
        );
    }
    Ok(batch)
}
