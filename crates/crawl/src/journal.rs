//! What must not be forgotten even by a crawler that is killed? What servers asked of us: robots.txt, which must not be
//! fetched again every time, and pleas to wait.
//!
//! The collection learns of everything with the next commit, some seconds later. Until then such news lie here: each is
//! written when it comes, by one call of the system, so that it survives the death of the process. The next start reads
//! them before it sends a single request. Sites are called by their names: the number of one that was found since the last
//! commit will be another's. Each harvester has two files and uses them in turn; the older one is emptied
//! when all that it holds was committed.
//!
//! That there are journals at the start also tells that the last run did not end in order: then nobody knows when the
//! sites were last asked, and each must be left alone for its full wait.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::SiteId;
use serde::{Deserialize, Serialize};

use crate::closed_folder;
use crate::harvest::HarvestNews;
use crate::json_lines::LineWriter;

/// What an earlier run was told and nobody has committed yet.
const KEPT: &str = "kept.jsonl";
/// Files are changed when they are this long.
const FILE_BYTES: u64 = 1 << 20;
/// A robots.txt of the longest kind, every byte of it as an escape.
const LINE_LIMIT_BYTES: u64 = 8 << 20;

/// The journal of one harvester.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Nothing where nobody would read them.
    files: Option<[File; 2]>,
    /// The last piece of news in each.
    last: [u64; 2],
    current: usize,
    length_bytes: u64,
    /// How many pieces of news this harvester sent so far.
    sent: u64,
    committed: Arc<AtomicU64>,
}

impl Journal {
    /// A new journal, in this folder if there is one; `committed` is how many of this harvester's pieces of news the collection holds
    /// for good.
    pub(crate) fn create(
        folder: Option<&Path>,
        harvester: usize,
        committed: Arc<AtomicU64>,
    ) -> io::Result<Journal> {
        let open = |folder: &Path| {
            let open = |name| {
                let path = folder.join(format!("{harvester}-{name}.jsonl"));
                OpenOptions::new().create(true).append(true).open(path)
            };
            Ok::<_, io::Error>([open("a")?, open("b")?])
        };
        let files = folder.map(open).transpose()?;
        Ok(Journal { files, last: [0; 2], current: 0, length_bytes: 0, sent: 0, committed })
    }

    /// Counts a piece of news that is sent.
    pub(crate) fn count(&mut self) {
        self.sent += 1;
    }

    /// Keeps the last piece of news that was counted.
    pub(crate) fn keep(&mut self, entry: &Entry) -> io::Result<()> {
        let Some(files) = &mut self.files else { return Ok(()) };
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        // The other file is used from now on, if nobody needs what it holds.
        let other = 1 - self.current;
        let is_long = self.length_bytes + line.len() as u64 > FILE_BYTES;
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

/// News that must survive, about a site of this name at this address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) site: String,
    pub(crate) address: IpAddr,
    news: HarvestNews,
}

impl Entry {
    /// Something that must survive, or nothing.
    pub(crate) fn of<'n>(
        news: &'n HarvestNews,
        place: impl Fn(SiteId) -> Option<(&'n str, IpAddr)>,
    ) -> Option<Entry> {
        let (name, address) = match news {
            HarvestNews::Robots { site, .. } | HarvestNews::BackOff { site, .. } => place(*site)?,
            HarvestNews::Asked { name, address, .. } => (name.as_str(), (*address)?),
            _ => return None,
        };
        Some(Entry { site: name.to_owned(), address, news: news.clone() })
    }

    /// News about a site that need not be in the collection.
    pub(crate) fn of_anybody(&self) -> Option<HarvestNews> {
        matches!(self.news, HarvestNews::Asked { .. }).then(|| self.news.clone())
    }

    /// About how long it is as a message.
    pub(crate) fn length(&self) -> usize {
        let text = match &self.news {
            // Every byte may become an escape.
            HarvestNews::Robots { robots, .. } => robots.text.len() * 2,
            _ => 0,
        };
        text + self.site.len() + 200
    }

    /// The news, in the collection that they were told in.
    pub(crate) fn news(self) -> HarvestNews {
        self.news
    }

    /// Tells its times by another clock.
    pub(crate) fn set_times(&mut self, other: impl Fn(u64) -> u64) {
        self.news.set_times(other);
    }

    /// The news, when the number of its site is known.
    pub(crate) fn about(self, number: SiteId) -> HarvestNews {
        let mut news = self.news;
        if let HarvestNews::Robots { site, .. } | HarvestNews::BackOff { site, .. } = &mut news {
            *site = number;
        }
        news
    }
}

/// What the journals of a run hold that did not end in order; nothing if the last one did.
pub(crate) fn left_behind(folder: &Path) -> io::Result<Option<Vec<Entry>>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        read(&entry?.path(), &mut all)?;
    }
    Ok(Some(all))
}

/// Makes room for the journals of a new run. What older ones hold is committed, but for what is to be kept.
pub(crate) fn start(folder: &Path, keep: &[Entry]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let old: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let kept = folder.join(KEPT);
    if !keep.is_empty() {
        let next = folder.join("next.jsonl");
        let mut lines = LineWriter::new(File::create(&next)?);
        keep.iter().try_for_each(|entry| lines.push(entry))?;
        lines.finish()?;
        fs::rename(&next, &kept)?;
    }
    for path in old.iter().filter(|path| **path != kept || keep.is_empty()) {
        remove_if_there(path)?;
    }
    Ok(())
}

/// Takes journals away, once what they hold is committed.
pub(crate) fn clear(folder: &Path) -> io::Result<()> {
    closed_folder::remove(folder)
}

/// A file that a dying run left half written has got its name meanwhile.
fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The last line may be torn; what cannot be read was not written by a crawl that went on.
fn read(path: &Path, all: &mut Vec<Entry>) -> io::Result<()> {
    let mut lines = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    while (&mut lines).take(LINE_LIMIT_BYTES).read_until(b'\n', &mut line)? > 0 {
        all.extend(serde_json::from_slice::<Entry>(&line).ok());
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::SiteId;

    use super::*;
    use crate::batch::RobotsCopy;

    fn entry(news: &HarvestNews) -> Entry {
        Entry::of(news, |_| Some(("http://a.example", IpAddr::from([192, 0, 2, 1])))).unwrap()
    }

    fn robots(site: u32, length: usize) -> Entry {
        let robots = RobotsCopy { fetched_s: 1, status: 200, text: vec![b'#'; length] };
        entry(&HarvestNews::Robots { site: SiteId(site), robots })
    }

    #[test]
    fn what_was_noted_is_found_after_a_death() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("journal");
        assert_eq!(left_behind(&folder).unwrap(), None);
        start(&folder, &[]).unwrap();
        let mut journal = Journal::create(Some(&folder), 0, Arc::default()).unwrap();
        assert_eq!(left_behind(&folder).unwrap(), Some(vec![]));
        let back_off = HarvestNews::BackOff { site: SiteId(2), until_ms: 5, errors_in_a_row: 1 };
        let news = [robots(1, 3), entry(&back_off)];
        for news in &news {
            journal.count();
            journal.keep(news).unwrap();
        }
        assert_eq!(left_behind(&folder).unwrap(), Some(news.to_vec()));
        // A line that was cut off by the death is no news, and no error.
        let path = folder.join("0-a.jsonl");
        let line = fs::read(&path).unwrap();
        fs::write(&path, &line[..line.len() - 3]).unwrap();
        assert_eq!(left_behind(&folder).unwrap(), Some(news[..1].to_vec()));
        clear(&folder).unwrap();
        assert_eq!(left_behind(&folder).unwrap(), None);
    }

    #[test]
    fn journals_do_not_grow_when_commits_come() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("journal");
        let committed = Arc::new(AtomicU64::new(0));
        start(&folder, &[]).unwrap();
        let mut journal = Journal::create(Some(&folder), 0, Arc::clone(&committed)).unwrap();
        for number in 0..100 {
            journal.count();
            journal.keep(&robots(number, 200 << 10)).unwrap();
            committed.store(u64::from(number), Ordering::Release);
        }
        let files = fs::read_dir(&folder).unwrap();
        let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes < 3 * FILE_BYTES, "{bytes}");
        let kept = left_behind(&folder).unwrap().unwrap();
        assert!(kept.contains(&robots(99, 200 << 10)));
    }
}
