//! Broker in a directory, for processes of one machine; it needs no server.
//!
//! ```text
//! batches/000007      published batch; the worker that leases it holds a lock on the file, which its death releases
//! logs/000007/        one file per entry, named by its sequence number: the first process to create it wins
//! control.json        latest control message; replaced atomically
//! reports/NAME        latest report of a worker; replaced atomically
//! COORDINATOR.lock    locked by the coordinator as long as it lives
//! ```
//!
//! Messages are not synced: pages whose results a power failure removes are fetched again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::transport::broker::{Broker, BrokerError, Lease, LogEntry, MAX_MESSAGE_BYTES};

/// Broker in a directory.
#[derive(Debug)]
pub struct DirBroker {
    dir: PathBuf,
    /// Lock of the coordinator; `None` in workers.
    coordinator_lock: Option<File>,
    /// Last entry of each log that was polled.
    last_seq: Mutex<HashMap<u64, u64>>,
    /// Modification times of the reports that were read.
    report_times: Mutex<HashMap<String, SystemTime>>,
    next_name: AtomicU64,
}

/// Interval for polling the directory.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl DirBroker {
    /// Opens the broker of a coordinator and creates the directory. Fails if another coordinator has it.
    pub fn open_coordinator(dir: &Path) -> Result<DirBroker, BrokerError> {
        let mut broker = DirBroker::at(dir);
        let create = || {
            for part in ["batches", "logs", "reports"] {
                fs::create_dir_all(dir.join(part))?;
            }
            File::options().create(true).truncate(false).write(true).open(dir.join(COORDINATOR_LOCK))
        };
        let lock_file = create().map_err(unavailable("create the directory for workers"))?;
        match lock_file.try_lock() {
            Ok(()) => broker.coordinator_lock = Some(lock_file),
            Err(TryLockError::WouldBlock) => {
                let message = format!("another crawl uses {}", dir.display());
                return Err(BrokerError::Refused(message));
            }
            Err(TryLockError::Error(error)) => {
                return Err(unavailable("lock the directory for workers")(error));
            }
        }
        // Messages of an earlier crawl, whose workers have ended.
        let clear = || {
            remove_if_exists(&dir.join(CONTROL))?;
            for report in fs::read_dir(dir.join("reports"))? {
                remove_if_exists(&report?.path())?;
            }
            Ok(())
        };
        clear().map_err(unavailable("create the directory for workers"))?;
        Ok(broker)
    }

    /// Opens the broker of a worker.
    pub fn open_worker(dir: &Path) -> Result<DirBroker, BrokerError> {
        if !dir.join(COORDINATOR_LOCK).exists() {
            let message = format!(
                "{} is not a directory for workers: start the crawl first, with --workers local:0",
                dir.display()
            );
            return Err(BrokerError::Refused(message));
        }
        Ok(DirBroker::at(dir))
    }

    fn at(dir: &Path) -> DirBroker {
        DirBroker {
            dir: dir.to_owned(),
            coordinator_lock: None,
            last_seq: Mutex::default(),
            report_times: Mutex::default(),
            next_name: AtomicU64::new(0),
        }
    }

    /// Whether the coordinator is alive.
    fn coordinator_alive(&self) -> io::Result<bool> {
        if self.coordinator_lock.is_some() {
            return Ok(true);
        }
        match File::open(self.dir.join(COORDINATOR_LOCK))?.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn batch_path(&self, batch: u64) -> PathBuf {
        self.dir.join("batches").join(name(batch))
    }

    fn log_dir(&self, batch: u64) -> PathBuf {
        self.dir.join("logs").join(name(batch))
    }

    fn entry_path(&self, batch: u64, seq: u64) -> PathBuf {
        self.log_dir(batch).join(name(seq))
    }

    /// Writes a temporary file beside its target.
    fn write_temp(&self, target: &Path, content: &[u8]) -> io::Result<PathBuf> {
        let number = self.next_name.fetch_add(1, Ordering::Relaxed);
        let temp = target.with_file_name(format!(".{}-{number}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        if target.ends_with(CONTROL) {
            // The settings in it can contain passwords.
            options.mode(0o600);
        }
        options.open(&temp)?.write_all(content)?;
        Ok(temp)
    }

    /// Replaces a file atomically.
    fn replace(&self, target: &Path, content: &[u8]) -> io::Result<()> {
        fs::rename(self.write_temp(target, content)?, target)
    }

    /// Creates a file atomically; false if it exists.
    fn create(&self, target: &Path, content: &[u8]) -> io::Result<bool> {
        let temp = self.write_temp(target, content)?;
        // A hard link fails if the target exists, so that of two writers of a log entry one wins; a rename would replace it.
        let linked = fs::hard_link(&temp, target);
        fs::remove_file(&temp)?;
        match linked {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true),
        }
    }

    /// Locks a batch that no worker has.
    fn next_unlocked_batch(&self) -> io::Result<Option<DirLease>> {
        for batch in numbers(&self.dir.join("batches"))? {
            let path = self.batch_path(batch);
            let Some(mut file) = if_exists(File::open(&path))? else { continue };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The worker that had the lock before can have completed and removed the batch after it was opened here.
            let is_same = |current: fs::Metadata| Ok::<_, io::Error>(current.ino() == file.metadata()?.ino());
            if !if_exists(fs::metadata(&path))?.map_or(Ok(false), is_same)? {
                continue;
            }
            let mut message = Vec::new();
            (&mut file).take(MAX_MESSAGE_BYTES as u64).read_to_end(&mut message)?;
            return Ok(Some(DirLease { batch, path, message, _lock: file }));
        }
        Ok(None)
    }

    /// New entries of all logs.
    fn new_entries(&self) -> io::Result<Vec<LogEntry>> {
        let mut last_seq = self.last_seq.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = Vec::new();
        for batch in numbers(&self.dir.join("logs"))? {
            let last = last_seq.entry(batch).or_default();
            while let Some(message) = if_exists(read_message(&self.entry_path(batch, *last + 1)))? {
                *last += 1;
                entries.push(LogEntry { batch, seq: *last, message });
            }
        }
        Ok(entries)
    }

    fn new_reports(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut report_times = self.report_times.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reports = Vec::new();
        for file in fs::read_dir(self.dir.join("reports"))? {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            let Some(time) = if_exists(file.metadata().and_then(|known| known.modified()))? else { continue };
            if name.starts_with('.') || report_times.get(&name) == Some(&time) {
                continue;
            }
            reports.extend(if_exists(read_message(&file.path()))?);
            report_times.insert(name, time);
        }
        Ok(reports)
    }
}

impl Broker for DirBroker {
    fn id(&self) -> String {
        "dir".to_owned()
    }

    fn publish_batch(&self, batch: u64, message: &[u8]) -> Result<(), BrokerError> {
        self.create(&self.batch_path(batch), message).map(drop).map_err(unavailable("publish a batch"))
    }

    fn acquire_lease(&self, _worker: &str, wait: Duration) -> Result<Option<Box<dyn Lease>>, BrokerError> {
        let lease = poll_until(wait, || self.next_unlocked_batch()).map_err(unavailable("lease a batch"))?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn Lease>))
    }

    fn append_log(&self, batch: u64, after_seq: u64, message: &[u8]) -> Result<Option<u64>, BrokerError> {
        if message.len() > MAX_MESSAGE_BYTES {
            let message = format!(
                "a message of {} bytes is longer than the maximum of {MAX_MESSAGE_BYTES}",
                message.len()
            );
            return Err(BrokerError::Refused(message));
        }
        let append = || {
            if after_seq == 0 {
                fs::create_dir_all(self.log_dir(batch))?;
            } else if !self.entry_path(batch, after_seq).exists() {
                return Ok(false);
            }
            self.create(&self.entry_path(batch, after_seq + 1), message)
        };
        let appended = append().map_err(unavailable("write to the log of a batch"))?;
        Ok(appended.then_some(after_seq + 1))
    }

    fn read_log(&self, batch: u64) -> Result<Vec<LogEntry>, BrokerError> {
        let read = || {
            let mut entries = Vec::new();
            for seq in 1.. {
                let Some(message) = if_exists(read_message(&self.entry_path(batch, seq)))? else { break };
                entries.push(LogEntry { batch, seq, message });
            }
            Ok(entries)
        };
        read().map_err(unavailable("read the log of a batch"))
    }

    fn poll_logs(&self, wait: Duration) -> Result<Vec<LogEntry>, BrokerError> {
        let entries =
            poll_until(wait, || Ok(Some(self.new_entries()?).filter(|entries| !entries.is_empty())));
        Ok(entries.map_err(unavailable("poll the logs of batches"))?.unwrap_or_default())
    }

    fn delete_batch(&self, batch: u64) -> Result<(), BrokerError> {
        let delete = || {
            // The batch first: without its log it would be leased and fetched again.
            remove_if_exists(&self.batch_path(batch))?;
            if_exists(fs::remove_dir_all(self.log_dir(batch)))
        };
        delete().map(drop).map_err(unavailable("delete a batch"))?;
        self.last_seq.lock().unwrap_or_else(PoisonError::into_inner).remove(&batch);
        Ok(())
    }

    fn publish_control(&self, message: &[u8]) -> Result<(), BrokerError> {
        self.replace(&self.dir.join(CONTROL), message).map_err(unavailable("publish a control message"))
    }

    fn latest_control(&self) -> Result<Option<Vec<u8>>, BrokerError> {
        let read = || {
            let message = if_exists(fs::read(self.dir.join(CONTROL)))?;
            Ok(if self.coordinator_alive()? { message } else { None })
        };
        read().map_err(unavailable("read the control message"))
    }

    fn send_report(&self, worker: &str, message: &[u8]) -> Result<(), BrokerError> {
        let path = self.dir.join("reports").join(worker);
        self.replace(&path, message).map_err(unavailable("write a report"))
    }

    fn drain_reports(&self) -> Result<Vec<Vec<u8>>, BrokerError> {
        self.new_reports().map_err(unavailable("read the reports of workers"))
    }
}

/// Batch that this process has locked.
struct DirLease {
    batch: u64,
    path: PathBuf,
    message: Vec<u8>,
    _lock: File,
}

impl Lease for DirLease {
    fn batch(&self) -> u64 {
        self.batch
    }

    fn message(&self) -> &[u8] {
        &self.message
    }

    fn duration(&self) -> Option<Duration> {
        None
    }

    fn renew(&self) -> Result<bool, BrokerError> {
        // The lock is held until the worker ends, so the lease does not expire.
        Ok(true)
    }

    fn complete(self: Box<Self>) -> Result<(), BrokerError> {
        remove_if_exists(&self.path).map_err(unavailable("complete a batch"))
    }
}

const COORDINATOR_LOCK: &str = "COORDINATOR.lock";
const CONTROL: &str = "control.json";

fn name(number: u64) -> String {
    format!("{number:06}")
}

/// Numbers that are file names of a directory, in order.
fn numbers(dir: &Path) -> io::Result<Vec<u64>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir)? {
        all.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    all.sort_unstable();
    Ok(all)
}

/// Reads a message. One that is longer than the maximum is cut, so that it cannot be decoded.
fn read_message(path: &Path) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    File::open(path)?.take(MAX_MESSAGE_BYTES as u64 + 1).read_to_end(&mut message)?;
    Ok(message)
}

fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    if_exists(fs::remove_file(path)).map(drop)
}

/// Polls until there is a result, at most for `wait`.
fn poll_until<T>(wait: Duration, mut poll: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    let until = Instant::now() + wait;
    loop {
        let result = poll()?;
        if result.is_some() || Instant::now() >= until {
            return Ok(result);
        }
        thread::sleep(POLL_INTERVAL.min(until.saturating_duration_since(Instant::now())));
    }
}

fn unavailable(operation: &'static str) -> impl Fn(io::Error) -> BrokerError {
    move |source| BrokerError::Unavailable { operation, source: source.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn both(dir: &Path) -> (DirBroker, DirBroker) {
        (DirBroker::open_coordinator(dir).unwrap(), DirBroker::open_worker(dir).unwrap())
    }

    #[test]
    fn a_batch_is_leased_to_one_worker_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let (coordinator, worker) = both(dir.path());
        coordinator.publish_batch(7, b"seven").unwrap();
        coordinator.publish_batch(7, b"again").unwrap();
        let lease = worker.acquire_lease("a", NOW).unwrap().unwrap();
        assert_eq!((lease.batch(), lease.message()), (7, b"seven".as_slice()));
        assert!(lease.renew().unwrap() && worker.acquire_lease("b", NOW).unwrap().is_none());
        drop(lease);
        let lease = worker.acquire_lease("b", NOW).unwrap().unwrap();
        lease.complete().unwrap();
        assert!(worker.acquire_lease("c", NOW).unwrap().is_none());
    }

    #[test]
    fn an_entry_is_appended_only_after_the_last_one() {
        let dir = tempfile::tempdir().unwrap();
        let (coordinator, worker) = both(dir.path());
        assert_eq!(worker.append_log(7, 0, b"one").unwrap(), Some(1));
        assert_eq!(worker.append_log(7, 0, b"other").unwrap(), None);
        assert_eq!(worker.append_log(7, 1, b"two").unwrap(), Some(2));
        assert_eq!(worker.append_log(7, 5, b"six").unwrap(), None);
        let entry = |seq, message: &[u8]| LogEntry { batch: 7, seq, message: message.to_vec() };
        let all = vec![entry(1, b"one"), entry(2, b"two")];
        assert_eq!(worker.read_log(7).unwrap(), all);
        assert_eq!(coordinator.poll_logs(NOW).unwrap(), all);
        assert!(coordinator.poll_logs(NOW).unwrap().is_empty());
        worker.append_log(7, 2, b"three").unwrap();
        assert_eq!(coordinator.poll_logs(NOW).unwrap(), [entry(3, b"three")]);
        coordinator.delete_batch(7).unwrap();
        assert!(coordinator.read_log(7).unwrap().is_empty());
        assert_eq!(worker.append_log(7, 3, b"four").unwrap(), None, "the batch was deleted");
    }

    #[test]
    fn control_messages_are_valid_while_the_coordinator_lives() {
        let dir = tempfile::tempdir().unwrap();
        assert!(DirBroker::open_worker(dir.path()).is_err());
        let (coordinator, worker) = both(dir.path());
        assert!(DirBroker::open_coordinator(dir.path()).is_err(), "one coordinator at a time");
        assert_eq!(worker.latest_control().unwrap(), None);
        coordinator.publish_control(b"go").unwrap();
        assert_eq!(worker.latest_control().unwrap().as_deref(), Some(b"go".as_slice()));
        let mode = fs::metadata(dir.path().join(CONTROL)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "the settings in it can contain passwords");
        worker.send_report("a", b"fine").unwrap();
        assert_eq!(coordinator.drain_reports().unwrap(), [b"fine".to_vec()]);
        assert!(coordinator.drain_reports().unwrap().is_empty());
        worker.send_report("b", b"fine").unwrap();
        drop(coordinator);
        assert_eq!(worker.latest_control().unwrap(), None);
        let coordinator = DirBroker::open_coordinator(dir.path()).unwrap();
        assert!(coordinator.drain_reports().unwrap().is_empty(), "reports of another crawl are removed");
    }
}
