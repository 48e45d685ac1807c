//! Who answers queries? One searcher over the newest commit and its index, opened when somebody asks first, and again when
//! there is a newer index.
//!
//! An index that is made anew is not there for a while, and then not whole: until it is, the old one answers, whose files stay open.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use search::{Ranking, Searcher};
use store::{Snapshot, find_snapshot};

use crate::failure::Failure;
use crate::renewed::Renewed;

/// A newer index is looked for no more often than this.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// During a crawl commits come every few seconds; what they change of pages that are in the index shows this late.
const OLDEST: Duration = Duration::from_secs(60);

/// The searcher that is open.
pub(crate) struct Searching {
    folder: PathBuf,
    ranking: Ranking,
    open: Renewed<Open>,
}

struct Open {
    searcher: Arc<Searcher>,
    /// The commit of the collection that the index follows; 0 while it is made for the first time.
    generation: u64,
    edition: Vec<String>,
    opened: Instant,
}

impl Searching {
    pub(crate) fn new(folder: PathBuf, ranking: Ranking) -> Searching {
        Searching { folder, ranking, open: Renewed::new(LOOK_EVERY) }
    }

    /// Who answers now.
    pub(crate) fn searcher(&self) -> Result<Arc<Searcher>, Failure> {
        let open = self.open.get(|old| match old {
            None => self.open(),
            // Whatever is wrong with what is there now, the old one still answers; who starts the server anew is told.
            Some(old) => match self.is_newer(old) {
                Ok(true) => Ok(self.open().unwrap_or_else(|_| Arc::clone(old))),
                Ok(false) | Err(_) => Ok(Arc::clone(old)),
            },
        });
        open.map(|open| Arc::clone(&open.searcher))
    }

    fn open(&self) -> Result<Arc<Open>, Failure> {
        let searcher = Searcher::open(Snapshot::open(&self.folder, None)?, self.ranking.clone())?;
        let index = searcher.index();
        let (generation, edition) = (index.generation()?, index.edition()?);
        Ok(Arc::new(Open { searcher: Arc::new(searcher), generation, edition, opened: Instant::now() }))
    }

    /// Whether there is something newer than what is open, and whole.
    fn is_newer(&self, open: &Open) -> Result<bool, Failure> {
        let index = open.searcher.index();
        if index.edition()? != open.edition {
            return Ok(index.generation()? != 0 || open.generation == 0);
        }
        let commit = open.searcher.snapshot().manifest.generation;
        Ok(open.opened.elapsed() > OLDEST && find_snapshot(&self.folder, None)?.generation != commit)
    }
}
