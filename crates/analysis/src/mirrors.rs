//! Which sites are copies of other sites? Those of which most pages have a twin on the other, under the same path.
//!
//! A twin is a page with the same or nearly the same text. Two sites are mirrors if they have at least [`LEAST_TWINS`] twins, and
//! these are more than half of the pages of either that could be judged. One that copies a part of another, or shares its imprint
//! and its front page with a hundred others, is none. Mirrors of mirrors are one group; the site that was known first is
//! called the original, which it need not be.

use std::collections::BTreeMap;

use model::PageId;
use store::Snapshot;
use xxhash_rust::xxh3::xxh3_64;

use crate::duplicate_groups::Groups;
use crate::error::Result;

/// Sites with fewer twins may be alike by chance.
const LEAST_TWINS: u32 = 5;
/// Where so many sites have the same page at the same path, each is compared with each.
const MOST_COMPARED: usize = 8;
/// Where there are more, each is compared with so many of them.
const OF_MANY: usize = 4;

/// Sites that are copies.
#[derive(Debug)]
pub(crate) struct Mirrors {
    /// For each site, the one that it mirrors + 1; 0 for most.
    pub(crate) column: Vec<u32>,
    /// Those with most twins first: the copy, what it copies, and how many pages are twins of the nearest of its kin.
    pub(crate) largest: Vec<(u32, u32, u32)>,
}

/// A page that has a twin somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placed {
    /// Its group of near duplicates.
    group: u32,
    path_hash: u64,
    site: u32,
}

impl Mirrors {
    /// Finds them, by the groups of near duplicates of the pages; a page without a text to be judged is none of its site's.
    pub(crate) fn find(
        snapshot: &Snapshot,
        near: &[u32],
        is_judged: impl Fn(u32) -> bool,
        sites: u32,
    ) -> Result<Mirrors> {
        let mut judged = vec![0; sites as usize];
        let mut placed = Vec::new();
        snapshot.urls.scan(PageId(0), |page, site, path| {
            let group = near.get(page.index()).copied().unwrap_or(0);
            if page.index() < near.len() && site.0 < sites && is_judged(page.0) {
                judged[site.index()] += 1;
                if group > 0 {
                    placed.push(Placed { group, path_hash: xxh3_64(path.as_bytes()), site: site.0 });
                }
            }
            Ok(())
        })?;
        Ok(Mirrors::among(placed, &judged))
    }

    /// The same by what is known of pages with twins, and how many pages of each site could be judged.
    pub(crate) fn among(mut placed: Vec<Placed>, judged: &[u32]) -> Mirrors {
        placed.sort_unstable();
        placed.dedup();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for twins in placed.chunk_by(|a, b| (a.group, a.path_hash) == (b.group, b.path_hash)) {
            let others = if twins.len() <= MOST_COMPARED { twins.len() } else { OF_MANY };
            for (place, twin) in twins.iter().enumerate() {
                pairs.extend(twins[..place.min(others)].iter().map(|other| (other.site, twin.site)));
            }
        }
        pairs.sort_unstable();
        let is_most = |twins: u32, site: u32| 2 * u64::from(twins) > u64::from(judged[site as usize]);
        let mut groups = Groups::new(judged.len());
        let mut most_twins: BTreeMap<u32, u32> = BTreeMap::new();
        for run in pairs.chunk_by(|one, other| one == other) {
            let (twins, (one, other)) = (run.len() as u32, run[0]);
            if twins >= LEAST_TWINS && is_most(twins, one) && is_most(twins, other) {
                groups.join(one, other);
                for site in [one, other] {
                    let most = most_twins.entry(site).or_default();
                    *most = twins.max(*most);
                }
            }
        }
        let mut mirrors = Mirrors { column: vec![0; judged.len()], largest: Vec::new() };
        for (site, twins) in most_twins {
            let original = groups.first_of(site);
            if original != site {
                mirrors.column[site as usize] = original + 1;
                mirrors.largest.push((site, original, twins));
            }
        }
        mirrors.largest.sort_by_key(|(site, _, twins)| (std::cmp::Reverse(*twins), *site));
        mirrors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many pages of a site, each with the group of its number.
    fn pages(site: u32, numbers: std::ops::Range<u32>) -> impl Iterator<Item = Placed> {
        numbers.map(move |number| Placed { group: number + 1, path_hash: number.into(), site })
    }

    #[test]
    fn sites_with_the_same_pages_at_the_same_paths_are_mirrors() {
        let shifted = |placed: Placed| Placed { path_hash: placed.path_hash + 1, ..placed };
        let placed: Vec<Placed> = pages(0, 0..20)
            .chain(pages(3, 0..15))
            // Half of a site, four pages, the same at other paths.
            .chain(pages(1, 0..10))
            .chain(pages(2, 0..4))
            .chain(pages(4, 0..20).map(shifted))
            .chain(pages(5, 2..20))
            .collect();
        let mirrors = Mirrors::among(placed, &[20, 20, 4, 16, 20, 18]);
        assert_eq!(mirrors.column, [0, 0, 0, 1, 0, 1]);
        assert_eq!(mirrors.largest, [(5, 0, 18), (3, 0, 15)]);
    }

    #[test]
    fn ten_thousand_mirrors_are_no_quadratic_work() {
        let sites = 10_000;
        let mirrors =
            Mirrors::among((0..sites).flat_map(|site| pages(site, 0..10)).collect(), &vec![10; 10_000]);
        assert_eq!(mirrors.largest.len() as u32, sites - 1);
        assert!(mirrors.column[1..].iter().all(|original| *original == 1));
        let none = Mirrors::among(Vec::new(), &[]);
        assert!(none.column.is_empty() && none.largest.is_empty());
    }
}
