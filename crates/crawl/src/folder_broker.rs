//! What carries batches between processes of one machine? A folder that they all see; nothing has to be installed for it.
//!
//! ```text
//! batches/000007      an offer; whoever works on it holds a lock on the file, which the system opens when he dies
//! logs/000007/        an entry is a file named by its number: the first to make it has written it
//! orders              what workers obey; replaced as a whole
//! reports/NAME        how a worker is; replaced as a whole
//! COLLECTION          locked by the process of the collection, as long as it lives
//! ```
//!
//! Messages are not synced: what a power cut takes from here is fetched again.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::broker::{Broker, BrokerError, Lease, LogEntry, MESSAGE_LIMIT_BYTES};

/// A folder as a broker.
#[derive(Debug)]
pub struct FolderBroker {
    folder: PathBuf,
    /// Of the collection's process.
    own: Option<File>,
    /// The last entry of each log that was listened to.
    heard: Mutex<HashMap<u64, u64>>,
    /// When reports were last asked for.
    seen: Mutex<HashMap<String, SystemTime>>,
    next_name: AtomicU64,
}

/// How often somebody looks who waits.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl FolderBroker {
    /// For the collection, which begins it if it is not there. Refused if another process has it.
    pub fn of_collection(folder: &Path) -> Result<FolderBroker, BrokerError> {
        let mut broker = FolderBroker::at(folder);
        let begin = || {
            for part in ["batches", "logs", "reports"] {
                fs::create_dir_all(folder.join(part))?;
            }
            File::options().create(true).truncate(false).write(true).open(folder.join(COLLECTION))
        };
        let own = begin().map_err(failed("begin the folder for workers"))?;
        match own.try_lock() {
            Ok(()) => broker.own = Some(own),
            Err(TryLockError::WouldBlock) => {
                let what = format!("another crawl has workers in {}", folder.display());
                return Err(BrokerError::Refused(what));
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock the folder for workers")(error)),
        }
        // Orders of a crawl that is over are nobody's, and its workers are gone.
        let clear = || {
            remove_if_there(&folder.join(ORDERS))?;
            for report in fs::read_dir(folder.join("reports"))? {
                remove_if_there(&report?.path())?;
            }
            Ok(())
        };
        clear().map_err(failed("begin the folder for workers"))?;
        Ok(broker)
    }

    /// For a worker.
    pub fn of_worker(folder: &Path) -> Result<FolderBroker, BrokerError> {
        if !folder.join(COLLECTION).exists() {
            let what = format!(
                "{} is no folder for workers: start the crawl first, with --workers local:0",
                folder.display()
            );
            return Err(BrokerError::Refused(what));
        }
        Ok(FolderBroker::at(folder))
    }

    fn at(folder: &Path) -> FolderBroker {
        FolderBroker {
            folder: folder.to_owned(),
            own: None,
            heard: Mutex::default(),
            seen: Mutex::default(),
            next_name: AtomicU64::new(0),
        }
    }

    /// Whether the collection's process lives.
    fn has_collection(&self) -> io::Result<bool> {
        if self.own.is_some() {
            return Ok(true);
        }
        match File::open(self.folder.join(COLLECTION))?.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn batch(&self, batch: u64) -> PathBuf {
        self.folder.join("batches").join(name(batch))
    }

    fn log_folder(&self, batch: u64) -> PathBuf {
        self.folder.join("logs").join(name(batch))
    }

    fn entry(&self, batch: u64, number: u64) -> PathBuf {
        self.log_folder(batch).join(name(number))
    }

    /// A file with this content that nobody sees yet, beside where it will be.
    fn unseen(&self, place: &Path, content: &[u8]) -> io::Result<PathBuf> {
        let number = self.next_name.fetch_add(1, Ordering::Relaxed);
        let unseen = place.with_file_name(format!(".{}-{number}", std::process::id()));
        fs::write(&unseen, content)?;
        Ok(unseen)
    }

    /// Puts a file in place as a whole.
    fn replace(&self, place: &Path, content: &[u8]) -> io::Result<()> {
        fs::rename(self.unseen(place, content)?, place)
    }

    /// The same, unless there is one.
    fn create(&self, place: &Path, content: &[u8]) -> io::Result<bool> {
        let unseen = self.unseen(place, content)?;
        let linked = fs::hard_link(&unseen, place);
        fs::remove_file(&unseen)?;
        match linked {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true),
        }
    }

    /// A batch that nobody works on.
    fn free_batch(&self) -> io::Result<Option<FolderLease>> {
        for batch in numbers(&self.folder.join("batches"))? {
            let path = self.batch(batch);
            let Some(mut file) = if_there(File::open(&path))? else { continue };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Whoever had it before may have done it meanwhile.
            let is_same = |there: fs::Metadata| Ok::<_, io::Error>(there.ino() == file.metadata()?.ino());
            if !if_there(fs::metadata(&path))?.map_or(Ok(false), is_same)? {
                continue;
            }
            let mut message = Vec::new();
            (&mut file).take(MESSAGE_LIMIT_BYTES as u64).read_to_end(&mut message)?;
            return Ok(Some(FolderLease { batch, path, message, _lock: file }));
        }
        Ok(None)
    }

    /// New entries of all logs.
    fn new_entries(&self) -> io::Result<Vec<LogEntry>> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = Vec::new();
        for batch in numbers(&self.folder.join("logs"))? {
            let last = heard.entry(batch).or_default();
            while let Some(message) = if_there(fs::read(self.entry(batch, *last + 1)))? {
                *last += 1;
                entries.push(LogEntry { batch, number: *last, message });
            }
        }
        Ok(entries)
    }

    fn new_reports(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reports = Vec::new();
        for file in fs::read_dir(self.folder.join("reports"))? {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            let Some(time) = if_there(file.metadata().and_then(|known| known.modified()))? else { continue };
            if name.starts_with('.') || seen.get(&name) == Some(&time) {
                continue;
            }
            reports.extend(if_there(fs::read(file.path()))?);
            seen.insert(name, time);
        }
        Ok(reports)
    }
}

impl Broker for FolderBroker {
    fn name(&self) -> String {
        "folder".to_owned()
    }

    fn offer(&self, batch: u64, message: &[u8]) -> Result<(), BrokerError> {
        self.create(&self.batch(batch), message).map(drop).map_err(failed("offer a batch"))
    }

    fn take(&self, _worker: &str, wait: Duration) -> Result<Option<Box<dyn Lease>>, BrokerError> {
        let lease = wait_for(wait, || self.free_batch()).map_err(failed("take a batch"))?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn Lease>))
    }

    fn append(&self, batch: u64, after: u64, message: &[u8]) -> Result<Option<u64>, BrokerError> {
        if message.len() > MESSAGE_LIMIT_BYTES {
            let what = format!("a message of {} bytes is too long", message.len());
            return Err(BrokerError::Refused(what));
        }
        let append = || {
            if after == 0 {
                fs::create_dir_all(self.log_folder(batch))?;
            } else if !self.entry(batch, after).exists() {
                return Ok(false);
            }
            self.create(&self.entry(batch, after + 1), message)
        };
        let appended = append().map_err(failed("write to the log of a batch"))?;
        Ok(appended.then_some(after + 1))
    }

    fn log(&self, batch: u64) -> Result<Vec<LogEntry>, BrokerError> {
        let read = || {
            let mut entries = Vec::new();
            for number in 1.. {
                let Some(message) = if_there(fs::read(self.entry(batch, number)))? else { break };
                entries.push(LogEntry { batch, number, message });
            }
            Ok(entries)
        };
        read().map_err(failed("read the log of a batch"))
    }

    fn listen(&self, wait: Duration) -> Result<Vec<LogEntry>, BrokerError> {
        let heard = wait_for(wait, || Ok(Some(self.new_entries()?).filter(|entries| !entries.is_empty())));
        Ok(heard.map_err(failed("listen to workers"))?.unwrap_or_default())
    }

    fn forget(&self, batch: u64) -> Result<(), BrokerError> {
        let forget = || {
            remove_if_there(&self.batch(batch))?;
            if_there(fs::remove_dir_all(self.log_folder(batch)))
        };
        forget().map(drop).map_err(failed("forget a batch"))?;
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).remove(&batch);
        Ok(())
    }

    fn order(&self, message: &[u8]) -> Result<(), BrokerError> {
        self.replace(&self.folder.join(ORDERS), message).map_err(failed("give orders to workers"))
    }

    fn orders(&self) -> Result<Option<Vec<u8>>, BrokerError> {
        let read = || {
            let orders = if_there(fs::read(self.folder.join(ORDERS)))?;
            Ok(if self.has_collection()? { orders } else { None })
        };
        read().map_err(failed("read the orders"))
    }

    fn report(&self, worker: &str, message: &[u8]) -> Result<(), BrokerError> {
        let path = self.folder.join("reports").join(worker);
        self.replace(&path, message).map_err(failed("report"))
    }

    fn reports(&self) -> Result<Vec<Vec<u8>>, BrokerError> {
        self.new_reports().map_err(failed("read reports"))
    }
}

/// A batch that this process has locked.
struct FolderLease {
    batch: u64,
    path: PathBuf,
    message: Vec<u8>,
    _lock: File,
}

impl Lease for FolderLease {
    fn batch(&self) -> u64 {
        self.batch
    }

    fn message(&self) -> &[u8] {
        &self.message
    }

    fn duration(&self) -> Option<Duration> {
        None
    }

    fn keep(&self) -> Result<bool, BrokerError> {
        Ok(true)
    }

    fn done(self: Box<Self>) -> Result<(), BrokerError> {
        remove_if_there(&self.path).map_err(failed("give a batch back"))
    }
}

const COLLECTION: &str = "COLLECTION";
const ORDERS: &str = "orders";

fn name(number: u64) -> String {
    format!("{number:06}")
}

/// The files of a folder that are named by numbers, in their order.
fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        all.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    all.sort_unstable();
    Ok(all)
}

fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    if_there(fs::remove_file(path)).map(drop)
}

/// Looks again and again until there is something, or the time is over.
fn wait_for<T>(wait: Duration, mut look: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    let until = Instant::now() + wait;
    loop {
        let found = look()?;
        if found.is_some() || Instant::now() >= until {
            return Ok(found);
        }
        thread::sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now())));
    }
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> BrokerError {
    move |source| BrokerError::Unavailable { what, source: source.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn both(folder: &Path) -> (FolderBroker, FolderBroker) {
        (FolderBroker::of_collection(folder).unwrap(), FolderBroker::of_worker(folder).unwrap())
    }

    #[test]
    fn a_batch_is_lent_to_one_worker_until_he_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (collection, worker) = both(folder.path());
        collection.offer(7, b"seven").unwrap();
        collection.offer(7, b"again").unwrap();
        let lease = worker.take("a", NOW).unwrap().unwrap();
        assert_eq!((lease.batch(), lease.message()), (7, b"seven".as_slice()));
        assert!(lease.keep().unwrap() && worker.take("b", NOW).unwrap().is_none());
        drop(lease);
        let lease = worker.take("b", NOW).unwrap().unwrap();
        lease.done().unwrap();
        assert!(worker.take("c", NOW).unwrap().is_none());
    }

    #[test]
    fn who_does_not_know_the_last_entry_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (collection, worker) = both(folder.path());
        assert_eq!(worker.append(7, 0, b"one").unwrap(), Some(1));
        assert_eq!(worker.append(7, 0, b"other").unwrap(), None);
        assert_eq!(worker.append(7, 1, b"two").unwrap(), Some(2));
        assert_eq!(worker.append(7, 5, b"six").unwrap(), None);
        let entry = |number, message: &[u8]| LogEntry { batch: 7, number, message: message.to_vec() };
        let all = vec![entry(1, b"one"), entry(2, b"two")];
        assert_eq!(worker.log(7).unwrap(), all);
        assert_eq!(collection.listen(NOW).unwrap(), all);
        assert!(collection.listen(NOW).unwrap().is_empty());
        worker.append(7, 2, b"three").unwrap();
        assert_eq!(collection.listen(NOW).unwrap(), [entry(3, b"three")]);
        collection.forget(7).unwrap();
        assert!(collection.log(7).unwrap().is_empty());
        assert_eq!(worker.append(7, 3, b"four").unwrap(), None, "it was forgotten");
    }

    #[test]
    fn orders_hold_while_the_collection_lives() {
        let folder = tempfile::tempdir().unwrap();
        assert!(FolderBroker::of_worker(folder.path()).is_err());
        let (collection, worker) = both(folder.path());
        assert!(FolderBroker::of_collection(folder.path()).is_err(), "one at a time");
        assert_eq!(worker.orders().unwrap(), None);
        collection.order(b"go").unwrap();
        assert_eq!(worker.orders().unwrap().as_deref(), Some(b"go".as_slice()));
        worker.report("a", b"fine").unwrap();
        assert_eq!(collection.reports().unwrap(), [b"fine".to_vec()]);
        assert!(collection.reports().unwrap().is_empty());
        worker.report("b", b"fine").unwrap();
        drop(collection);
        assert_eq!(worker.orders().unwrap(), None);
        let collection = FolderBroker::of_collection(folder.path()).unwrap();
        assert!(collection.reports().unwrap().is_empty(), "they are of another crawl");
    }
}
