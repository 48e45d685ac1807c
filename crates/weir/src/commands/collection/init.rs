//! `weir init`: creation of a collection with its seeds and a commented `weir.toml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use crawl::CarryOver;
use model::{CanonicalUrl, UrlRules};
use serde::Serialize;
use store::{Collection, Snapshot};

use crate::exit::UsageError;
use crate::human;
use crate::output::Printer;
use crate::seeds::Seeds;
use crate::settings::{self, Preset, ScopeRule, SetArgs, Settings};

const EXAMPLES: &str = "\
Examples:
  weir init web --seed https://example.org/ --accept .example.org --contact me@example.org
  weir init docs --seed https://example.org/docs/ --accept https://example.org/docs/
  weir init chile --preset national-domain --seeds seeds.txt --accept .cl
  weir init web-2027 --copy-from web-2026     the next crawl of the same sites

Without --accept, the scope is the hosts of the seeds; --accept '*' is the whole Web.
A line of a seed file is a URL, optionally followed by [[site]] settings of its site; # begins a
comment:
  https://www.example.org/ delay=30s max_pages=1000 accept=/docs/,/blog/";

/// Create a collection (the directory that holds a crawl).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory, empty or new.
    dir: PathBuf,

    #[command(flatten)]
    seeds: SeedArgs,

    /// URLs in scope: a host, .example.org, a URL or SURT prefix, a path pattern or ~REGEX; '*' = the whole Web; repeatable
    /// (default: the hosts of the seeds).
    #[arg(long, value_name = "RULE", value_parser = settings::parse_value::<ScopeRule>)]
    accept: Vec<ScopeRule>,

    /// URLs to reject, by the same kinds of rules; repeatable.
    #[arg(long, value_name = "RULE", value_parser = settings::parse_value::<ScopeRule>)]
    reject: Vec<ScopeRule>,

    /// Start with the settings for a kind of crawl.
    #[arg(long, value_name = "KIND", conflicts_with = "copy_from")]
    preset: Option<Preset>,

    /// Copy settings, sites, unlinked pages and change rates from another collection.
    #[arg(long, value_name = "DIR")]
    copy_from: Option<PathBuf>,

    /// Copy only front pages and pages that were not fetched, and set scope.enter_by_front_page.
    #[arg(long, requires = "copy_from")]
    front_pages_only: bool,

    /// Contact URL or e-mail address, sent in the User-Agent.
    #[arg(long, value_name = "URL|MAIL", value_parser = settings::checked_contact)]
    contact: Option<String>,

    #[command(flatten)]
    set: SetArgs,
}

/// Options for seeds.
#[derive(clap::Args)]
pub(crate) struct SeedArgs {
    /// Seed URL; repeatable.
    #[arg(long = "seed", value_name = "URL")]
    seeds: Vec<String>,

    /// File with one seed per line, optionally followed by `[[site]]` settings; `-` is standard input.
    #[arg(long = "seeds", value_name = "FILE")]
    list: Option<String>,
}

#[derive(Serialize)]
struct InitOutput<'a> {
    directory: &'a str,
    seeds: u64,
    sites: u32,
    scope: &'a str,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if args.dir.join("MANIFEST").exists() {
        return Err(store::Error::AlreadyACollection { path: args.dir }.into());
    }
    if fs::read_dir(&args.dir).is_ok_and(|mut entries| entries.next().is_some()) {
        let message = format!("{} is not an empty directory", args.dir.display());
        return Err(UsageError(message).into());
    }
    let mut settings = args.copy_from.as_deref().map_or_else(|| Ok(Settings::default()), Settings::load)?;
    if let Some(preset) = args.preset {
        preset.apply(&mut settings);
    }
    args.set.apply(&mut settings)?;
    settings.scope.accept.extend(args.accept.iter().cloned());
    settings.scope.reject.extend(args.reject.iter().cloned());
    settings.scope.enter_by_front_page |= args.front_pages_only;
    if let Some(contact) = &args.contact {
        settings.crawl.contact.clone_from(contact);
    }
    let mut seeds = args.seeds.read(&settings.url_rules(), printer)?;
    settings.sites.append(&mut seeds.sites);
    let carried_over = args.carry_over(&settings.url_rules())?;
    let carried_urls = carried_over.iter().map(|page| page.url.clone());
    let all_seeds: Vec<CanonicalUrl> = seeds.urls.iter().cloned().chain(carried_urls).collect();
    let mut effective = settings.clone();
    effective.accept_hosts_of(&all_seeds)?;
    let scope = effective.scope()?;
    for url in &seeds.urls {
        if let Err(reason) = scope.check(url) {
            printer.warn(&format!("seed {url} is rejected: {reason}"))?;
        }
    }
    let description = settings.describe_scope(&all_seeds)?;
    let mut collection = create_collection(&args.dir, &settings, &all_seeds)?;
    if !carried_over.is_empty() {
        crawl::apply_carry_over(&mut collection, &carried_over)?;
    }
    let known = collection.urls.reader();
    let (directory, seeds) = (args.dir.display().to_string(), u64::from(known.pages()));
    if printer.json() {
        let (sites, scope) = (known.sites(), description.as_str());
        printer.object(&InitOutput { directory: &directory, seeds, sites, scope })?;
    } else {
        let sites = human::plural(u64::from(known.sites()), "site");
        printer.line(&format!("created {directory}: {} on {sites}", human::plural(seeds, "seed")))?;
        printer.line(&format!("scope: {description}"))?;
        printer.line(&format!("settings: {}", args.dir.join(settings::FILE).display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// Pages copied from another collection.
    fn carry_over(&self, rules: &UrlRules) -> anyhow::Result<Vec<CarryOver>> {
        let Some(old) = &self.copy_from else { return Ok(Vec::new()) };
        Ok(crawl::list_carry_over(&Snapshot::open(old, None)?, rules, self.front_pages_only)?)
    }
}

/// Creates a collection with these seeds and writes its settings file.
pub(crate) fn create_collection(
    dir: &Path,
    settings: &Settings,
    seeds: &[CanonicalUrl],
) -> anyhow::Result<Collection> {
    let mut collection = Collection::create(dir, settings.store_settings())?;
    crawl::add_seeds(&mut collection, &settings.scope()?.extensions, &settings.limits(), seeds)?;
    let path = dir.join(settings::FILE);
    settings.create_file(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(collection)
}

impl SeedArgs {
    /// Reads all seeds. Invalid seeds are printed with their reasons and skipped; an error if there are no others.
    pub(crate) fn read(&self, rules: &UrlRules, printer: &mut Printer) -> anyhow::Result<Seeds> {
        let mut seeds = Seeds::default();
        for seed in &self.seeds {
            seeds.add(rules, "--seed", seed, printer)?;
        }
        if let Some(list) = &self.list {
            seeds.add_list(rules, list, printer)?;
        }
        let invalid = human::plural(seeds.invalid, "invalid seed");
        if seeds.invalid > 0 && seeds.urls.is_empty() {
            return Err(UsageError(format!("{invalid} and no valid one; nothing was changed")).into());
        }
        if seeds.invalid > 0 {
            printer.warn(&format!("{invalid} skipped"))?;
        }
        Ok(seeds)
    }
}
