//! How is shown what was found? Hits with pieces of their text, facets that narrow the query, other orders, more pages.
//!
//! A facet adds a condition, and a click on that takes it away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::extract::State;
use axum::response::Html;
use crawl::Status;
use report::words;
use search::{Answer, FacetCount, Hit, SEARCH_LIMIT_HITS, Snippet};

use crate::asked::{Asked, address};
use crate::counted::Counted;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::finding::{SORTS, Wanted, find};
use crate::frame::{Frame, Part, page};
use crate::shown;
use crate::way::Way;

/// How long the first count of pages is waited for.
const COUNT_TIME: Duration = Duration::from_millis(300);

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
    cuts: Vec<String>,
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
    let wanted = Wanted::of(&asked)?;
    let status = if wanted.is_empty() { Counted::last(&desk, COUNT_TIME).await? } else { None };
    desk.work(move |desk| page(&view(desk, &asked, &wanted, status.as_deref())?)).await
}

fn view(desk: &Desk, asked: &Asked, wanted: &Wanted, status: Option<&Status>) -> Result<View, Failure> {
    let title = if wanted.is_empty() { String::new() } else { shown::shown(&wanted.query, 80) };
    let way = Way::new(asked, wanted);
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
        return about(desk, status, view);
    }
    let began = Instant::now();
    match find(desk, wanted) {
        Ok(answer) => view.answer = Some(answer_view(&answer, wanted, &way, began.elapsed().as_secs_f64())),
        Err(Failure::WrongQuery { pointed, sentence, .. }) => view.wrong = Some((pointed, sentence)),
        Err(Failure::NotReady(sentence) | Failure::NotThere(sentence) | Failure::WrongQuestion(sentence)) => {
            view.missing = Some(shown::shown(&sentence, shown::TEXT_CHARACTERS));
        }
        Err(failure) => return Err(failure),
    }
    Ok(view)
}

/// The page before anything was asked.
fn about(desk: &Desk, status: Option<&Status>, view: View) -> Result<View, Failure> {
    let mut about = Vec::new();
    if let Some(status) = status {
        about.push(("Pages", words::count(status.pages_fetched)));
        about.push(("Sites", words::count(status.sites)));
        about.push(("Links", words::count(status.links)));
    }
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
    // Near duplicates are counted and not shown, so that there may be fewer pages of hits.
    let end = if answer.has_more { last.min(here.max(4) + 5) } else { here + 1 };
    let pages: Vec<_> = (here.saturating_sub(4)..end).map(number).collect();
    AnswerView {
        summary: format!("{} in {:.0} ms", words::counted(answer.total, "page"), seconds * 1e3),
        sorts: SORTS.map(|(name, sort)| (name, way.sorted(name), sort == request.sort)).into(),
        suggestion: answer.suggestion.as_ref().map(|text| (shown::shown(text, 200), way.asking(text))),
        cuts: answer.cuts.iter().map(ToString::to_string).collect(),
        hits: answer.hits.iter().map(|hit| hit_view(hit, way)).collect(),
        facets: facets(answer, wanted, way),
        earlier: (here > 0).then(|| way.from((here - 1) * request.count)),
        later: answer.has_more.then(|| way.from((here + 1) * request.count)),
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
    let least = if facets.counted < answer.total { "\u{2265} " } else { "" };
    // Which scheme a site has is told where it makes a difference.
    let host = |site: &str| site.split_once("://").map_or(site, |(_, host)| host).to_owned();
    let is_twice = |name: &str| facets.sites.iter().filter(|count| host(&count.value) == name).count() > 1;
    let view = |prefix: &str, count: &FacetCount| {
        let filter = format!("{prefix}:{}", count.value);
        let is_on = wanted.filters.contains(&filter);
        let host = host(&count.value);
        let name = if is_twice(&host) { &count.value } else { &host };
        (!is_on).then(|| FacetView {
            name: shown::shown(name, 60),
            pages: format!("{least}{}", words::count(count.pages)),
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
