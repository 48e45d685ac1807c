//! What was found? The search page and its data: hits with pieces of their text, facets that narrow the query, other orders.
//!
//! A query is `q`; each `f` is a further condition, such as `lang:en`, which a facet has added and a click takes away.

use std::sync::Arc;
use std::time::Instant;

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::Html;
use report::words;
use search::{Answer, FacetCount, Hit, Query, Request, SEARCH_LIMIT_HITS, Snippet, Sort};
use serde::Serialize;

use crate::asked::{Asked, address};
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::searching::link_answers;
use crate::shown;

const PAGE: usize = 10;
const MOST: usize = 100;
const MOST_FILTERS: usize = 10;
const SORTS: [(&str, Sort); 3] = [("relevance", Sort::Relevance), ("date", Sort::Date), ("rank", Sort::Rank)];

/// What was asked for, understood.
struct Wanted {
    query: String,
    filters: Vec<String>,
    request: Request,
}

impl Wanted {
    fn of(asked: &Asked) -> Result<Wanted, Failure> {
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
            },
        })
    }

    fn is_empty(&self) -> bool {
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
        let mut whole = String::new();
        for part in [&self.query].into_iter().chain(&self.filters).filter(|part| !part.is_empty()) {
            parse(part)?;
            whole = if whole.is_empty() { format!("({part})") } else { format!("{whole} ({part})") };
        }
        parse(&whole)
    }
}

fn find(desk: &Desk, wanted: &Wanted) -> Result<Answer, Failure> {
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

#[derive(Template)]
#[template(path = "search.html")]
struct View {
    frame: Frame,
    query: String,
    filters: Vec<(String, String)>,
    hidden: Vec<(&'static str, String)>,
    /// What could not be understood, with a mark below it.
    wrong: Option<(String, String)>,
    /// What has to be done before anything can be found.
    missing: Option<String>,
    about: Vec<(&'static str, String)>,
    answer: Option<AnswerView>,
}

struct AnswerView {
    summary: String,
    sorts: Vec<(&'static str, String, bool)>,
    suggestion: Option<(String, String)>,
    is_cut: bool,
    hits: Vec<HitView>,
    facets: Vec<(&'static str, Vec<FacetView>)>,
    pages: Vec<(String, Option<String>)>,
    earlier: Option<String>,
    later: Option<String>,
}

struct HitView {
    title: Vec<(String, bool)>,
    /// Only the schemes of the Web are links.
    original: Option<String>,
    url: String,
    snippet: Vec<(String, bool)>,
    facts: Vec<String>,
    cached: String,
    about: String,
    similar: String,
    more: String,
    folded: Option<(String, String)>,
    explanation: Vec<(String, String)>,
}

struct FacetView {
    name: String,
    pages: String,
    address: String,
}

pub(crate) async fn html(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Html<String>, Failure> {
    desk.work(move |desk| page(&view(desk, &asked)?)).await
}

fn view(desk: &Desk, asked: &Asked) -> Result<View, Failure> {
    let wanted = Wanted::of(asked)?;
    let title = if wanted.is_empty() { String::new() } else { shown::shown(&wanted.query, 80) };
    let way = Way::new(asked, &wanted);
    let mut view = View {
        frame: Frame::new(desk, Part::Search, &title),
        query: wanted.query.clone(),
        filters: wanted
            .filters
            .iter()
            .map(|filter| (shown::shown(filter, 60), way.without(filter)))
            .collect(),
        hidden: way.hidden(),
        wrong: None,
        missing: None,
        about: Vec::new(),
        answer: None,
    };
    if wanted.is_empty() {
        return about(desk, view);
    }
    let began = Instant::now();
    match find(desk, &wanted) {
        Ok(answer) => view.answer = Some(answer_view(&answer, &wanted, &way, began.elapsed().as_secs_f64())),
        Err(Failure::WrongQuery { pointed, sentence, .. }) => view.wrong = Some((pointed, sentence)),
        Err(Failure::NotReady(sentence)) => view.missing = Some(sentence),
        Err(failure) => return Err(failure),
    }
    Ok(view)
}

/// The page before anything was asked.
fn about(desk: &Desk, view: View) -> Result<View, Failure> {
    let status = desk.status()?;
    let mut about = vec![
        ("Pages", words::count(status.pages_fetched)),
        ("Sites", words::count(status.sites)),
        ("Links", words::count(status.links)),
    ];
    let missing = match desk.searching.searcher() {
        Ok(searcher) => {
            about.push(("Searchable", words::count(searcher.index().pages())));
            None
        }
        Err(Failure::NotReady(sentence)) => Some(sentence),
        Err(failure) => return Err(failure),
    };
    Ok(View { about, missing, ..view })
}

fn answer_view(answer: &Answer, wanted: &Wanted, way: &Way<'_>, seconds: f64) -> AnswerView {
    let request = &wanted.request;
    let number = |page: usize| {
        let is_here = page * request.count == request.from;
        ((page + 1).to_string(), (!is_here).then(|| way.from(page * request.count)))
    };
    let last = (answer.total as usize).min(SEARCH_LIMIT_HITS).div_ceil(request.count);
    let here = request.from / request.count;
    let is_more = answer.hits.len() == request.count && here + 1 < last;
    let end = if is_more { last.min(here.max(4) + 5) } else { here + 1 };
    let pages: Vec<_> = (here.saturating_sub(4)..end).map(number).collect();
    AnswerView {
        summary: format!("{} in {:.0} ms", words::counted(answer.total, "page"), seconds * 1e3),
        sorts: SORTS.map(|(name, sort)| (name, way.sorted(name), sort == request.sort)).into(),
        suggestion: answer.suggestion.as_ref().map(|text| (shown::shown(text, 200), way.asking(text))),
        is_cut: answer.is_cut,
        hits: answer.hits.iter().map(|hit| hit_view(hit, way)).collect(),
        facets: facets(answer, wanted, way),
        earlier: (here > 0).then(|| way.from((here - 1) * request.count)),
        later: is_more.then(|| way.from((here + 1) * request.count)),
        pages: if pages.len() > 1 { pages } else { Vec::new() },
    }
}

fn hit_view(hit: &Hit, way: &Way<'_>) -> HitView {
    let mut facts = vec![words::date(hit.date_ms.unwrap_or(hit.fetched_ms))];
    facts.extend(hit.language.iter().map(|code| shown::shown(code, 20)));
    if hit.mime != "text/html" {
        facts.push(shown::shown(&hit.mime, 40));
    }
    facts.extend(
        hit.in_links.map(|links| words::counted(u64::from(links), "link in").replace("link ins", "links in")),
    );
    let mut title = pieces(&hit.title, shown::TITLE_CHARACTERS);
    if title.is_empty() {
        title = vec![(shown::url(&hit.url), false)];
    }
    let url = [("url", hit.url.as_str())];
    HitView {
        title,
        original: Some(hit.url.clone()).filter(|url| shown::is_link(url)),
        url: shown::url(&hit.url),
        snippet: pieces(&hit.snippet, shown::TEXT_CHARACTERS),
        facts,
        cached: address("/cached", &url),
        about: address("/page", &url),
        similar: address("/similar", &url),
        more: way.with(&format!("site:{}", hit.site)),
        folded: (hit.folded > 0)
            .then(|| (words::counted(u64::from(hit.folded), "near duplicate"), way.unfolded())),
        explanation: hit
            .explanation
            .iter()
            .map(|share| (shown::shown(&share.what, 80), format!("{:.3}", share.score)))
            .collect(),
    }
}

/// The pieces of a text, each with whether it fits, and no more than so many characters in all.
fn pieces(snippet: &Snippet, most: usize) -> Vec<(String, bool)> {
    let mut left = most;
    let mut pieces = Vec::new();
    for piece in &snippet.pieces {
        if left == 0 {
            break;
        }
        // Space at the ends of a piece is between words.
        let inside = shown::shown(&piece.text, left);
        left = left.saturating_sub(inside.chars().count());
        let before = if piece.text.starts_with(char::is_whitespace) { " " } else { "" };
        let after = if piece.text.ends_with(char::is_whitespace) { " " } else { "" };
        pieces.push((format!("{before}{inside}{after}"), piece.is_match));
    }
    if snippet.starts_within && !pieces.is_empty() {
        pieces.insert(0, ("\u{2026} ".to_owned(), false));
    }
    if snippet.ends_within && !pieces.is_empty() {
        pieces.push((" \u{2026}".to_owned(), false));
    }
    pieces
}

fn facets(answer: &Answer, wanted: &Wanted, way: &Way<'_>) -> Vec<(&'static str, Vec<FacetView>)> {
    let facets = &answer.facets;
    let kinds = [
        ("Site", "site", &facets.sites),
        ("Language", "lang", &facets.languages),
        ("Year", "date", &facets.years),
        ("Type", "type", &facets.types),
    ];
    let view = |prefix: &str, count: &FacetCount| {
        let filter = format!("{prefix}:{}", count.value);
        let is_on = wanted.filters.contains(&filter);
        let name = count.value.strip_prefix("https://").unwrap_or(&count.value);
        (!is_on).then(|| FacetView {
            name: shown::shown(name, 60),
            pages: words::count(count.pages),
            address: way.with(&filter),
        })
    };
    kinds
        .into_iter()
        .map(|(title, prefix, counts)| {
            (title, counts.iter().filter_map(|count| view(prefix, count)).collect())
        })
        .filter(|(_, counts): &(&str, Vec<FacetView>)| !counts.is_empty())
        .collect()
}

/// The way from here to other answers.
struct Way<'w> {
    wanted: &'w Wanted,
    sort: &'w str,
    fold: &'w str,
    explain: &'w str,
    count: &'w str,
}

impl<'w> Way<'w> {
    fn new(asked: &'w Asked, wanted: &'w Wanted) -> Way<'w> {
        let text = |name| asked.text(name).unwrap_or_default();
        Way { wanted, sort: text("sort"), fold: text("fold"), explain: text("explain"), count: text("count") }
    }

    fn to(&self, query: &str, filters: &[&str], sort: &str, fold: &str, from: usize) -> String {
        let from = if from == 0 { String::new() } else { from.to_string() };
        let mut fields = vec![("q", query)];
        fields.extend(filters.iter().map(|filter| ("f", *filter)));
        let sort = if sort == SORTS[0].0 { "" } else { sort };
        fields.extend([
            ("sort", sort),
            ("fold", fold),
            ("explain", self.explain),
            ("count", self.count),
            ("from", &from),
        ]);
        address("/", &fields)
    }

    fn filters(&self) -> Vec<&str> {
        self.wanted.filters.iter().map(String::as_str).collect()
    }

    fn with(&self, filter: &str) -> String {
        let mut filters = self.filters();
        if !filters.contains(&filter) {
            filters.push(filter);
        }
        self.to(&self.wanted.query, &filters, self.sort, self.fold, 0)
    }

    fn without(&self, filter: &str) -> String {
        let mut filters = self.filters();
        filters.retain(|own| *own != filter);
        self.to(&self.wanted.query, &filters, self.sort, self.fold, 0)
    }

    fn from(&self, from: usize) -> String {
        self.to(&self.wanted.query, &self.filters(), self.sort, self.fold, from)
    }

    fn sorted(&self, sort: &str) -> String {
        self.to(&self.wanted.query, &self.filters(), sort, self.fold, 0)
    }

    fn unfolded(&self) -> String {
        self.to(&self.wanted.query, &self.filters(), self.sort, "false", 0)
    }

    fn asking(&self, query: &str) -> String {
        // What is suggested stands for the query with its filters.
        self.to(query, &[], self.sort, self.fold, 0)
    }

    /// What the form carries on besides the query.
    fn hidden(&self) -> Vec<(&'static str, String)> {
        let filters = self.wanted.filters.iter().map(|filter| ("f", filter.clone()));
        let sort = Some(("sort", self.sort.to_owned())).filter(|(_, sort)| !sort.is_empty());
        filters.chain(sort).collect()
    }
}
