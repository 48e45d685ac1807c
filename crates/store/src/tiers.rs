//! When are small files made into a large one? Everything that gets a new file with each commit asks here.
//!
//! Files stand in order of age. Once several have gathered behind a file that together outweigh it, they are merged
//! with it: so the file that a byte lies in at least doubles whenever the byte is written again, and the number of
//! files stays near the logarithm of the whole.

use std::ops::Range;

/// Fewer files than this are not worth a merge.
const FEWEST: usize = 8;

/// Which of the files, from some age to the newest, to merge next, given all sizes from old to new.
pub(crate) fn choose_merge(sizes_bytes: &[u64]) -> Option<Range<usize>> {
    let mut newer: u64 = sizes_bytes.iter().sum();
    for (start, size) in sizes_bytes.iter().enumerate() {
        newer -= size;
        if sizes_bytes.len() - start < FEWEST {
            return None;
        }
        if *size <= newer {
            return Some(start..sizes_bytes.len());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_files_are_left_alone_and_many_of_a_size_are_merged() {
        assert_eq!(choose_merge(&[]), None);
        assert_eq!(choose_merge(&[100; 7]), None);
        assert_eq!(choose_merge(&[100; 8]), Some(0..8));
        assert_eq!(choose_merge(&[1 << 30, 100, 100, 100, 100, 100, 100, 100, 100]), Some(1..9));
        assert_eq!(choose_merge(&[1 << 30, 100, 100]), None);
    }

    proptest! {
        /// Whatever is committed, files stay few, and each byte is rewritten a few times only.
        #[test]
        fn files_stay_few(commits in prop::collection::vec(1u64..5_000_000, 1..2_000)) {
            let mut sizes = Vec::new();
            let (mut committed, mut merged) = (0, 0);
            for size in commits {
                committed += size;
                sizes.push(size);
                while let Some(range) = choose_merge(&sizes) {
                    let sum: u64 = sizes[range.clone()].iter().sum();
                    merged += sum;
                    sizes.splice(range, [sum]);
                }
            }
            let doublings = u64::from(committed.ilog2()) + 1;
            prop_assert!(sizes.len() as u64 <= FEWEST as u64 + doublings, "{} files", sizes.len());
            prop_assert!(merged <= committed * doublings, "{} times", merged / committed.max(1));
        }
    }
}
