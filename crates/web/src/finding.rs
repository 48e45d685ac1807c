//! What is asked for, and what was found? As programs get it.
//!
//! A query is `q`; each `f` is a further condition, such as `lang:en`.

use std::sync::Arc;
use std::time::Instant;

use analysis::{LinkError, LinkLookup};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use search::{
    Answer, LinkAnswers, QUERY_LIMIT_BYTES, QUERY_LIMIT_LINKS, Query, Request, SEARCH_LIMIT_HITS, Sort, Told,
};
use store::Snapshot;

use crate::asked::Asked;
use crate::desk::Desk;
use crate::failure::Failure;

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
        let bytes = self.query.len() + self.filters.iter().map(String::len).sum::<usize>();
        if bytes > QUERY_LIMIT_BYTES {
            let sentence = format!("a query and its conditions may have {QUERY_LIMIT_BYTES} bytes together");
            return Err(Failure::WrongQuestion(sentence));
        }
        let parts = [&self.query].into_iter().chain(&self.filters).filter(|part| !part.is_empty());
        let parts = parts.map(|part| parse(part)).collect::<Result<Vec<Query>, Failure>>()?;
        // Nothing at all is asked for as such, and points at nothing.
        let whole = Query::all_of(parts).map_or_else(|| parse(""), Ok)?;
        if whole.link_conditions().len() > QUERY_LIMIT_LINKS {
            let sentence =
                format!("a query may have {QUERY_LIMIT_LINKS} conditions on links, and this one has more");
            return Err(Failure::WrongQuestion(sentence));
        }
        Ok(whole)
    }
}

/// Answers it.
pub(crate) fn find(desk: &Desk, wanted: &Wanted) -> Result<Answer, Failure> {
    let query = wanted.whole()?;
    let searcher = desk.searching.searcher()?;
    let links = link_answers(searcher.snapshot(), desk, &query)?;
    Ok(searcher.search(&query, &links, &wanted.request)?)
}

/// The pages that the conditions on links of a query mean.
fn link_answers(snapshot: &Snapshot, desk: &Desk, query: &Query) -> Result<LinkAnswers, Failure> {
    let lookup = LinkLookup::new(snapshot, &desk.settings.rules.gather.rules);
    let known = |url: &str| {
        crawl::suggest_sites(snapshot, url).map_or_else(String::new, |known| format!("; {known}"))
    };
    LinkAnswers::gather(query, |condition| lookup.pages(condition.kind, &condition.url)).map_err(|error| {
        match error {
            LinkError::NoUrl { url, rejected } => {
                Failure::WrongQuestion(crawl::mistyped_url(snapshot, &url, rejected).to_string())
            }
            LinkError::Unknown { ref url } => Failure::NotThere(format!("{error}{}", known(url))),
            LinkError::NotAnalysed { .. } => Failure::NotReady(error.to_string()),
            error => Failure::Broken(error.to_string()),
        }
    })
}

pub(crate) async fn api(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Response, Failure> {
    desk.work(move |desk| {
        let wanted = Wanted::of(&asked)?;
        if wanted.is_empty() {
            return Err(Failure::WrongQuestion("say what to look for: q=WORDS".to_owned()));
        }
        let began = Instant::now();
        let answer = find(desk, &wanted)?;
        let told = Told::new(&answer, &wanted.request, began.elapsed().as_secs_f64());
        Ok(Json(told).into_response())
    })
    .await
}
