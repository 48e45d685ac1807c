//! `weir snapshots`: list, creation and deletion of snapshots.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use store::{SnapshotInfo, delete_snapshot, list_snapshots, name_snapshot};

use crate::human::timestamp;
use crate::output::{Printer, TextStyle};

const EXAMPLES: &str = "\
Examples:
  weir snapshots crawl                               list readable commits
  weir snapshots crawl --create before-the-move      name the last commit
  weir snapshots crawl --delete before-the-move      delete the name

A snapshot is a named commit. Of the commits without a name, only the newest are kept.
Safe to run during a crawl.";

/// List, create or delete snapshots.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Create a snapshot of the last commit.
    #[arg(long, value_name = "NAME")]
    create: Option<String>,

    /// Commit for --create (default: last).
    #[arg(long, value_name = "N", requires = "create")]
    generation: Option<u64>,

    /// Delete a snapshot.
    #[arg(long, value_name = "NAME", conflicts_with = "create")]
    delete: Option<String>,
}

#[derive(Serialize)]
struct SnapshotOutput<'e> {
    generation: u64,
    committed_ms: i64,
    name: Option<&'e str>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if let Some(name) = &args.create {
        name_snapshot(&args.dir, name, args.generation)?;
    }
    if let Some(name) = &args.delete {
        delete_snapshot(&args.dir, name)?;
    }
    for SnapshotInfo { generation, committed_ms, name } in list_snapshots(&args.dir)? {
        if printer.json() {
            printer.object(&SnapshotOutput { generation, committed_ms, name: name.as_deref() })?;
            continue;
        }
        let moment = if committed_ms == 0 { "empty".to_owned() } else { timestamp(committed_ms) };
        let name = name.map(|name| printer.style(TextStyle::Good, &name)).unwrap_or_default();
        printer.line(format!("{generation:10}  {moment:23}  {name}").trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}
