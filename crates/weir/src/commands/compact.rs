//! `weir compact`: drops superseded versions of pages, and gives their space back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde::Serialize;
use store::{Collection, Keep};

use crate::printer::Printer;
use crate::settings::{self, Settings};
use crate::words::size;

const EXAMPLES: &str = "\
Examples:
  weir compact crawl                  as weir.toml says
  weir compact crawl --keep latest    leave only the newest version of each page
  weir compact crawl --keep 3

Commits without a name are let go; what a named snapshot needs stays (see `weir snapshots`).
A file is rewritten if a fifth of it or more is superseded.";

/// Drop superseded versions of pages and give their space back.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// Which versions of a page to keep: all, latest, or a number; weir.toml says it otherwise.
    #[arg(long, value_name = "WHICH", value_parser = settings::parse_keep)]
    keep: Option<Keep>,
}

#[derive(Serialize)]
struct Answer {
    bytes_before: u64,
    bytes_after: u64,
    generation: u64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let settings = Settings::load(&args.dir)?;
    let keep = args.keep.unwrap_or(settings.pages.keep);
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    let bytes_before = used_bytes(&args.dir)?;
    // Each round rewrites some files.
    while collection.compact(keep)? {
        collection.commit(now_ms())?;
    }
    collection.expire_old_commits()?;
    let bytes_after = used_bytes(&args.dir)?;
    let generation = collection.manifest()?.generation;
    if printer.json() {
        printer.object(&Answer { bytes_before, bytes_after, generation })?;
    } else {
        let given_back = size(bytes_before.saturating_sub(bytes_after));
        printer.line(&format!(
            "gave {given_back} back: {} of {} are left",
            size(bytes_after),
            size(bytes_before)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64
}

/// What the collection takes up: its components' files, whichever commit names them.
fn used_bytes(folder: &Path) -> anyhow::Result<u64> {
    let sum = |folder: &Path| -> io::Result<u64> {
        let mut bytes = 0;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() && entry.file_name() != "parquet" {
                for file in fs::read_dir(entry.path())? {
                    bytes += file?.metadata()?.len();
                }
            }
        }
        Ok(bytes)
    };
    sum(folder).with_context(|| format!("cannot measure {}", folder.display()))
}
