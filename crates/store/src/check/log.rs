//! Report of a check: deduplicates corruptions and passes them to a callback, from several threads.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::scope::CorruptionScope;
use crate::disk;
use crate::error::{Error, Result};
use crate::layout;
use crate::manifest::FileEntry;

/// Corrupt part of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corruption {
    /// File, relative to the directory of the collection.
    pub file: String,
    /// Location in the file: `at byte 16384`; empty if it is unknown or the whole file.
    pub location: String,
    /// Evidence.
    pub cause: String,
    /// Data that is lost or unreliable.
    pub scope: CorruptionScope,
    /// Newest commit that references the file.
    pub generation: u64,
}

/// Progress of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckEvent {
    /// A corruption was found.
    Corruption(Corruption),
    /// A file of this size was compared with its checksums.
    FileRead(u64),
}

/// Collects the corruptions that several threads report.
pub(crate) struct CorruptionLog<'f> {
    dir: &'f Path,
    inner: Mutex<LogState<'f>>,
}

struct LogState<'f> {
    on_event: &'f mut (dyn FnMut(CheckEvent) + Send),
    /// Newest generation that references each file.
    generations: BTreeMap<String, u64>,
    /// Generation of the checked commit.
    newest: u64,
    reported: HashSet<String>,
    corruptions: u64,
    /// Whether a writer has deleted the checked commit during the check.
    is_expired: bool,
}

impl<'f> CorruptionLog<'f> {
    pub(super) fn new(dir: &'f Path, on_event: &'f mut (dyn FnMut(CheckEvent) + Send)) -> CorruptionLog<'f> {
        let (generations, reported) = (BTreeMap::new(), HashSet::new());
        CorruptionLog {
            dir,
            inner: Mutex::new(LogState {
                on_event,
                generations,
                newest: 0,
                reported,
                corruptions: 0,
                is_expired: false,
            }),
        }
    }

    /// Sets the newest commit that references each file, and the checked commit.
    pub(super) fn set_generations(&self, files: &BTreeMap<String, (FileEntry, u64)>, newest: u64) {
        let generations = files.iter().map(|(name, (_, generation))| (name.clone(), *generation));
        let mut inner = self.lock();
        (inner.generations, inner.newest) = (generations.collect(), newest);
    }

    /// Returns a successful result; reports corruption, once for each file.
    pub(super) fn report_corruption<T>(&self, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(found) => Ok(Some(found)),
            Err(error) => self.add_once(error, None).map(|()| None),
        }
    }

    /// Reports an error, unless one of the same file was reported before.
    pub(crate) fn add_once(&self, error: Error, scope: Option<CorruptionScope>) -> Result<()> {
        let name = path_of(&error).and_then(|path| self.relative(path));
        if name.is_some_and(|name| self.lock().reported.contains(&name)) {
            return Ok(());
        }
        self.add(error, scope)
    }

    /// Reports an error that means corruption; returns any other.
    pub(crate) fn add(&self, error: Error, scope: Option<CorruptionScope>) -> Result<()> {
        let Some(file) = path_of(&error).and_then(|path| self.relative(path)) else { return Err(error) };
        let (location, cause) = match error {
            Error::Corrupt { location, cause, .. } => (location, cause),
            Error::UnknownVersion { found, known, .. } => {
                (String::new(), format!("format version {found}, expected {known}"))
            }
            Error::SchemaMismatch { .. } => (String::new(), "columns of another version of weir".to_owned()),
            Error::Io { operation, source, .. } => {
                (String::new(), format!("cannot {operation} the file: {source}"))
            }
            other => return Err(other),
        };
        let mut inner = self.lock();
        let generation = inner.generations.get(&file).copied().unwrap_or_default();
        // A file of a commit that the writer has deleted meanwhile is not corrupt.
        let is_gone = |path: &Path| disk::exists(path).is_ok_and(|exists| !exists);
        let expired = generation > 0 && is_gone(&layout::manifest(self.dir, generation));
        if expired && is_gone(&self.dir.join(&file)) {
            // An older commit is not needed any more.
            inner.is_expired |= generation == inner.newest;
            return Ok(());
        }
        inner.corruptions += 1;
        inner.reported.insert(file.clone());
        let scope = scope.unwrap_or_else(|| CorruptionScope::from_file(&file));
        (inner.on_event)(CheckEvent::Corruption(Corruption { file, location, cause, scope, generation }));
        Ok(())
    }

    /// Whether a corruption of the file was reported.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.lock().reported.contains(file)
    }

    pub(super) fn emit(&self, event: CheckEvent) {
        (self.lock().on_event)(event);
    }

    /// Number of corruptions; an error if the checked commit was deleted during the check.
    pub(super) fn finish(&self) -> Result<u64> {
        let inner = self.lock();
        if inner.is_expired {
            return Err(Error::SnapshotNotFound { dir: self.dir.to_owned(), name: inner.newest.to_string() });
        }
        Ok(inner.corruptions)
    }

    fn relative(&self, path: &Path) -> Option<String> {
        Some(path.strip_prefix(self.dir).ok()?.to_string_lossy().into_owned())
    }

    fn lock(&self) -> MutexGuard<'_, LogState<'f>> {
        // A thread that panicked is joined, which resumes the panic.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn path_of(error: &Error) -> Option<&Path> {
    match error {
        Error::Corrupt { path, .. }
        | Error::Io { path, .. }
        | Error::SchemaMismatch { path }
        | Error::UnknownVersion { path, .. } => Some(path),
        _ => None,
    }
}
