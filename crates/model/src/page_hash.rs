//! 64-bit hash of a canonical URL, for lookups and sorting where the text would be too large.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::CanonicalUrl;

/// Hash of a page's canonical URL under one key; hashes under different keys are unrelated.
///
/// 64 bits are enough for a collection: among 10^9 pages 0.03 collisions are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageHash(pub u64);

/// Hasher of URLs with the key of a collection.
///
/// The key is secret and random for each collection, so that a site cannot publish links that collide with another
/// page or that all fall into one shard. XXH3 is fast and mixes the key well, but it is not a cryptographic hash: an
/// attacker who sees many hashes could still construct collisions, so hashes are never published.
#[derive(Debug, Clone, Copy)]
pub struct UrlHasher {
    key: u64,
}

impl UrlHasher {
    /// Creates a hasher with the given key.
    pub fn new(key: u64) -> UrlHasher {
        UrlHasher { key }
    }

    /// Returns the hash of a page.
    pub fn page(&self, url: &CanonicalUrl) -> PageHash {
        self.text(url.as_str())
    }

    /// Returns the hash of the text of a canonical URL, or of a site name.
    pub fn text(&self, canonical: &str) -> PageHash {
        PageHash(xxh3_64_with_seed(canonical.as_bytes(), self.key))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::UrlRules;

    fn pages(count: u32) -> impl Iterator<Item = CanonicalUrl> {
        let rules = UrlRules::default();
        (0..count).map(move |n| rules.canonical(&format!("http://example.com/{n}")).unwrap())
    }

    #[test]
    fn the_hash_depends_only_on_the_text_and_the_key() {
        let all: HashSet<_> = pages(10_000).map(|url| UrlHasher::new(7).page(&url)).collect();
        assert_eq!(all.len(), 10_000);
        let again: HashSet<_> = pages(10_000).map(|url| UrlHasher::new(7).page(&url)).collect();
        assert_eq!(all, again);
        assert!(pages(10_000).all(|url| !all.contains(&UrlHasher::new(8).page(&url))));
    }

    /// The files of existing collections are sorted by this function.
    #[test]
    fn the_hash_function_does_not_change() {
        let url = UrlRules::default().canonical("https://example.com/").unwrap();
        assert_eq!(UrlHasher::new(1).page(&url), PageHash(17_563_160_012_995_134_281));
    }

    #[test]
    fn the_top_bits_distribute_pages_evenly_over_shards() {
        let mut shards = [0_u32; 16];
        for url in pages(16_000) {
            shards[(UrlHasher::new(3).page(&url).0 >> 60) as usize] += 1;
        }
        assert!(shards.iter().all(|&pages| (850..1150).contains(&pages)), "{shards:?}");
    }
}
