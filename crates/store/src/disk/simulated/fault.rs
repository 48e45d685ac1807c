//! Faults that a simulated disk injects at a chosen call.

use std::io;

/// Fault at one call, or from one call on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with EIO.
    Eio,
    /// This number of calls that need space fail with ENOSPC.
    NoSpace(u32),
    /// A read or write fails with EINTR.
    Interrupted,
    /// A read or write transfers only a part.
    Short,
    /// A write transfers only a part, and the next one fails with EIO.
    TornWrite,
    /// A sync of a file fails with EIO, after which the unwritten blocks are clean in the cache.
    FailedSync,
    /// The power fails before the call: all calls fail until the restart.
    PowerCut,
}

/// Kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Read,
    Write,
    SetLength,
    SyncFile,
    SyncDir,
    /// Adds an entry to a directory.
    AddEntry,
    RemoveEntry,
    /// Reads an entry or metadata.
    LookUp,
}

/// Effect of a fault on a call that does not return an error at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    Partial,
    FailedSync,
}

impl Fault {
    /// Whether the fault can occur at a call.
    pub(super) fn applies_to(self, call: Call) -> bool {
        match self {
            Fault::Eio | Fault::PowerCut => true,
            Fault::NoSpace(_) => matches!(call, Call::Write | Call::AddEntry),
            Fault::Interrupted | Fault::Short => matches!(call, Call::Read | Call::Write),
            Fault::TornWrite => call == Call::Write,
            Fault::FailedSync => call == Call::SyncFile,
        }
    }
}

/// Error number of Linux for an input or output error.
const EIO: i32 = 5;
/// Error number of Linux for a full disk.
const ENOSPC: i32 = 28;

pub(super) fn input_output_error() -> io::Error {
    io::Error::from_raw_os_error(EIO)
}

pub(super) fn no_space() -> io::Error {
    io::Error::from_raw_os_error(ENOSPC)
}
