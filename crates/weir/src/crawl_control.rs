//! Control of a running crawl by signals: the first Ctrl-C (or SIGTERM) stops it gracefully, the second immediately, the
//! third ends the process; SIGHUP reloads the settings.

use std::io;
use std::thread;
use std::time::Instant;

use anyhow::Context;
use harvest::{CrawlHandle, StopMode};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use crate::crawl_progress::{ProgressDisplay, ProgressMode};
use crate::exit::INTERRUPTED;

/// Sends messages of background threads to the thread that owns the progress display.
pub(crate) struct StderrNotifier(UnboundedSender<String>);

impl StderrNotifier {
    /// Prints a warning, in every progress mode.
    pub(crate) fn warn(&self, message: String) {
        // After the end of the crawl the receiver is gone.
        let _ = self.0.send(message);
    }
}

/// Runs `work` on this thread, while another thread shows progress and handles signals. Returns the result of `work` and
/// whether it was interrupted.
pub(crate) fn run_with_signals<T>(
    handle: &CrawlHandle,
    mode: ProgressMode,
    reload: impl Fn() -> String + Send,
    work: impl FnOnce(&StderrNotifier) -> anyhow::Result<T>,
) -> anyhow::Result<(T, bool)> {
    // Handlers are installed before the work starts, so that no signal is missed.
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
    let signals = runtime.block_on(async { Signals::listen() }).context("cannot install signal handlers")?;
    let (done, is_done) = oneshot::channel::<()>();
    let (notifier, messages) = unbounded_channel();
    thread::scope(|scope| {
        let control = scope
            .spawn(move || runtime.block_on(event_loop(handle, mode, signals, reload, (messages, is_done))));
        let outcome = work(&StderrNotifier(notifier));
        // The event loop ends when this sender is dropped.
        drop(done);
        let interrupted = control.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let interrupted = interrupted?;
        outcome.map(|outcome| (outcome, interrupted))
    })
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

/// Shows progress and handles signals until the work is done. Returns whether it was interrupted.
async fn event_loop(
    handle: &CrawlHandle,
    mode: ProgressMode,
    mut signals: Signals,
    reload: impl Fn() -> String,
    (mut messages, mut is_done): (UnboundedReceiver<String>, oneshot::Receiver<()>),
) -> io::Result<bool> {
    let mut display = ProgressDisplay::new(mode);
    let mut ticks = interval(mode.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // The first tick is immediate, when there is nothing to show.
    ticks.tick().await;
    let mut interrupts = 0;
    loop {
        tokio::select! {
            biased;
            _ = &mut is_done => break,
            _ = signals.interrupt.recv() => interrupts = stop(handle, &mut display, interrupts)?,
            _ = signals.terminate.recv() => interrupts = stop(handle, &mut display, interrupts)?,
            _ = signals.hang_up.recv() => display.print_line(&reload())?,
            Some(message) = messages.recv() => display.warn(&message)?,
            _ = ticks.tick() => display.show(Instant::now(), handle.progress())?,
        }
    }
    while let Ok(message) = messages.try_recv() {
        display.warn(&message)?;
    }
    display.finish(Instant::now(), handle.progress())?;
    Ok(interrupts > 0)
}

/// Handles Ctrl-C or SIGTERM number `before + 1`.
fn stop(handle: &CrawlHandle, display: &mut ProgressDisplay, before: u32) -> io::Result<u32> {
    match before {
        0 => {
            handle.stop(StopMode::Graceful);
            display
                .print_line("stopping: waiting for requests in flight (Ctrl-C again to stop immediately)")?;
        }
        1 if !handle.status().finished => {
            handle.stop(StopMode::Immediate);
            display.print_line("stopping immediately")?;
        }
        _ => std::process::exit(i32::from(INTERRUPTED)),
    }
    Ok(before + 1)
}
