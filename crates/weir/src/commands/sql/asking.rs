//! How is the engine begun and ended? Within the memory that the settings allow, and so that nothing stays on the disk, also
//! after Ctrl-C.

use std::future::{Future, pending};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use sql::{Engine, EngineSettings, Table};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::settings::Settings;
use crate::steering::INTERRUPTED;

/// How long a thread may go on that is at work when all is told, or when it is stopped.
const LONGEST_END: Duration = Duration::from_secs(5);

/// Works with an engine for these tables; nothing comes of it if it was stopped.
pub(crate) fn with_engine<T>(
    folder: &Path,
    tables: Vec<Table>,
    work: impl AsyncFnOnce(Engine, Stop) -> anyhow::Result<Option<T>>,
) -> anyhow::Result<Option<T>> {
    let memory_bytes = Settings::load(folder)?.memory.analysis.0;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let spill = tempfile::Builder::new().prefix("weir-sql-").tempdir();
    let spill = spill.context("cannot make a folder for what does not fit into memory")?;
    let runtime = Runtime::new().context("cannot start a runtime")?;
    let done = runtime.block_on(async {
        let mut stop = Stop::listen().context("cannot listen to signals")?;
        let settings = EngineSettings { memory_bytes, cores, spill_folder: spill.path().to_owned() };
        let Some(engine) = stop.or(Engine::open(folder, tables, settings)).await else { return Ok(None) };
        work(engine?, stop).await
    });
    // Who still writes must not do so in a folder that is gone.
    runtime.shutdown_timeout(LONGEST_END);
    spill.close().context("cannot remove what did not fit into memory")?;
    done
}

/// Lets signals end the program from here on, as they do where nobody has listened to them: whoever has listened once is not
/// ended by them any more.
pub(crate) fn end_at_signals() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start a runtime")?;
    let mut stop = runtime.block_on(async { Stop::listen() }).context("cannot listen to signals")?;
    thread::spawn(move || {
        runtime.block_on(stop.or(pending::<()>()));
        std::process::exit(i32::from(INTERRUPTED));
    });
    Ok(())
}

/// Ends the work when the user or the system wants it, so that files on the disk do not stay behind.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn listen() -> io::Result<Stop> {
        Ok(Stop { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// What comes of the work; nothing if it was stopped.
    pub(crate) async fn or<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => None,
            _ = self.terminate.recv() => None,
            done = work => Some(done),
        }
    }
}
