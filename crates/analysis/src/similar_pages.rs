//! Which pages are like a page? By their words, and by the links that they have in common; of each page what makes it more
//! alike.

use std::collections::{HashMap, HashSet};

use model::PageId;
use serde::Serialize;
use store::Snapshot;

use crate::co_citation::{Alike, LinkedAlike, linked_alike};
use crate::cores::Cores;
use crate::error::Result;
use crate::link_graph::LinkGraph;
use crate::page_text::PageText;
use crate::similar::{SimilarText, similar_texts};

/// Pages by links whose texts are looked at, too.
const MOST_BY_LINKS: usize = 100;

/// What makes pages alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimilarBy {
    /// The words of their main texts.
    Text,
    /// Pages that link to both, or that both link to.
    Links,
    /// Both; of each page what makes it more alike.
    All,
}

/// Pages that are like a page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SimilarPages {
    /// The nearest first.
    pub pages: Vec<SimilarPage>,
    /// What could not be compared, in sentences. If nothing could, there are no pages.
    pub missing: Vec<String>,
}

/// A page that is like another. Scripts rely on the names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimilarPage {
    /// The page.
    pub url: String,
    /// `text` or `links`: what makes it more alike.
    pub by: &'static str,
    /// From 0 to 1.
    pub score: f32,
    /// In what way: `same-text`, `near-text`, `words`, `cited-together`, `linking-alike`.
    pub why: &'static str,
    /// Bits of the fingerprints that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u32>,
    /// Pages that link to both, or that both link to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_links: Option<u32>,
    /// Other pages with the same text that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub copies: usize,
    /// Its title.
    pub title: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The pages that are most like a page.
pub fn similar_pages(
    snapshot: &Snapshot,
    page: PageId,
    by: SimilarBy,
    most: usize,
    cores: Cores,
) -> Result<SimilarPages> {
    let by_links = match by {
        SimilarBy::Text => Ok(Vec::new()),
        SimilarBy::Links | SimilarBy::All => by_links(snapshot, page)?,
    };
    let also: Vec<u32> = by_links.iter().flatten().take(MOST_BY_LINKS).map(|alike| alike.page).collect();
    let by_text = match by {
        SimilarBy::Links => Ok(Vec::new()),
        SimilarBy::Text | SimilarBy::All => by_text(snapshot, page, &also, cores)?,
    };
    let missing = [by_text.as_ref().err(), by_links.as_ref().err()].into_iter().flatten().cloned().collect();
    let (by_text, by_links) = (by_text.unwrap_or_default(), by_links.unwrap_or_default());
    Ok(SimilarPages { pages: answers(snapshot, page, by_text, &by_links, most)?, missing })
}

/// What was found, or a sentence that tells what is missing.
type Found<T> = std::result::Result<Vec<T>, String>;

fn by_links(snapshot: &Snapshot, page: PageId) -> Result<Found<LinkedAlike>> {
    let dir = snapshot.folder().display();
    let Some(graph) = LinkGraph::newest(snapshot.folder())? else {
        return Ok(Err(format!("links cannot be compared yet: run `weir analyze {dir}` first")));
    };
    let found = linked_alike(&graph, page.0)?;
    Ok(found
        .ok_or_else(|| format!("the last analysis does not know the page: run `weir analyze {dir}` again")))
}

fn by_text(snapshot: &Snapshot, page: PageId, also: &[u32], cores: Cores) -> Result<Found<SimilarText>> {
    if let Some(texts) = similar_texts(snapshot, page, also, cores)? {
        return Ok(Ok(texts));
    }
    let was_fetched = snapshot.pages.get(page)?.is_some_and(|page| page.stored.is_some());
    let why = if was_fetched { "it has no text" } else { "it was never fetched" };
    Ok(Err(format!("texts cannot be compared with that of this page: {why}")))
}

/// The best of both ways, each page once.
fn answers(
    snapshot: &Snapshot,
    page: PageId,
    by_text: Vec<SimilarText>,
    by_links: &[LinkedAlike],
    top: usize,
) -> Result<Vec<SimilarPage>> {
    let mut own_digest = None;
    let mut copies: HashMap<u64, u32> = HashMap::new();
    let mut folded: HashSet<u32> = HashSet::new();
    let mut found: HashMap<u32, SimilarPage> = HashMap::new();
    for text in by_text {
        if text.page == page.0 {
            own_digest = Some(text.digest);
            continue;
        }
        let is_same = own_digest == Some(text.digest);
        // Copies of the page itself are all told of; of others, the first.
        if let Some(first) = copies.get(&text.digest).filter(|_| !is_same) {
            folded.insert(text.page);
            if let Some(first) = found.get_mut(first) {
                first.copies += 1;
            }
            continue;
        }
        copies.insert(text.digest, text.page);
        if text.cosine > 0.0 {
            found.insert(text.page, text_answer(text, is_same));
        }
    }
    for alike in by_links.iter().filter(|alike| !folded.contains(&alike.page)) {
        let answer = found.entry(alike.page).or_insert_with(|| link_answer(alike));
        let is_nearer = answer.common_links.is_none() && alike.score > answer.score;
        answer.common_links = answer.common_links.or(Some(alike.common_links));
        if is_nearer {
            let LinkedAlike { way, score, .. } = *alike;
            (answer.by, answer.score, answer.why) = ("links", score, way_word(way));
        }
    }
    let mut answers: Vec<(u32, SimilarPage)> = found.into_iter().collect();
    answers.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
    answers.truncate(top);
    let finish = |(page, answer)| finish(snapshot, PageId(page), answer);
    answers.into_iter().map(finish).collect()
}

fn text_answer(text: SimilarText, is_same: bool) -> SimilarPage {
    let why = match (is_same, text.is_near) {
        (true, _) => "same-text",
        (false, true) => "near-text",
        (false, false) => "words",
    };
    let SimilarText { cosine: score, distance, title, .. } = text;
    let distance = Some(distance);
    SimilarPage { url: String::new(), by: "text", score, why, distance, common_links: None, copies: 0, title }
}

fn link_answer(alike: &LinkedAlike) -> SimilarPage {
    let LinkedAlike { way, score, common_links, .. } = *alike;
    let (url, title, common_links) = (String::new(), String::new(), Some(common_links));
    SimilarPage {
        url,
        by: "links",
        score,
        why: way_word(way),
        distance: None,
        common_links,
        copies: 0,
        title,
    }
}

fn way_word(way: Alike) -> &'static str {
    match way {
        Alike::CitedTogether => "cited-together",
        Alike::LinkingAlike => "linking-alike",
    }
}

/// Looks up the URL, and the title if nobody did.
fn finish(snapshot: &Snapshot, page: PageId, answer: SimilarPage) -> Result<SimilarPage> {
    let url = snapshot.urls.url(page)?.unwrap_or_default();
    let title = match (answer.distance, snapshot.pages.get(page)?) {
        (None, Some(record)) => PageText::read(snapshot, &record)?.unwrap_or_default().title,
        _ => answer.title,
    };
    Ok(SimilarPage { url, title, ..answer })
}
