//! Which 64 bits stand for a URL where its text would be too much to keep or to sort?

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::CanonicalUrl;

/// The hash of a page's canonical URL under one key; hashes under two keys have nothing to do with each other.
///
/// 64 bits are enough for a collection: among 10^9 pages 0.03 collisions are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageHash(pub u64);

/// Makes page hashes with the key of a collection.
///
/// The key is secret and random for each collection, so that a site cannot print links which collide with a page
/// it wants to hide, or which all fall into one shard. XXH3 is fast and mixes the key well but is no cryptographic
/// hash: whoever could see many hashes might still find a way, so they are never shown to the outside.
#[derive(Debug, Clone, Copy)]
pub struct UrlHasher {
    key: u64,
}

impl UrlHasher {
    /// A hasher with the given key.
    pub fn new(key: u64) -> UrlHasher {
        UrlHasher { key }
    }

    /// The hash of the page that `url` names.
    pub fn page(&self, url: &CanonicalUrl) -> PageHash {
        self.text(url.as_str())
    }

    /// The hash of a page by the text of its canonical URL, as the store keeps it; also that of a site by its name.
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
    fn the_hash_depends_on_the_text_and_on_the_key_alone() {
        let all: HashSet<_> = pages(10_000).map(|url| UrlHasher::new(7).page(&url)).collect();
        assert_eq!(all.len(), 10_000);
        let again: HashSet<_> = pages(10_000).map(|url| UrlHasher::new(7).page(&url)).collect();
        assert_eq!(all, again);
        assert!(pages(10_000).all(|url| !all.contains(&UrlHasher::new(8).page(&url))));
    }

    /// A collection outlives a program: its runs are sorted by this very function.
    #[test]
    fn the_function_stays_as_it_is() {
        let url = UrlRules::default().canonical("https://example.com/").unwrap();
        assert_eq!(UrlHasher::new(1).page(&url), PageHash(17_563_160_012_995_134_281));
    }

    #[test]
    fn shards_by_the_top_bits_are_even() {
        let mut shards = [0_u32; 16];
        for url in pages(16_000) {
            shards[(UrlHasher::new(3).page(&url).0 >> 60) as usize] += 1;
        }
        assert!(shards.iter().all(|&pages| (850..1150).contains(&pages)), "{shards:?}");
    }
}
