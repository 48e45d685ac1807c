//! Check of derived data: compares the files of the last analysis and of the text index with their lists ([`FileList`]).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::log::{CheckEvent, CorruptionLog};
use super::{CheckReport, READ_BYTES, compare_exactly};
use crate::disk;
use crate::error::{Context, Error, Result, corrupt};
use crate::file_list::FileList;
use crate::layout;
use crate::manifest::FileEntry;
use crate::tables;

/// An analysis or an indexer may replace files during the comparison; it is then repeated.
const MAX_ATTEMPTS: usize = 5;

/// Checks all derived data of a collection. Files that no list names are added to the unreferenced files.
pub(super) fn check_derived(dir: &Path, log: &CorruptionLog<'_>, report: &mut CheckReport) -> Result<()> {
    let analysis = check_list(dir, newest_graph, log, report)?;
    let text = check_list(dir, text_index, log, report)?;
    for (list, dirs) in [(analysis, &["graph", "parquet", "ranks"][..]), (text, &["text"])] {
        // Files of an unfinished change are not listed yet.
        if let Some(list) = list.filter(|list| list.is_complete) {
            for name in dirs {
                add_unlisted(dir, &mut vec![(*name).to_owned()], &list, &mut report.unreferenced_files)?;
            }
        }
    }
    report.unreferenced_files.sort_unstable();
    Ok(())
}

/// Directory of the newest graph, if there is one.
fn newest_graph(collection: &Path) -> Result<Option<PathBuf>> {
    let dir = collection.join("graph");
    let entries = entries_of(&dir)?;
    let newest =
        entries.into_iter().filter(|entry| entry.is_dir && layout::generation(&entry.text()).is_some());
    Ok(newest.map(|entry| entry.text()).max().map(|name| dir.join(name)))
}

/// Directory of the text index, if there is one.
fn text_index(collection: &Path) -> Result<Option<PathBuf>> {
    let dir = collection.join("text");
    let exists = disk::exists(&dir.join("index")).context("read", &dir)?;
    Ok(exists.then_some(dir))
}

/// Compares the files of a list; returns the list.
fn check_list(
    dir: &Path,
    find: fn(&Path) -> Result<Option<PathBuf>>,
    log: &CorruptionLog<'_>,
    report: &mut CheckReport,
) -> Result<Option<FileList>> {
    for _ in 0..MAX_ATTEMPTS {
        let Some(place) = find(dir)? else { return Ok(None) };
        let path = FileList::path_in(&place);
        let list = match FileList::read(&path) {
            Ok(Some(list)) => list,
            _ if find(dir)?.as_ref() != Some(&place) => continue,
            unreadable => {
                let missing = || corrupt(&path, "", "missing: the files that it lists cannot be checked");
                log.add(unreadable.err().unwrap_or_else(missing), None)?;
                return Ok(None);
            }
        };
        let errors = compare_files(dir, &list, log);
        let is_unchanged = || matches!(FileList::read(&path), Ok(Some(again)) if again == list);
        if !errors.is_empty() && !is_unchanged() {
            continue;
        }
        report.files += list.files().len() as u64;
        report.bytes += list.files().iter().map(FileEntry::length).sum::<u64>();
        errors.into_iter().try_for_each(|error| log.add(error, None))?;
        if !list.is_complete {
            report.remarks.push(unfinished_remark(dir, &place));
        }
        return Ok(Some(list));
    }
    report
        .remarks
        .push("derived data was replaced again and again during the check: it is not checked".to_owned());
    Ok(None)
}

/// Remark about a list that a writer has not completed.
fn unfinished_remark(dir: &Path, place: &Path) -> String {
    let name = place.strip_prefix(dir).unwrap_or(place).display();
    format!("{name} is being updated, or an update was interrupted: new files in it are not checked")
}

/// Corruptions of the listed files.
fn compare_files(dir: &Path, list: &FileList, log: &CorruptionLog<'_>) -> Vec<Error> {
    let mut buffer = vec![0; READ_BYTES];
    let mut errors = Vec::new();
    for entry in list.files() {
        match compare_exactly(&dir.join(&entry.name), entry, &mut buffer) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound && !list.is_complete => {}
            Err(error) => errors.push(error),
            Ok(()) => {}
        }
        log.emit(CheckEvent::FileRead(entry.length()));
    }
    errors
}

/// Adds the files below a directory that the list does not name. `path` has the parts of its name.
fn add_unlisted(
    dir: &Path,
    path: &mut Vec<String>,
    list: &FileList,
    unlisted: &mut Vec<String>,
) -> Result<()> {
    for entry in entries_of(&dir.join(path.join("/")))? {
        let name = entry.text();
        // Locks are empty, and the files of committed tables are in manifests.
        let is_lock = name == layout::LOCK || name.ends_with(".lock");
        let is_view = path.len() == 1 && path[0] == "parquet" && tables::is_committed(&name);
        if is_lock || is_view || name == layout::FILE_LIST {
            continue;
        }
        path.push(name);
        if entry.is_dir {
            add_unlisted(dir, path, list, unlisted)?;
        } else if list.get(&path.join("/")).is_none() {
            unlisted.push(path.join("/"));
        }
        path.pop();
    }
    Ok(())
}

fn entries_of(dir: &Path) -> Result<Vec<disk::DirEntry>> {
    match disk::list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries.context("list", dir),
    }
}
