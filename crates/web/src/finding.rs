//! What is asked for, and what was found? As programs get it.
//!
//! A query is `q`; each `f` is a further condition, such as `lang:en`.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use search::{Answer, FacetCount, Hit, Query, Request, SEARCH_LIMIT_HITS, Sort};
use serde::Serialize;

use crate::asked::Asked;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::searching::link_answers;

const PAGE: usize = 10;
const MOST: usize = 100;
const MOST_FILTERS: usize = 10;
pub(crate) const SORTS: [(&str, Sort); 3] =
    [("relevance", Sort::Relevance), ("date", Sort::Date), ("rank", Sort::Rank)];

/// What was asked for, understood.
pub(crate) struct Wanted {
    pub(crate) query: String,
    pub(crate) filters: Vec<String>,
    pub(crate) request: Request,
}

impl Wanted {
    pub(crate) fn of(asked: &Asked) -> Result<Wanted, Failure> {
        Ok(Wanted {
            query: asked.text("q")?.trim().to_owned(),
            filters: asked.all("f").take(MOST_FILTERS).map(str::to_owned).collect(),
            request: Request {
                from: asked.number("from", 0..=SEARCH_LIMIT_HITS)?.unwrap_or(0),
                count: asked.number("count", 1..=MOST)?.unwrap_or(PAGE),
                sort: asked.one_of("sort", &SORTS)?,
                facets: asked.one_of("facets", &[("true", true), ("false", false)])?,
                explain: asked.one_of("explain", &[("false", false), ("true", true)])?,
                fold: asked.one_of("fold", &[("true", true), ("false", false)])?,
                ..Request::default()
            },
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.query.is_empty() && self.filters.is_empty()
    }

    /// The query with all filters. Errors point into what was typed.
    fn whole(&self) -> Result<Query, Failure> {
        let parse = |text: &str| {
            Query::parse(text).map_err(|error| Failure::WrongQuery {
                pointed: error.pointed(text),
                column: error.column,
                sentence: error.to_string(),
            })
        };
        let parts = [&self.query].into_iter().chain(&self.filters).filter(|part| !part.is_empty());
        let parts = parts.map(|part| parse(part)).collect::<Result<Vec<Query>, Failure>>()?;
        // Nothing at all is asked for as such, and points at nothing.
        Query::all_of(parts).map_or_else(|| parse(""), Ok)
    }
}

/// Answers it.
pub(crate) fn find(desk: &Desk, wanted: &Wanted) -> Result<Answer, Failure> {
    let query = wanted.whole()?;
    let searcher = desk.searching.searcher()?;
    let links = link_answers(searcher.snapshot(), &desk.settings.rules.gather.rules, &query)?;
    Ok(searcher.search(&query, &links, &wanted.request)?)
}

/// Scripts rely on the names.
#[derive(Serialize)]
pub(crate) struct Found {
    total: u64,
    seconds: f64,
    hits: Vec<FoundHit>,
    facets: Option<FoundFacets>,
    suggestion: Option<String>,
}

#[derive(Serialize)]
struct FoundHit {
    rank: usize,
    score: f32,
    page_id: u32,
    url: String,
    title: String,
    snippet: String,
    /// From where to where in the snippet words of the query stand, in characters.
    matches: Vec<[usize; 2]>,
    date_ms: Option<i64>,
    fetched_ms: i64,
    site: String,
    language: Option<String>,
    mime: String,
    size_bytes: u64,
    in_links: Option<u32>,
    pagerank: Option<f32>,
    /// Near duplicates that are left out.
    folded: u32,
    explanation: Vec<FoundShare>,
}

#[derive(Serialize)]
struct FoundShare {
    what: String,
    score: f32,
}

#[derive(Serialize)]
struct FoundFacets {
    counted: u64,
    sites: Vec<FoundCount>,
    languages: Vec<FoundCount>,
    years: Vec<FoundCount>,
    types: Vec<FoundCount>,
}

#[derive(Serialize)]
struct FoundCount {
    value: String,
    pages: u64,
}

pub(crate) async fn api(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Json<Found>, Failure> {
    desk.work(move |desk| {
        let wanted = Wanted::of(&asked)?;
        if wanted.is_empty() {
            return Err(Failure::WrongQuestion("say what to look for: q=WORDS".to_owned()));
        }
        let began = Instant::now();
        let answer = find(desk, &wanted)?;
        Ok(Json(found(answer, &wanted, began.elapsed().as_secs_f64())))
    })
    .await
}

fn found(answer: Answer, wanted: &Wanted, seconds: f64) -> Found {
    let counts = |counts: Vec<FacetCount>| -> Vec<FoundCount> {
        counts.into_iter().map(|FacetCount { value, pages }| FoundCount { value, pages }).collect()
    };
    let facets = answer.facets;
    Found {
        total: answer.total,
        seconds,
        suggestion: answer.suggestion,
        facets: wanted.request.facets.then(|| FoundFacets {
            counted: facets.counted,
            sites: counts(facets.sites),
            languages: counts(facets.languages),
            years: counts(facets.years),
            types: counts(facets.types),
        }),
        hits: (wanted.request.from + 1..).zip(answer.hits).map(|(rank, hit)| found_hit(rank, hit)).collect(),
    }
}

fn found_hit(rank: usize, hit: Hit) -> FoundHit {
    let share = |share: search::Share| FoundShare { what: share.what, score: share.score };
    FoundHit {
        rank,
        score: hit.score,
        page_id: hit.page.0,
        title: hit.title.text(),
        snippet: hit.snippet.text(),
        matches: hit.snippet.matches(),
        url: hit.url,
        date_ms: hit.date_ms,
        fetched_ms: hit.fetched_ms,
        site: hit.site,
        language: hit.language,
        mime: hit.mime,
        size_bytes: hit.size_bytes,
        in_links: hit.in_links,
        pagerank: hit.pagerank,
        folded: hit.folded,
        explanation: hit.explanation.into_iter().map(share).collect(),
    }
}
