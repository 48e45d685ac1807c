//! `weir init`: makes a collection, with its seeds and a commented `weir.toml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use model::{CanonicalUrl, UrlRules};
use serde::Serialize;
use store::Collection;

use crate::failure::WrongUse;
use crate::printer::Printer;
use crate::seeds::Seeds;
use crate::settings::{self, Settings, Suffix};
use crate::words;

const EXAMPLES: &str = "\
Examples:
  weir init web --seed https://example.org/ --accept .example.org --contact me@example.org
  weir init web --seeds seeds.txt

A line of a list is a URL and, if its site needs them, settings of [[site]] in weir.toml;
# begins a comment:
  https://www.example.org/ wait=30s pages=1000 depth=3";

/// Make a collection: a folder for everything that a crawl learns.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder; it must be empty, or not exist.
    dir: PathBuf,

    #[command(flatten)]
    seeds: SeedArgs,

    /// Stay on hosts that end so, such as .example.org; may be given more than once.
    #[arg(long, value_name = "SUFFIX", value_parser = settings::word::<Suffix>)]
    accept: Vec<Suffix>,

    /// Your web page or mail address, sent with every request, so that whoever runs a site can reach you.
    #[arg(long, value_name = "URL|MAIL", value_parser = settings::checked_contact)]
    contact: Option<String>,
}

/// Where to start.
#[derive(clap::Args)]
pub(crate) struct SeedArgs {
    /// A page to start from; may be given more than once.
    #[arg(long = "seed", value_name = "URL")]
    seeds: Vec<String>,

    /// A file with pages to start from, one per line, each with settings of its site behind it; `-` is standard input.
    #[arg(long = "seeds", value_name = "FILE")]
    list: Option<String>,
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
    settings.scope.accept.extend(args.accept.iter().cloned());
    settings.crawl.contact = args.contact.clone().unwrap_or_default();
    let seeds = args.seeds.read(&settings.url_rules(), printer)?;
    settings.sites = seeds.sites;
    let scope = settings.scope()?;
    for url in &seeds.urls {
        if let Err(reason) = scope.judge(url) {
            printer.complain(&format!("the seed {url} will be left out: {reason}"))?;
        }
    }
    let collection = make(&args.dir, &settings, &seeds.urls)?;
    let known = collection.urls.known();
    let (folder, seeds) = (args.dir.display().to_string(), u64::from(known.pages()));
    if printer.json() {
        printer.object(&Answer { folder: &folder, seeds, sites: known.sites() })?;
    } else {
        let sites = words::counted(u64::from(known.sites()), "site");
        printer.line(&format!("made {folder} with {} on {sites}", words::counted(seeds, "seed")))?;
        printer.line(&format!("its settings are in {}", args.dir.join(settings::FILE).display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes a collection with these seeds, and writes its settings.
pub(crate) fn make(folder: &Path, settings: &Settings, seeds: &[CanonicalUrl]) -> anyhow::Result<Collection> {
    let mut collection = Collection::create(folder, settings.store_settings())?;
    crawl::add_seeds(&mut collection, &settings.scope()?.extensions, &settings.limits(), seeds)?;
    let path = folder.join(settings::FILE);
    fs::write(&path, settings.to_toml()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(collection)
}

impl SeedArgs {
    /// All seeds, or none: each bad one is told with its reason.
    pub(crate) fn read(&self, rules: &UrlRules, printer: &mut Printer) -> anyhow::Result<Seeds> {
        let mut seeds = Seeds::default();
        for seed in &self.seeds {
            seeds.take(rules, "--seed", seed, printer)?;
        }
        if let Some(list) = &self.list {
            seeds.take_list(rules, list, printer)?;
        }
        if seeds.bad > 0 {
            let sentence = format!("{} cannot be used; nothing was done", words::counted(seeds.bad, "seed"));
            return Err(WrongUse(sentence).into());
        }
        Ok(seeds)
    }
}
