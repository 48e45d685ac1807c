//! JSON of a search result, the same on the command line and in the HTTP API.

use serde::Serialize;

use crate::searcher::{EmptyingCondition, FacetCount, Facets, Hit, ScorePart, SearchOptions, SearchResult};

/// JSON of a search result. The field names are part of the API.
#[derive(Debug, Serialize)]
pub struct SearchResponse<'a> {
    /// Number of matching pages, including near duplicates.
    total: u64,
    seconds: f64,
    /// Limits that made the result incomplete.
    limits_hit: Vec<&'static str>,
    /// Whether a larger offset returns further hits.
    has_more: bool,
    hits: Vec<HitJson<'a>>,
    /// Only with the option `facets`.
    facets: Option<FacetsJson<'a>>,
    /// `all` or `any`: which words of the query the hits have.
    mode: &'static str,
    /// Conditions that leave a conjunction without hits.
    emptied_by: Vec<EmptyingConditionJson<'a>>,
    /// The query with corrected spelling.
    suggestion: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct EmptyingConditionJson<'a> {
    condition: &'a str,
    /// Whether no page matches it.
    is_absent: bool,
    hits_without: u64,
}

#[derive(Debug, Serialize)]
struct HitJson<'a> {
    /// Position among all hits, from 1.
    rank: usize,
    score: f32,
    page_id: u32,
    url: &'a str,
    title: String,
    snippet: String,
    /// Character ranges of the matches in the snippet.
    matches: Vec<[usize; 2]>,
    date_ms: Option<i64>,
    fetched_ms: i64,
    site: &'a str,
    language: Option<&'a str>,
    mime_type: &'a str,
    body_bytes: u64,
    inlinks: Option<u32>,
    pagerank: Option<f32>,
    /// Number of collapsed near duplicates.
    near_duplicates: u32,
    /// Only with the option `explain`.
    explanation: Vec<ScorePartJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ScorePartJson<'a> {
    description: &'a str,
    score: f32,
}

#[derive(Debug, Serialize)]
struct FacetsJson<'a> {
    hits_counted: u64,
    sites: Vec<FacetCountJson<'a>>,
    languages: Vec<FacetCountJson<'a>>,
    years: Vec<FacetCountJson<'a>>,
    mime_types: Vec<FacetCountJson<'a>>,
}

#[derive(Debug, Serialize)]
struct FacetCountJson<'a> {
    value: &'a str,
    pages: u64,
}

impl<'a> SearchResponse<'a> {
    /// Creates the JSON of a result.
    pub fn new(result: &'a SearchResult, options: &SearchOptions, seconds: f64) -> SearchResponse<'a> {
        SearchResponse {
            total: result.total,
            seconds,
            limits_hit: result.limits_hit.iter().map(|limit| limit.as_str()).collect(),
            has_more: result.has_more,
            hits: (options.offset + 1..).zip(&result.hits).map(|(rank, hit)| hit_json(rank, hit)).collect(),
            facets: options.facets.then(|| facets_json(&result.facets)),
            mode: result.mode.as_str(),
            emptied_by: result
                .emptied_by
                .iter()
                .map(|EmptyingCondition { condition, is_absent, hits_without }| EmptyingConditionJson {
                    condition,
                    is_absent: *is_absent,
                    hits_without: *hits_without,
                })
                .collect(),
            suggestion: result.suggestion.as_deref(),
        }
    }
}

fn hit_json(rank: usize, hit: &Hit) -> HitJson<'_> {
    HitJson {
        rank,
        score: hit.score,
        page_id: hit.page.0,
        url: &hit.url,
        title: hit.title.text(),
        snippet: hit.snippet.text(),
        matches: hit.snippet.matches(),
        date_ms: hit.date_ms,
        fetched_ms: hit.fetched_ms,
        site: &hit.site,
        language: hit.language.as_deref(),
        mime_type: &hit.mime_type,
        body_bytes: hit.body_bytes,
        inlinks: hit.inlinks,
        pagerank: hit.pagerank,
        near_duplicates: hit.near_duplicates,
        explanation: hit
            .explanation
            .iter()
            .map(|ScorePart { description, score }| ScorePartJson { description, score: *score })
            .collect(),
    }
}

fn facets_json(facets: &Facets) -> FacetsJson<'_> {
    fn counts(counts: &[FacetCount]) -> Vec<FacetCountJson<'_>> {
        counts.iter().map(|FacetCount { value, pages }| FacetCountJson { value, pages: *pages }).collect()
    }
    FacetsJson {
        hits_counted: facets.hits_counted,
        sites: counts(&facets.sites),
        languages: counts(&facets.languages),
        years: counts(&facets.years),
        mime_types: counts(&facets.mime_types),
    }
}
