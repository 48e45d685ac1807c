//! What do all answers share? The collection, the crawl if one runs here, the secrets, and the few threads on which work is
//! done that takes a while.

use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use crawl::Helm;
use store::Snapshot;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::counted::Counted;
use crate::error::Result;
use crate::failure::Failure;
use crate::newest::Newest;
use crate::reports::Drawn;
use crate::searching::Searching;
use crate::secrets::Secrets;
use crate::web_settings::WebSettings;

/// Who waits longer for a thread is sent away.
const QUEUE_TIME: Duration = Duration::from_secs(5);
/// Who waits longer for an answer is sent away, too. The work goes on to its end, and keeps its place until then: so many
/// questions at most can keep the machine busy.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// For what never takes long.
const QUICK_PLACES: usize = 2;

/// What all answers share.
pub(crate) struct Desk {
    pub(crate) settings: WebSettings,
    pub(crate) helm: Option<Helm>,
    pub(crate) secrets: Secrets,
    pub(crate) reports: Drawn,
    pub(crate) searching: Searching,
    pub(crate) counted: Counted,
    /// The collection as people call it.
    pub(crate) name: String,
    newest: Newest,
    places: Arc<Semaphore>,
    quick_places: Arc<Semaphore>,
}

impl Desk {
    pub(crate) fn new(settings: WebSettings, helm: Option<Helm>, port: u16) -> Result<Desk> {
        // As many as there are cores, of which one is left to a crawl; but never one alone.
        let places = available_parallelism().map_or(2, |cores| cores.get().saturating_sub(1).clamp(2, 8));
        Ok(Desk {
            name: name_of(&settings.folder),
            newest: Newest::new(settings.folder.clone()),
            counted: Counted::new(),
            reports: Drawn::default(),
            searching: Searching::new(settings.folder.clone(), settings.ranking.clone()),
            secrets: Secrets::new(settings.token.clone(), port, settings.tls.is_some())?,
            places: Arc::new(Semaphore::new(places)),
            quick_places: Arc::new(Semaphore::new(QUICK_PLACES)),
            helm,
            settings,
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.settings.folder
    }

    /// The newest commit.
    pub(crate) fn snapshot(&self) -> std::result::Result<Arc<Snapshot>, Failure> {
        Ok(self.newest.snapshot()?)
    }

    /// Does work that reads files or takes time, on a thread that is free for it.
    pub(crate) async fn work<T: Send + 'static>(
        self: &Arc<Desk>,
        work: impl FnOnce(&Desk) -> std::result::Result<T, Failure> + Send + 'static,
    ) -> std::result::Result<T, Failure> {
        self.work_at(&self.places, work).await
    }

    /// The same for what is asked again and again and never takes long: it does not wait for queries.
    pub(crate) async fn glance<T: Send + 'static>(
        self: &Arc<Desk>,
        work: impl FnOnce(&Desk) -> std::result::Result<T, Failure> + Send + 'static,
    ) -> std::result::Result<T, Failure> {
        self.work_at(&self.quick_places, work).await
    }

    async fn work_at<T: Send + 'static>(
        self: &Arc<Desk>,
        places: &Arc<Semaphore>,
        work: impl FnOnce(&Desk) -> std::result::Result<T, Failure> + Send + 'static,
    ) -> std::result::Result<T, Failure> {
        let place = timeout(QUEUE_TIME, Arc::clone(places).acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(Failure::Busy) };
        let desk = Arc::clone(self);
        let work = spawn_blocking(move || {
            let answer = work(&desk);
            drop(place);
            answer
        });
        match timeout(ANSWER_TIME, work).await {
            Err(_) => Err(Failure::TooLong),
            Ok(Err(panic)) => Err(Failure::Broken(format!("the work on this answer broke off: {panic}"))),
            Ok(Ok(answer)) => answer,
        }
    }
}

fn name_of(folder: &Path) -> String {
    let path = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};

    use crawl::CrawlSettings;
    use search::Ranking;
    use tokio::runtime::Builder;

    use super::*;

    fn desk(folder: &Path) -> Arc<Desk> {
        let settings = WebSettings {
            folder: folder.to_owned(),
            listen: ([127, 0, 0, 1], 0).into(),
            token: None,
            tls: None,
            names: Vec::new(),
            rules: CrawlSettings::default(),
            ranking: Ranking::default(),
        };
        Arc::new(Desk::new(settings, None, 1).unwrap())
    }

    #[test]
    fn what_is_asked_again_and_again_does_not_wait_for_queries() {
        let folder = tempfile::tempdir().unwrap();
        let desk = desk(folder.path());
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        runtime.block_on(async {
            let ask = || {
                let (desk, gate) = (Arc::clone(&desk), Arc::clone(&gate));
                tokio::spawn(async move {
                    let wait = move |_: &Desk| {
                        let (is_open, opens) = &*gate;
                        drop(opens.wait_while(is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
                        Ok(())
                    };
                    desk.work(wait).await
                })
            };
            let queries: Vec<_> = (0..100).map(|_| ask()).collect();
            while desk.places.available_permits() > 0 {
                tokio::task::yield_now().await;
            }
            // All places are taken, and will be; the others are free.
            for _ in 0..100 {
                assert!(matches!(timeout(QUEUE_TIME, desk.glance(|_| Ok(()))).await, Ok(Ok(()))));
            }
            *gate.0.lock().unwrap() = true;
            gate.1.notify_all();
            for query in queries {
                assert!(matches!(query.await, Ok(Ok(()) | Err(Failure::Busy))));
            }
        });
    }
}
