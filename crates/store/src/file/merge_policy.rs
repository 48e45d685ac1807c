//! Policy that decides which small files are merged, for components that write a new file with each commit.
//!
//! Files are ordered by age. When the newer files together are at least as large as an older one, they are merged with
//! it. So each rewrite of a byte moves it to a file at least twice as large, and the number of files stays near the
//! logarithm of the total size.

use std::ops::Range;

/// Minimum number of files for a merge.
const MIN_FILES: usize = 8;

/// Chooses the files to merge, given all sizes from oldest to newest. The range always ends with the newest file.
pub(crate) fn choose_merge(sizes_bytes: &[u64]) -> Option<Range<usize>> {
    let mut newer: u64 = sizes_bytes.iter().sum();
    for (start, size) in sizes_bytes.iter().enumerate() {
        newer -= size;
        if sizes_bytes.len() - start < MIN_FILES {
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
    fn few_files_are_not_merged_and_many_of_similar_size_are() {
        assert_eq!(choose_merge(&[]), None);
        assert_eq!(choose_merge(&[100; 7]), None);
        assert_eq!(choose_merge(&[100; 8]), Some(0..8));
        assert_eq!(choose_merge(&[1 << 30, 100, 100, 100, 100, 100, 100, 100, 100]), Some(1..9));
        assert_eq!(choose_merge(&[1 << 30, 100, 100]), None);
    }

    proptest! {
        /// For any commits, the number of files and the number of rewrites per byte are logarithmic.
        #[test]
        fn the_number_of_files_is_logarithmic(commits in prop::collection::vec(1u64..5_000_000, 1..2_000)) {
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
            prop_assert!(sizes.len() as u64 <= MIN_FILES as u64 + doublings, "{} files", sizes.len());
            prop_assert!(merged <= committed * doublings, "{} times", merged / committed.max(1));
        }
    }
}
