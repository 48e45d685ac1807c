//! Which pages answer a query best, and how are they shown?
//!
//! A query is compiled to one of tantivy's ([`compile`]), whose matches are gone through once ([`best_pages`]): they are
//! counted, the best are kept, and facets are counted of some. What is shown of the few that are asked for comes from
//! the collection: title and snippet from the stored page, ranks from the columns of the last analysis.
//!
//! ```text
//! score = Σ words Σ fields  weight · BM25(word, field)  +  w · S / (S + k)      S = PageRank / mean PageRank
//! ```
//!
//! BM25 as tantivy has it (k1 = 1.2, b = 0.75), but how rare a word is counts once for all fields and all forms of the word
//! (`statistics`), as in BM25F (Robertson, Zaragoza and Taylor, 2004). The saturated link score is that of Craswell,
//! Robertson, Zaragoza and Taylor (2005). Ranks lie outside the index, by page id, so that a new PageRank counts at once.

mod best_pages;
mod clause;
mod columns;
mod compile;
mod cut;
mod deadline;
mod depths;
mod expansion;
mod facets;
mod fold;
mod link_answers;
mod marks;
mod placed;
mod predicate;
mod ranking;
mod ranks;
mod snippet;
mod spelling;
mod statistics;
mod text_field;
mod word_set;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::{PageId, SiteId};
use store::Snapshot;
use tantivy::query::EnableScoring;
use tantivy::query::Query as _;

pub use cut::Cut;
pub use facets::{FacetCount, Facets};
pub use link_answers::LinkAnswers;
pub use ranking::Ranking;
pub use snippet::{Piece, Snippet};

use crate::error::{Error, Result, is_damage};
use crate::query::Query;
use crate::text_index::TextIndex;
use crate::vocabulary::Vocabulary;
use best_pages::{BestPages, Candidate};
use columns::Columns;
use compile::{Compiled, Compiler};
use deadline::Deadline;
use depths::Depths;
use fold::Folded;
use ranks::{RankCache, Ranks};
use snippet::PageView;

/// How far down a list of hits can be seen.
pub const SEARCH_LIMIT_HITS: usize = 10_000;

/// Answers queries from an index and the snapshot that it belongs to. Any number of threads may ask at once.
pub struct Searcher {
    snapshot: Snapshot,
    index: TextIndex,
    ranking: Ranking,
    ranks: RankCache,
    depths: Depths,
    vocabulary: Mutex<Option<Arc<Vocabulary>>>,
}

/// Hits behind the last one wanted that are looked at for near duplicates of those before.
const MORE_FOR_FOLDING: usize = 100;
/// A query with fewer hits may have been mistyped.
const FEW_HITS: u64 = 3;

/// Which hits are wanted, and what of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// So many are passed over.
    pub from: usize,
    /// So many are shown.
    pub count: usize,
    /// In which order.
    pub sort: Sort,
    /// Whether facets are counted.
    pub facets: bool,
    /// Whether each hit tells where its score comes from.
    pub explain: bool,
    /// Whether near duplicates of a hit are left out.
    pub fold: bool,
    /// How long words and pages are looked through; then the answer is what was found so far.
    pub time_limit: Duration,
}

/// Nobody waits longer for a list of pages.
const TIME_LIMIT: Duration = Duration::from_secs(10);

impl Default for Request {
    fn default() -> Request {
        Request {
            from: 0,
            count: 10,
            sort: Sort::Relevance,
            facets: false,
            explain: false,
            fold: true,
            time_limit: TIME_LIMIT,
        }
    }
}

/// In which order hits come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The best first.
    #[default]
    Relevance,
    /// The newest first; pages without a date last.
    Date,
    /// The highest PageRank first.
    Rank,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Pages that fit the query, near duplicates included; at least so many, if the answer is cut.
    pub total: u64,
    /// Those asked for.
    pub hits: Vec<Hit>,
    /// How many fit by site, language, year and type; empty unless asked for.
    pub facets: Facets,
    /// The query with a word spelled as pages spell it.
    pub suggestion: Option<String>,
    /// Whether pages follow that can be asked for.
    pub has_more: bool,
    /// Why it may not be all there is; empty if it is.
    pub cuts: Vec<Cut>,
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The page.
    pub page: PageId,
    /// How well it fits.
    pub score: f32,
    /// Its URL.
    pub url: String,
    /// Its title; empty without one.
    pub title: Snippet,
    /// The piece of its text that fits best.
    pub snippet: Snippet,
    /// When the page was modified by its own word or its server's, in Unix milliseconds.
    pub date_ms: Option<i64>,
    /// When it was fetched, in Unix milliseconds.
    pub fetched_ms: i64,
    /// The site: `https://example.org`.
    pub site: String,
    /// The code of its language, if it is certain.
    pub language: Option<String>,
    /// The type of its content.
    pub mime: String,
    /// Bytes of its content.
    pub size_bytes: u64,
    /// Pages that link to it, by the last analysis.
    pub in_links: Option<u32>,
    /// Its PageRank, by the last analysis.
    pub pagerank: Option<f32>,
    /// Near duplicates of it that fit, too, and are left out; of very many, those that fit best.
    pub folded: u32,
    /// Where the score comes from; empty unless asked for.
    pub explanation: Vec<Share>,
}

/// A part of a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// What it is for: `chair in the title`.
    pub what: String,
    /// How much.
    pub score: f32,
}

impl Searcher {
    /// Opens the index of a snapshot's collection.
    pub fn open(snapshot: Snapshot, ranking: Ranking) -> Result<Searcher> {
        let index = TextIndex::open(snapshot.folder())?;
        let ranks = RankCache::new(snapshot.folder(), &ranking);
        let (depths, vocabulary) = (Depths::default(), Mutex::new(None));
        Ok(Searcher { snapshot, index, ranking, ranks, depths, vocabulary })
    }

    /// What it reads.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Its index.
    pub fn index(&self) -> &TextIndex {
        &self.index
    }

    /// Answers a query. `links` are the pages that its conditions on links mean ([`Query::link_conditions`]).
    pub fn search(&self, query: &Query, links: &LinkAnswers, request: &Request) -> Result<Answer> {
        let last = request.from.saturating_add(request.count);
        if last > SEARCH_LIMIT_HITS {
            return Err(Error::TooFar { most: SEARCH_LIMIT_HITS });
        }
        let ranks = self.ranks.current()?;
        let searcher = self.index.reader.searcher();
        let deadline = Deadline::after(request.time_limit);
        let compiler = Compiler::new(self, &searcher, &ranks, links, query.condition(), &deadline)?;
        let compiled = compiler.compile(query.condition())?;
        let mut wanted =
            if request.fold { (last * 2 + MORE_FOR_FOLDING).min(SEARCH_LIMIT_HITS) } else { last };
        let (found, folded) = loop {
            let collector =
                BestPages::new(wanted, request, &compiled.filters, &self.index, &ranks, &deadline);
            let found = searcher.search_with_statistics_provider(
                &compiled.query,
                &collector,
                &compiled.statistics,
            )?;
            let folded = Folded::of(&found.best, &ranks, request.fold);
            // Where many are copies of each other, more have to be looked at.
            let are_all = found.best.len() < wanted || wanted >= SEARCH_LIMIT_HITS || deadline.was_missed();
            if folded.len() > last || !request.fold || are_all {
                break (found, folded);
            }
            wanted = (wanted * 4).min(SEARCH_LIMIT_HITS);
        };
        let is_more = if request.fold { folded.len() > last } else { found.total > last as u64 };
        let shown = folded.into_iter().skip(request.from).take(request.count);
        let hits = shown
            .map(|hit| self.hit(&searcher, &compiled, &ranks, hit, request.explain))
            .collect::<Result<Vec<Hit>>>()?;
        let facets = found.facets.named(|site| self.site_name(site));
        // Who only counts hits reads no suggestion.
        let is_wanted = found.total < FEW_HITS && request.count > 0;
        let suggestion = if is_wanted { self.suggestion(query)? } else { None };
        let mut cuts = compiled.cuts;
        cuts.extend(deadline.was_missed().then_some(Cut::Time));
        let has_more = is_more && last < SEARCH_LIMIT_HITS;
        Ok(Answer { total: found.total, hits, facets, suggestion, has_more, cuts })
    }

    /// How deep each page lies, by its id.
    fn depths(&self) -> Result<Shared<u8>> {
        self.depths.of(&self.snapshot)
    }

    /// The query as it was perhaps meant.
    fn suggestion(&self, query: &Query) -> Result<Option<String>> {
        // Whoever died with the lock in his hands had read nothing yet.
        let mut held = self.vocabulary.lock().unwrap_or_else(PoisonError::into_inner);
        let vocabulary = match held.as_ref() {
            Some(vocabulary) => Arc::clone(vocabulary),
            None => match self.index.vocabulary() {
                Ok(vocabulary) => Arc::clone(held.insert(Arc::new(vocabulary))),
                // The index is being written anew, and its words are not where they were: the hits are the answer.
                Err(Error::Unreadable { .. }) => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        drop(held);
        Ok(spelling::corrected(query.condition(), &vocabulary).map(|condition| condition.to_string()))
    }

    fn site_name(&self, site: u64) -> String {
        let site = u32::try_from(site).ok().and_then(|site| self.snapshot.urls.site_name(SiteId(site)));
        site.unwrap_or_default().to_owned()
    }

    fn hit(
        &self,
        searcher: &tantivy::Searcher,
        compiled: &Compiled,
        ranks: &Ranks,
        (candidate, folded): (Candidate, u32),
        explain: bool,
    ) -> Result<Hit> {
        let page = PageId(candidate.page);
        let columns = Columns::open(searcher.segment_reader(candidate.segment), &self.index)?;
        let language = columns.language(candidate.doc)?;
        let record = self.snapshot.pages.get(page)?;
        let url = self.snapshot.urls.url(page)?.unwrap_or_default();
        let view = match &record {
            Some(record) => {
                match PageView::read(&self.snapshot, record, &url, language.as_deref(), &compiled.marks) {
                    // It is found all the same; that its copy is damaged, `weir check` tells.
                    Err(Error::Store(error)) if is_damage(&error) => PageView::default(),
                    view => view?,
                }
            }
            None => PageView::default(),
        };
        let explanation =
            if explain { self.explain(searcher, compiled, ranks, &candidate)? } else { Vec::new() };
        Ok(Hit {
            page,
            score: candidate.score,
            url,
            title: view.title,
            snippet: view.snippet,
            date_ms: columns.date_s(candidate.doc).map(|date_s| date_s * 1_000),
            fetched_ms: record.map_or(0, |record| i64::from(record.last_content_s) * 1_000),
            site: self.site_name(columns.site.get_val(candidate.doc)),
            language,
            mime: columns.mime(candidate.doc)?,
            size_bytes: columns.size.get_val(candidate.doc),
            in_links: ranks.in_links(page.0),
            pagerank: ranks.pagerank(page.0),
            folded,
            explanation,
        })
    }

    /// What each word adds in each field, and the links.
    fn explain(
        &self,
        searcher: &tantivy::Searcher,
        compiled: &Compiled,
        ranks: &Ranks,
        candidate: &Candidate,
    ) -> Result<Vec<Share>> {
        let scoring = EnableScoring::enabled_from_statistics_provider(&compiled.statistics, searcher);
        let reader = searcher.segment_reader(candidate.segment);
        let mut shares = Vec::new();
        for (what, query) in &compiled.leaves {
            let mut scorer = query.weight(scoring)?.scorer(reader, 1.0)?;
            let is_there = scorer.doc() <= candidate.doc && scorer.seek(candidate.doc) == candidate.doc;
            if is_there && scorer.score() > 0.0 {
                shares.push(Share { what: what.clone(), score: scorer.score() });
            }
        }
        let relative = ranks.relative(candidate.page);
        let what = format!("links (PageRank {relative:.2} times the mean)");
        shares.push(Share { what, score: ranks.link_score(candidate.page) });
        shares.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(shares)
    }
}

/// Columns by page id that many searches share.
type Shared<T> = Arc<Vec<T>>;
