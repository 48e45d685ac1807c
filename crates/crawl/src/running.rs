//! What do all threads of a crawl share? The time, the counters, the settings of the moment, the pace, and
//! what the one at the helm wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use tokio::sync::watch;

use crate::clock::Clock;
use crate::crawl_settings::CrawlSettings;
use crate::lease_clock::LeaseClock;
use crate::orders::Orders;
use crate::pace::Pace;
use crate::progress::Counters;
use crate::stop::Stop;

/// A handle to the running crawl, one for each thread.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    /// The thread's number among the harvesters.
    pub(crate) number: usize,
    pub(crate) clock: Clock,
    pub(crate) counters: Arc<Counters>,
    settings: watch::Receiver<Arc<CrawlSettings>>,
    orders: watch::Sender<Orders>,
    ordered: watch::Receiver<Orders>,
    pace: Arc<Pace>,
    /// Nothing begins when it has run out.
    pub(crate) lease: Arc<LeaseClock>,
    /// Pages that may still be asked for; nothing stands for any number.
    pages_left: Arc<Option<AtomicI64>>,
}

impl Running {
    pub(crate) fn new(
        settings: watch::Receiver<Arc<CrawlSettings>>,
        orders: watch::Sender<Orders>,
        counters: Arc<Counters>,
        pace: Arc<Pace>,
        most_pages: Option<u64>,
    ) -> Running {
        let clock = settings.borrow().start_clock();
        let pages_left = most_pages.map(|pages| AtomicI64::new(i64::try_from(pages).unwrap_or(i64::MAX)));
        Running {
            number: 0,
            clock,
            counters,
            settings,
            ordered: orders.subscribe(),
            orders,
            pace,
            lease: Arc::default(),
            pages_left: Arc::new(pages_left),
        }
    }

    pub(crate) fn with_number(&self, number: usize) -> Running {
        Running { number, ..self.clone() }
    }

    pub(crate) fn settings(&self) -> Arc<CrawlSettings> {
        Arc::clone(&self.settings.borrow())
    }

    pub(crate) fn stop(&self) -> Stop {
        self.ordered.borrow().stop
    }

    /// Whether a request may begin, as far as the one at the helm is concerned.
    pub(crate) fn may_begin(&self) -> bool {
        self.ordered.borrow().may_begin() && self.lease.holds()
    }

    /// Whether a request may begin now, so that there are not more than so many in a second; else when, in Unix milliseconds.
    pub(crate) fn keep_pace(&self, requests_per_second: f64) -> Result<(), u64> {
        self.pace.take(requests_per_second, self.clock.now_us()).map_err(|later_us| later_us.div_ceil(1_000))
    }

    /// Stops, unless somebody already wants more.
    pub(crate) fn stop_in_order(&self) {
        self.orders.send_if_modified(|orders| {
            let first = orders.stop == Stop::No;
            orders.stop = orders.stop.max(Stop::InOrder);
            first
        });
    }

    /// Waits for new settings or other orders.
    pub(crate) async fn changed(&mut self) {
        tokio::select! {
            changed = self.settings.changed() => if changed.is_err() { std::future::pending().await },
            changed = self.ordered.changed() => if changed.is_err() { std::future::pending().await },
        }
    }

    /// Whether one more page may be asked for; it then counts.
    pub(crate) fn take_page(&self) -> bool {
        self.pages_left.as_ref().as_ref().is_none_or(|left| left.fetch_sub(1, Relaxed) > 0)
    }
}
