//! Session of the SQL engine: within the memory limit of the settings, and without files left on disk, also after Ctrl-C.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use sql::{Engine, EngineSettings, Table};
use tokio::runtime::Runtime;

use crate::signals::ShutdownSignal;

/// Time that the threads of the engine have to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs `work` with an engine for these tables, within a memory limit. Returns `None` if a signal arrives.
pub(crate) fn with_engine<T>(
    dir: &Path,
    memory_bytes: u64,
    tables: Vec<Table>,
    work: impl AsyncFnOnce(Engine, ShutdownSignal) -> anyhow::Result<Option<T>>,
) -> anyhow::Result<Option<T>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let spill = tempfile::Builder::new().prefix("weir-sql-").tempdir();
    let spill = spill.context("cannot create a temporary directory")?;
    let runtime = Runtime::new().context("cannot start a runtime")?;
    let done = runtime.block_on(async {
        let mut signal = ShutdownSignal::listen()?;
        let settings = EngineSettings { memory_bytes, threads, spill_dir: spill.path().to_owned() };
        let Some(engine) = signal.or(Engine::open(dir, tables, settings)).await else { return Ok(None) };
        work(engine?, signal).await
    });
    // Stop the threads first: they must not write into a deleted directory.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    spill.close().context("cannot remove the temporary directory")?;
    done
}
