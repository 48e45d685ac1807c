//! Execution of queries: matching, ranking, facets, snippets.
//!
//! A query is compiled to a query of tantivy ([`compile`]). One scan of its matches ([`top_collector`]) counts them, keeps the top ones and
//! counts facets. The hits are then completed from the collection: title and snippet from the stored page, ranks from the last
//! analysis.
//!
//! ```text
//! score = Σ words Σ fields  weight · BM25(word, field)  +  w · S / (S + k)      S = PageRank / mean PageRank
//! ```
//!
//! The document frequency of a word in BM25 is the same for all fields and all stems ([`scoring::bm25_statistics`]), as in BM25F
//! (Robertson, Zaragoza and Taylor, 2004). Adjacent words add to the score of the best hits ([`scoring::word_pairs`]). The saturated PageRank term is that of Craswell, Robertson,
//! Zaragoza and Taylor (2005). Ranks are columns outside the index, so that a new PageRank takes effect without reindexing.

mod candidate;
mod collapse;
mod compile;
mod deadline;
mod depth_cache;
mod empty_result;
mod facets;
mod fast_fields;
mod highlight;
mod limit_hit;
mod link_matches;
mod rank_cache;
mod ranking;
mod scoring;
mod snippet;
mod spelling;
mod top_collector;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::{PageId, SiteId};
use parse::RobotsDirectives;
use store::{Cancellation, Snapshot};
use tantivy::Term;
use tantivy::query::EnableScoring;
use tantivy::query::Query as _;

pub use empty_result::EmptyingCondition;
pub use facets::{FacetCount, Facets};
pub use limit_hit::LimitHit;
pub use link_matches::LinkMatches;
pub use ranking::Ranking;
pub use snippet::{Fragment, Snippet};

use crate::error::{Error, Result, is_damage};
use crate::index::text_index::TextIndex;
use crate::index::vocabulary::Vocabulary;
use crate::query::{MatchMode, Query};
use crate::text::query_terms::{split_query, term_variants};
use candidate::Candidate;
use collapse::CollapsedHits;
use compile::{Compiled, Compiler};
use deadline::Deadline;
use depth_cache::DepthCache;
use fast_fields::FastFields;
use rank_cache::{RankCache, RankSnapshot};
use scoring::word_pairs::{self, RESCORED_HITS};
use snippet::PageExcerpt;
use top_collector::{CollectedPages, TopPages};

/// Maximum of offset plus limit.
pub const MAX_RESULT_WINDOW: usize = 10_000;

/// Searcher over an index and a snapshot of its collection. May be used by several threads at the same time.
pub struct Searcher {
    snapshot: Snapshot,
    index: TextIndex,
    ranking: Ranking,
    ranks: RankCache,
    depths: DepthCache,
    vocabulary: Mutex<Option<Arc<Vocabulary>>>,
    /// Product token of the crawler, in lower case.
    agent: String,
}

/// Number of additional hits fetched, to replace collapsed near duplicates.
const COLLAPSE_LOOKAHEAD: usize = 100;
/// Below this number of hits a spelling suggestion is computed.
const SUGGESTION_MAX_HITS: u64 = 3;

/// Context of one search.
struct OneSearch<'s> {
    index: tantivy::Searcher,
    ranks: Arc<RankSnapshot>,
    links: &'s LinkMatches,
    options: &'s SearchOptions,
    deadline: Deadline,
    cancellation: &'s Cancellation,
}

/// Options of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchOptions {
    /// Number of hits to skip.
    pub offset: usize,
    /// Maximum number of hits.
    pub limit: usize,
    /// Sort order.
    pub sort: Sort,
    /// Whether to count facets.
    pub facets: bool,
    /// Whether to return the parts of each score.
    pub explain: bool,
    /// Whether to collapse near duplicates into their best hit.
    pub collapse: bool,
    /// Whether a query of several words without operators that finds nothing is repeated for any of its words.
    pub relax: bool,
    /// Whether to read title and snippet of each hit from the stored page.
    pub excerpts: bool,
    /// Timeout; after it the search returns what it has found so far.
    pub timeout: Duration,
}

/// Default timeout of a search.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

impl Default for SearchOptions {
    fn default() -> SearchOptions {
        SearchOptions {
            offset: 0,
            limit: 10,
            sort: Sort::Relevance,
            facets: false,
            explain: false,
            collapse: true,
            relax: false,
            excerpts: true,
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

/// Sort order of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Highest score first.
    #[default]
    Relevance,
    /// Newest first; pages without a date last.
    Date,
    /// Highest PageRank first.
    Rank,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// Number of matching pages, including near duplicates; a lower bound if a limit was hit.
    pub total: u64,
    /// The requested hits.
    pub hits: Vec<Hit>,
    /// Counts by site, language, year and MIME type; empty unless requested.
    pub facets: Facets,
    /// Which words of the query the hits have: any of them if the query was relaxed ([`SearchOptions::relax`]).
    pub mode: MatchMode,
    /// Conditions that leave a conjunction without hits.
    pub emptied_by: Vec<EmptyingCondition>,
    /// The query with corrected spelling, if that has more hits.
    pub suggestion: Option<String>,
    /// Whether a larger offset returns further hits.
    pub has_more: bool,
    /// Limits that made the result incomplete.
    pub limits_hit: Vec<LimitHit>,
}

/// Matching page.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Page id.
    pub page: PageId,
    /// Score.
    pub score: f32,
    /// URL.
    pub url: String,
    /// Title; empty if there is none.
    pub title: Snippet,
    /// Passage of the text with most query words; empty if the page forbids snippets.
    pub snippet: Snippet,
    /// Robots directives of the page.
    pub robots: RobotsDirectives,
    /// Date of modification or publication as declared by page or server, in Unix milliseconds.
    pub date_ms: Option<i64>,
    /// Time of the fetch, in Unix milliseconds.
    pub fetched_ms: i64,
    /// Site, such as `https://example.org`.
    pub site: String,
    /// Language code, if the detection is certain.
    pub language: Option<String>,
    /// MIME type.
    pub mime_type: String,
    /// Size of the body.
    pub body_bytes: u64,
    /// Number of inlinks in the last analysis.
    pub inlinks: Option<u32>,
    /// PageRank of the last analysis.
    pub pagerank: Option<f32>,
    /// Number of collapsed near duplicates among the fetched hits.
    pub near_duplicates: u32,
    /// Parts of the score; empty unless requested.
    pub explanation: Vec<ScorePart>,
}

/// Part of a score.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorePart {
    /// Term and field, such as `chair in the title`.
    pub description: String,
    /// Contribution.
    pub score: f32,
}

impl Searcher {
    /// Opens the index of the collection of a snapshot.
    pub fn open(snapshot: Snapshot, ranking: Ranking) -> Result<Searcher> {
        let index = TextIndex::open(snapshot.dir())?;
        let ranks = RankCache::new(snapshot.dir(), &ranking);
        let (depths, vocabulary) = (DepthCache::default(), Mutex::new(None));
        let agent = parse::html::Options::default().agent;
        Ok(Searcher { snapshot, index, ranking, ranks, depths, vocabulary, agent })
    }

    /// Sets the product token of the crawler whose robots directives apply to snippets, besides those for all crawlers.
    #[must_use]
    pub fn with_agent(self, agent: &str) -> Searcher {
        Searcher { agent: agent.to_ascii_lowercase(), ..self }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The index.
    pub fn index(&self) -> &TextIndex {
        &self.index
    }

    /// Runs a query. `links` are the pages that match its link conditions ([`Query::link_conditions`]).
    pub fn search(
        &self,
        query: &Query,
        links: &LinkMatches,
        options: &SearchOptions,
    ) -> Result<SearchResult> {
        self.search_cancellable(query, links, options, &Cancellation::default())
    }

    /// Runs a query that fails with [`store::Error::Cancelled`] soon after it was cancelled.
    pub fn search_cancellable(
        &self,
        query: &Query,
        links: &LinkMatches,
        options: &SearchOptions,
        cancellation: &Cancellation,
    ) -> Result<SearchResult> {
        if options.offset.saturating_add(options.limit) > MAX_RESULT_WINDOW {
            return Err(Error::OffsetTooLarge { limit: MAX_RESULT_WINDOW });
        }
        let search = OneSearch {
            index: self.index.reader.searcher(),
            ranks: self.ranks.current()?,
            links,
            options,
            deadline: Deadline::after(options.timeout, cancellation),
            cancellation,
        };
        let mut result = self.execute(query, &search)?;
        // A search with limit 0 only counts.
        if result.total < SUGGESTION_MAX_HITS && options.limit > 0 {
            result.suggestion = self.suggestion(query, result.total, &search)?;
        }
        if result.total == 0 && options.limit > 0 {
            result.emptied_by = self.emptying_conditions(query, &search)?;
            if let Some(relaxed) = query.relaxed().filter(|_| options.relax) {
                let SearchResult { suggestion, emptied_by, .. } = result;
                result = SearchResult { suggestion, emptied_by, ..self.execute(&relaxed, &search)? };
            }
        }
        let was_stopped = search.deadline.was_missed().then_some(LimitHit::Timeout(options.timeout));
        result.limits_hit.extend(was_stopped);
        Ok(result)
    }

    /// Runs a query as it is.
    fn execute(&self, query: &Query, search: &OneSearch<'_>) -> Result<SearchResult> {
        let OneSearch { options, cancellation, .. } = *search;
        let last = options.offset + options.limit;
        let compiled = self.compile(query, search)?;
        let mut fetch_limit =
            if options.collapse { (last * 2 + COLLAPSE_LOOKAHEAD).min(MAX_RESULT_WINDOW) } else { last };
        let (found, collapsed) = loop {
            let found = self.collect(&compiled, fetch_limit, search)?;
            let collapsed = CollapsedHits::new(&found.top, &search.ranks, options.collapse);
            // With many near duplicates, collapsing leaves too few hits: fetch more.
            let is_exhausted = found.top.len() < fetch_limit
                || fetch_limit >= MAX_RESULT_WINDOW
                || search.deadline.was_missed();
            if collapsed.len() > last || !options.collapse || is_exhausted {
                break (found, collapsed);
            }
            fetch_limit = (fetch_limit * 4).min(MAX_RESULT_WINDOW);
        };
        let has_further = if options.collapse { collapsed.len() > last } else { found.total > last as u64 };
        let requested = collapsed.into_iter().skip(options.offset).take(options.limit);
        let hits = requested
            .map(|hit| {
                cancellation.check()?;
                self.hit(&compiled, hit, search)
            })
            .collect::<Result<Vec<Hit>>>()?;
        cancellation.check()?;
        Ok(SearchResult {
            total: found.total,
            hits,
            facets: found.facets.into_facets(|site| self.site_name(site)),
            mode: query.mode(),
            emptied_by: Vec::new(),
            suggestion: None,
            has_more: has_further && last < MAX_RESULT_WINDOW,
            limits_hit: compiled.limits_hit,
        })
    }

    fn compile(&self, query: &Query, search: &OneSearch<'_>) -> Result<Compiled> {
        let OneSearch { index, ranks, links, deadline, .. } = search;
        Compiler::new(self, index, ranks, links, query.condition(), deadline)?.compile(query)
    }

    /// Collects the best hits; those by relevance get the bonus for adjacent words.
    fn collect(&self, compiled: &Compiled, limit: usize, search: &OneSearch<'_>) -> Result<CollectedPages> {
        let OneSearch { index, ranks, options, deadline, .. } = search;
        let has_bonus = !compiled.pairs.is_empty() && options.sort == Sort::Relevance;
        let collected = if has_bonus { limit.max(RESCORED_HITS) } else { limit };
        let collector = TopPages::new(collected, options, &compiled.filters, &self.index, ranks, deadline);
        let mut found =
            index.search_with_statistics_provider(&compiled.query, &collector, &compiled.statistics)?;
        if has_bonus {
            word_pairs::rescore(&compiled.pairs, index, &compiled.statistics, &mut found.top)?;
        }
        found.top.truncate(limit.max(1));
        Ok(found)
    }

    /// Depths of all pages by id.
    fn depths(&self) -> Result<SharedColumn<u8>> {
        self.depths.get(&self.snapshot)
    }

    /// Computes a spelling suggestion: a query with more hits.
    fn suggestion(&self, query: &Query, hits: u64, search: &OneSearch<'_>) -> Result<Option<String>> {
        let Some(vocabulary) = self.vocabulary()? else { return Ok(None) };
        let pages_with = |word: &str| self.pages_with(word, search);
        let Some(condition) = spelling::corrected(query.condition(), &vocabulary, &pages_with)? else {
            return Ok(None);
        };
        let corrected = query.with_condition(condition);
        let is_better = self.count(&corrected, search)? > hits;
        Ok(is_better.then(|| corrected.text()))
    }

    /// Number of pages with a word, in any of its stems, in the field where it is most frequent.
    fn pages_with(&self, word: &str, search: &OneSearch<'_>) -> Result<u64> {
        let languages = self.index.languages()?;
        let languages: Vec<&str> = languages.iter().map(String::as_str).collect();
        let mut max_pages = 0;
        for word in split_query(word) {
            let terms = term_variants(&word, &languages).terms;
            for field in [self.index.fields.body, self.index.fields.title] {
                let pages = |term: &String| search.index.doc_freq(&Term::from_field_text(field, term));
                max_pages = max_pages.max(terms.iter().map(pages).sum::<tantivy::Result<u64>>()?);
            }
        }
        Ok(max_pages)
    }

    /// The vocabulary; `None` while the index is being rebuilt.
    fn vocabulary(&self) -> Result<Option<Arc<Vocabulary>>> {
        // A panic while the lock was held left the cache empty.
        let mut cached = self.vocabulary.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vocabulary) = cached.as_ref() {
            return Ok(Some(Arc::clone(vocabulary)));
        }
        match self.index.vocabulary() {
            Ok(vocabulary) => Ok(Some(Arc::clone(cached.insert(Arc::new(vocabulary))))),
            // The index is being rebuilt and the vocabulary file is gone; the hits are valid without it.
            Err(Error::Unreadable { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn site_name(&self, site: u64) -> String {
        let site = u32::try_from(site).ok().and_then(|site| self.snapshot.urls.site_name(SiteId(site)));
        site.unwrap_or_default().to_owned()
    }

    fn hit(
        &self,
        compiled: &Compiled,
        (candidate, near_duplicates): (Candidate, u32),
        search: &OneSearch<'_>,
    ) -> Result<Hit> {
        let OneSearch { index: searcher, ranks, options, .. } = search;
        let page = PageId(candidate.page);
        let fast_fields = FastFields::open(searcher.segment_reader(candidate.segment), &self.index)?;
        let language = fast_fields.language(candidate.doc)?;
        let record = self.snapshot.page_state.get(page)?;
        let url = self.snapshot.urls.url(page)?.unwrap_or_default();
        let excerpt = match &record {
            Some(record) if options.excerpts => {
                match PageExcerpt::read(
                    &self.snapshot,
                    record,
                    &url,
                    language.as_deref(),
                    &compiled.highlight,
                    &self.agent,
                ) {
                    // The hit is valid without title and snippet; `weir check` reports the damaged record.
                    Err(Error::Store(error)) if is_damage(&error) => PageExcerpt::default(),
                    excerpt => excerpt?,
                }
            }
            _ => PageExcerpt::default(),
        };
        let explanation =
            if options.explain { self.explain(searcher, compiled, ranks, &candidate)? } else { Vec::new() };
        Ok(Hit {
            page,
            score: candidate.score,
            url,
            title: excerpt.title,
            snippet: excerpt.snippet,
            robots: excerpt.robots,
            date_ms: fast_fields.date_s(candidate.doc).map(|date_s| date_s * 1_000),
            fetched_ms: record.map_or(0, |record| i64::from(record.last_success_s) * 1_000),
            site: self.site_name(fast_fields.site.get_val(candidate.doc)),
            language,
            mime_type: fast_fields.mime_type(candidate.doc)?,
            body_bytes: fast_fields.size.get_val(candidate.doc),
            inlinks: ranks.inlinks(page.0),
            pagerank: ranks.pagerank(page.0),
            near_duplicates,
            explanation,
        })
    }

    /// Computes the contribution of each term and field, and of PageRank.
    fn explain(
        &self,
        searcher: &tantivy::Searcher,
        compiled: &Compiled,
        ranks: &RankSnapshot,
        candidate: &Candidate,
    ) -> Result<Vec<ScorePart>> {
        let scoring = EnableScoring::enabled_from_statistics_provider(&compiled.statistics, searcher);
        let reader = searcher.segment_reader(candidate.segment);
        let mut parts = Vec::new();
        let pairs = compiled.pairs.iter().filter(|_| candidate.is_rescored);
        for (description, query) in compiled.leaves.iter().chain(pairs) {
            let mut scorer = query.weight(scoring)?.scorer(reader, 1.0)?;
            let is_there = scorer.doc() <= candidate.doc && scorer.seek(candidate.doc) == candidate.doc;
            if is_there && scorer.score() > 0.0 {
                parts.push(ScorePart { description: description.clone(), score: scorer.score() });
            }
        }
        let relative = ranks.relative_pagerank(candidate.page);
        let description = format!("PageRank ({relative:.2} times the mean)");
        parts.push(ScorePart { description, score: ranks.link_score(candidate.page) });
        parts.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(parts)
    }
}

/// Column by page id, shared by concurrent searches.
type SharedColumn<T> = Arc<Vec<T>>;
