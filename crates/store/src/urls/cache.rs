//! Cache of URL hashes, direct-mapped. It resolves most links of a crawl without a lookup in the runs.
//!
//! The top bits of a hash determine its slot; a new entry replaces the old one. The top bits also divide the batch, so
//! each part of a batch has its own slice of the cache, and no locks are needed. A slot holds the whole hash, so the cache
//! is as exact as the runs.

/// Hash (high half, low half) and page.
type CacheSlot = [u32; 3];

const EMPTY: CacheSlot = [0, 0, u32::MAX];

/// Lossy map from the hash of a URL to its page.
#[derive(Debug)]
pub(super) struct UrlCache {
    slots: Vec<CacheSlot>,
}

/// Slots of the hashes that begin with the same bits.
pub(super) struct UrlCachePart<'c> {
    slots: &'c mut [CacheSlot],
    /// Number of index bits of the whole cache.
    index_bits: u32,
}

impl UrlCache {
    /// Creates a cache of `entries`, rounded up to a power of two; 12 bytes each.
    pub(super) fn new(entries: usize) -> UrlCache {
        UrlCache { slots: vec![EMPTY; entries.max(MIN_ENTRIES).next_power_of_two()] }
    }

    /// Divides the cache by the first bits of the hashes.
    pub(super) fn parts(&mut self, part_bits: u32) -> impl Iterator<Item = UrlCachePart<'_>> {
        let index_bits = self.slots.len().ilog2();
        let part = self.slots.len() >> part_bits;
        self.slots.chunks_mut(part).map(move |slots| UrlCachePart { slots, index_bits })
    }
}

/// Maximum number of bits by which a batch is divided: 256 parts.
pub(super) const MAX_PART_BITS: u32 = 8;

/// At least one slot for each part.
const MIN_ENTRIES: usize = 1 << MAX_PART_BITS;

impl UrlCachePart<'_> {
    pub(super) fn get(&self, hash: u64) -> Option<u32> {
        let [high, low, page] = self.slots[self.index(hash)];
        (page != u32::MAX && hash == u64::from(high) << 32 | u64::from(low)).then_some(page)
    }

    pub(super) fn put(&mut self, hash: u64, page: u32) {
        let index = self.index(hash);
        self.slots[index] = [(hash >> 32) as u32, hash as u32, page];
    }

    fn index(&self, hash: u64) -> usize {
        (hash >> (64 - self.index_bits)) as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_entry_replaces_the_old_one_and_hashes_are_compared_fully() {
        let mut cache = UrlCache::new(1000);
        let hashes: Vec<u64> = (1..5000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let part_bits = 2;
        let mut parts: Vec<_> = cache.parts(part_bits).collect();
        assert_eq!(parts.len(), 4);
        for (page, &hash) in hashes.iter().enumerate() {
            let part = &mut parts[(hash >> 62) as usize];
            assert_eq!(part.get(hash), None);
            part.put(hash, page as u32);
            assert_eq!(part.get(hash), Some(page as u32));
            assert_eq!(part.get(hash ^ 1), None, "only the lowest bit differs");
        }
        let kept = hashes.iter().enumerate().filter(|(page, hash)| {
            let found = parts[(**hash >> 62) as usize].get(**hash);
            assert!(found.is_none_or(|found| found == *page as u32));
            found.is_some()
        });
        assert!((900..=1024).contains(&kept.count()));
    }
}
