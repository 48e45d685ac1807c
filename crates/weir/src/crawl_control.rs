//! Control of a running crawl by signals: the first Ctrl-C (or SIGTERM) stops it gracefully, the second immediately, the
//! third ends the process; SIGHUP reloads the settings.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use fetch::LocalFault;
use harvest::{CrawlHandle, Progress, StopMode};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use crate::crawl_progress::{ProgressDisplay, ProgressMode};
use crate::exit::INTERRUPTED;
use crate::human;

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
    let mut fault_ticks = interval(FAULT_INTERVAL);
    fault_ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut fault_notices = FaultNotices::default();
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
            _ = fault_ticks.tick() => {
                if let Some(notice) = fault_notices.next(Instant::now(), &handle.progress()) {
                    display.warn(&notice)?;
                }
                print_warnings(handle, &mut display)?;
            }
        }
    }
    while let Ok(message) = messages.try_recv() {
        display.warn(&message)?;
    }
    print_warnings(handle, &mut display)?;
    if let Some(notice) = fault_notices.next(Instant::now(), &handle.progress()) {
        display.warn(&notice)?;
    }
    display.finish(Instant::now(), handle.progress())?;
    Ok(interrupts > 0)
}

/// Writes the warnings of the crawl, such as those about items of workers.
fn print_warnings(handle: &CrawlHandle, display: &mut ProgressDisplay) -> io::Result<()> {
    handle.shared_status().take_warnings().iter().try_for_each(|warning| display.warn(warning))
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

/// Interval at which faults of this machine are noticed.
const FAULT_INTERVAL: Duration = Duration::from_millis(500);
/// Minimum time between two notices about the same fault, which can come and go.
const SAME_FAULT_INTERVAL: Duration = Duration::from_secs(300);

/// Notices about the start and the end of faults of this machine.
#[derive(Default)]
struct FaultNotices {
    /// Last fault that was announced, with the time.
    announced: Option<(LocalFault, Instant)>,
    /// Whether its end has not been announced.
    is_open: bool,
}

impl FaultNotices {
    /// Next notice, if the state has changed.
    fn next(&mut self, now: Instant, progress: &Progress) -> Option<String> {
        let Some(status) = progress.local_fault else {
            return std::mem::take(&mut self.is_open).then(|| {
                let retried = human::plural(progress.retried_requests, "request");
                format!("fetching again; {retried} retried so far")
            });
        };
        let is_known = self.announced.is_some_and(|(fault, time)| {
            fault == status.fault && (self.is_open || now - time < SAME_FAULT_INTERVAL)
        });
        if is_known {
            return None;
        }
        (self.announced, self.is_open) = (Some((status.fault, now)), true);
        Some(format!(
            "cannot fetch: {}; {}. Requests are retried until it works, and no site is marked as failed",
            status.fault,
            status.fault.hint()
        ))
    }
}

/// Message at the end of a crawl about faults of this machine.
pub(crate) fn local_fault_summary(progress: &Progress) -> Option<String> {
    let retried = human::plural(progress.retried_requests, "request");
    match (progress.local_fault, progress.last_local_fault) {
        (Some(status), _) => Some(format!(
            "stopped during a fault of this machine: {} for {}; {}",
            status.fault,
            human::duration(status.duration_ms / 1_000),
            status.fault.hint()
        )),
        (None, Some(fault)) => {
            Some(format!("{retried} retried because of faults of this machine, last: {fault}"))
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use harvest::LocalFaultStatus;

    use super::*;

    #[test]
    fn each_fault_is_announced_once_with_its_end() {
        let with = |fault: Option<LocalFault>| Progress {
            local_fault: fault.map(|fault| LocalFaultStatus { fault, duration_ms: 1_000 }),
            retried_requests: 3,
            ..Progress::default()
        };
        let (mut notices, now) = (FaultNotices::default(), Instant::now());
        let files = with(Some(LocalFault::TooManyOpenFiles));
        assert_eq!(notices.next(now, &with(None)), None);
        assert!(notices.next(now, &files).unwrap().starts_with("cannot fetch: too many open files; raise"));
        assert_eq!(notices.next(now, &files), None);
        assert_eq!(notices.next(now, &with(None)).unwrap(), "fetching again; 3 requests retried so far");
        assert_eq!(notices.next(now, &with(None)), None);
        assert_eq!(notices.next(now + Duration::from_secs(10), &files), None, "it comes and goes");
        let proxy = with(Some(LocalFault::ProxyUnavailable));
        assert!(notices.next(now, &proxy).unwrap().contains("proxy does not respond"));
        assert!(notices.next(now + SAME_FAULT_INTERVAL, &files).is_some());
    }
}
