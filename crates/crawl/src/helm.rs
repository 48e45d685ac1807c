//! Who watches and steers a crawl that runs? Whoever has a hand on its helm: a terminal, a signal, a dashboard.
//!
//! A helm costs the crawl nothing: counters are there anyway, orders are looked at where they were before, and the rest of
//! the picture is drawn by the thread that owns the collection, twice a second.

use std::sync::Arc;

use tokio::sync::watch;

use crate::crawl_settings::CrawlSettings;
use crate::live::Live;
use crate::memory::memory_bytes;
use crate::orders::Orders;
use crate::pace::Pace;
use crate::picture::SharedPicture;
use crate::progress::{Counters, Progress};
use crate::running::Running;
use crate::stop::Stop;

/// A hand on a crawl, for whoever watches and steers it.
#[derive(Debug, Clone)]
pub struct Helm {
    counters: Arc<Counters>,
    orders: watch::Sender<Orders>,
    settings: watch::Sender<Arc<CrawlSettings>>,
    pace: Arc<Pace>,
    picture: SharedPicture,
}

impl Helm {
    /// For a crawl with these settings, which has not begun.
    pub fn new(settings: CrawlSettings) -> Helm {
        Helm {
            counters: Arc::default(),
            orders: watch::Sender::new(Orders::default()),
            settings: watch::Sender::new(Arc::new(settings)),
            pace: Arc::default(),
            picture: SharedPicture::default(),
        }
    }

    /// A helm for a part of what this one counts and paces, with orders and settings of its own.
    pub(crate) fn of_part(&self) -> Helm {
        let settings = CrawlSettings::clone(&self.settings.borrow());
        let (counters, pace) = (Arc::clone(&self.counters), Arc::clone(&self.pace));
        Helm { counters, pace, ..Helm::new(settings) }
    }

    /// Settings for what has not begun.
    pub(crate) fn replace(&self, settings: CrawlSettings) {
        self.settings.send_replace(Arc::new(settings));
    }

    /// Pauses it, or lets it go on.
    pub(crate) fn set_paused(&self, paused: bool) {
        self.orders.send_modify(|orders| orders.paused = paused);
    }

    /// Whether it is paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.orders.borrow().paused
    }

    /// How soon it is to end.
    pub(crate) fn stopping(&self) -> Stop {
        self.orders.borrow().stop
    }

    /// What the threads of a crawl that begins now share.
    pub(crate) fn running(&self, most_pages: Option<u64>) -> Running {
        let (settings, counters) = (self.settings.subscribe(), Arc::clone(&self.counters));
        let pace = Arc::clone(&self.pace);
        let running = Running::new(settings, self.orders.clone(), counters, pace, most_pages);
        self.picture.draw(|picture| picture.begin(running.clock));
        running
    }

    /// Where the crawl draws what it looks like.
    pub(crate) fn picture(&self) -> SharedPicture {
        self.picture.clone()
    }

    /// How far the crawl has come.
    pub fn progress(&self) -> Progress {
        Progress { paused: self.orders.borrow().paused, ..self.counters.progress() }
    }

    /// What the crawl looks like now.
    pub fn live(&self) -> Live {
        let (progress, orders) = (self.progress(), *self.orders.borrow());
        let per_second = self.settings.borrow().requests_per_second;
        let picture = self.picture.look();
        Live {
            now_ms: picture.now_ms(),
            began_ms: picture.began_ms,
            ended: picture.ended,
            stop: orders.stop,
            requests_per_second: Some(per_second).filter(|per_second| *per_second > 0.0),
            rates: picture.rates(&progress),
            memory_bytes: memory_bytes(),
            batches: picture.batches,
            workers: picture.workers,
            slowest: picture.slowest,
            failing: picture.failing,
            commit: picture.commit,
            budgets: picture.budgets,
            history: picture.history.into(),
            progress,
        }
    }

    /// Nothing new is asked for until [`Helm::resume`]: neither servers nor name servers. What is under way comes in and is
    /// committed, and waits go by. A pause is of this run: who stops and starts again goes on.
    pub fn pause(&self) {
        self.set_paused(true);
    }

    /// The crawl goes on.
    pub fn resume(&self) {
        self.set_paused(false);
    }

    /// No more requests than so many begin in a second from now on, all sites together; nothing stands for any number. No
    /// site is ever asked sooner than is polite.
    pub fn set_rate(&self, requests_per_second: Option<f64>) {
        let wanted = requests_per_second.filter(|wanted| wanted.is_finite() && *wanted > 0.0).unwrap_or(0.0);
        self.settings.send_modify(|settings| {
            *settings =
                Arc::new(CrawlSettings { requests_per_second: wanted, ..CrawlSettings::clone(settings) });
        });
    }

    /// Ends the crawl sooner; who asked for more than that before gets that.
    pub fn stop(&self, how: Stop) {
        self.orders.send_modify(|orders| orders.stop = orders.stop.max(how));
    }

    /// New settings hold from now on, but for those by which pages are read and judged, asked for and resolved: these hold
    /// from the next start on.
    pub fn change(&self, settings: CrawlSettings) {
        self.settings.send_modify(|old| {
            *old = Arc::new(CrawlSettings {
                gather: old.gather.clone(),
                limits: old.limits.clone(),
                fetch: old.fetch.clone(),
                dns: old.dns.clone(),
                ..settings
            });
        });
    }
}
