//! Check for bytes behind the committed end of the files of a commit.
//!
//! No reader uses such bytes. In a growing file they are what a running command has not committed yet, or what a killed one
//! has left; the next command that writes truncates them, so they are a remark. Every other file is complete when it is
//! committed, so surplus bytes are a corruption.

use std::path::Path;

use super::log::CorruptionLog;
use super::{CheckReport, scope};
use crate::disk::File;
use crate::error::{Result, corrupt};
use crate::manifest::Manifest;

/// Reports all files of the newest commit that are longer than committed.
pub(super) fn check_surplus(
    dir: &Path,
    newest: &Manifest,
    log: &CorruptionLog<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    for entry in &newest.files {
        let (path, name) = (dir.join(&entry.name), &entry.name);
        // A file that cannot be read is reported by the comparison with its checksums.
        let Ok(found) = File::open(&path).and_then(|file| file.length()) else { continue };
        if found <= entry.length() {
            continue;
        }
        if is_growing(newest, name) {
            let surplus = found - entry.length();
            report.remarks.push(format!(
                "{name} has {surplus} bytes after its commit: a command is writing them, or was killed; \
                 the next command that writes removes them"
            ));
        } else {
            let cause = format!("{found} bytes, expected {}", entry.length());
            log.add_once(corrupt(&path, "at its end", cause), None)?;
        }
    }
    Ok(())
}

/// Whether commands append to a file of the commit: logs, the URL table, and the newest of the WARC files and of the files of
/// robots.txt.
fn is_growing(newest: &Manifest, name: &str) -> bool {
    let is_newest_of = |dir: &str, is_kind: fn(&str) -> bool| {
        let names = newest.files_in(dir).map(|file| file.name.as_str());
        names.filter(|name| is_kind(name)).max() == Some(name)
    };
    match name {
        "urls/sites" | "urls/text" | "urls/text-index" => true,
        _ if name.starts_with("state/") && name.ends_with(".log") => true,
        _ => is_newest_of("pages", scope::is_warc) || is_newest_of("state", |name| name.ends_with(".texts")),
    }
}
