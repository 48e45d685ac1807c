//! The worker: fetches and reads pages for a collection on another machine, or in another process of this one.
//!
//! It knows nothing at the start but its broker and its depot: settings come with the orders, all that must be known about sites with
//! their batches. So workers can come and go at will. Each batch is in a hand of its own, with its own threads and
//! clocks: an address belongs to one batch at a time, so that no two hands ever meet.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::broker::{Broker, BrokerError, Depot, Lease, insist, or_later};
use crate::clock::Clock;
use crate::crawl_settings::CrawlSettings;
use crate::error::Error;
use crate::hand::{self, HandEnd, HandPlan};
use crate::helm::Helm;
use crate::lease_clock::{self, LeaseClock};
use crate::messages::{self, PROTOCOL, SharedSkew, WorkerOrders, WorkerReport};
use crate::progress::Progress;
use crate::stop::Stop;

/// What a worker begins with.
pub struct WorkerPlan<'w> {
    /// Brings batches, takes what is told of them.
    pub broker: &'w dyn Broker,
    /// Takes what was harvested.
    pub depot: &'w dyn Depot,
    /// Its name, which no other worker has at the same time.
    pub name: &'w str,
    /// How many batches it works on at once.
    pub most_batches: usize,
    /// Reads the settings that come with orders.
    pub settings: &'w (dyn Fn(&str) -> Result<CrawlSettings, String> + Sync),
}

/// What a worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerSummary {
    /// Batches that it closed.
    pub batches: u64,
    /// Batches that were taken from it.
    pub lost: u64,
    /// The counters at the end.
    pub progress: Progress,
    /// How long it took.
    pub duration: Duration,
}

/// How often to look at orders, leases and hands.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// Where nobody has given an order for so long, nobody crawls.
const NOBODY_THERE: Duration = Duration::from_secs(30);
/// A lease is asked for again when this share of it has passed.
const KEEP_SHARE: u32 = 3;

/// Works until the crawl is over, or the helm stops it.
pub fn work(plan: &WorkerPlan<'_>, helm: &Helm) -> Result<WorkerSummary, Error> {
    let began = Instant::now();
    let (skew, clock) = (SharedSkew::default(), Clock::start());
    let run = clock.now_us();
    let Some(orders) = first_orders(plan, helm, clock, run, &skew)? else {
        return Ok(WorkerSummary {
            batches: 0,
            lost: 0,
            progress: helm.progress(),
            duration: began.elapsed(),
        });
    };
    check_store(plan, helm, &orders)?;
    let settings = read_settings(plan, &orders)?;
    helm.replace(settings);
    let (ended, ends) = channel();
    thread::scope(|scope| {
        let mut worker = Worker {
            plan,
            helm,
            scope,
            clock,
            run,
            skew: &skew,
            orders,
            hands: HashMap::new(),
            ended,
            ends,
            batches: 0,
            lost: 0,
            last_report: None,
            next_key: 0,
        };
        let outcome = worker.run();
        // Whatever happened, nobody is left behind.
        helm.stop(if outcome.is_ok() { Stop::InOrder } else { Stop::AtOnce });
        let ended = worker.end();
        outcome.and(ended)?;
        let Worker { batches, lost, .. } = worker;
        Ok(WorkerSummary { batches, lost, progress: helm.progress(), duration: began.elapsed() })
    })
}

/// Waits for a crawl that goes on: one that gives orders after it has heard of this worker. Those that lie there may be old, and
/// would tell nothing about the collection's clock.
fn first_orders(
    plan: &WorkerPlan<'_>,
    helm: &Helm,
    clock: Clock,
    run: u64,
    skew: &SharedSkew,
) -> Result<Option<WorkerOrders>, Error> {
    let began = Instant::now();
    let (mut old, mut last_report) = (None, None::<Instant>);
    while helm.stopping() == Stop::No && (old.is_some() || began.elapsed() < NOBODY_THERE) {
        match hear_orders(plan)? {
            Heard::Orders(orders) => {
                let time = (orders.run, orders.now_ms);
                if *old.get_or_insert(time) != time {
                    skew.see(orders.run, clock.now_ms(), orders.now_ms);
                    if orders.stop == Stop::No {
                        return Ok(Some(orders));
                    }
                }
            }
            // It was there, and is not any more.
            Heard::Nobody if old.is_some() => return Ok(None),
            Heard::Nobody | Heard::Nothing => {}
        }
        if last_report.is_none_or(|time| time.elapsed() >= REPORT_EVERY) {
            last_report = Some(Instant::now());
            let report = WorkerReport::of(plan.name, run, clock.now_ms(), &helm.progress(), Vec::new());
            send_report(plan, &report)?;
        }
        thread::sleep(LOOK_EVERY / 5);
    }
    Ok(None)
}

fn send_report(plan: &WorkerPlan<'_>, report: &WorkerReport) -> Result<(), Error> {
    let message = serde_json::to_vec(report).unwrap_or_default();
    or_later(plan.broker.report(plan.name, &message))?;
    Ok(())
}

/// What is known of what the collection wants.
enum Heard {
    Orders(WorkerOrders),
    /// There is no collection that could want anything.
    Nobody,
    /// The broker cannot be reached.
    Nothing,
}

fn hear_orders(plan: &WorkerPlan<'_>) -> Result<Heard, Error> {
    let message = match or_later(plan.broker.orders())? {
        Some(Some(message)) => message,
        Some(None) => return Ok(Heard::Nobody),
        None => return Ok(Heard::Nothing),
    };
    #[derive(serde::Deserialize)]
    struct Version {
        protocol: u32,
    }
    let unreadable = |error: serde_json::Error| {
        Error::from(BrokerError::Refused(format!("the orders of the collection cannot be read: {error}")))
    };
    let Version { protocol } = serde_json::from_slice(&message).map_err(unreadable)?;
    if protocol != PROTOCOL {
        let what = format!(
            "the collection speaks version {protocol} of the protocol between it and its workers, and this worker version \
             {PROTOCOL}: run the same version of weir on all machines"
        );
        return Err(BrokerError::Refused(what).into());
    }
    Ok(Heard::Orders(serde_json::from_slice(&message).map_err(unreadable)?))
}

/// What is put into another store, nobody would ever find.
fn check_store(plan: &WorkerPlan<'_>, helm: &Helm, orders: &WorkerOrders) -> Result<(), Error> {
    const MOST_BYTES: u64 = 64;
    let has_given_up = || helm.stopping() != Stop::No;
    let mark = insist(has_given_up, || plan.depot.get(messages::STORE_MARK, MOST_BYTES))?;
    match mark {
        Some(Some(run)) if run == orders.run.to_string().as_bytes() => Ok(()),
        // Nobody wants to know any more.
        None => Ok(()),
        Some(_) => Err(BrokerError::Refused(
            "the crawl puts nothing where this worker looks for it: give --store as the crawl has it"
                .to_owned(),
        )
        .into()),
    }
}

fn read_settings(plan: &WorkerPlan<'_>, orders: &WorkerOrders) -> Result<CrawlSettings, Error> {
    let settings = (plan.settings)(&orders.settings).map_err(|what| {
        Error::from(BrokerError::Refused(format!("the settings of the collection do not fit: {what}")))
    })?;
    let parts = plan.most_batches.max(1);
    let connections = settings.connections.div_ceil(parts);
    let names_per_second = settings.names_per_second.div_ceil(parts as u32);
    Ok(CrawlSettings {
        connections,
        names_per_second,
        requests_per_second: orders.requests_per_second,
        ..settings
    })
}

/// The worker's own thread.
struct Worker<'s, 'e, 'w> {
    plan: &'e WorkerPlan<'w>,
    helm: &'e Helm,
    scope: &'s Scope<'s, 'e>,
    clock: Clock,
    /// Different for every start of this program.
    run: u64,
    skew: &'e SharedSkew,
    orders: WorkerOrders,
    hands: HashMap<u64, Held<'s>>,
    ended: Sender<()>,
    ends: Receiver<()>,
    batches: u64,
    lost: u64,
    last_report: Option<Instant>,
    next_key: u64,
}

/// A batch in a hand.
struct Held<'s> {
    helm: Helm,
    lease: Box<dyn Lease>,
    clock: Arc<LeaseClock>,
    /// When it was last asked for.
    kept: Duration,
    thread: ScopedJoinHandle<'s, Result<HandEnd, Error>>,
}

impl<'s, 'e> Worker<'s, 'e, '_> {
    fn run(&mut self) -> Result<(), Error> {
        while self.helm.stopping() == Stop::No {
            self.obey()?;
            if self.orders.stop != Stop::No {
                self.helm.stop(self.orders.stop);
                break;
            }
            self.keep_leases()?;
            self.reap()?;
            self.report(false)?;
            if self.hands.len() >= self.plan.most_batches || self.orders.paused {
                self.wait();
                continue;
            }
            // The lease runs from some time after the question on.
            let asked = lease_clock::now();
            match or_later(self.plan.broker.take(self.plan.name, LOOK_EVERY))? {
                Some(Some(lease)) => self.begin(lease, asked),
                Some(None) => {}
                None => self.wait(),
            }
        }
        Ok(())
    }

    /// Until a hand is free, or it is time to look again.
    fn wait(&self) {
        // What has ended is seen by `reap`.
        let _ = self.ends.recv_timeout(LOOK_EVERY);
    }

    /// Does what the collection wants by now.
    fn obey(&mut self) -> Result<(), Error> {
        let orders = match hear_orders(self.plan)? {
            Heard::Orders(orders) => orders,
            // A collection on this machine that is gone wants nothing more.
            Heard::Nobody => WorkerOrders { stop: Stop::InOrder, ..self.orders.clone() },
            Heard::Nothing => return Ok(()),
        };
        if (orders.run, orders.now_ms) != (self.orders.run, self.orders.now_ms) {
            self.skew.see(orders.run, self.clock.now_ms(), orders.now_ms);
        }
        let has_new_settings = orders.settings != self.orders.settings
            || orders.requests_per_second != self.orders.requests_per_second;
        let changed_pause = orders.paused != self.orders.paused;
        self.orders = orders;
        if has_new_settings {
            let settings = read_settings(self.plan, &self.orders)?;
            self.hands.values().for_each(|held| held.helm.change(settings.clone()));
            self.helm.change(settings);
        }
        if changed_pause {
            self.hands.values().for_each(|held| held.helm.set_paused(self.orders.paused));
            self.helm.set_paused(self.orders.paused);
        }
        Ok(())
    }

    /// Takes a batch in hand.
    fn begin(&mut self, lease: Box<dyn Lease>, asked: Duration) {
        let batch = lease.batch();
        let helm = self.helm.of_part();
        helm.set_paused(self.orders.paused);
        let running = helm.running(None);
        let clock = Arc::clone(&running.lease);
        clock.lend(asked, lease.duration());
        self.next_key += 1;
        let key = self.clock.now_us() << 8 | self.next_key & 0xff;
        let (plan, skew, ended) = (self.plan, self.skew, self.ended.clone());
        let (hand_helm, message) = (helm.clone(), lease.message().to_vec());
        let thread = self.scope.spawn(move || {
            let outcome = hand::harvest(&HandPlan {
                broker: plan.broker,
                depot: plan.depot,
                worker: plan.name,
                batch,
                message: &message,
                helm: &hand_helm,
                running,
                skew,
                key,
            });
            // Whoever waits for it is gone when the worker is.
            let _ = ended.send(());
            outcome
        });
        // One that slept through its lease may get its own batch again.
        if let Some(old) = self.hands.remove(&batch) {
            old.clock.lose();
            old.helm.stop(Stop::AtOnce);
            self.lost += 1;
        }
        self.hands.insert(batch, Held { helm, lease, clock, kept: asked, thread });
    }

    /// Asks for more time for every batch whose time runs.
    fn keep_leases(&mut self) -> Result<(), Error> {
        for held in self.hands.values_mut() {
            let Some(duration) = held.lease.duration() else { continue };
            let asked = lease_clock::now();
            if asked.saturating_sub(held.kept) < duration / KEEP_SHARE {
                continue;
            }
            match or_later(held.lease.keep())? {
                Some(true) => {
                    let lapsed = !held.clock.holds();
                    held.clock.lend(asked, held.lease.duration());
                    held.kept = asked;
                    if lapsed {
                        // It may ask again; nobody else was there meanwhile.
                        held.helm.set_paused(self.orders.paused);
                    }
                }
                Some(false) => {
                    held.clock.lose();
                    held.helm.stop(Stop::AtOnce);
                }
                // Whoever is asked next would not be there either.
                None => break,
            }
        }
        Ok(())
    }

    /// Takes the end of hands.
    fn reap(&mut self) -> Result<(), Error> {
        while self.ends.try_recv().is_ok() {}
        let over: Vec<u64> = self
            .hands
            .iter()
            .filter(|(_, held)| held.thread.is_finished())
            .map(|(batch, _)| *batch)
            .collect();
        over.into_iter().try_for_each(|batch| self.finish(batch))
    }

    fn finish(&mut self, batch: u64) -> Result<(), Error> {
        let Some(held) = self.hands.remove(&batch) else { return Ok(()) };
        let outcome = held.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match outcome? {
            HandEnd::Left => self.lost += 1,
            HandEnd::Closed => {
                self.batches += 1;
                // If it cannot be told, whoever takes it finds it closed.
                or_later(held.lease.done())?;
            }
        }
        Ok(())
    }

    fn report(&mut self, leaves: bool) -> Result<(), Error> {
        if !leaves && self.last_report.is_some_and(|time| time.elapsed() < REPORT_EVERY) {
            return Ok(());
        }
        self.last_report = Some(Instant::now());
        let mut batches: Vec<u64> = self.hands.keys().copied().collect();
        batches.sort_unstable();
        let (progress, now_ms) = (self.helm.progress(), self.clock.now_ms());
        let report = WorkerReport::of(self.plan.name, self.run, now_ms, &progress, batches);
        send_report(self.plan, &WorkerReport { leaves, ..report })
    }

    /// Lets all hands end.
    fn end(&mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        while !self.hands.is_empty() {
            // Who is in a hurry by now says so.
            outcome = outcome.and(self.obey());
            let how =
                if outcome.is_err() { Stop::AtOnce } else { self.helm.stopping().max(self.orders.stop) };
            self.hands.values().for_each(|held| held.helm.stop(how));
            let (kept, reaped) = (self.keep_leases(), self.reap());
            outcome = outcome.and(kept).and(reaped).and(self.report(false));
            self.wait();
        }
        outcome.and(self.report(true))
    }
}
