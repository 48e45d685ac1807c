//! Simulated disk, for tests: a file system in memory that injects faults and power cuts, all determined by a seed.
//!
//! It is mounted at a path that no real file system has; the store is used there as anywhere else. A power cut loses what
//! was not synced: any blocks of files, lengths, directory entries and renames. A thread that has a simulated disk does
//! all work of the store itself, so that the order of the calls is always the same.

mod content;
mod fault;
mod random;
mod tree;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::DirEntry;

pub use fault::Fault;
use fault::{Call, Effect, input_output_error, no_space};
pub use random::Random;
use tree::{NodeId, Tree, error};

/// Mount point of all simulated disks; the number of the disk follows.
const MOUNT_POINT: &str = "/simulated-disk";

static DISKS: Mutex<BTreeMap<u64, Disk>> = Mutex::new(BTreeMap::new());
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Number of simulated disks of this thread.
    static ON_THIS_THREAD: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn is_on_this_thread() -> bool {
    ON_THIS_THREAD.get() > 0
}

/// Simulated disk; unmounted on drop. All files on it must be used by the thread that created it.
pub struct SimulatedDisk {
    disk: Disk,
    number: u64,
    path: PathBuf,
    /// Not `Send`: the disk belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl SimulatedDisk {
    /// Mounts an empty disk.
    pub fn new(seed: u64) -> SimulatedDisk {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let state = DiskState {
            tree: Tree::new(),
            random: Random::new(seed),
            boot: 0,
            has_power: true,
            calls: 0,
            trace: 0,
            planned: None,
            full_for_calls: 0,
            is_torn: false,
        };
        let disk = Disk(Arc::new(Mutex::new(state)));
        lock(&DISKS).insert(number, disk.clone());
        ON_THIS_THREAD.set(ON_THIS_THREAD.get() + 1);
        let path = Path::new(MOUNT_POINT).join(number.to_string());
        SimulatedDisk { disk, number, path, thread: PhantomData }
    }

    /// Root directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of calls so far.
    pub fn calls(&self) -> u64 {
        self.disk.lock().calls
    }

    /// Hash of all calls so far, with their paths and bytes: equal if two runs were equal.
    pub fn trace(&self) -> u64 {
        self.disk.lock().trace
    }

    /// Plans a fault at a call from now on, or at the first later one at which it can occur; `None` plans no fault.
    pub fn plan(&self, fault: Option<(u64, Fault)>) {
        let mut state = self.disk.lock();
        state.planned = fault.map(|(calls, fault)| (state.calls + calls, fault));
        (state.full_for_calls, state.is_torn) = (0, false);
    }

    /// Whether the planned fault has not occurred yet.
    pub fn is_planned(&self) -> bool {
        self.disk.lock().planned.is_some()
    }

    /// Whether the power has failed.
    pub fn has_power(&self) -> bool {
        self.disk.lock().has_power
    }

    /// Cuts the power: all open files become unusable, and some of the data that is not durable is lost. Then starts again.
    pub fn restart(&self) {
        let mut state = self.disk.lock();
        let DiskState { tree, random, .. } = &mut *state;
        tree.cut_power(random);
        state.boot += 1;
        state.has_power = true;
        state.planned = None;
        (state.full_for_calls, state.is_torn) = (0, false);
    }
}

impl Drop for SimulatedDisk {
    fn drop(&mut self) {
        lock(&DISKS).remove(&self.number);
        ON_THIS_THREAD.set(ON_THIS_THREAD.get() - 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A test that fails must not fail the others.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Disk that has a path, and the path on it.
pub(super) fn mounted(path: &Path) -> Option<(Disk, &Path)> {
    let mut parts = path.strip_prefix(MOUNT_POINT).ok()?.components();
    let number = parts.next()?.as_os_str().to_str()?.parse().ok()?;
    let disk = lock(&DISKS).get(&number)?.clone();
    Some((disk, parts.as_path()))
}

/// Disk, as the calls use it.
#[derive(Debug, Clone)]
pub(super) struct Disk(Arc<Mutex<DiskState>>);

#[derive(Debug)]
struct DiskState {
    tree: Tree,
    random: Random,
    /// Number of restarts; files opened before are unusable.
    boot: u64,
    has_power: bool,
    calls: u64,
    trace: u64,
    /// Fault and the call at which it occurs.
    planned: Option<(u64, Fault)>,
    full_for_calls: u32,
    /// Whether the next write fails.
    is_torn: bool,
}

impl DiskState {
    /// Counts a call and injects the fault that is due.
    fn call(&mut self, call: Call, detail: &[u8]) -> io::Result<Effect> {
        if !self.has_power {
            return Err(input_output_error());
        }
        self.calls += 1;
        self.trace = xxh3_64_with_seed(detail, self.trace ^ call as u64);
        if self.full_for_calls > 0 && Fault::NoSpace(0).applies_to(call) {
            self.full_for_calls -= 1;
            return Err(no_space());
        }
        if self.is_torn && call == Call::Write {
            self.is_torn = false;
            return Err(input_output_error());
        }
        let calls = self.calls;
        let due = self.planned.take_if(|(at, fault)| calls >= *at && fault.applies_to(call));
        match due.map(|(_, fault)| fault) {
            None => Ok(Effect::None),
            Some(Fault::Eio) => Err(input_output_error()),
            Some(Fault::NoSpace(calls)) => {
                self.full_for_calls = calls.saturating_sub(1);
                Err(no_space())
            }
            Some(Fault::Interrupted) => Err(error(io::ErrorKind::Interrupted)),
            Some(Fault::Short) => Ok(Effect::Partial),
            Some(Fault::TornWrite) => {
                self.is_torn = true;
                Ok(Effect::Partial)
            }
            Some(Fault::FailedSync) => Ok(Effect::FailedSync),
            Some(Fault::PowerCut) => {
                self.has_power = false;
                Err(input_output_error())
            }
        }
    }

    /// Number of bytes that a call transfers.
    fn transferred(&mut self, bytes: usize, effect: Effect) -> usize {
        if effect == Effect::Partial && bytes > 1 { 1 + self.random.below(bytes - 1) } else { bytes }
    }
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, DiskState> {
        lock(&self.0)
    }

    /// Counts a call on a path.
    fn call(&self, call: Call, path: &Path) -> io::Result<MutexGuard<'_, DiskState>> {
        let mut state = self.lock();
        state.call(call, path.as_os_str().as_encoded_bytes())?;
        Ok(state)
    }

    fn handle(&self, state: &DiskState, id: NodeId) -> SimulatedFile {
        SimulatedFile {
            disk: self.clone(),
            id,
            boot: state.boot,
            position: 0,
            has_lock: AtomicBool::new(false),
        }
    }

    pub(super) fn open(&self, path: &Path) -> io::Result<SimulatedFile> {
        let state = self.call(Call::LookUp, path)?;
        let id = state.tree.find(path)?;
        Ok(self.handle(&state, id))
    }

    pub(super) fn create(&self, path: &Path, truncate: bool) -> io::Result<SimulatedFile> {
        let mut state = self.call(Call::AddEntry, path)?;
        let id = match state.tree.find(path) {
            Ok(id) if truncate => {
                state.tree.file_mut(id)?.content.set_length(0);
                id
            }
            Ok(id) => id,
            Err(_) => state.tree.create_file(path)?,
        };
        Ok(self.handle(&state, id))
    }

    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = self.call(Call::LookUp, path)?;
        let id = state.tree.find(path)?;
        drop(state);
        let state = self.call(Call::Read, path)?;
        Ok(state.tree.file(id)?.content.bytes().to_vec())
    }

    pub(super) fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.call(Call::AddEntry, path)?.tree.create_dir_all(path)
    }

    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let state = self.call(Call::LookUp, path)?;
        let id = state.tree.find(path)?;
        state.tree.entries(id)
    }

    pub(super) fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.call(Call::LookUp, path)?.tree.find(path).is_ok())
    }

    pub(super) fn file_number(&self, path: &Path) -> io::Result<(u64, u64)> {
        let state = self.call(Call::LookUp, path)?;
        Ok((0, state.tree.find(path)?))
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (_, to) = mounted(to).ok_or_else(|| error(io::ErrorKind::CrossesDevices))?;
        self.call(Call::AddEntry, to)?.tree.rename(from, to)
    }

    pub(super) fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.call(Call::RemoveEntry, path)?.tree.remove_file(path)
    }

    pub(super) fn hard_link(&self, original: &Path, link: &Path) -> io::Result<()> {
        let (_, link) = mounted(link).ok_or_else(|| error(io::ErrorKind::CrossesDevices))?;
        self.call(Call::AddEntry, link)?.tree.link(original, link)
    }

    pub(super) fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call(Call::SyncDir, path)?;
        let id = state.tree.find(path)?;
        state.tree.sync_dir(id)
    }

    pub(super) fn random(&self) -> u64 {
        self.lock().random.next_u64()
    }
}

/// Open file of a simulated disk.
#[derive(Debug)]
pub(crate) struct SimulatedFile {
    disk: Disk,
    id: NodeId,
    boot: u64,
    /// Position of sequential reads; writes append.
    position: u64,
    has_lock: AtomicBool,
}

impl SimulatedFile {
    fn call(&self, call: Call, detail: &[u8]) -> io::Result<(MutexGuard<'_, DiskState>, Effect)> {
        let mut state = self.disk.lock();
        if state.boot != self.boot {
            return Err(input_output_error());
        }
        let effect = state.call(call, detail)?;
        Ok((state, effect))
    }

    pub(super) fn length(&self) -> io::Result<u64> {
        let (state, _) = self.call(Call::LookUp, b"length")?;
        Ok(state.tree.file(self.id)?.content.bytes().len() as u64)
    }

    pub(super) fn set_length(&self, length: u64) -> io::Result<()> {
        let (mut state, _) = self.call(Call::SetLength, &length.to_le_bytes())?;
        state.tree.file_mut(self.id)?.content.set_length(length as usize);
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        let (mut state, effect) = self.call(Call::SyncFile, b"sync")?;
        let DiskState { tree, random, .. } = &mut *state;
        let content = &mut tree.file_mut(self.id)?.content;
        if effect == Effect::FailedSync {
            content.fail_sync(random);
            return Err(input_output_error());
        }
        content.sync();
        Ok(())
    }

    pub(super) fn try_lock(&self) -> Result<(), TryLockError> {
        let (mut state, _) = self.call(Call::LookUp, b"lock").map_err(TryLockError::Error)?;
        let file = state.tree.file_mut(self.id).map_err(TryLockError::Error)?;
        if file.is_locked {
            return Err(TryLockError::WouldBlock);
        }
        file.is_locked = true;
        self.has_lock.store(true, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.read_at(out, self.position)?;
        self.position += read as u64;
        Ok(read)
    }

    pub(super) fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        let (mut state, effect) = self.call(Call::Read, &offset.to_le_bytes())?;
        let length = state.tree.file(self.id)?.content.bytes().len();
        let start = length.min(offset as usize);
        let count = state.transferred(out.len().min(length - start), effect);
        out[..count].copy_from_slice(&state.tree.file(self.id)?.content.bytes()[start..start + count]);
        Ok(count)
    }

    pub(super) fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes, None)
    }

    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write(bytes, Some(offset))
    }

    fn write(&self, bytes: &[u8], offset: Option<u64>) -> io::Result<usize> {
        let (mut state, effect) = self.call(Call::Write, bytes)?;
        let count = state.transferred(bytes.len(), effect);
        let content = &mut state.tree.file_mut(self.id)?.content;
        let offset = offset.map_or(content.bytes().len(), |offset| offset as usize);
        content.write(offset, &bytes[..count]);
        Ok(count)
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let mut state = self.disk.lock();
        if self.has_lock.load(Ordering::Relaxed)
            && state.boot == self.boot
            && let Ok(file) = state.tree.file_mut(self.id)
        {
            file.is_locked = false;
        }
    }
}
