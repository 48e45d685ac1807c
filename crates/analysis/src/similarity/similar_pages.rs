//! Pages similar to a page, by their terms and by common links; for each page the relation with the higher score.

use std::collections::{HashMap, HashSet};

use model::PageId;
use serde::Serialize;
use store::{Cancellation, Snapshot};

use crate::error::Result;
use crate::graph::link_graph::LinkGraph;
use crate::similarity::co_citation::{LinkSimilarity, SimilarByLinks, similar_by_links};
use crate::similarity::page_text::PageText;
use crate::similarity::similar_texts::{SimilarText, similar_texts};
use crate::threads::Threads;

/// Number of pages with similar links whose texts are compared, too.
const MAX_LINK_CANDIDATES: usize = 100;

/// Similarity measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimilarBy {
    /// Terms of the main texts.
    Text,
    /// Co-citation and coupling.
    Links,
    /// Both; for each page the higher score.
    All,
}

/// Pages similar to a page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SimilarPages {
    /// Pages, best first.
    pub pages: Vec<SimilarPage>,
    /// Messages about measures that could not be computed. If none could, there are no pages.
    pub unavailable: Vec<String>,
}

/// A similar page. The field names are part of the JSON interface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimilarPage {
    /// URL of the page.
    pub url: String,
    /// `text` or `links`: the measure with the higher score.
    pub by: &'static str,
    /// Score from 0 to 1.
    pub score: f32,
    /// Relation: `exact-duplicate`, `near-duplicate`, `similar-text`, `co-citation` or `coupling`.
    pub relation: &'static str,
    /// Number of different bits of the simhashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simhash_distance: Option<u32>,
    /// Number of pages that link to both, or that both link to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_links: Option<u32>,
    /// Number of other pages with the same text that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates: usize,
    /// Title.
    pub title: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Finds the pages most similar to a page.
pub fn similar_pages(
    snapshot: &Snapshot,
    page: PageId,
    by: SimilarBy,
    limit: usize,
    threads: Threads,
    cancellation: &Cancellation,
) -> Result<SimilarPages> {
    let by_links = match by {
        SimilarBy::Text => Ok(Vec::new()),
        SimilarBy::Links | SimilarBy::All => by_links(snapshot, page)?,
    };
    let extra_pages: Vec<u32> =
        by_links.iter().flatten().take(MAX_LINK_CANDIDATES).map(|similar| similar.page).collect();
    let by_text = match by {
        SimilarBy::Links => Ok(Vec::new()),
        SimilarBy::Text | SimilarBy::All => by_text(snapshot, page, &extra_pages, threads, cancellation)?,
    };
    let unavailable =
        [by_text.as_ref().err(), by_links.as_ref().err()].into_iter().flatten().cloned().collect();
    let (by_text, by_links) = (by_text.unwrap_or_default(), by_links.unwrap_or_default());
    Ok(SimilarPages { pages: merge_results(snapshot, page, by_text, &by_links, limit)?, unavailable })
}

/// Results, or a message why the measure is not available.
type Availability<T> = std::result::Result<Vec<T>, String>;

fn by_links(snapshot: &Snapshot, page: PageId) -> Result<Availability<SimilarByLinks>> {
    let dir = snapshot.dir().display();
    let Some(graph) = LinkGraph::newest(snapshot.dir())? else {
        return Ok(Err(format!("no link graph; run `weir analyze {dir}`")));
    };
    let found = similar_by_links(&graph, page.0)?;
    Ok(found.ok_or_else(|| format!("the page is not in the link graph; run `weir analyze {dir}` again")))
}

fn by_text(
    snapshot: &Snapshot,
    page: PageId,
    extra_pages: &[u32],
    threads: Threads,
    cancellation: &Cancellation,
) -> Result<Availability<SimilarText>> {
    if let Some(texts) = similar_texts(snapshot, page, extra_pages, threads, cancellation)? {
        return Ok(Ok(texts));
    }
    let was_fetched = snapshot.page_state.get(page)?.is_some_and(|page| page.record_location.is_some());
    let reason = if was_fetched { "it has no text" } else { "it was never fetched" };
    Ok(Err(format!("cannot compare the text of the page: {reason}")))
}

/// Merges the results of both measures, each page once.
fn merge_results(
    snapshot: &Snapshot,
    page: PageId,
    by_text: Vec<SimilarText>,
    by_links: &[SimilarByLinks],
    limit: usize,
) -> Result<Vec<SimilarPage>> {
    let mut own_digest = None;
    let mut first_by_digest: HashMap<u64, u32> = HashMap::new();
    let mut collapsed: HashSet<u32> = HashSet::new();
    let mut found: HashMap<u32, SimilarPage> = HashMap::new();
    for text in by_text {
        if text.page == page.0 {
            own_digest = Some(text.digest);
            continue;
        }
        let is_same = own_digest == Some(text.digest);
        // All duplicates of the page itself are listed; of the others, only the first.
        if let Some(first) = first_by_digest.get(&text.digest).filter(|_| !is_same) {
            collapsed.insert(text.page);
            if let Some(first) = found.get_mut(first) {
                first.duplicates += 1;
            }
            continue;
        }
        first_by_digest.insert(text.digest, text.page);
        if text.cosine > 0.0 {
            found.insert(text.page, from_text(text, is_same));
        }
    }
    for similar in by_links.iter().filter(|similar| !collapsed.contains(&similar.page)) {
        let result = found.entry(similar.page).or_insert_with(|| from_links(similar));
        let is_nearer = result.common_links.is_none() && similar.score > result.score;
        result.common_links = result.common_links.or(Some(similar.common_links));
        if is_nearer {
            let SimilarByLinks { similarity, score, .. } = *similar;
            (result.by, result.score, result.relation) = ("links", score, relation_name(similarity));
        }
    }
    let mut results: Vec<(u32, SimilarPage)> = found.into_iter().collect();
    results.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
    results.truncate(limit);
    let complete = |(page, result)| add_url_and_title(snapshot, PageId(page), result);
    results.into_iter().map(complete).collect()
}

fn from_text(text: SimilarText, is_same: bool) -> SimilarPage {
    let relation = match (is_same, text.is_near) {
        (true, _) => "exact-duplicate",
        (false, true) => "near-duplicate",
        (false, false) => "similar-text",
    };
    let SimilarText { cosine: score, simhash_distance, title, .. } = text;
    SimilarPage {
        url: String::new(),
        by: "text",
        score,
        relation,
        simhash_distance: Some(simhash_distance),
        common_links: None,
        duplicates: 0,
        title,
    }
}

fn from_links(similar: &SimilarByLinks) -> SimilarPage {
    let SimilarByLinks { similarity, score, common_links, .. } = *similar;
    let (url, title, common_links) = (String::new(), String::new(), Some(common_links));
    SimilarPage {
        url,
        by: "links",
        score,
        relation: relation_name(similarity),
        simhash_distance: None,
        common_links,
        duplicates: 0,
        title,
    }
}

fn relation_name(similarity: LinkSimilarity) -> &'static str {
    match similarity {
        LinkSimilarity::CoCitation => "co-citation",
        LinkSimilarity::Coupling => "coupling",
    }
}

/// Adds the URL, and the title if it is not known.
fn add_url_and_title(snapshot: &Snapshot, page: PageId, result: SimilarPage) -> Result<SimilarPage> {
    let url = snapshot.urls.url(page)?.unwrap_or_default();
    let title = match (result.simhash_distance, snapshot.page_state.get(page)?) {
        (None, Some(record)) => PageText::read(snapshot, &record)?.unwrap_or_default().title,
        _ => result.title,
    };
    Ok(SimilarPage { url, title, ..result })
}
