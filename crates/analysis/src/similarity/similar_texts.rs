//! Pages with similar texts: candidates by fingerprint, ranked by their terms.
//!
//! The fingerprints of all documents are scanned. The texts of the pages whose simhashes differ in the fewest bits, and
//! of the extra pages given by the caller, are read and compared by the cosine of their term vectors. Terms are
//! weighted by their rarity in an even sample of the collection.

use model::PageId;
use store::{Cancellation, DocumentRows, NewestRows, Snapshot, TableReader};

use crate::error::Result;
use crate::similarity::near_duplicates::{NEAR_COSINE, are_candidates};
use crate::similarity::page_text::PageText;
use crate::similarity::term_vector::{DocumentFrequencies, TermVector};
use crate::threads::Threads;

/// Number of pages, nearest by simhash, whose texts are compared.
const MAX_COMPARED: usize = 300;
/// Number of pages in the sample for document frequencies.
const MAX_SAMPLED: usize = 200;

/// A page with a similar text.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarText {
    /// The page.
    pub page: u32,
    /// Cosine of the term vectors with idf: 1 for the same words.
    pub cosine: f32,
    /// Whether the texts are exact or near duplicates, by the criterion of the step `similarity`.
    pub is_near: bool,
    /// Number of different bits of the simhashes.
    pub simhash_distance: u32,
    /// Digest of the text, equal for equal texts.
    pub digest: u64,
    /// Title of the page.
    pub title: String,
}

/// Fingerprints of a page.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    digest: u64,
    simhash: u64,
    /// 0 for a text too short to be compared.
    minhash: u64,
}

/// Pages with texts similar to that of a page, best first; the page itself comes first, with cosine 1. `extra_pages`
/// are compared regardless of their fingerprints. `None` if the page has no text.
pub fn similar_texts(
    snapshot: &Snapshot,
    page: PageId,
    extra_pages: &[u32],
    threads: Threads,
    cancellation: &Cancellation,
) -> Result<Option<Vec<SimilarText>>> {
    let candidates = read_candidates(snapshot, cancellation)?;
    let Some(own) = candidates.get(page.index()).filter(|own| own.digest != 0).copied() else {
        return Ok(None);
    };
    let distance = |page: u32| (candidates[page as usize].simhash ^ own.simhash).count_ones();
    let with_text: Vec<u32> =
        (0..).zip(&candidates).filter(|(_, candidate)| candidate.digest != 0).map(|(page, _)| page).collect();
    let mut nearest: Vec<(u32, u32)> = with_text.iter().map(|page| (distance(*page), *page)).collect();
    if nearest.len() > MAX_COMPARED {
        nearest.select_nth_unstable(MAX_COMPARED);
        nearest.truncate(MAX_COMPARED);
    }
    let has_text = |page: &u32| candidates.get(*page as usize).is_some_and(|candidate| candidate.digest != 0);
    let mut pages: Vec<u32> = nearest.into_iter().map(|(_, page)| page).collect();
    pages.extend(extra_pages.iter().copied().filter(has_text).chain([page.0]));
    pages.sort_unstable();
    pages.dedup();
    let counts = count_terms(snapshot, &with_text, threads, cancellation)?;
    let mut texts = read_texts(snapshot, pages, &counts, threads, cancellation)?;
    let Some(own_index) = texts.iter().position(|(found, ..)| *found == page.0) else { return Ok(None) };
    let (own_plain, own_weighted) = std::mem::take(&mut texts[own_index].2);
    let mut found: Vec<SimilarText> = Vec::with_capacity(texts.len());
    for (other, title, (plain, weighted)) in texts {
        let Candidate { digest, minhash, .. } = candidates[other as usize];
        let is_same = digest == own.digest;
        let cosine = if is_same { 1.0 } else { own_weighted.cosine(&weighted) };
        let are_near_candidates = own.minhash != 0 && minhash != 0 && are_candidates(own.minhash, minhash);
        let is_near = is_same || (are_near_candidates && own_plain.cosine(&plain) >= NEAR_COSINE);
        found.push(SimilarText {
            page: other,
            cosine,
            is_near,
            simhash_distance: distance(other),
            digest,
            title,
        });
    }
    found.sort_by(|a, b| {
        let is_other = |text: &SimilarText| text.page != page.0;
        is_other(a).cmp(&is_other(b)).then(b.cosine.total_cmp(&a.cosine)).then(a.page.cmp(&b.page))
    });
    Ok(Some(found))
}

/// Reads the fingerprints of the newest document of each page; 28 bytes per page.
fn read_candidates(snapshot: &Snapshot, cancellation: &Cancellation) -> Result<Vec<Candidate>> {
    let columns = ["page_id", "fetch_time", "main_text_hash", "simhash", "minhash"];
    let mut candidates = vec![Candidate::default(); snapshot.page_state.pages() as usize];
    let mut newest = NewestRows::new(candidates.len());
    let documents = TableReader::<DocumentRows>::open_committed(snapshot.dir(), &snapshot.manifest)?;
    documents.with_columns(&columns).for_each_row_until(cancellation, |row| {
        if newest.accept(row.page_id, row.fetch_time) {
            candidates[row.page_id as usize] = Candidate {
                digest: row.main_text_hash.cast_unsigned(),
                simhash: row.simhash.cast_unsigned(),
                minhash: row.minhash.unwrap_or(0).cast_unsigned(),
            };
        }
    })?;
    Ok(candidates)
}

/// Document frequencies of the terms in a sample of the collection.
fn count_terms(
    snapshot: &Snapshot,
    with_text: &[u32],
    threads: Threads,
    cancellation: &Cancellation,
) -> Result<DocumentFrequencies> {
    let step = with_text.len().div_ceil(MAX_SAMPLED).max(1);
    let pages = with_text.iter().copied().step_by(step).collect();
    let mut counts = DocumentFrequencies::default();
    for text in threads.map(pages, |page| read_text(snapshot, page, cancellation)) {
        if let Some(text) = text? {
            counts.add(&TermVector::from_text(&text.text));
        }
    }
    Ok(counts)
}

/// A page, its title, and its term vector without and with idf.
type Weighted = (u32, String, (TermVector, TermVector));

/// Reads the pages that have a text.
fn read_texts(
    snapshot: &Snapshot,
    pages: Vec<u32>,
    counts: &DocumentFrequencies,
    threads: Threads,
    cancellation: &Cancellation,
) -> Result<Vec<Weighted>> {
    let read = threads.map(pages, |page| {
        let weighted = |text: PageText| {
            let plain = TermVector::from_text(&text.text);
            let mut weighted = plain.clone();
            weighted.apply_idf(counts);
            (page, text.title, (plain, weighted))
        };
        Ok(read_text(snapshot, page, cancellation)?.map(weighted))
    });
    read.into_iter().filter_map(Result::transpose).collect()
}

fn read_text(snapshot: &Snapshot, page: u32, cancellation: &Cancellation) -> Result<Option<PageText>> {
    cancellation.check()?;
    match snapshot.page_state.get(PageId(page))? {
        Some(record) => PageText::read(snapshot, &record),
        None => Ok(None),
    }
}
