//! `weir snapshots`: which commits can be read, and which of them are to stay.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use store::{SNAPSHOT_NAME_LIMIT_BYTES, SnapshotEntry, list_snapshots, pin_snapshot, unpin_snapshot};

use crate::failure::WrongUse;
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
        keep(&args.dir, name, args.generation)?;
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

fn keep(folder: &Path, name: &str, generation: Option<u64>) -> anyhow::Result<()> {
    let wrong = |sentence: String| Err(WrongUse(sentence).into());
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    if name.trim() != name
        || digits
        || name.len() > SNAPSHOT_NAME_LIMIT_BYTES
        || name.contains(char::is_control)
    {
        return wrong(format!(
            "`{name}` cannot be a name: it needs a letter, no space at its ends, no control character, and at most \
             {SNAPSHOT_NAME_LIMIT_BYTES} bytes"
        ));
    }
    let entries = list_snapshots(folder)?;
    if let Some(entry) = entries.iter().find(|entry| entry.name.as_deref() == Some(name)) {
        return wrong(format!("commit {} is kept as `{name}` already; drop it first", entry.generation));
    }
    let wanted = match generation {
        Some(generation) => entries.iter().find(|entry| entry.generation == generation),
        None => entries.last(),
    };
    match wanted {
        Some(SnapshotEntry { name: Some(other), generation, .. }) => {
            wrong(format!("commit {generation} is kept as `{other}` already; drop that first"))
        }
        Some(entry) => Ok(pin_snapshot(folder, entry.generation, name)?),
        None => Err(store::Error::NoSnapshot { name: generation.unwrap_or_default().to_string() }.into()),
    }
}
