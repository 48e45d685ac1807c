//! `weir snapshots`: which commits can be read, and which of them are to stay.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use store::{SnapshotEntry, keep_snapshot, list_snapshots, unpin_snapshot};

use crate::printer::{Meaning, Printer};
use crate::words::time;

const EXAMPLES: &str = "\
Examples:
  weir snapshots crawl                             list the commits that can be read
  weir snapshots crawl --keep before-the-move      keep the newest under a name
  weir snapshots crawl --drop before-the-move      let it go

A commit without a name goes when a few newer ones have come. All of this works while a crawl goes on.";

/// List snapshots, keep one by name, or let one go.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// Keep a commit under this name.
    #[arg(long, value_name = "NAME")]
    keep: Option<String>,

    /// Keep this commit, not the newest.
    #[arg(long, value_name = "N", requires = "keep")]
    generation: Option<u64>,

    /// Let the snapshot of this name go.
    #[arg(long, value_name = "NAME", conflicts_with = "keep")]
    drop: Option<String>,
}

#[derive(Serialize)]
struct Answer<'e> {
    generation: u64,
    committed_ms: i64,
    name: Option<&'e str>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if let Some(name) = &args.keep {
        keep_snapshot(&args.dir, name, args.generation)?;
    }
    if let Some(name) = &args.drop {
        unpin_snapshot(&args.dir, name)?;
    }
    for SnapshotEntry { generation, committed_ms, name } in list_snapshots(&args.dir)? {
        if printer.json() {
            printer.object(&Answer { generation, committed_ms, name: name.as_deref() })?;
            continue;
        }
        let moment = if committed_ms == 0 { "empty".to_owned() } else { time(committed_ms) };
        let name = name.map(|name| printer.paint(Meaning::Good, &name)).unwrap_or_default();
        printer.line(format!("{generation:10}  {moment:23}  {name}").trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}
