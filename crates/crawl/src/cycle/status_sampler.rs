//! Sampler of the live status of a crawl: the thread that owns the collection updates it twice a second, from the items that
//! it ingests.

use std::time::{Duration, Instant};

use harvest::control::context::CrawlContext;
use harvest::control::live_status::LiveCommit;
use harvest::control::status_state::SharedStatus;
use harvest::item::harvest_event::HarvestEvent;
use harvest::item::harvest_item::HarvestItem;
use model::SiteId;
use store::{Collection, Result};

use crate::cycle::site_stats::SiteStats;
use crate::manager::Manager;
use crate::state::crawl_state::CrawlState;

/// Observations since the last update.
pub(crate) struct StatusSampler {
    status: SharedStatus,
    site_stats: SiteStats,
    /// Finished sites: consecutive errors, and end of the back-off.
    finished_sites: Vec<(SiteId, u16, u64)>,
    commit: Option<LiveCommit>,
    last_update: Option<Instant>,
}

const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of sites in each list.
const MAX_LISTED_SITES: usize = 20;

impl StatusSampler {
    pub(crate) fn new(status: SharedStatus) -> StatusSampler {
        StatusSampler {
            status,
            site_stats: SiteStats::default(),
            finished_sites: Vec::new(),
            commit: None,
            last_update: None,
        }
    }

    /// Adds a warning for the log.
    pub(crate) fn warn(&self, message: String) {
        self.status.warn(message);
    }

    /// Observes an item before it is ingested.
    pub(crate) fn observe(&mut self, item: &HarvestItem) {
        match item {
            HarvestItem::Gathered(page) => {
                self.site_stats.count(page.url.site(), page.duration_ms, page.outcome.is_success());
            }
            HarvestItem::Event(HarvestEvent::SiteDone(report)) => {
                self.finished_sites.push((report.site, report.consecutive_errors, report.back_off_until_ms));
            }
            HarvestItem::Event(_) | HarvestItem::Fetched(..) | HarvestItem::Cursor(_) => {}
        }
    }

    /// Records a commit.
    pub(crate) fn committed(&mut self, time_ms: u64, generation: u64, took: Duration) {
        let commits = self.commit.map_or(0, |last| last.commits_this_run) + 1;
        self.commit = Some(LiveCommit {
            time_ms,
            generation,
            duration_ms: took.as_millis() as u64,
            commits_this_run: commits,
        });
    }

    /// Updates the status, if [`SAMPLE_INTERVAL`] has passed.
    pub(crate) fn update(
        &mut self,
        collection: &Collection,
        manager: &Manager,
        context: &CrawlContext,
    ) -> Result<()> {
        if self.last_update.is_some_and(|time| time.elapsed() < SAMPLE_INTERVAL) {
            return Ok(());
        }
        for (site, consecutive_errors, until_ms) in self.finished_sites.drain(..) {
            if let Some(name) = collection.urls.reader().site_name(site) {
                self.site_stats.close(name, consecutive_errors, until_ms);
            }
        }
        let state = CrawlState::load(collection)?;
        let budgets = manager.budgets(&state, &context.settings(), context.clock.now_ms());
        let (slowest, failing) =
            (self.site_stats.slowest(MAX_LISTED_SITES), self.site_stats.failing(MAX_LISTED_SITES));
        self.status.update(|status| {
            status.batches = manager.open.list().collect();
            (status.slowest_sites, status.failing_sites) = (slowest, failing);
            (status.last_commit, status.budgets) = (self.commit, budgets);
            status.sample(&context.counters.progress());
        });
        self.last_update = Some(Instant::now());
        Ok(())
    }

    /// Updates the status at the end of a crawl.
    pub(crate) fn finish(
        &mut self,
        collection: &Collection,
        manager: &Manager,
        context: &CrawlContext,
    ) -> Result<()> {
        self.last_update = None;
        self.update(collection, manager, context)
    }
}
