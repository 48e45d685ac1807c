//! `weir export`: pages or tables of a collection in a standard format.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{GraphInfo, LinkGraph, export_webgraph};
use clap::ValueEnum;
use serde::Serialize;
use store::{PageFilter, RetentionPolicy, Snapshot};
use stream::{ExportSummary, export_mirror, export_tables, export_wacz, export_warc};

use crate::exit::UsageError;
use crate::human::{self, plural};
use crate::output::Printer;
use crate::{settings, site_selection};

const EXAMPLES: &str = "\
Examples:
  weir export crawl --format warc archive/                             WARC files and CDXJ index
  weir export crawl --format wacz crawl.wacz                           one file for replay
  weir export crawl --format mirror tree/ --site https://example.org   plain files, host/path
  weir export crawl --format parquet tables/                           tables, one directory each
  weir export crawl --format webgraph graph/                           link graph and URL list

Reads one commit; safe to run during a crawl. A damaged record is skipped with a warning, and the
exit code is 1.";

/// Export pages or tables in a standard format.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Output directory, empty or new; for wacz a new file.
    out: PathBuf,

    /// Output format.
    #[arg(long, value_enum)]
    format: ExportFormat,

    /// Snapshot name or generation (default: last commit).
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,

    /// Only pages of this site, `https://example.org`, or `example.org` for all schemes; repeatable.
    #[arg(long = "site", value_name = "SITE")]
    sites: Vec<String>,

    /// Export all stored versions, not only the newest (warc, wacz).
    #[arg(long)]
    all_versions: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// WARC files and CDXJ index.
    Warc,
    /// One file for replay with replayweb.page or pywb.
    Wacz,
    /// Tables.
    Parquet,
    /// Plain files, host/path.
    Mirror,
    /// Link graph of the last `weir analyze` (BVGraph) and URL list.
    Webgraph,
}

#[derive(Serialize)]
struct ExportOutput {
    records: u64,
    files: u64,
    bytes: u64,
    decode_errors: u64,
    skipped: u64,
    damaged: u64,
}

#[derive(Serialize)]
struct WebgraphOutput {
    nodes: u32,
    arcs: u64,
    generation: u64,
    files: u64,
    bytes: u64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    check_usage(args)?;
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let selection = PageFilter { sites: args.sites.clone(), ..PageFilter::all() };
    let sites = site_selection::find(&snapshot, &selection)?;
    let keep = if args.all_versions { RetentionPolicy::All } else { RetentionPolicy::Latest };
    let info = settings::warc_info();
    let mut warnings = Ok(());
    let mut on_damage = |url: &str, error: &store::Error| {
        let warned = printer.warn(&format!("{url} skipped: {error}"));
        warnings = std::mem::replace(&mut warnings, Ok(())).and(warned);
    };
    let exported = match args.format {
        ExportFormat::Warc => export_warc(&snapshot, sites.as_ref(), keep, &info, &args.out, &mut on_damage)?,
        ExportFormat::Wacz => export_wacz(&snapshot, &selection, keep, &info, &args.out, &mut on_damage)?,
        ExportFormat::Parquet => export_tables(&snapshot, &args.out)?,
        ExportFormat::Mirror => export_mirror(&snapshot, &selection, &args.out, &mut on_damage)?,
        ExportFormat::Webgraph => return webgraph(args, &snapshot, printer),
    };
    warnings?;
    print_summary(args, &exported, printer)?;
    Ok(if exported.damaged == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_summary(args: &Args, exported: &ExportSummary, printer: &mut Printer) -> anyhow::Result<()> {
    let ExportSummary { records, files, bytes, decode_errors, skipped, damaged } = *exported;
    if printer.json() {
        return printer.object(&ExportOutput { records, files, bytes, decode_errors, skipped, damaged });
    }
    let files = format!("{}, {}", plural(files, "file"), human::bytes(bytes));
    let exported = match args.format {
        ExportFormat::Parquet => files,
        _ => format!("{} ({files})", plural(records, "record")),
    };
    printer.line(&format!("exported {exported} to {}", args.out.display()))?;
    if decode_errors > 0 {
        printer.warn(&format!("{} with truncated content encoding", plural(decode_errors, "page")))?;
    }
    if skipped > 0 {
        let pages = plural(skipped, "page");
        printer.warn(&format!(
            "{pages} not written: invalid content encoding, too large, or no free file name"
        ))?;
    }
    if damaged > 0 {
        let records = plural(damaged, "record");
        printer.warn(&format!("{records} damaged and skipped; run `weir check {}`", args.dir.display()))?;
    }
    Ok(())
}

/// Exports the link graph of the last analysis.
fn webgraph(args: &Args, snapshot: &Snapshot, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let Some(graph) = LinkGraph::newest(&args.dir)? else {
        let dir = args.dir.display();
        return Err(UsageError(format!("no link graph; run `weir analyze {dir}`")).into());
    };
    let exported = export_webgraph(&graph, &snapshot.urls, &args.out)?;
    let GraphInfo { pages, arcs, generation, .. } = graph.info;
    if printer.json() {
        let output =
            WebgraphOutput { nodes: pages, arcs, generation, files: exported.files, bytes: exported.bytes };
        printer.object(&output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let graph = format!("{}, {}", plural(u64::from(pages), "node"), plural(arcs, "arc"));
    let files = format!("{}, {}", plural(exported.files, "file"), human::bytes(exported.bytes));
    printer.line(&format!("exported {graph} of commit {generation} ({files}) to {}", args.out.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn check_usage(args: &Args) -> Result<(), UsageError> {
    let usage_error = |message: String| Err(UsageError(message));
    if args.format == ExportFormat::Parquet && !args.sites.is_empty() {
        return usage_error(
            "--site cannot be used with --format parquet: tables are exported as a whole".to_owned(),
        );
    }
    if args.format == ExportFormat::Webgraph && (!args.sites.is_empty() || args.snapshot.is_some()) {
        return usage_error(
            "--site and --snapshot cannot be used with --format webgraph: the graph of the last analysis is exported as a whole"
                .to_owned(),
        );
    }
    if !matches!(args.format, ExportFormat::Warc | ExportFormat::Wacz) && args.all_versions {
        return usage_error("--all-versions can be used only with --format warc or wacz".to_owned());
    }
    if args.format == ExportFormat::Wacz && args.out.exists() {
        return usage_error(format!("{} already exists", args.out.display()));
    }
    if !is_free(&args.out) {
        return usage_error(format!("{} is not an empty directory", args.out.display()));
    }
    Ok(())
}

/// Whether the path does not exist or is an empty directory.
fn is_free(path: &Path) -> bool {
    !path.exists() || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
