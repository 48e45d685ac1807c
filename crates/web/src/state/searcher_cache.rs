//! Cache of the searcher over the newest commit and its index: opened at the first search, reopened for a newer index.
//!
//! While an index is rebuilt it is missing at first and incomplete afterwards. Until it is complete, searches use the old
//! one, whose files stay open.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use search::{Ranking, Searcher};
use store::{Snapshot, find_snapshot};

use crate::state::api_error::ApiError;
use crate::state::refreshing::Refreshing;

/// Minimum time between two checks for a newer index.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum age of the snapshot if the index is unchanged. A crawl commits every few seconds; reopening for each commit would
/// be expensive, and only titles and snippets would be newer.
const MAX_SNAPSHOT_AGE: Duration = Duration::from_secs(60);

/// The open searcher of a collection.
pub(crate) struct SearcherCache {
    dir: PathBuf,
    ranking: Ranking,
    agent: String,
    open: Refreshing<OpenSearcher>,
}

struct OpenSearcher {
    searcher: Arc<Searcher>,
    /// The commit of the collection that the index follows; 0 during the first run of the indexer.
    generation: u64,
    file_ids: Vec<String>,
    opened: Instant,
}

impl SearcherCache {
    pub(crate) fn new(dir: PathBuf, ranking: Ranking, agent: &str) -> SearcherCache {
        SearcherCache { dir, ranking, agent: agent.to_owned(), open: Refreshing::new(POLL_INTERVAL) }
    }

    /// Returns the current searcher.
    pub(crate) fn searcher(&self) -> Result<Arc<Searcher>, ApiError> {
        let open = self.open.get(|old| match old {
            None => self.open(),
            // An index that cannot be opened does not end the service: the old one still works. A restarted server
            // reports the error.
            Some(old) => match self.is_newer(old) {
                Ok(true) => Ok(self.open().unwrap_or_else(|_| Arc::clone(old))),
                Ok(false) | Err(_) => Ok(Arc::clone(old)),
            },
        });
        open.map(|open| Arc::clone(&open.searcher))
    }

    fn open(&self) -> Result<Arc<OpenSearcher>, ApiError> {
        let snapshot = Snapshot::open(&self.dir, None)?;
        let searcher = Searcher::open(snapshot, self.ranking.clone())?.with_agent(&self.agent);
        let index = searcher.index();
        let (generation, file_ids) = (index.generation()?, index.file_ids()?);
        Ok(Arc::new(OpenSearcher {
            searcher: Arc::new(searcher),
            generation,
            file_ids,
            opened: Instant::now(),
        }))
    }

    /// Whether a complete index, or a commit, is newer than the open one.
    fn is_newer(&self, open: &OpenSearcher) -> Result<bool, ApiError> {
        let index = open.searcher.index();
        if index.file_ids()? != open.file_ids {
            return Ok(index.generation()? != 0 || open.generation == 0);
        }
        let commit = open.searcher.snapshot().manifest.generation;
        Ok(open.opened.elapsed() > MAX_SNAPSHOT_AGE && find_snapshot(&self.dir, None)?.generation != commit)
    }
}
