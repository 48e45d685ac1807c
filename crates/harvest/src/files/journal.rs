//! Journal of events that must survive a crash: robots.txt responses, which must not be fetched again on every start, and
//! back-offs.
//!
//! A commit stores all events some seconds later. Until then they are here: each is written by one system call when it
//! occurs, so that it survives the death of the process, and the next run reads it before it sends a request. Sites are
//! identified by name, because the id of a site discovered since the last commit can be assigned to another site. Each
//! harvester has two files and uses them in turn; the older one is truncated when all of its entries are committed.
//!
//! The existence of journals at the start also shows that the last run did not end cleanly. The last request to each site
//! is unknown then, and each site must have its full delay before the first request.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::SiteId;
use serde::{Deserialize, Serialize};

use crate::files::checksummed_jsonl::ChecksummedJsonlWriter;
use crate::item::harvest_event::HarvestEvent;

/// Entries of earlier runs that are not committed yet.
const UNCOMMITTED: &str = "uncommitted.jsonl";
/// Name of the file while it is written.
const NEXT: &str = "next.jsonl";
/// Length at which the journal switches to the other file.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// A robots.txt of maximum length with every byte escaped.
const MAX_LINE_BYTES: u64 = 8 << 20;

/// Journal of one harvester.
#[derive(Debug)]
pub struct Journal {
    /// `None` if events are not journalled here: a worker sends them to the log of the batch.
    files: Option<[File; 2]>,
    /// Sequence number of the last entry in each file.
    last: [u64; 2],
    current: usize,
    length_bytes: u64,
    /// Number of items that this harvester has sent.
    sent: u64,
    committed: Arc<AtomicU64>,
}

impl Journal {
    /// Creates a journal in a directory; `committed` is the number of items of this harvester that are committed.
    pub fn create(dir: Option<&Path>, harvester: usize, committed: Arc<AtomicU64>) -> io::Result<Journal> {
        let open = |dir: &Path| {
            let open = |name| {
                let path = dir.join(format!("{harvester}-{name}.jsonl"));
                OpenOptions::new().create(true).append(true).open(path)
            };
            Ok::<_, io::Error>([open("a")?, open("b")?])
        };
        let files = dir.map(open).transpose()?;
        Ok(Journal { files, last: [0; 2], current: 0, length_bytes: 0, sent: 0, committed })
    }

    /// Counts an item that is sent.
    pub fn next_seq(&mut self) {
        self.sent += 1;
    }

    /// Appends the entry of the item that was counted last.
    pub fn append(&mut self, entry: &JournalEntry) -> io::Result<()> {
        let Some(files) = &mut self.files else { return Ok(()) };
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        // Switch to the other file, if all of its entries are committed.
        let other = 1 - self.current;
        let is_long = self.length_bytes + line.len() as u64 > MAX_FILE_BYTES;
        if is_long && self.last[other] <= self.committed.load(Ordering::Acquire) {
            files[other].set_len(0)?;
            (self.current, self.length_bytes) = (other, 0);
        }
        files[self.current].write_all(&line)?;
        self.length_bytes += line.len() as u64;
        self.last[self.current] = self.sent;
        Ok(())
    }
}

/// Event that must survive a crash, with name and address of its site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Scheme, host and port of the site.
    pub site: String,
    /// Address that was contacted.
    pub address: IpAddr,
    event: HarvestEvent,
}

impl JournalEntry {
    /// Builds the entry of an event; `None` if the event need not survive. `look_up` returns name and address of a site.
    pub fn from_event<'n>(
        event: &'n HarvestEvent,
        look_up: impl Fn(SiteId) -> Option<(&'n str, IpAddr)>,
    ) -> Option<JournalEntry> {
        let (name, address) = match event {
            HarvestEvent::RobotsFetched { site, .. } | HarvestEvent::SiteBackedOff { site, .. } => {
                look_up(*site)?
            }
            HarvestEvent::HostContacted { name, address, .. } => (name.as_str(), (*address)?),
            _ => return None,
        };
        Some(JournalEntry { site: name.to_owned(), address, event: event.clone() })
    }

    /// Event about a host that may not be in the collection.
    pub fn as_unowned(&self) -> Option<HarvestEvent> {
        matches!(self.event, HarvestEvent::HostContacted { .. }).then(|| self.event.clone())
    }

    /// Upper estimate of the length as JSON.
    pub fn encoded_len(&self) -> usize {
        let text = match &self.event {
            // Every byte can become an escape sequence.
            HarvestEvent::RobotsFetched { response, .. } => response.text.len() * 2,
            _ => 0,
        };
        text + self.site.len() + 200
    }

    /// Event with the site id of the collection in which it occurred.
    pub fn into_event(self) -> HarvestEvent {
        self.event
    }

    /// Converts the times to another clock.
    pub fn convert_times(&mut self, convert: impl Fn(u64) -> u64) {
        self.event.convert_times(convert);
    }

    /// Event with another site id.
    pub fn into_event_for(self, id: SiteId) -> HarvestEvent {
        let mut event = self.event;
        if let HarvestEvent::RobotsFetched { site, .. } | HarvestEvent::SiteBackedOff { site, .. } =
            &mut event
        {
            *site = id;
        }
        event
    }
}

/// Reads the journals of a run that did not end cleanly; `None` if the last one did.
pub fn read_unclean(dir: &Path) -> io::Result<Option<Vec<JournalEntry>>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if is_journal_file(&path) {
            read(&path, &mut all)?;
        }
    }
    Ok(Some(all))
}

/// Prepares the directory for the journals of a new run: replaces older files, whose entries are committed except for
/// `uncommitted`.
pub fn start(dir: &Path, uncommitted: &[JournalEntry]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let old: Vec<PathBuf> = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let target = dir.join(UNCOMMITTED);
    if !uncommitted.is_empty() {
        let next = dir.join(NEXT);
        let mut lines = ChecksummedJsonlWriter::new(File::create(&next)?);
        uncommitted.iter().try_for_each(|entry| lines.push(entry))?;
        lines.finish()?;
        fs::rename(&next, &target)?;
    }
    let replaced = |path: &&PathBuf| is_journal_file(path) && (**path != target || uncommitted.is_empty());
    for path in old.iter().filter(replaced) {
        remove_if_there(path)?;
    }
    Ok(())
}

/// Removes the journals, once all of their entries are committed. Other files in the directory remain.
pub fn clear(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if is_journal_file(&path) {
            remove_if_there(&path)?;
        }
    }
    match fs::remove_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => removed,
    }
}

/// Whether a file has a name that is written here.
fn is_journal_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let harvester = name.strip_suffix("-a.jsonl").or(name.strip_suffix("-b.jsonl"));
    name == UNCOMMITTED || name == NEXT || harvester.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// Removes a file, if it exists: `next.jsonl` of a crashed run has been renamed in the meantime.
fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Reads a file. The last line can be torn: a crash happened while it was written, so it was not acted upon.
fn read(path: &Path, all: &mut Vec<JournalEntry>) -> io::Result<()> {
    let mut lines = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    while (&mut lines).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? > 0 {
        all.extend(serde_json::from_slice::<JournalEntry>(&line).ok());
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::SiteId;

    use super::*;
    use crate::item::robots_response::RobotsResponse;

    fn entry(event: &HarvestEvent) -> JournalEntry {
        JournalEntry::from_event(event, |_| Some(("http://a.example", IpAddr::from([192, 0, 2, 1])))).unwrap()
    }

    fn robots(site: u32, length: usize) -> JournalEntry {
        let robots = RobotsResponse { fetched_s: 1, status: 200, text: vec![b'#'; length] };
        entry(&HarvestEvent::RobotsFetched { site: SiteId(site), response: robots })
    }

    #[test]
    fn entries_survive_a_crash() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("journal");
        assert_eq!(read_unclean(&dir).unwrap(), None);
        start(&dir, &[]).unwrap();
        let mut journal = Journal::create(Some(&dir), 0, Arc::default()).unwrap();
        assert_eq!(read_unclean(&dir).unwrap(), Some(vec![]));
        let back_off = HarvestEvent::SiteBackedOff { site: SiteId(2), until_ms: 5, consecutive_errors: 1 };
        let entries = [robots(1, 3), entry(&back_off)];
        for entry in &entries {
            journal.next_seq();
            journal.append(entry).unwrap();
        }
        assert_eq!(read_unclean(&dir).unwrap(), Some(entries.to_vec()));
        // A line that was torn by the crash is neither an entry nor an error.
        let path = dir.join("0-a.jsonl");
        let line = fs::read(&path).unwrap();
        fs::write(&path, &line[..line.len() - 3]).unwrap();
        assert_eq!(read_unclean(&dir).unwrap(), Some(entries[..1].to_vec()));
        clear(&dir).unwrap();
        assert_eq!(read_unclean(&dir).unwrap(), None);
    }

    #[test]
    fn files_that_are_no_journals_are_neither_read_nor_removed() {
        let temp = tempfile::tempdir().unwrap();
        let letter = temp.path().join("letter.jsonl");
        fs::write(&letter, serde_json::to_vec(&robots(1, 3)).unwrap()).unwrap();
        assert_eq!(read_unclean(temp.path()).unwrap(), Some(vec![]));
        start(temp.path(), &[robots(2, 3)]).unwrap();
        drop(Journal::create(Some(temp.path()), 0, Arc::default()).unwrap());
        clear(temp.path()).unwrap();
        assert!(letter.exists());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn commits_bound_the_size_of_journals() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("journal");
        let committed = Arc::new(AtomicU64::new(0));
        start(&dir, &[]).unwrap();
        let mut journal = Journal::create(Some(&dir), 0, Arc::clone(&committed)).unwrap();
        for number in 0..100 {
            journal.next_seq();
            journal.append(&robots(number, 200 << 10)).unwrap();
            committed.store(u64::from(number), Ordering::Release);
        }
        let files = fs::read_dir(&dir).unwrap();
        let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes < 3 * MAX_FILE_BYTES, "{bytes}");
        let entries = read_unclean(&dir).unwrap().unwrap();
        assert!(entries.contains(&robots(99, 200 << 10)));
    }
}
