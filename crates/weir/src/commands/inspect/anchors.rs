//! `weir anchors`: anchor texts of the links to a page, the most frequent first.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;

use model::SiteId;
use serde::Serialize;
use store::{Cancellation, Inlink, Snapshot, inlinks};

use crate::human;
use crate::output::{Printer, TextStyle, printable};
use crate::settings::SetArgs;

const EXAMPLES: &str = "\
Examples:
  weir anchors web https://example.org/
  weir anchors web https://elsewhere.example/ --limit 5    also for pages that were never fetched
  weir anchors web https://example.org/ --json | jq -r .anchor";

/// Maximum number of linking pages that are read. A sample of this size shows the frequent anchor texts.
const MAX_LINKING_PAGES: usize = 1_000_000;

/// List the anchor texts of the links to a page.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// URL of the page; canonicalised before lookup.
    url: String,

    /// Maximum number of results.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Snapshot name or generation (default: last commit).
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output: one anchor text.
#[derive(Serialize)]
struct AnchorOutput {
    anchor: String,
    pages: u64,
    sites: u64,
}

/// Pages and sites that use an anchor text; a page counts once, with its first link.
#[derive(Default)]
struct AnchorCount {
    pages: u64,
    sites: HashSet<SiteId>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let rules = args.set.load(&args.dir)?.url_rules();
    let url = rules
        .canonical(&args.url)
        .map_err(|rejected| inspect::invalid_url_error(&snapshot, &args.url, rejected))?;
    let page = snapshot.urls.find(&url)?;
    let links = inlinks(
        snapshot.dir(),
        &snapshot.manifest,
        page,
        url.as_str(),
        MAX_LINKING_PAGES,
        &Cancellation::default(),
    )?;
    let anchors = anchor_counts(&snapshot, &links)?;
    if anchors.is_empty() && !printer.json() {
        printer.line(&format!("no page of {} links to {}", args.dir.display(), printable(url.as_str())))?;
    }
    for anchor in anchors.iter().take(args.limit.unwrap_or(usize::MAX)) {
        if printer.json() {
            printer.object(anchor)?;
        } else {
            printer.line(&line(anchor, printer))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Anchor texts with their counts, the most frequent first.
fn anchor_counts(snapshot: &Snapshot, links: &[Inlink]) -> store::Result<Vec<AnchorOutput>> {
    let mut counts: HashMap<&str, AnchorCount> = HashMap::new();
    for link in links {
        let count = counts.entry(link.anchor.as_deref().unwrap_or_default().trim()).or_default();
        count.pages += 1;
        count.sites.extend(snapshot.page_state.get(link.source)?.map(|page| page.site));
    }
    let output = |(anchor, count): (&str, AnchorCount)| AnchorOutput {
        anchor: anchor.to_owned(),
        pages: count.pages,
        sites: count.sites.len() as u64,
    };
    let mut anchors: Vec<AnchorOutput> = counts.into_iter().map(output).collect();
    anchors.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.anchor.cmp(&b.anchor)));
    Ok(anchors)
}

fn line(anchor: &AnchorOutput, printer: &Printer) -> String {
    let text = match anchor.anchor.as_str() {
        "" => printer.style(TextStyle::Dim, "(no anchor text)"),
        text => printable(text).to_string(),
    };
    let (pages, sites) = (human::number(anchor.pages), human::number(anchor.sites));
    format!("{pages:>9} pages {sites:>7} sites  {text}")
}
