//! How is the engine begun and ended? Within the memory that the settings allow, and so that nothing stays on the disk, also
//! after Ctrl-C.

use std::future::Future;
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use sql::{Engine, EngineSettings, Table};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::settings::Settings;

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
