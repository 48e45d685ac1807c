//! Which pages say the same, and which nearly the same? Groups of both, without a look at all pairs.
//!
//! Pages with the same digest say the same. Of each such group the first page stands for it: fingerprints of these that have two
//! of their four bands in common ([`parse::Fingerprint::minhash`]) are *candidates*. They are found by six tables, one for each
//! pair of bands, sorted by it: whoever lies side by side there belongs together. So the work grows with the pages, whatever
//! they say, and a million copies cost a million steps. Candidates are near duplicates if the cosine of their term vectors is
//! at least [`NEAR_COSINE`]; for that their texts are read, each once.
//!
//! Of a very large group of candidates no more than [`MOST_READ`] texts are read, and compared with those beside them rather
//! than with all; the others belong to it if all of their bands are the same as those of one that was read.

use crate::cores::Cores;
use crate::duplicate_groups::Groups;
use crate::error::Result;
use crate::judged_texts::JudgedTexts;
use crate::term_vector::TermVector;

/// Texts with a smaller cosine are no near duplicates.
pub(crate) const NEAR_COSINE: f32 = 0.9;
/// Texts of one group of candidates that are read.
const MOST_READ: usize = 4_096;
/// Texts that are compared at a time, each with each.
const COMPARED: usize = 256;
/// Of them, those that stand for the groups that were found before.
const MOST_CARRIED: usize = 32;

/// The pairs of bands, by the places of their bits.
const BAND_PAIRS: [(u32, u32); 6] = [(0, 16), (0, 32), (0, 48), (16, 32), (16, 48), (32, 48)];

/// What was found, by page.
#[derive(Debug)]
pub(crate) struct Duplicates {
    /// Pages with the same text.
    pub(crate) same: Groups,
    /// Pages with the same or nearly the same text.
    pub(crate) near: Groups,
    /// Texts that were candidates.
    pub(crate) candidates: u64,
    /// Of them, those that were judged by their bands alone, since there were too many like them.
    pub(crate) unread: u64,
}

/// Finds the groups; `read` gives the term vector of a page, none if its text is not kept.
pub(crate) fn find_duplicates(
    texts: &JudgedTexts,
    cores: Cores,
    read: impl Fn(u32) -> Result<Option<TermVector>> + Sync,
) -> Result<Duplicates> {
    let (same, first_pages) = same_texts(&texts.digests);
    let minhash = |page: u32| texts.minhashes[page as usize];
    let minhashes: Vec<u64> = first_pages.iter().map(|page| minhash(*page)).collect();
    let mut found = Duplicates { near: same.clone(), same, candidates: 0, unread: 0 };
    let groups: Vec<Vec<u32>> = candidate_groups(&minhashes)
        .into_iter()
        .map(|group| group.into_iter().map(|number| first_pages[number as usize]).collect())
        .collect();
    found.candidates = groups.iter().map(|group| group.len() as u64).sum();
    for confirmed in cores.map(groups, |group| confirm(&group, minhash, &read)) {
        let confirmed = confirmed?;
        confirmed.pairs.into_iter().for_each(|(one, other)| found.near.join(one, other));
        found.unread += confirmed.unread;
    }
    Ok(found)
}

/// Pages with the same text, and the first page of each text.
fn same_texts(digests: &[u64]) -> (Groups, Vec<u32>) {
    let judged = digests.iter().zip(0..).filter(|(digest, _)| **digest != 0);
    let mut judged: Vec<(u64, u32)> = judged.map(|(digest, page)| (*digest, page)).collect();
    judged.sort_unstable();
    let mut groups = Groups::new(digests.len());
    let mut firsts = Vec::new();
    for run in judged.chunk_by(|one, other| one.0 == other.0) {
        firsts.push(run[0].1);
        run.iter().for_each(|(_, page)| groups.join(run[0].1, *page));
    }
    firsts.sort_unstable();
    (groups, firsts)
}

/// Whether fingerprints have two bands in common.
pub(crate) fn are_candidates(one: u64, other: u64) -> bool {
    let same = |shift: u32| (one ^ other) >> shift & 0xffff == 0;
    [0, 16, 32, 48].into_iter().filter(|shift| same(*shift)).count() >= 2
}

/// The groups of two or more of these fingerprints that hang together by candidates, as places in the list, by fingerprint.
fn candidate_groups(minhashes: &[u64]) -> Vec<Vec<u32>> {
    let mut groups = Groups::new(minhashes.len());
    let mut table: Vec<(u32, u32)> = Vec::with_capacity(minhashes.len());
    for (one, other) in BAND_PAIRS {
        table.clear();
        let key = |minhash: u64| (minhash >> one << 16) as u32 | (minhash >> other & 0xffff) as u32;
        table.extend(minhashes.iter().zip(0..).map(|(minhash, number)| (key(*minhash), number)));
        table.sort_unstable();
        for pair in table.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            groups.join(pair[0].1, pair[1].1);
        }
    }
    let column = groups.column();
    let mut members: Vec<u32> =
        (0..column.len() as u32).filter(|member| column[*member as usize] > 0).collect();
    members.sort_unstable_by_key(|member| (column[*member as usize], minhashes[*member as usize], *member));
    let same_group = |one: &u32, other: &u32| column[*one as usize] == column[*other as usize];
    members.chunk_by(same_group).map(<[u32]>::to_vec).collect()
}

/// What became of a group of candidates.
#[derive(Debug, Default)]
struct Confirmed {
    pairs: Vec<(u32, u32)>,
    unread: u64,
}

/// Reads the texts of candidates, which come in the order of their fingerprints, and compares them.
fn confirm(
    pages: &[u32],
    minhash: impl Fn(u32) -> u64,
    read: impl Fn(u32) -> Result<Option<TermVector>>,
) -> Result<Confirmed> {
    let mut confirmed = Confirmed::default();
    let mut wanted: Vec<u32> = Vec::new();
    // Those that are not read and unlike the last that is: the next may be like them.
    let mut waiting: Vec<u32> = Vec::new();
    for (number, page) in pages.iter().enumerate() {
        // Those that are read lie evenly among all.
        let share = |number: usize| number * MOST_READ / pages.len();
        if number == 0 || share(number - 1) != share(number) || pages.len() <= MOST_READ {
            let alike = waiting.drain(..).filter(|unread| minhash(*unread) == minhash(*page));
            confirmed.pairs.extend(alike.map(|unread| (unread, *page)));
            wanted.push(*page);
            continue;
        }
        confirmed.unread += 1;
        match wanted.last().filter(|before| minhash(**before) == minhash(*page)) {
            Some(before) => confirmed.pairs.push((*before, *page)),
            None => waiting.push(*page),
        }
    }
    let mut texts: Vec<(u32, TermVector)> = Vec::new();
    for some in wanted.chunks(COMPARED - MOST_CARRIED) {
        for page in some {
            texts.extend(read(*page)?.map(|text| (*page, text)));
        }
        let mut groups = compare(&texts, &minhash);
        let firsts: Vec<u32> = (0..texts.len() as u32).map(|number| groups.first_of(number)).collect();
        let page_of = |number: u32| texts[number as usize].0;
        confirmed
            .pairs
            .extend(firsts.iter().zip(0..).map(|(first, number)| (page_of(*first), page_of(number))));
        // One of each group goes on to those behind.
        let mut number = 0;
        texts.retain(|_| {
            number += 1;
            firsts[number - 1] as usize == number - 1
        });
        texts.drain(..texts.len().saturating_sub(MOST_CARRIED));
    }
    Ok(confirmed)
}

/// The groups of texts that are near each other, among candidates.
fn compare(texts: &[(u32, TermVector)], minhash: impl Fn(u32) -> u64) -> Groups {
    let mut groups = Groups::new(texts.len());
    for (place, (page, text)) in texts.iter().enumerate() {
        for (before, (other_page, other)) in texts[..place].iter().enumerate() {
            if groups.first_of(before as u32) != groups.first_of(place as u32)
                && are_candidates(minhash(*page), minhash(*other_page))
                && text.cosine(other) >= NEAR_COSINE
            {
                groups.join(before as u32, place as u32);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duplicate_groups::GroupCounts;
    use proptest::prelude::*;

    /// Fingerprints with few different bands, so that they meet.
    fn minhash() -> impl Strategy<Value = u64> {
        prop::array::uniform4(0u64..6)
            .prop_map(|bands| bands.iter().fold(0, |hash, band| hash << 16 | band) | 1 << 63)
    }

    proptest! {
        #[test]
        fn tables_find_what_a_look_at_all_pairs_finds(minhashes in prop::collection::vec(minhash(), 0..40)) {
            let mut groups = Groups::new(minhashes.len());
            for one in 0..minhashes.len() {
                for other in 0..one {
                    if are_candidates(minhashes[one], minhashes[other]) {
                        groups.join(one as u32, other as u32);
                    }
                }
            }
            let mut found = Groups::new(minhashes.len());
            for group in candidate_groups(&minhashes) {
                prop_assert!(group.len() >= 2);
                group.iter().for_each(|member| found.join(group[0], *member));
            }
            prop_assert_eq!(found.column(), groups.column());
        }
    }

    fn texts(of_pages: &[(u64, u64)]) -> JudgedTexts {
        let (digests, minhashes) = of_pages.iter().copied().unzip();
        JudgedTexts { digests, minhashes }
    }

    const LONG: &str = "a weir is a barrier across a river that raises the water";

    #[test]
    fn only_texts_that_are_near_belong_together() {
        let words =
            [LONG, LONG, "words of another kind", "a weir is a barrier across the river that raises water"];
        // All four are candidates; the first two say the same, and the fifth page says nothing.
        let texts = texts(&[(1, 7), (1, 7), (2, 7), (3, 7), (0, 0)]);
        let read = |page: u32| Ok(words.get(page as usize).map(|text| TermVector::of(text)));
        let mut found = find_duplicates(&texts, Cores(2), read).unwrap();
        assert_eq!(found.same.column(), [1, 1, 0, 0, 0]);
        assert_eq!(found.near.column(), [1, 1, 0, 1, 0]);
        assert_eq!((found.candidates, found.unread), (3, 0));
    }

    #[test]
    fn a_million_copies_and_a_hundred_thousand_near_copies_are_no_quadratic_work() {
        let same = texts(&vec![(5, 9); 1_000_000]);
        let mut found = find_duplicates(&same, Cores(1), |_| Ok(None)).unwrap();
        assert_eq!(GroupCounts::of(&found.same.column()).largest, Some((0, 1_000_000)));
        let near: Vec<(u64, u64)> = (1..=100_000).map(|digest| (digest, 9)).collect();
        let mut found = find_duplicates(&texts(&near), Cores(2), |_| Ok(Some(TermVector::of(LONG)))).unwrap();
        assert_eq!(GroupCounts::of(&found.near.column()).largest, Some((0, 100_000)));
        assert_eq!(found.unread, 100_000 - MOST_READ as u64);
        assert_eq!(GroupCounts::of(&found.same.column()).groups, 0);
    }

    #[test]
    fn nothing_and_one_page_are_no_group() {
        for of_pages in [&[][..], &[(1, 1)], &[(0, 0), (0, 0)]] {
            let mut found = find_duplicates(&texts(of_pages), Cores(1), |_| Ok(None)).unwrap();
            assert!(found.near.column().iter().all(|group| *group == 0));
        }
    }
}
