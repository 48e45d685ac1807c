//! Attempts to ingest segments, so that a segment that kills the process does not do so at every start.
//!
//! Items are verified before they are ingested, and no content of a segment is known to make that fail. If it does happen,
//! with an error, a panic or a kill because of its memory, the process ends with the names of the segments in a file. The
//! next process ingests each of these alone, so that only the cause of a second end goes to the quarantine. An error of the
//! operating system, such as a full disk, is no attempt.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Attempts after which a segment goes to the quarantine.
const MAX_ATTEMPTS: u32 = 2;
/// Maximum size of the file: some ten bytes per segment.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Attempts to ingest the segments that are being ingested.
#[derive(Debug)]
pub(crate) struct IngestAttempts {
    path: PathBuf,
    /// Attempts of earlier processes that ended during the ingestion, by the names of segments.
    before: BTreeMap<String, u32>,
    /// Segments that are being ingested.
    now: Vec<String>,
}

impl IngestAttempts {
    /// Reads the attempts of earlier processes of a collection to ingest the segments of leased batches.
    pub(crate) fn load(collection: &Path, is_leased: impl Fn(&str) -> bool) -> io::Result<IngestAttempts> {
        let path = collection.join("leased").join("ingesting.json");
        let text = match store::read_limited(&path, MAX_FILE_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            text => text?,
        };
        // An invalid file is that of a process that died when it wrote it, before it ingested anything.
        let mut before: BTreeMap<String, u32> = serde_json::from_slice(&text).unwrap_or_default();
        before.retain(|segment, _| is_leased(segment));
        Ok(IngestAttempts { path, before, now: Vec::new() })
    }

    /// Whether there are suspects: segments of which one ended an earlier process. Each of them is ingested alone.
    pub(crate) fn has_suspects(&self) -> bool {
        !self.before.is_empty()
    }

    /// Segments that were tried too often.
    pub(crate) fn failed_segments(&self) -> HashSet<String> {
        let failed = self.before.iter().filter(|(_, attempts)| **attempts >= MAX_ATTEMPTS);
        failed.map(|(segment, _)| segment.clone()).collect()
    }

    /// Records that segments are going to be ingested.
    pub(crate) fn begin<'s>(&mut self, segments: impl Iterator<Item = &'s str>) -> io::Result<()> {
        self.now = segments.map(str::to_owned).collect();
        if self.now.is_empty() {
            return Ok(());
        }
        let mut attempts = self.before.clone();
        for segment in &self.now {
            *attempts.entry(segment.clone()).or_default() += 1;
        }
        self.write(&attempts)
    }

    /// Records that the segments are ingested.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        for segment in &self.now {
            self.before.remove(segment);
        }
        self.cancel()
    }

    /// Records that the segments are not ingested, for a reason that has nothing to do with them.
    pub(crate) fn cancel(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.now).is_empty() { Ok(()) } else { self.write(&self.before) }
    }

    fn write(&self, attempts: &BTreeMap<String, u32>) -> io::Result<()> {
        if attempts.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&self.path, serde_json::to_vec(attempts)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(dir: &Path) -> IngestAttempts {
        IngestAttempts::load(dir, |_| true).unwrap()
    }

    #[test]
    fn a_segment_that_ends_the_process_twice_is_not_tried_again() {
        let temp = tempfile::tempdir().unwrap();
        let die = |segments: &[&str]| {
            let mut attempts = load(temp.path());
            let failed = attempts.failed_segments();
            attempts.begin(segments.iter().copied()).unwrap();
            (failed.len(), attempts.has_suspects())
        };
        assert_eq!(die(&["000001/a", "000001/b"]), (0, false));
        assert_eq!(die(&["000001/a"]), (0, true));
        let mut attempts = load(temp.path());
        assert_eq!(attempts.failed_segments(), HashSet::from(["000001/a".to_owned()]));
        // The other segment was not tried alone.
        for segment in ["000001/b", "000001/a"] {
            assert!(attempts.has_suspects());
            attempts.begin([segment].into_iter()).unwrap();
            attempts.end().unwrap();
        }
        assert!(!attempts.has_suspects() && load(temp.path()).failed_segments().is_empty());
        assert!(!attempts.path.exists());
    }

    #[test]
    fn an_error_of_the_operating_system_is_no_attempt() {
        let temp = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            let mut attempts = load(temp.path());
            assert!(!attempts.has_suspects());
            attempts.begin(["000001/a"].into_iter()).unwrap();
            attempts.cancel().unwrap();
        }
        load(temp.path()).begin(["000001/a", "000002/b"].into_iter()).unwrap();
        let leased = IngestAttempts::load(temp.path(), |segment| segment.starts_with("000002/")).unwrap();
        assert_eq!(leased.before.keys().collect::<Vec<_>>(), ["000002/b"]);
    }

    #[test]
    fn an_invalid_file_is_ignored_and_an_unreadable_one_reported() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("leased/ingesting.json");
        fs::create_dir_all(temp.path().join("leased")).unwrap();
        fs::write(&path, b"{\"000001/a\":").unwrap();
        assert!(!load(temp.path()).has_suspects());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(IngestAttempts::load(temp.path(), |_| true).is_err());
    }
}
