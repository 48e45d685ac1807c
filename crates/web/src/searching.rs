//! Who answers queries? One searcher over the newest commit and its index, opened when somebody asks first, and again when
//! there is a newer index.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use analysis::{LinkGraph, Neighbours, neighbours};
use search::{LinkAnswers, LinkCondition, LinkKind, Query, Ranking, Searcher};
use store::Snapshot;

use crate::failure::Failure;

/// A newer index is looked for no more often than this.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// During a crawl commits come every few seconds; what they change of pages that are in the index shows this late.
const OLDEST: Duration = Duration::from_secs(60);

/// The searcher that is open.
pub(crate) struct Searching {
    folder: PathBuf,
    ranking: Ranking,
    open: Mutex<Option<Open>>,
}

struct Open {
    searcher: Arc<Searcher>,
    /// The commit that the index follows.
    generation: u64,
    opened: Instant,
    looked: Instant,
}

impl Searching {
    pub(crate) fn new(folder: PathBuf, ranking: Ranking) -> Searching {
        Searching { folder, ranking, open: Mutex::new(None) }
    }

    /// Who answers now.
    pub(crate) fn searcher(&self) -> Result<Arc<Searcher>, Failure> {
        // While one opens, others wait for it; after a panic it is opened again.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = open.as_mut() {
            if open.looked.elapsed() < LOOK_EVERY {
                return Ok(Arc::clone(&open.searcher));
            }
            open.looked = Instant::now();
            if open.opened.elapsed() < OLDEST && open.searcher.index().generation()? == open.generation {
                return Ok(Arc::clone(&open.searcher));
            }
        }
        let searcher = Arc::new(Searcher::open(Snapshot::open(&self.folder, None)?, self.ranking.clone())?);
        let (generation, now) = (searcher.index().generation()?, Instant::now());
        *open = Some(Open { searcher: Arc::clone(&searcher), generation, opened: now, looked: now });
        Ok(searcher)
    }
}

/// The pages that the conditions on links of a query mean, as the last analysis knows them.
pub(crate) fn link_answers(
    snapshot: &Snapshot,
    rules: &model::UrlRules,
    query: &Query,
) -> Result<LinkAnswers, Failure> {
    if query.link_conditions().is_empty() {
        return Ok(LinkAnswers::default());
    }
    let folder = snapshot.folder();
    let graph = LinkGraph::newest(folder)?.ok_or_else(|| {
        Failure::NotReady(format!(
            "links are not known before an analysis: run `weir analyze {}`",
            folder.display()
        ))
    })?;
    LinkAnswers::gather(query, |LinkCondition { kind, url }| {
        let wrong = |rejected| {
            let url = crate::shown::url(url);
            Failure::WrongQuestion(format!("`{}:{url}`: that is no URL: {rejected}", kind.as_str()))
        };
        let url = rules.canonical(url).map_err(wrong)?;
        let Some(page) = snapshot.urls.find(&url)? else { return Ok(Vec::new()) };
        let wanted = match kind {
            LinkKind::LinksTo => Neighbours::LinkingTo,
            LinkKind::LinkedFrom => Neighbours::LinkedFrom,
            LinkKind::Related => Neighbours::Related,
        };
        Ok(neighbours(&graph, page.0, wanted)?)
    })
}
