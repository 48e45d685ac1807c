//! Who ends work that is long and may be broken off? Ctrl-C or SIGTERM: the work is asked to end in order, and after a moment, or
//! when somebody insists, the process ends. Useful for work that leaves nothing half done whenever it dies; a crawl is steered
//! (`steering.rs`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::steering::INTERRUPTED;

/// So long the work may take to end in order.
const GRACE: Duration = Duration::from_millis(1_500);

/// Whether somebody wants the work to end.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on, until the process ends.
    pub(crate) fn listen() -> anyhow::Result<Interrupt> {
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
        let signals = runtime.block_on(async {
            Ok::<_, io::Error>((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
        });
        let (mut interrupt, mut terminate) = signals.context("cannot listen to signals")?;
        let asked = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&asked);
        // The thread is not waited for: it ends with the process, or ends it.
        thread::spawn(move || {
            runtime.block_on(async move {
                tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
                told.store(true, Ordering::Relaxed);
                tokio::select! { _ = sleep(GRACE) => {} _ = interrupt.recv() => {} }
            });
            std::process::exit(i32::from(INTERRUPTED));
        });
        Ok(Interrupt(asked))
    }

    /// Whether it came.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
