//! Which pages do the links of a batch lead to? The passes over a batch, none of which depends on its order.
//!
//! 1. Every link is hashed, and the batch divided into parts by the first bits of the hashes.
//! 2. Each part asks the cache, sorts what is left, and goes once through each list and each run.
//! 3. What nobody knows is new, and is numbered in the order of the batch.
//!
//! Parts share nothing, so cores take them as they come; a part fits into the cache of a core.

use std::sync::atomic::{AtomicU32, Ordering};

use model::{PageId, UrlHasher};

use super::batch::{Resolved, UrlBatch};
use super::cache::{Cache, CachePart};
use super::reader::UrlReader;
use super::run::{Entry, Wanted};
use crate::error::Result;
use crate::parallel;

/// There are at most 256 parts.
pub(super) const MAX_PART_BITS: u32 = 8;
/// Parts are made no smaller than about so many links.
const PART_LINKS: usize = 1 << 14;
/// So many links are hashed as one task.
const TASK_LINKS: usize = 1 << 18;

/// The page of a link is not known yet; if it is refused, this stays.
const UNKNOWN: u32 = Resolved::REFUSED.0;
/// The page is that of an earlier link.
const REPEATED: u32 = u32::MAX - 1;
/// Pages from this number on cannot be told from the above.
pub(super) const MAX_PAGES: usize = REPEATED as usize;

/// A link of the batch by its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    hash: u64,
    number: u32,
}

/// What the runs say about a batch.
pub(super) struct Answers {
    pages: Vec<AtomicU32>,
    part_bits: u32,
    unknown: Vec<Unknown>,
}

/// The links of one part that lead to pages nobody knows.
struct Unknown {
    /// One for each page, sorted by hash: the first that leads to it.
    first: Vec<Link>,
    /// The numbers of further links to them, each with that of the first.
    repeated: Vec<(u32, u32)>,
}

/// Passes 1 and 2.
pub(super) fn ask(batch: &UrlBatch, cache: &mut Cache, known: &UrlReader) -> Result<Answers> {
    let part_bits = (batch.len() / PART_LINKS).max(1).ilog2().min(MAX_PART_BITS);
    let pages: Vec<AtomicU32> = (0..batch.len()).map(|_| AtomicU32::new(UNKNOWN)).collect();
    let parts = divide(batch, known.hasher(), part_bits);
    let tasks = parts.into_iter().zip(cache.parts(part_bits)).collect();
    let unknown = parallel::map(tasks, |(links, cache)| ask_part(&links, cache, known, &pages));
    Ok(Answers { pages, part_bits, unknown: unknown.into_iter().collect::<Result<_>>()? })
}

impl Answers {
    /// How many pages are new.
    pub(super) fn new_pages(&self) -> usize {
        self.unknown.iter().map(|unknown| unknown.first.len()).sum()
    }

    /// Pass 3: numbers the new pages from `first_new` on and tells the cache, but for those that are refused by the
    /// first link to them.
    ///
    /// Returns the page of each link, the first link to each new page, and the entries of the new pages.
    pub(super) fn number(
        self,
        first_new: u32,
        cache: &mut Cache,
        mut admit: impl FnMut(u32) -> bool,
    ) -> (Vec<PageId>, Vec<u32>, Vec<Entry>) {
        let mut first_links = Vec::with_capacity(self.new_pages());
        let mut pages: Vec<PageId> = self.pages.into_iter().map(|page| PageId(page.into_inner())).collect();
        for (link, page) in pages.iter_mut().enumerate().filter(|(_, page)| page.0 == UNKNOWN) {
            if admit(link as u32) {
                page.0 = first_new + first_links.len() as u32;
                first_links.push(link as u32);
            }
        }
        for &(link, first) in self.unknown.iter().flat_map(|unknown| &unknown.repeated) {
            pages[link as usize] = pages[first as usize];
        }
        let tasks = self.unknown.into_iter().zip(cache.parts(self.part_bits)).collect();
        let entries = parallel::map(tasks, |(unknown, cache)| entries(&unknown.first, cache, &pages));
        (pages, first_links, entries.concat())
    }
}

/// Hashes the links and divides them by the first bits of their hashes; each part is in pieces.
fn divide(batch: &UrlBatch, hasher: UrlHasher, part_bits: u32) -> Vec<Vec<Vec<Link>>> {
    let parts = 1 << part_bits;
    let tasks: Vec<usize> = (0..batch.len()).step_by(TASK_LINKS).collect();
    let divided = parallel::map(tasks, |start| {
        let end = (start + TASK_LINKS).min(batch.len());
        // A little more than the average, so that few pieces grow.
        let capacity = (end - start) * 9 / 8 / parts;
        let mut pieces: Vec<Vec<Link>> = (0..parts).map(|_| Vec::with_capacity(capacity)).collect();
        for number in start..end {
            let hash = hasher.text(batch.url(number)).0;
            pieces[hash.checked_shr(64 - part_bits).unwrap_or(0) as usize]
                .push(Link { hash, number: number as u32 });
        }
        pieces
    });
    let mut all: Vec<Vec<Vec<Link>>> = (0..parts).map(|_| Vec::with_capacity(divided.len())).collect();
    for pieces in divided {
        all.iter_mut().zip(pieces).for_each(|(part, piece)| part.push(piece));
    }
    all
}

/// Finds the pages of one part's links, and what is unknown.
fn ask_part(
    pieces: &[Vec<Link>],
    mut cache: CachePart<'_>,
    known: &UrlReader,
    pages: &[AtomicU32],
) -> Result<Unknown> {
    let answer = |link: &Link, page| pages[link.number as usize].store(page, Ordering::Relaxed);
    let mut links = Vec::new();
    for link in pieces.iter().flatten() {
        match cache.get(link.hash) {
            Some(page) => answer(link, page),
            None => links.push(*link),
        }
    }
    links.sort_unstable();
    let mut wanted = Vec::with_capacity(links.len());
    for (place, link) in links.iter().enumerate() {
        if place == 0 || links[place - 1].hash != link.hash {
            wanted.push(Wanted { hash: link.hash, place: place as u32 });
        }
    }
    known.look_up(&mut wanted, &mut |want, page| {
        same_hash(&links, want).iter().for_each(|link| answer(link, page));
        cache.put(want.hash, page);
    })?;
    let mut unknown = Unknown { first: Vec::with_capacity(wanted.len()), repeated: Vec::new() };
    for want in wanted {
        let Some((first, others)) = same_hash(&links, want).split_first() else { continue };
        unknown.first.push(*first);
        for link in others {
            answer(link, REPEATED);
            unknown.repeated.push((link.number, first.number));
        }
    }
    Ok(unknown)
}

/// The links that want the same page, in the order of the batch.
fn same_hash(links: &[Link], want: Wanted) -> &[Link] {
    let links = &links[want.place as usize..];
    let count = links.iter().take_while(|link| link.hash == want.hash).count();
    &links[..count]
}

/// The entries of the new pages of a part, sorted by hash.
fn entries(first: &[Link], mut cache: CachePart<'_>, pages: &[PageId]) -> Vec<Entry> {
    let entries = first.iter().map(|link| Entry { hash: link.hash, page: pages[link.number as usize].0 });
    let admitted = entries.filter(|entry| entry.page != Resolved::REFUSED.0);
    admitted.inspect(|entry| cache.put(entry.hash, entry.page)).collect()
}
