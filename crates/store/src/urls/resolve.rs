//! Resolution of a batch of links to page ids, in three passes.
//!
//! 1. Every link is hashed, and the batch is divided into parts by the first bits of the hashes.
//! 2. Each part is looked up in the cache; the rest is sorted and merged with the recent entries and each run.
//! 3. Unknown pages get new ids in the order of the batch.
//!
//! Parts share nothing, so cores process them in any order; a part fits into the cache of a core.

use std::sync::atomic::{AtomicU32, Ordering};

use model::{PageId, UrlBatch, UrlHasher};

use super::cache::{MAX_PART_BITS, UrlCache, UrlCachePart};
use super::reader::UrlReader;
use super::run::{LookupKey, RunEntry};
use crate::error::Result;
use crate::parallel;

/// Minimum number of links per part, on average.
const PART_LINKS: usize = 1 << 14;
/// Number of links hashed as one task.
const TASK_LINKS: usize = 1 << 18;

/// Marker of an unknown page; stays if the page is not admitted.
pub(super) const UNKNOWN: u32 = u32::MAX;
/// Marker of a link to the same unknown page as an earlier link.
const REPEATED: u32 = u32::MAX - 1;
/// Maximum number of pages: ids from here on are markers.
pub(super) const MAX_PAGES: usize = REPEATED as usize;

/// Link of the batch with its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct HashedLink {
    hash: u64,
    /// Index in the batch.
    index: u32,
}

/// Result of the lookup of a batch.
pub(super) struct ResolveTable {
    pages: Vec<AtomicU32>,
    part_bits: u32,
    unknown: Vec<UnknownLinks>,
}

/// Links of one part to unknown pages.
struct UnknownLinks {
    /// First link to each page, sorted by hash.
    first: Vec<HashedLink>,
    /// Indices of further links to these pages, each with that of the first.
    repeated: Vec<(u32, u32)>,
}

/// Looks up a batch (passes 1 and 2).
pub(super) fn look_up_batch(
    batch: &UrlBatch,
    cache: &mut UrlCache,
    known: &UrlReader,
) -> Result<ResolveTable> {
    let part_bits = (batch.len() / PART_LINKS).max(1).ilog2().min(MAX_PART_BITS);
    let pages: Vec<AtomicU32> = (0..batch.len()).map(|_| AtomicU32::new(UNKNOWN)).collect();
    let parts = divide(batch, known.hasher(), part_bits);
    let tasks = parts.into_iter().zip(cache.parts(part_bits)).collect();
    let unknown = parallel::map(tasks, |(links, cache)| look_up_part(&links, cache, known, &pages));
    Ok(ResolveTable { pages, part_bits, unknown: unknown.into_iter().collect::<Result<_>>()? })
}

impl ResolveTable {
    /// Number of unknown pages.
    pub(super) fn new_pages(&self) -> usize {
        self.unknown.iter().map(|unknown| unknown.first.len()).sum()
    }

    /// Assigns ids from `first_new` on to the unknown pages whose first link is admitted, and adds them to the cache
    /// (pass 3).
    ///
    /// Returns the page of each link, the first link to each new page, and the entries of the new pages.
    pub(super) fn assign_ids(
        self,
        first_new: u32,
        cache: &mut UrlCache,
        mut admit: impl FnMut(u32) -> bool,
    ) -> (Vec<PageId>, Vec<u32>, Vec<RunEntry>) {
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

/// Hashes the links and divides them into parts by the first bits of their hashes; each part is a list of chunks.
fn divide(batch: &UrlBatch, hasher: UrlHasher, part_bits: u32) -> Vec<Vec<Vec<HashedLink>>> {
    let parts = 1 << part_bits;
    let tasks: Vec<usize> = (0..batch.len()).step_by(TASK_LINKS).collect();
    let divided = parallel::map(tasks, |start| {
        let end = (start + TASK_LINKS).min(batch.len());
        // A little more than the average, so that few chunks are reallocated.
        let capacity = (end - start) * 9 / 8 / parts;
        let mut chunks: Vec<Vec<HashedLink>> = (0..parts).map(|_| Vec::with_capacity(capacity)).collect();
        for index in start..end {
            let hash = hasher.text(batch.url(index)).0;
            chunks[hash.checked_shr(64 - part_bits).unwrap_or(0) as usize]
                .push(HashedLink { hash, index: index as u32 });
        }
        chunks
    });
    let mut all: Vec<Vec<Vec<HashedLink>>> = (0..parts).map(|_| Vec::with_capacity(divided.len())).collect();
    for chunks in divided {
        all.iter_mut().zip(chunks).for_each(|(part, chunk)| part.push(chunk));
    }
    all
}

/// Looks up the links of one part; returns those to unknown pages.
fn look_up_part(
    chunks: &[Vec<HashedLink>],
    mut cache: UrlCachePart<'_>,
    known: &UrlReader,
    pages: &[AtomicU32],
) -> Result<UnknownLinks> {
    let set_page = |link: &HashedLink, page| pages[link.index as usize].store(page, Ordering::Relaxed);
    let mut links = Vec::new();
    for link in chunks.iter().flatten() {
        match cache.get(link.hash) {
            Some(page) => set_page(link, page),
            None => links.push(*link),
        }
    }
    links.sort_unstable();
    let mut keys = Vec::with_capacity(links.len());
    for (slot, link) in links.iter().enumerate() {
        if slot == 0 || links[slot - 1].hash != link.hash {
            keys.push(LookupKey { hash: link.hash, slot: slot as u32 });
        }
    }
    known.look_up(&mut keys, &mut |key, page| {
        same_hash(&links, key).iter().for_each(|link| set_page(link, page));
        cache.put(key.hash, page);
    })?;
    let mut unknown = UnknownLinks { first: Vec::with_capacity(keys.len()), repeated: Vec::new() };
    for key in keys {
        let Some((first, others)) = same_hash(&links, key).split_first() else { continue };
        unknown.first.push(*first);
        for link in others {
            set_page(link, REPEATED);
            unknown.repeated.push((link.index, first.index));
        }
    }
    Ok(unknown)
}

/// Links with the hash of a key, in the order of the batch.
fn same_hash(links: &[HashedLink], key: LookupKey) -> &[HashedLink] {
    let links = &links[key.slot as usize..];
    let count = links.iter().take_while(|link| link.hash == key.hash).count();
    &links[..count]
}

/// Entries of the new pages of a part, sorted by hash.
fn entries(first: &[HashedLink], mut cache: UrlCachePart<'_>, pages: &[PageId]) -> Vec<RunEntry> {
    let entries = first.iter().map(|link| RunEntry { hash: link.hash, page: pages[link.index as usize].0 });
    let admitted = entries.filter(|entry| entry.page != UNKNOWN);
    admitted.inspect(|entry| cache.put(entry.hash, entry.page)).collect()
}
