//! `weir compact`: deletion of superseded page versions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use store::{Collection, RetentionPolicy};

use crate::human;
use crate::output::Printer;
use crate::settings::{self, SetArgs};
use crate::system::now_ms;

const EXAMPLES: &str = "\
Examples:
  weir compact crawl                           keep warc.keep_versions versions per page
  weir compact crawl --keep-versions latest    keep the newest version of each page
  weir compact crawl --keep-versions 3

The newest successful version (2xx) of a page is always kept, also if the page has failed, moved or
gone since. Unnamed commits are deleted; the files of named snapshots stay (see `weir snapshots`). A WARC file
is rewritten if at least 20 % of it is superseded.";

/// Delete superseded page versions and free their space.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Versions to keep per page: all, latest or a number (default: warc.keep_versions).
    #[arg(long, value_name = "N", value_parser = settings::parse_keep_versions)]
    keep_versions: Option<RetentionPolicy>,

    #[command(flatten)]
    set: SetArgs,
}

#[derive(Serialize)]
struct CompactOutput {
    bytes_before: u64,
    bytes_after: u64,
    generation: u64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let settings = args.set.load(&args.dir)?;
    let keep = args.keep_versions.unwrap_or(settings.warc.keep_versions);
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    let bytes_before = used_bytes(&args.dir)?;
    // Each call rewrites a limited number of files, so that a commit frees their space before the next.
    while collection.compact(keep)? {
        collection.commit(now_ms() as i64)?;
    }
    collection.expire_old_commits()?;
    let bytes_after = used_bytes(&args.dir)?;
    let generation = collection.manifest()?.generation;
    if printer.json() {
        printer.object(&CompactOutput { bytes_before, bytes_after, generation })?;
    } else {
        printer.line(&format!(
            "freed {} ({} before, {} after)",
            human::bytes(bytes_before.saturating_sub(bytes_after)),
            human::bytes(bytes_before),
            human::bytes(bytes_after)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Size of the files of all components, of all commits together.
fn used_bytes(dir: &Path) -> anyhow::Result<u64> {
    let sum = |dir: &Path| -> io::Result<u64> {
        let mut bytes = 0;
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() && entry.file_name() != "parquet" {
                for file in fs::read_dir(entry.path())? {
                    bytes += file?.metadata()?.len();
                }
            }
        }
        Ok(bytes)
    };
    sum(dir).with_context(|| format!("cannot read the size of {}", dir.display()))
}
