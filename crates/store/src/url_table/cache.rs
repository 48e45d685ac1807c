//! Which pages were linked to lately? The cache knows most links of a crawl before any run is asked.
//!
//! It is direct-mapped: the top bits of a hash choose the one place where it can be, and the last to come stays. The
//! top bits also divide the batch, so each part of a batch has its own slice of the cache, and no locks are needed.
//! A place holds the whole hash: the cache is never wrong where the runs would be right.

/// Hash (high half, low half) and page.
type Place = [u32; 3];

const EMPTY: Place = [0, 0, u32::MAX];

/// Pages by the hash of their URL; forgets most of them.
#[derive(Debug)]
pub(super) struct Cache {
    places: Vec<Place>,
}

/// The places of the hashes that begin with the same bits.
pub(super) struct CachePart<'c> {
    places: &'c mut [Place],
    /// Of the whole cache.
    index_bits: u32,
}

impl Cache {
    /// A cache of 12 bytes times `entries`, rounded up to a power of two.
    pub(super) fn new(entries: usize) -> Cache {
        Cache { places: vec![EMPTY; entries.max(MIN_ENTRIES).next_power_of_two()] }
    }

    /// Divides it by the first bits of the hashes.
    pub(super) fn parts(&mut self, part_bits: u32) -> impl Iterator<Item = CachePart<'_>> {
        let index_bits = self.places.len().ilog2();
        let part = self.places.len() >> part_bits;
        self.places.chunks_mut(part).map(move |places| CachePart { places, index_bits })
    }
}

/// At least one place for each part.
const MIN_ENTRIES: usize = 1 << super::resolve::MAX_PART_BITS;

impl CachePart<'_> {
    pub(super) fn get(&self, hash: u64) -> Option<u32> {
        let [high, low, page] = self.places[self.index(hash)];
        (page != u32::MAX && hash == u64::from(high) << 32 | u64::from(low)).then_some(page)
    }

    pub(super) fn put(&mut self, hash: u64, page: u32) {
        let index = self.index(hash);
        self.places[index] = [(hash >> 32) as u32, hash as u32, page];
    }

    fn index(&self, hash: u64) -> usize {
        (hash >> (64 - self.index_bits)) as usize & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_come_stays_and_no_other_is_taken_for_it() {
        let mut cache = Cache::new(1000);
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
