//! `weir init`: makes a collection, with its seeds and a commented `weir.toml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use crawl::Heir;
use model::{CanonicalUrl, UrlRules};
use serde::Serialize;
use store::{Collection, Snapshot};

use crate::failure::WrongUse;
use crate::printer::Printer;
use crate::seeds::Seeds;
use crate::settings::{self, Settings, Suffix};
use crate::words;

const EXAMPLES: &str = "\
Examples:
  weir init web --seed https://example.org/ --accept .example.org --contact me@example.org
  weir init web --seeds seeds.txt
  weir init web-2027 --from web-2026     the next crawl of the same sites

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

    /// Begin with the settings of an older collection, its sites, the pages that no link leads to, and how often they
    /// change.
    #[arg(long, value_name = "OLD")]
    from: Option<PathBuf>,

    /// Of the older collection take front pages only, and enter all sites by their front page.
    #[arg(long, requires = "from")]
    roots_only: bool,

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
    let mut settings = args.from.as_deref().map_or_else(|| Ok(Settings::default()), Settings::load)?;
    settings.scope.accept.extend(args.accept.iter().cloned());
    settings.scope.front_page_only |= args.roots_only;
    if let Some(contact) = &args.contact {
        settings.crawl.contact.clone_from(contact);
    }
    let mut seeds = args.seeds.read(&settings.url_rules(), printer)?;
    settings.sites.append(&mut seeds.sites);
    let heirs = args.heirs(&settings.url_rules())?;
    let scope = settings.scope()?;
    for url in &seeds.urls {
        if let Err(reason) = scope.judge(url) {
            printer.complain(&format!("the seed {url} will be left out: {reason}"))?;
        }
    }
    seeds.urls.extend(heirs.iter().map(|heir| heir.url.clone()));
    let mut collection = make(&args.dir, &settings, &seeds.urls)?;
    if !heirs.is_empty() {
        crawl::inherit(&mut collection, &heirs)?;
    }
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

impl Args {
    /// What the older collection leaves, if there is one.
    fn heirs(&self, rules: &UrlRules) -> anyhow::Result<Vec<Heir>> {
        let Some(old) = &self.from else { return Ok(Vec::new()) };
        Ok(crawl::heirs(&Snapshot::open(old, None)?, rules, self.roots_only)?)
    }
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
