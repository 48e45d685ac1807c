//! Who steers a crawl that runs? Signals: the first Ctrl-C (or SIGTERM) ends it in order, the second at once, the third
//! ends the process; SIGHUP lets it read its settings again.

use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use anyhow::Context;
use crawl::{Helm, Stop};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use crate::progress::{Display, Style};

/// A process that was interrupted ends with this.
pub(crate) const INTERRUPTED: u8 = 130;

/// The exit code of a process whose work is done, or was interrupted.
pub(crate) fn exit_code(interrupted: bool) -> ExitCode {
    if interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS }
}

/// The way to whoever shows a crawl, for those who work beside it.
pub(crate) struct Teller(UnboundedSender<String>);

impl Teller {
    /// A sentence that stays on the screen; even a silent display shows it, since something is not as it should be.
    pub(crate) fn tell(&self, sentence: String) {
        // Nobody is left to be told when the crawl is over.
        let _ = self.0.send(sentence);
    }
}

/// Does the work of a crawl on this thread, while another one shows how it goes and listens to signals. Tells what came of
/// the work, and whether it was interrupted.
pub(crate) fn steer<T>(
    helm: &Helm,
    style: Style,
    reload: impl Fn() -> String + Send,
    work: impl FnOnce(&Teller) -> anyhow::Result<T>,
) -> anyhow::Result<(T, bool)> {
    // Before the work begins, so that no signal falls into a gap.
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
    let signals = runtime.block_on(async { Signals::listen() }).context("cannot listen to signals")?;
    let (done, is_done) = oneshot::channel::<()>();
    let (teller, told) = unbounded_channel();
    thread::scope(|scope| {
        let watcher =
            scope.spawn(move || runtime.block_on(watch(helm, style, signals, reload, (told, is_done))));
        let outcome = work(&Teller(teller));
        // The watcher listens until this is gone.
        drop(done);
        let interrupted = watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
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

/// Shows progress and obeys signals until the work is done; tells whether it was interrupted.
async fn watch(
    helm: &Helm,
    style: Style,
    mut signals: Signals,
    reload: impl Fn() -> String,
    (mut told, mut is_done): (UnboundedReceiver<String>, oneshot::Receiver<()>),
) -> io::Result<bool> {
    let mut display = Display::new(style);
    let mut ticks = interval(style.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // The first is at once, when there is nothing to show.
    ticks.tick().await;
    let mut interrupts = 0;
    loop {
        tokio::select! {
            biased;
            _ = &mut is_done => break,
            _ = signals.interrupt.recv() => interrupts = stop(helm, &mut display, interrupts)?,
            _ = signals.terminate.recv() => interrupts = stop(helm, &mut display, interrupts)?,
            _ = signals.hang_up.recv() => display.say(&reload())?,
            Some(sentence) = told.recv() => display.complain(&sentence)?,
            _ = ticks.tick() => display.show(Instant::now(), helm.progress())?,
        }
    }
    while let Ok(sentence) = told.try_recv() {
        display.complain(&sentence)?;
    }
    display.finish(Instant::now(), helm.progress())?;
    Ok(interrupts > 0)
}

fn stop(helm: &Helm, display: &mut Display, before: u32) -> io::Result<u32> {
    match before {
        0 => {
            helm.stop(Stop::InOrder);
            display.say("stopping: requests under way are waited for; once more stops at once")?;
        }
        1 if !helm.live().ended => {
            helm.stop(Stop::AtOnce);
            display.say("stopping at once")?;
        }
        _ => std::process::exit(i32::from(INTERRUPTED)),
    }
    Ok(before + 1)
}
