//! Mirrors: sites of which most pages also exist on another site, under the same path.
//!
//! A shared page is a page with the same or nearly the same text at the same path on both sites. Two sites are mirrors
//! if they share at least [`MIN_SHARED_PAGES`] pages, and these are more than half of the comparable pages of each. A
//! site that copies a part of another, or has the same imprint and front page as a hundred others, is not a mirror.
//! Mirrors of mirrors form one group; the site that was discovered first is called the original, although it may be a
//! copy itself.

use std::collections::BTreeMap;

use model::PageId;
use store::Snapshot;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::similarity::union_find::UnionFind;

/// Sites that share fewer pages may be similar by chance.
const MIN_SHARED_PAGES: u32 = 5;
/// Up to this number of sites with the same page at the same path are compared pairwise.
const MAX_ALL_PAIRS: usize = 8;
/// If there are more, each is compared with this number of them.
const SAMPLED_PAIRS: usize = 4;

/// Mirrors of a collection.
#[derive(Debug)]
pub(crate) struct Mirrors {
    /// For each site, the site that it mirrors + 1; 0 for most.
    pub(crate) column: Vec<u32>,
    /// Mirrors with most shared pages first: the mirror, the original, and the number of pages shared with the nearest
    /// site of the group.
    pub(crate) largest: Vec<(u32, u32, u32)>,
}

/// A page that has a near duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathEntry {
    /// Its group of near duplicates.
    group: u32,
    path_hash: u64,
    site: u32,
}

impl Mirrors {
    /// Finds the mirrors from the groups of near duplicates of pages. Pages without comparable text are ignored.
    pub(crate) fn find(
        snapshot: &Snapshot,
        near: &[u32],
        is_comparable: impl Fn(u32) -> bool,
        sites: u32,
    ) -> Result<Mirrors> {
        let mut comparable = vec![0; sites as usize];
        let mut entries = Vec::new();
        snapshot.urls.scan(PageId(0), |page, site, path| {
            let group = near.get(page.index()).copied().unwrap_or(0);
            if page.index() < near.len() && site.0 < sites && is_comparable(page.0) {
                comparable[site.index()] += 1;
                if group > 0 {
                    entries.push(PathEntry { group, path_hash: xxh3_64(path.as_bytes()), site: site.0 });
                }
            }
            Ok(())
        })?;
        Ok(Mirrors::from_entries(entries, &comparable))
    }

    /// Finds the mirrors from the pages with duplicates, and the number of comparable pages of each site.
    pub(crate) fn from_entries(mut entries: Vec<PathEntry>, comparable: &[u32]) -> Mirrors {
        entries.sort_unstable();
        entries.dedup();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for shared in entries.chunk_by(|a, b| (a.group, a.path_hash) == (b.group, b.path_hash)) {
            let others = if shared.len() <= MAX_ALL_PAIRS { shared.len() } else { SAMPLED_PAIRS };
            for (index, entry) in shared.iter().enumerate() {
                pairs.extend(shared[..index.min(others)].iter().map(|other| (other.site, entry.site)));
            }
        }
        pairs.sort_unstable();
        let is_majority =
            |shared: u32, site: u32| 2 * u64::from(shared) > u64::from(comparable[site as usize]);
        let mut groups = UnionFind::new(comparable.len());
        let mut max_shared: BTreeMap<u32, u32> = BTreeMap::new();
        for run in pairs.chunk_by(|one, other| one == other) {
            let (shared, (one, other)) = (run.len() as u32, run[0]);
            if shared >= MIN_SHARED_PAGES && is_majority(shared, one) && is_majority(shared, other) {
                groups.union(one, other);
                for site in [one, other] {
                    let max = max_shared.entry(site).or_default();
                    *max = shared.max(*max);
                }
            }
        }
        let mut mirrors = Mirrors { column: vec![0; comparable.len()], largest: Vec::new() };
        for (site, shared) in max_shared {
            let original = groups.find(site);
            if original != site {
                mirrors.column[site as usize] = original + 1;
                mirrors.largest.push((site, original, shared));
            }
        }
        mirrors.largest.sort_by_key(|(site, _, shared)| (std::cmp::Reverse(*shared), *site));
        mirrors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of a site, each in the group of its number.
    fn pages(site: u32, numbers: std::ops::Range<u32>) -> impl Iterator<Item = PathEntry> {
        numbers.map(move |number| PathEntry { group: number + 1, path_hash: number.into(), site })
    }

    #[test]
    fn sites_with_the_same_pages_at_the_same_paths_are_mirrors() {
        let shifted = |entries: PathEntry| PathEntry { path_hash: entries.path_hash + 1, ..entries };
        let entries: Vec<PathEntry> = pages(0, 0..20)
            .chain(pages(3, 0..15))
            // Half of a site, four pages, and the same pages at other paths.
            .chain(pages(1, 0..10))
            .chain(pages(2, 0..4))
            .chain(pages(4, 0..20).map(shifted))
            .chain(pages(5, 2..20))
            .collect();
        let mirrors = Mirrors::from_entries(entries, &[20, 20, 4, 16, 20, 18]);
        assert_eq!(mirrors.column, [0, 0, 0, 1, 0, 1]);
        assert_eq!(mirrors.largest, [(5, 0, 18), (3, 0, 15)]);
    }

    #[test]
    fn ten_thousand_mirrors_take_linear_time() {
        let sites = 10_000;
        let mirrors = Mirrors::from_entries(
            (0..sites).flat_map(|site| pages(site, 0..10)).collect(),
            &vec![10; 10_000],
        );
        assert_eq!(mirrors.largest.len() as u32, sites - 1);
        assert!(mirrors.column[1..].iter().all(|original| *original == 1));
        let none = Mirrors::from_entries(Vec::new(), &[]);
        assert!(none.column.is_empty() && none.largest.is_empty());
    }
}
