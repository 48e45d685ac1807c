//! Clusters of exact and near duplicates, without comparing all pairs.
//!
//! Pages with the same digest are exact duplicates; the first page of each text represents it. Representatives whose
//! fingerprints share two of their four bands ([`parse::Fingerprint::minhash`]) are *candidates*. They are found with
//! six tables, one per pair of bands, sorted by it: adjacent entries with equal keys are candidates. The work grows
//! linearly with the number of pages, regardless of their content; a million copies cost a million steps. Candidates are near
//! duplicates if the cosine of their term vectors is at least [`NEAR_COSINE`]; for that, each of their texts is read
//! once.
//!
//! Of a very large group of candidates at most [`MAX_TEXTS_READ`] texts are read, and compared with their neighbours in
//! the order of fingerprints instead of with all. The others belong to the cluster if all of their bands equal those of
//! a text that was read.

use crate::error::Result;
use crate::similarity::term_vector::TermVector;
use crate::similarity::text_fingerprints::TextFingerprints;
use crate::similarity::union_find::UnionFind;
use crate::threads::Threads;

/// Minimum cosine of near duplicates.
pub(crate) const NEAR_COSINE: f32 = 0.9;
/// Maximum number of texts read per group of candidates.
const MAX_TEXTS_READ: usize = 4_096;
/// Number of texts that are compared pairwise at a time.
const TEXTS_PER_COMPARISON: usize = 256;
/// Maximum number of them that represent clusters found before.
const MAX_REPRESENTATIVES: usize = 32;

/// Pairs of bands, by the positions of their bits.
const BAND_PAIRS: [(u32, u32); 6] = [(0, 16), (0, 32), (0, 48), (16, 32), (16, 48), (32, 48)];

/// Clusters of duplicates, by page.
#[derive(Debug)]
pub(crate) struct Duplicates {
    /// Pages with the same text.
    pub(crate) exact: UnionFind,
    /// Pages with the same or nearly the same text.
    pub(crate) near: UnionFind,
    /// Number of candidates.
    pub(crate) candidates: u64,
    /// Candidates that were decided by their bands alone, because there were too many similar ones.
    pub(crate) skipped: u64,
}

/// Finds the clusters. `read` returns the term vector of a page, or none if its text is not stored.
pub(crate) fn find_duplicates(
    texts: &TextFingerprints,
    threads: Threads,
    read: impl Fn(u32) -> Result<Option<TermVector>> + Sync,
) -> Result<Duplicates> {
    let (exact, first_pages) = exact_duplicates(&texts.digests);
    let minhash = |page: u32| texts.minhashes[page as usize];
    let minhashes: Vec<u64> = first_pages.iter().map(|page| minhash(*page)).collect();
    let mut found = Duplicates { near: exact.clone(), exact, candidates: 0, skipped: 0 };
    let groups: Vec<Vec<u32>> = candidate_groups(&minhashes)
        .into_iter()
        .map(|group| group.into_iter().map(|index| first_pages[index as usize]).collect())
        .collect();
    found.candidates = groups.iter().map(|group| group.len() as u64).sum();
    for confirmed in threads.map(groups, |group| confirm(&group, minhash, &read)) {
        let confirmed = confirmed?;
        confirmed.pairs.into_iter().for_each(|(one, other)| found.near.union(one, other));
        found.skipped += confirmed.skipped;
    }
    Ok(found)
}

/// Returns the groups of pages with the same text, and the first page of each text.
fn exact_duplicates(digests: &[u64]) -> (UnionFind, Vec<u32>) {
    let comparable = digests.iter().zip(0..).filter(|(digest, _)| **digest != 0);
    let mut comparable: Vec<(u64, u32)> = comparable.map(|(digest, page)| (*digest, page)).collect();
    comparable.sort_unstable();
    let mut groups = UnionFind::new(digests.len());
    let mut firsts = Vec::new();
    for run in comparable.chunk_by(|one, other| one.0 == other.0) {
        firsts.push(run[0].1);
        run.iter().for_each(|(_, page)| groups.union(run[0].1, *page));
    }
    firsts.sort_unstable();
    (groups, firsts)
}

/// Reports whether two fingerprints share at least two bands.
pub(crate) fn are_candidates(one: u64, other: u64) -> bool {
    let same = |shift: u32| (one ^ other) >> shift & 0xffff == 0;
    [0, 16, 32, 48].into_iter().filter(|shift| same(*shift)).count() >= 2
}

/// Groups of two or more fingerprints connected by candidate pairs, as indices into `minhashes`, sorted by fingerprint.
fn candidate_groups(minhashes: &[u64]) -> Vec<Vec<u32>> {
    let mut groups = UnionFind::new(minhashes.len());
    let mut table: Vec<(u32, u32)> = Vec::with_capacity(minhashes.len());
    for (one, other) in BAND_PAIRS {
        table.clear();
        let key = |minhash: u64| (minhash >> one << 16) as u32 | (minhash >> other & 0xffff) as u32;
        table.extend(minhashes.iter().zip(0..).map(|(minhash, number)| (key(*minhash), number)));
        table.sort_unstable();
        for pair in table.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            groups.union(pair[0].1, pair[1].1);
        }
    }
    let column = groups.column();
    let mut members: Vec<u32> =
        (0..column.len() as u32).filter(|member| column[*member as usize] > 0).collect();
    members.sort_unstable_by_key(|member| (column[*member as usize], minhashes[*member as usize], *member));
    let same_group = |one: &u32, other: &u32| column[*one as usize] == column[*other as usize];
    members.chunk_by(same_group).map(<[u32]>::to_vec).collect()
}

/// Result for one group of candidates.
#[derive(Debug, Default)]
struct Confirmed {
    pairs: Vec<(u32, u32)>,
    skipped: u64,
}

/// Reads the texts of candidates, which are sorted by fingerprint, and compares them.
fn confirm(
    pages: &[u32],
    minhash: impl Fn(u32) -> u64,
    read: impl Fn(u32) -> Result<Option<TermVector>>,
) -> Result<Confirmed> {
    let mut confirmed = Confirmed::default();
    let mut selected: Vec<u32> = Vec::new();
    // Skipped pages that differ from the last selected one; they may equal the next one.
    let mut waiting: Vec<u32> = Vec::new();
    for (number, page) in pages.iter().enumerate() {
        // The selected pages are spread evenly.
        let share = |number: usize| number * MAX_TEXTS_READ / pages.len();
        if number == 0 || share(number - 1) != share(number) || pages.len() <= MAX_TEXTS_READ {
            let equal = waiting.drain(..).filter(|skipped| minhash(*skipped) == minhash(*page));
            confirmed.pairs.extend(equal.map(|skipped| (skipped, *page)));
            selected.push(*page);
            continue;
        }
        confirmed.skipped += 1;
        match selected.last().filter(|before| minhash(**before) == minhash(*page)) {
            Some(before) => confirmed.pairs.push((*before, *page)),
            None => waiting.push(*page),
        }
    }
    let mut texts: Vec<(u32, TermVector)> = Vec::new();
    for batch in selected.chunks(TEXTS_PER_COMPARISON - MAX_REPRESENTATIVES) {
        for page in batch {
            texts.extend(read(*page)?.map(|text| (*page, text)));
        }
        let mut groups = compare(&texts, &minhash);
        let firsts: Vec<u32> = (0..texts.len() as u32).map(|number| groups.find(number)).collect();
        let page_of = |number: u32| texts[number as usize].0;
        confirmed
            .pairs
            .extend(firsts.iter().zip(0..).map(|(first, number)| (page_of(*first), page_of(number))));
        // One text of each cluster is compared with the next batch.
        let mut number = 0;
        texts.retain(|_| {
            number += 1;
            firsts[number - 1] as usize == number - 1
        });
        texts.drain(..texts.len().saturating_sub(MAX_REPRESENTATIVES));
    }
    Ok(confirmed)
}

/// Clusters of near texts among candidates.
fn compare(texts: &[(u32, TermVector)], minhash: impl Fn(u32) -> u64) -> UnionFind {
    let mut groups = UnionFind::new(texts.len());
    for (index, (page, text)) in texts.iter().enumerate() {
        for (before, (other_page, other)) in texts[..index].iter().enumerate() {
            if groups.find(before as u32) != groups.find(index as u32)
                && are_candidates(minhash(*page), minhash(*other_page))
                && text.cosine(other) >= NEAR_COSINE
            {
                groups.union(before as u32, index as u32);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::similarity::union_find::GroupSizes;
    use proptest::prelude::*;

    /// Fingerprints with few different bands, so that many share some.
    fn minhash() -> impl Strategy<Value = u64> {
        prop::array::uniform4(0u64..6)
            .prop_map(|bands| bands.iter().fold(0, |hash, band| hash << 16 | band) | 1 << 63)
    }

    proptest! {
        #[test]
        fn band_tables_find_the_same_groups_as_comparing_all_pairs(minhashes in prop::collection::vec(minhash(), 0..40)) {
            let mut groups = UnionFind::new(minhashes.len());
            for one in 0..minhashes.len() {
                for other in 0..one {
                    if are_candidates(minhashes[one], minhashes[other]) {
                        groups.union(one as u32, other as u32);
                    }
                }
            }
            let mut found = UnionFind::new(minhashes.len());
            for group in candidate_groups(&minhashes) {
                prop_assert!(group.len() >= 2);
                group.iter().for_each(|member| found.union(group[0], *member));
            }
            prop_assert_eq!(found.column(), groups.column());
        }
    }

    fn texts(of_pages: &[(u64, u64)]) -> TextFingerprints {
        let (digests, minhashes) = of_pages.iter().copied().unzip();
        TextFingerprints { digests, minhashes }
    }

    const LONG: &str = "a weir is a barrier across a river that raises the water";

    #[test]
    fn only_near_texts_are_clustered() {
        let words =
            [LONG, LONG, "words of another kind", "a weir is a barrier across the river that raises water"];
        // All four are candidates; the first two are equal, and the fifth page has no text.
        let texts = texts(&[(1, 7), (1, 7), (2, 7), (3, 7), (0, 0)]);
        let read = |page: u32| Ok(words.get(page as usize).map(|text| TermVector::from_text(text)));
        let mut found = find_duplicates(&texts, Threads(2), read).unwrap();
        assert_eq!(found.exact.column(), [1, 1, 0, 0, 0]);
        assert_eq!(found.near.column(), [1, 1, 0, 1, 0]);
        assert_eq!((found.candidates, found.skipped), (3, 0));
    }

    #[test]
    fn a_million_copies_and_a_hundred_thousand_near_copies_take_linear_time() {
        let same = texts(&vec![(5, 9); 1_000_000]);
        let mut found = find_duplicates(&same, Threads(1), |_| Ok(None)).unwrap();
        assert_eq!(GroupSizes::from_column(&found.exact.column()).largest, Some((0, 1_000_000)));
        let near: Vec<(u64, u64)> = (1..=100_000).map(|digest| (digest, 9)).collect();
        let mut found =
            find_duplicates(&texts(&near), Threads(2), |_| Ok(Some(TermVector::from_text(LONG)))).unwrap();
        assert_eq!(GroupSizes::from_column(&found.near.column()).largest, Some((0, 100_000)));
        assert_eq!(found.skipped, 100_000 - MAX_TEXTS_READ as u64);
        assert_eq!(GroupSizes::from_column(&found.exact.column()).groups, 0);
    }

    #[test]
    fn no_page_and_one_page_form_no_group() {
        for of_pages in [&[][..], &[(1, 1)], &[(0, 0), (0, 0)]] {
            let mut found = find_duplicates(&texts(of_pages), Threads(1), |_| Ok(None)).unwrap();
            assert!(found.near.column().iter().all(|group| *group == 0));
        }
    }
}
