//! Which pages have a text like that of a page? The nearest by fingerprint, put in order by their words.
//!
//! The fingerprints of all documents are looked through; of the pages that differ in fewest bits, and of those that somebody else
//! thinks are near, the texts are read and compared by the cosine of their term vectors. Words weigh by how rare they are in the
//! collection, as some pages that lie evenly in it show.

use model::PageId;
use store::{DocumentRows, Snapshot, TableReader};

use crate::cores::Cores;
use crate::error::Result;
use crate::near_duplicates::{NEAR_COSINE, are_candidates};
use crate::page_text::PageText;
use crate::term_vector::{TermCounts, TermVector};

/// Pages whose texts are compared, nearest by fingerprint.
const MOST_COMPARED: usize = 300;
/// Pages by which it is judged how rare a word is.
const MOST_COUNTED: usize = 200;

/// A page with a text like that of another.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarText {
    /// The page.
    pub page: u32,
    /// The cosine of the term vectors, by the rarity of words: 1 for the same words.
    pub cosine: f32,
    /// Whether the texts are nearly the same, or the same, by what the step `similarity` asks for.
    pub is_near: bool,
    /// Bits of the fingerprints that differ.
    pub distance: u32,
    /// Equal for equal texts.
    pub digest: u64,
    /// The title of the page.
    pub title: String,
}

/// What the text of a page is known by.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    fetch_time: i64,
    digest: u64,
    simhash: u64,
    /// 0 for a text too short to be judged.
    minhash: u64,
}

/// The pages with texts like that of a page, the nearest first; the page itself, with the cosine 1, is the first. `also` are pages
/// to be compared whatever their fingerprints. `None` if the page has no text.
pub fn similar_texts(
    snapshot: &Snapshot,
    page: PageId,
    also: &[u32],
    cores: Cores,
) -> Result<Option<Vec<SimilarText>>> {
    let known = read_known(snapshot)?;
    let Some(own) = known.get(page.index()).filter(|own| own.digest != 0).copied() else { return Ok(None) };
    let distance = |page: u32| (known[page as usize].simhash ^ own.simhash).count_ones();
    let with_text: Vec<u32> =
        (0..).zip(&known).filter(|(_, known)| known.digest != 0).map(|(page, _)| page).collect();
    let mut nearest: Vec<(u32, u32)> = with_text.iter().map(|page| (distance(*page), *page)).collect();
    if nearest.len() > MOST_COMPARED {
        nearest.select_nth_unstable(MOST_COMPARED);
        nearest.truncate(MOST_COMPARED);
    }
    let has_text = |page: &u32| known.get(*page as usize).is_some_and(|known| known.digest != 0);
    let mut pages: Vec<u32> = nearest.into_iter().map(|(_, page)| page).collect();
    pages.extend(also.iter().copied().filter(has_text).chain([page.0]));
    pages.sort_unstable();
    pages.dedup();
    let counts = count_terms(snapshot, &with_text, cores)?;
    let mut texts = read_texts(snapshot, pages, &counts, cores)?;
    let Some(place) = texts.iter().position(|(found, ..)| *found == page.0) else { return Ok(None) };
    let (own_plain, own_weighed) = std::mem::take(&mut texts[place].2);
    let mut found: Vec<SimilarText> = Vec::with_capacity(texts.len());
    for (other, title, (plain, weighed)) in texts {
        let Known { digest, minhash, .. } = known[other as usize];
        let is_same = digest == own.digest;
        let cosine = if is_same { 1.0 } else { own_weighed.cosine(&weighed) };
        let is_judged = own.minhash != 0 && minhash != 0 && are_candidates(own.minhash, minhash);
        let is_near = is_same || (is_judged && own_plain.cosine(&plain) >= NEAR_COSINE);
        found.push(SimilarText { page: other, cosine, is_near, distance: distance(other), digest, title });
    }
    found.sort_by(|a, b| {
        let is_other = |text: &SimilarText| text.page != page.0;
        is_other(a).cmp(&is_other(b)).then(b.cosine.total_cmp(&a.cosine)).then(a.page.cmp(&b.page))
    });
    Ok(Some(found))
}

/// Of each page what its newest document is known by; 32 bytes a page.
fn read_known(snapshot: &Snapshot) -> Result<Vec<Known>> {
    let columns = ["page_id", "fetch_time", "text_digest", "simhash", "minhash"];
    let mut known = vec![Known::default(); snapshot.pages.pages() as usize];
    let documents = TableReader::<DocumentRows>::committed(snapshot.folder(), &snapshot.manifest)?;
    documents.with_columns(&columns).for_each_row(|row| {
        if let Some(known) =
            known.get_mut(row.page_id as usize).filter(|known| row.fetch_time >= known.fetch_time)
        {
            *known = Known {
                fetch_time: row.fetch_time,
                digest: row.text_digest.cast_unsigned(),
                simhash: row.simhash.cast_unsigned(),
                minhash: row.minhash.unwrap_or(0).cast_unsigned(),
            };
        }
    })?;
    Ok(known)
}

/// In how many of some texts of the collection each term occurs.
fn count_terms(snapshot: &Snapshot, with_text: &[u32], cores: Cores) -> Result<TermCounts> {
    let step = with_text.len().div_ceil(MOST_COUNTED).max(1);
    let pages = with_text.iter().copied().step_by(step).collect();
    let mut counts = TermCounts::default();
    for text in cores.map(pages, |page| read_text(snapshot, page)) {
        if let Some(text) = text? {
            counts.add(&TermVector::of(&text.text));
        }
    }
    Ok(counts)
}

/// A page, its title, and its term vector as it is and weighed.
type Weighed = (u32, String, (TermVector, TermVector));

/// The pages that have a text.
fn read_texts(
    snapshot: &Snapshot,
    pages: Vec<u32>,
    counts: &TermCounts,
    cores: Cores,
) -> Result<Vec<Weighed>> {
    let read = cores.map(pages, |page| {
        let weighed = |text: PageText| {
            let plain = TermVector::of(&text.text);
            let mut weighed = plain.clone();
            weighed.weigh(counts);
            (page, text.title, (plain, weighed))
        };
        Ok(read_text(snapshot, page)?.map(weighed))
    });
    read.into_iter().filter_map(Result::transpose).collect()
}

fn read_text(snapshot: &Snapshot, page: u32) -> Result<Option<PageText>> {
    match snapshot.pages.get(PageId(page))? {
        Some(record) => PageText::read(snapshot, &record),
        None => Ok(None),
    }
}
