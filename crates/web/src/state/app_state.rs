//! State shared by all handlers: the collection and its caches, the crawl of this process, the secrets, and the limits on
//! concurrent work.

use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use harvest::CrawlHandle;
use inspect::CollectionStatus;
use store::{Cancellation, Snapshot};
use stream::{StreamLimits, StreamService};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::credentials::session::SessionSecrets;
use crate::error::Result;
use crate::settings::WebSettings;
use crate::state::api_error::ApiError;
use crate::state::report_cache::ReportCache;
use crate::state::searcher_cache::SearcherCache;
use crate::state::snapshot_cache::SnapshotCache;
use crate::state::status_cache::StatusCache;

/// Maximum wait for a free thread.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum duration of a request. After it the client gets an error, and the work is cancelled, as after a disconnect. It ends at
/// its next check and keeps its permit until then, so that abandoned requests cannot use more threads than there are permits.
const WORK_TIMEOUT: Duration = Duration::from_secs(20);

/// Number of concurrent requests that are always quick (status, health).
const QUICK_PERMITS: usize = 2;

/// State shared by all handlers.
pub(crate) struct AppState {
    pub(crate) settings: WebSettings,
    /// The crawl that runs in this process.
    pub(crate) crawl: Option<CrawlHandle>,
    pub(crate) secrets: SessionSecrets,
    pub(crate) report: ReportCache,
    pub(crate) searcher_cache: SearcherCache,
    pub(crate) status: Arc<StatusCache>,
    pub(crate) snapshots: Arc<SnapshotCache>,
    pub(crate) streams: Arc<StreamService>,
    /// Name of the collection: that of its directory.
    pub(crate) name: String,
    permits: Arc<Semaphore>,
    quick_permits: Arc<Semaphore>,
}

impl AppState {
    pub(crate) fn new(settings: WebSettings, crawl: Option<CrawlHandle>, port: u16) -> Result<AppState> {
        // One core is left to a crawl; with a single permit, one slow query would block all others.
        let permits = available_parallelism().map_or(2, |cores| cores.get().saturating_sub(1).clamp(2, 8));
        Ok(AppState {
            name: collection_name(&settings.dir),
            snapshots: Arc::new(SnapshotCache::new(settings.dir.clone())),
            streams: StreamService::new(&settings.dir, StreamLimits::default()),
            status: Arc::new(StatusCache::new()),
            report: ReportCache::default(),
            searcher_cache: SearcherCache::new(
                settings.dir.clone(),
                settings.ranking.clone(),
                &settings.crawl.robots.agent,
            ),
            secrets: SessionSecrets::new(settings.token.clone(), port, settings.tls.is_some())?,
            permits: Arc::new(Semaphore::new(permits)),
            quick_permits: Arc::new(Semaphore::new(QUICK_PERMITS)),
            crawl,
            settings,
        })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.settings.dir
    }

    /// Returns the newest commit.
    pub(crate) fn snapshot(&self) -> std::result::Result<Arc<Snapshot>, ApiError> {
        Ok(self.snapshots.snapshot()?)
    }

    /// Returns the last known status of the collection; waits, for at most `wait`, only if there is none yet.
    pub(crate) async fn latest_status(
        &self,
        wait: Duration,
    ) -> std::result::Result<Option<Arc<CollectionStatus>>, ApiError> {
        self.status.latest(&self.snapshots, wait).await
    }

    /// Runs blocking work (files, computation) on another thread, with a limit on concurrent requests.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        self: &Arc<AppState>,
        work: impl FnOnce(&AppState) -> std::result::Result<T, ApiError> + Send + 'static,
    ) -> std::result::Result<T, ApiError> {
        self.run_cancellable(move |state, _| work(state)).await
    }

    /// Like [`AppState::run_blocking`], for work that may take long: it checks whether the client is still there.
    pub(crate) async fn run_cancellable<T: Send + 'static>(
        self: &Arc<AppState>,
        work: impl FnOnce(&AppState, &Cancellation) -> std::result::Result<T, ApiError> + Send + 'static,
    ) -> std::result::Result<T, ApiError> {
        self.run_with_permit(&self.permits, work).await
    }

    /// Runs short work that clients poll for. It has permits of its own, so that it never waits for queries.
    pub(crate) async fn run_quick<T: Send + 'static>(
        self: &Arc<AppState>,
        work: impl FnOnce(&AppState) -> std::result::Result<T, ApiError> + Send + 'static,
    ) -> std::result::Result<T, ApiError> {
        self.run_with_permit(&self.quick_permits, move |state, _| work(state)).await
    }

    async fn run_with_permit<T: Send + 'static>(
        self: &Arc<AppState>,
        permits: &Arc<Semaphore>,
        work: impl FnOnce(&AppState, &Cancellation) -> std::result::Result<T, ApiError> + Send + 'static,
    ) -> std::result::Result<T, ApiError> {
        let permit = timeout(QUEUE_TIMEOUT, Arc::clone(permits).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else { return Err(ApiError::Overloaded) };
        let (state, cancellation) = (Arc::clone(self), Cancellation::default());
        // The future of a request is dropped when its client disconnects.
        let _cancel_on_drop = cancellation.cancel_on_drop();
        let work = spawn_blocking(move || {
            let result = work(&state, &cancellation);
            drop(permit);
            result
        });
        match timeout(WORK_TIMEOUT, work).await {
            Err(_) => Err(ApiError::Timeout(WORK_TIMEOUT.as_secs())),
            Ok(Err(panic)) => Err(ApiError::Internal(format!("request handler panicked: {panic}"))),
            Ok(Ok(result)) => result,
        }
    }
}

fn collection_name(dir: &Path) -> String {
    let path = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};

    use harvest::CrawlSettings;
    use search::Ranking;
    use tokio::runtime::Builder;

    use super::*;

    fn state(dir: &Path) -> Arc<AppState> {
        let settings = WebSettings {
            dir: dir.to_owned(),
            listen: ([127, 0, 0, 1], 0).into(),
            token: None,
            tls: None,
            allowed_hosts: Vec::new(),
            crawl: CrawlSettings::default(),
            ranking: Ranking::default(),
        };
        Arc::new(AppState::new(settings, None, 1).unwrap())
    }

    #[test]
    fn polled_requests_do_not_wait_for_queries() {
        let dir = tempfile::tempdir().unwrap();
        let state = state(dir.path());
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        runtime.block_on(async {
            let query = || {
                let (state, gate) = (Arc::clone(&state), Arc::clone(&gate));
                tokio::spawn(async move {
                    let wait = move |_: &AppState| {
                        let (is_open, opens) = &*gate;
                        drop(opens.wait_while(is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
                        Ok(())
                    };
                    state.run_blocking(wait).await
                })
            };
            let queries: Vec<_> = (0..100).map(|_| query()).collect();
            while state.permits.available_permits() > 0 {
                tokio::task::yield_now().await;
            }
            // All permits for queries stay taken; those for polled requests are free.
            for _ in 0..100 {
                assert!(matches!(timeout(QUEUE_TIMEOUT, state.run_quick(|_| Ok(()))).await, Ok(Ok(()))));
            }
            *gate.0.lock().unwrap() = true;
            gate.1.notify_all();
            for query in queries {
                assert!(matches!(query.await, Ok(Ok(()) | Err(ApiError::Overloaded))));
            }
        });
    }
}
