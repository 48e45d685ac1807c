//! Signals that end a command: Ctrl-C (SIGINT) and SIGTERM. A crawl has its own handling (`crawl_control.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use crate::exit::INTERRUPTED;

/// Ctrl-C or SIGTERM, caught from the creation of this value on.
pub(crate) struct ShutdownSignal {
    interrupt: Signal,
    terminate: Signal,
}

impl ShutdownSignal {
    /// Installs the handlers. Must be called within a tokio runtime.
    pub(crate) fn listen() -> anyhow::Result<ShutdownSignal> {
        let listen = |kind| signal(kind).context("cannot install signal handlers");
        Ok(ShutdownSignal {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for a signal.
    pub(crate) async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Result of `work`; `None` if a signal arrives first.
    #[cfg(feature = "sql")]
    pub(crate) async fn or<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.received() => None,
            done = work => Some(done),
        }
    }
}

/// Shutdown signal for commands that block a thread until it arrives.
pub(crate) struct BlockingShutdownSignal {
    runtime: Runtime,
    signal: ShutdownSignal,
}

impl BlockingShutdownSignal {
    /// Installs the handlers. Create it before the service starts, so that no signal is missed.
    pub(crate) fn listen() -> anyhow::Result<BlockingShutdownSignal> {
        let runtime = current_thread_runtime()?;
        let signal = runtime.block_on(async { ShutdownSignal::listen() })?;
        Ok(BlockingShutdownSignal { runtime, signal })
    }

    /// Blocks until a signal arrives.
    pub(crate) fn wait(mut self) {
        self.runtime.block_on(self.signal.received());
    }
}

/// Restores termination by signals after a [`ShutdownSignal`]: tokio's handlers stay installed for the process, so that
/// without a listener signals would be ignored.
#[cfg(feature = "sql")]
pub(crate) fn exit_on_signal() -> anyhow::Result<()> {
    let signal = BlockingShutdownSignal::listen()?;
    thread::spawn(move || {
        signal.wait();
        std::process::exit(i32::from(INTERRUPTED));
    });
    Ok(())
}

/// Time that the work has to stop after the first signal.
const GRACE: Duration = Duration::from_millis(1_500);

/// Flag that is set by a signal, for long work that polls it.
///
/// The process exits after a grace period, or at the second Ctrl-C. Only for work that leaves nothing half done when it
/// is killed.
pub(crate) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Installs the handlers, until the process ends.
    pub(crate) fn listen() -> anyhow::Result<CancelFlag> {
        let runtime = current_thread_runtime()?;
        let mut signal = runtime.block_on(async { ShutdownSignal::listen() })?;
        let flag = Arc::new(AtomicBool::new(false));
        let thread_flag = Arc::clone(&flag);
        // The thread is not joined: it lives as long as the process, or ends it.
        thread::spawn(move || {
            runtime.block_on(async move {
                signal.received().await;
                thread_flag.store(true, Ordering::Relaxed);
                tokio::select! { () = sleep(GRACE) => {} _ = signal.interrupt.recv() => {} }
            });
            std::process::exit(i32::from(INTERRUPTED));
        });
        Ok(CancelFlag(flag))
    }

    /// Whether a signal has arrived.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn current_thread_runtime() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("cannot start a runtime")
}
