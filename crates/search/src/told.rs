//! How do programs get an answer? As one object of JSON, the same from the command line and from the server.

use serde::Serialize;

use crate::searcher::{Answer, FacetCount, Facets, Hit, Request, Share};

/// An answer for programs. Scripts rely on the names.
#[derive(Debug, Serialize)]
pub struct Told<'a> {
    /// Pages that fit, near duplicates included.
    total: u64,
    seconds: f64,
    /// Why not everything was looked at; empty if it was.
    cut: Vec<&'static str>,
    /// Whether more hits can be asked for.
    has_more: bool,
    hits: Vec<ToldHit<'a>>,
    /// Nothing unless they were asked for.
    facets: Option<ToldFacets<'a>>,
    /// The query as it was perhaps meant.
    suggestion: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ToldHit<'a> {
    /// Its place, from 1 on.
    rank: usize,
    score: f32,
    page_id: u32,
    url: &'a str,
    title: String,
    snippet: String,
    /// From where to where in the snippet words of the query stand, in characters.
    matches: Vec<[usize; 2]>,
    date_ms: Option<i64>,
    fetched_ms: i64,
    site: &'a str,
    language: Option<&'a str>,
    mime: &'a str,
    size_bytes: u64,
    in_links: Option<u32>,
    pagerank: Option<f32>,
    /// Near duplicates that are left out.
    folded: u32,
    /// Empty unless it was asked for.
    explanation: Vec<ToldShare<'a>>,
}

#[derive(Debug, Serialize)]
struct ToldShare<'a> {
    what: &'a str,
    score: f32,
}

#[derive(Debug, Serialize)]
struct ToldFacets<'a> {
    counted: u64,
    sites: Vec<ToldCount<'a>>,
    languages: Vec<ToldCount<'a>>,
    years: Vec<ToldCount<'a>>,
    types: Vec<ToldCount<'a>>,
}

#[derive(Debug, Serialize)]
struct ToldCount<'a> {
    value: &'a str,
    pages: u64,
}

impl<'a> Told<'a> {
    /// What came of a request, and how long it took.
    pub fn new(answer: &'a Answer, request: &Request, seconds: f64) -> Told<'a> {
        Told {
            total: answer.total,
            seconds,
            cut: answer.cuts.iter().map(|cut| cut.as_str()).collect(),
            has_more: answer.has_more,
            hits: (request.from + 1..).zip(&answer.hits).map(|(rank, hit)| told_hit(rank, hit)).collect(),
            facets: request.facets.then(|| told_facets(&answer.facets)),
            suggestion: answer.suggestion.as_deref(),
        }
    }
}

fn told_hit(rank: usize, hit: &Hit) -> ToldHit<'_> {
    ToldHit {
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
        mime: &hit.mime,
        size_bytes: hit.size_bytes,
        in_links: hit.in_links,
        pagerank: hit.pagerank,
        folded: hit.folded,
        explanation: hit
            .explanation
            .iter()
            .map(|Share { what, score }| ToldShare { what, score: *score })
            .collect(),
    }
}

fn told_facets(facets: &Facets) -> ToldFacets<'_> {
    fn counts(counts: &[FacetCount]) -> Vec<ToldCount<'_>> {
        counts.iter().map(|FacetCount { value, pages }| ToldCount { value, pages: *pages }).collect()
    }
    ToldFacets {
        counted: facets.counted,
        sites: counts(&facets.sites),
        languages: counts(&facets.languages),
        years: counts(&facets.years),
        types: counts(&facets.types),
    }
}
