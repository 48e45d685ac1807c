//! Which pages are like a page?

use std::sync::Arc;

use analysis::{Cores, SimilarBy, SimilarPage, similar_pages};
use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::Html;
use report::words;
use serde::Serialize;

use crate::asked::{Asked, address};
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::place::Place;
use crate::shown;

const MOST: usize = 100;
const USUAL: usize = 20;
const WAYS: [(&str, SimilarBy); 3] =
    [("all", SimilarBy::All), ("text", SimilarBy::Text), ("links", SimilarBy::Links)];

/// Scripts rely on the names.
#[derive(Serialize)]
pub(crate) struct Similar {
    url: String,
    pages: Vec<SimilarPage>,
    /// What could not be compared, in sentences.
    missing: Vec<String>,
}

#[derive(Template)]
#[template(path = "similar.html")]
struct View {
    frame: Frame,
    url: String,
    about: String,
    missing: Vec<String>,
    hits: Vec<Hit>,
}

struct Hit {
    about: String,
    cached: String,
    title: String,
    url: String,
    score: String,
    why: String,
}

fn similar(desk: &Desk, asked: &Asked) -> Result<Similar, Failure> {
    let snapshot = desk.snapshot()?;
    let (url, page) = Place::known(desk, &snapshot, asked)?;
    let by = asked.one_of("by", &WAYS)?;
    let most = asked.number("count", 1..=MOST)?.unwrap_or(USUAL);
    let found = similar_pages(&snapshot, page, by, most, Cores(1))?;
    Ok(Similar { url: url.as_str().to_owned(), pages: found.pages, missing: found.missing })
}

pub(crate) async fn api(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Json<Similar>, Failure> {
    desk.work(move |desk| similar(desk, &asked).map(Json)).await
}

pub(crate) async fn html(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Html<String>, Failure> {
    desk.work(move |desk| {
        let found = similar(desk, &asked)?;
        page(&View {
            frame: Frame::new(desk, Part::Other, "Similar pages"),
            url: shown::url(&found.url),
            about: address("/page", &[("url", &found.url)]),
            missing: found.missing.iter().map(|sentence| shown::shown(sentence, 300)).collect(),
            hits: found.pages.iter().map(hit).collect(),
        })
    })
    .await
}

fn hit(found: &SimilarPage) -> Hit {
    let common = u64::from(found.common_links.unwrap_or(0));
    let why = match found.why {
        "same-text" => "the same text".to_owned(),
        "near-text" => "nearly the same text".to_owned(),
        "words" => "words in common".to_owned(),
        "cited-together" => format!("both are linked from {}", words::counted(common, "page")),
        _ => format!("both link to {}", words::counted(common, "page")),
    };
    let copies = match found.copies {
        0 => String::new(),
        copies => format!("; {} with its text", words::counted(copies as u64, "more page")),
    };
    Hit {
        about: address("/page", &[("url", &found.url)]),
        cached: address("/cached", &[("url", &found.url)]),
        title: shown::title(&found.title),
        url: shown::url(&found.url),
        score: format!("{:.2}", found.score),
        why: format!("{why}{copies}"),
    }
}
