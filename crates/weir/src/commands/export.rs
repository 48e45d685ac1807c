//! `weir export`: a collection, or some of its sites, in a form that others use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{About, LinkGraph, export_webgraph};
use clap::ValueEnum;
use serde::Serialize;
use store::{Keep, Selection, Snapshot};
use stream::{Exported, export_mirror, export_tables, export_wacz, export_warc};

use crate::failure::WrongUse;
use crate::known_sites;
use crate::printer::Printer;
use crate::settings;
use crate::words::{counted, size};

const EXAMPLES: &str = "\
Examples:
  weir export crawl --to warc archive/                            WARC files and their CDXJ index
  weir export crawl --to wacz crawl.wacz                          one file that opens in a browser
  weir export crawl --to mirror tree/ --site https://example.org  plain files, host/path
  weir export crawl --to parquet tables/                          the tables, a folder each
  weir export crawl --to webgraph graph/                          the graph of links, as WebGraph keeps it

It reads one commit, and may be run while a crawl goes on.";

/// Write the pages or tables of a collection in a form that other programs read.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// The folder to write to; it must be empty, or not exist. For wacz a file, which must not exist.
    out: PathBuf,

    /// The form.
    #[arg(long, value_enum)]
    to: Form,

    /// A snapshot by its name or generation, instead of the last commit.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,

    /// Only pages of this site: `https://example.org`, or `example.org` for all its schemes; may be given more than once.
    #[arg(long = "site", value_name = "SITE")]
    sites: Vec<String>,

    /// Every stored version of a page, not only the newest; for warc and wacz.
    #[arg(long)]
    all_versions: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// WARC files with an index.
    Warc,
    /// One file that opens in a browser, with replayweb.page or pywb.
    Wacz,
    /// The tables.
    Parquet,
    /// A tree of plain files.
    Mirror,
    /// The graph of links of the last `weir analyze`, with the URL of each node.
    Webgraph,
}

#[derive(Serialize)]
struct Answer {
    items: u64,
    files: u64,
    bytes: u64,
    undecoded: u64,
}

#[derive(Serialize)]
struct WebgraphAnswer {
    nodes: u32,
    arcs: u64,
    generation: u64,
    files: u64,
    bytes: u64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    refuse_wrong_use(args)?;
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let selection = Selection { sites: args.sites.clone(), ..Selection::all() };
    let sites = known_sites::find(&snapshot, &selection)?;
    let keep = if args.all_versions { Keep::All } else { Keep::Latest };
    let exported = match args.to {
        Form::Warc => export_warc(&snapshot, sites.as_ref(), keep, &settings::warc_info(), &args.out)?,
        Form::Wacz => export_wacz(&snapshot, &selection, keep, &settings::warc_info(), &args.out)?,
        Form::Parquet => export_tables(&snapshot, &args.out)?,
        Form::Mirror => export_mirror(&snapshot, &selection, &args.out)?,
        Form::Webgraph => return webgraph(args, &snapshot, printer),
    };
    let Exported { items, files, bytes, undecoded } = exported;
    if printer.json() {
        printer.object(&Answer { items, files, bytes, undecoded })?;
        return Ok(ExitCode::SUCCESS);
    }
    let records =
        if args.to == Form::Parquet { String::new() } else { format!("{} in ", counted(items, "record")) };
    let files = format!("{} of {}", counted(files, "file"), size(bytes));
    printer.line(&format!("wrote {records}{files} to {}", args.out.display()))?;
    if undecoded > 0 {
        printer.complain(&format!("{} could not be decompressed to the end", counted(undecoded, "page")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The graph of links: what the last analysis has built.
fn webgraph(args: &Args, snapshot: &Snapshot, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let Some(graph) = LinkGraph::newest(&args.dir)? else {
        let dir = args.dir.display();
        return Err(WrongUse(format!("there is no graph yet; `weir analyze {dir}` builds it")).into());
    };
    let exported = export_webgraph(&graph, &snapshot.urls, &args.out)?;
    let About { pages, arcs, generation, .. } = graph.about;
    if printer.json() {
        let answer =
            WebgraphAnswer { nodes: pages, arcs, generation, files: exported.files, bytes: exported.bytes };
        printer.object(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let graph = format!("{} and {}", counted(u64::from(pages), "node"), counted(arcs, "arc"));
    let files = format!("{} of {}", counted(exported.files, "file"), size(exported.bytes));
    printer.line(&format!("wrote {graph} of commit {generation} in {files} to {}", args.out.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn refuse_wrong_use(args: &Args) -> Result<(), WrongUse> {
    let wrong = |sentence: String| Err(WrongUse(sentence));
    if args.to == Form::Parquet && !args.sites.is_empty() {
        return wrong(
            "--site cannot be used with --to parquet: whole tables are copied; select from them".to_owned(),
        );
    }
    if args.to == Form::Webgraph && (!args.sites.is_empty() || args.snapshot.is_some()) {
        return wrong(
            "--to webgraph writes the graph of the last analysis as a whole: no --site, no --snapshot"
                .to_owned(),
        );
    }
    if !matches!(args.to, Form::Warc | Form::Wacz) && args.all_versions {
        return wrong("--all-versions can be used with --to warc and --to wacz only".to_owned());
    }
    if args.to == Form::Wacz && args.out.exists() {
        return wrong(format!("{} is there already; give the name of a new file", args.out.display()));
    }
    if !is_free(&args.out) {
        return wrong(format!("{} is not empty; give a folder that is, or a new one", args.out.display()));
    }
    Ok(())
}

/// Whether nothing is there that could be overwritten.
fn is_free(path: &Path) -> bool {
    !path.exists() || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
