//! Rank correlation.

/// Kendall's τ-b: 1 if both rankings order all pairs in the same way, −1 if in the opposite way; ties are accounted for.
/// 0 if one of them has only ties.
///
/// τ-b = (concordant − discordant) / √((pairs − ties in a)(pairs − ties in b)), by sorting (Knight, "A computer method for
/// calculating Kendall's tau with ungrouped data", 1966): n log n instead of n².
pub fn kendall_tau(a: &[f64], b: &[f64]) -> f64 {
    let mut order: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
    order.sort_unstable_by(|x, y| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1)));
    let tied_a = tied_pairs(&order, |x, y| x.0 == y.0);
    let tied_both = tied_pairs(&order, |x, y| x == y);
    let mut values: Vec<f64> = order.iter().map(|(_, b)| *b).collect();
    let inversions = sort_counting(&mut values, &mut vec![0.0; order.len()]);
    let tied_b = tied_pairs(&values, |x, y| x == y);
    let pairs = pairs_of(order.len() as u64);
    // Concordant minus discordant pairs: the pairs without a tie, minus twice the inversions.
    let difference =
        pairs as f64 - tied_a as f64 - tied_b as f64 + tied_both as f64 - 2.0 * inversions as f64;
    let spread = (pairs - tied_a) as f64 * (pairs - tied_b) as f64;
    if spread > 0.0 { difference / spread.sqrt() } else { 0.0 }
}

fn pairs_of(count: u64) -> u64 {
    count * count.saturating_sub(1) / 2
}

/// Number of pairs within runs of equal elements.
fn tied_pairs<T>(sorted: &[T], same: impl Fn(&T, &T) -> bool) -> u64 {
    sorted.chunk_by(same).map(|run| pairs_of(run.len() as u64)).sum()
}

/// Merge sort; returns the number of inversions.
fn sort_counting(values: &mut [f64], scratch: &mut [f64]) -> u64 {
    let middle = values.len() / 2;
    if middle == 0 {
        return 0;
    }
    let (left_scratch, right_scratch) = scratch.split_at_mut(middle);
    let (left, right) = values.split_at_mut(middle);
    let mut inversions = sort_counting(left, left_scratch) + sort_counting(right, right_scratch);
    scratch.copy_from_slice(values);
    let (left, right) = scratch.split_at(middle);
    let (mut l, mut r) = (0, 0);
    for value in values.iter_mut() {
        if r == right.len() || (l < left.len() && left[l] <= right[r]) {
            *value = left[l];
            l += 1;
        } else {
            *value = right[r];
            r += 1;
            inversions += (left.len() - l) as u64;
        }
    }
    inversions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By the definition, pair by pair.
    fn by_pairs(a: &[f64], b: &[f64]) -> f64 {
        let (mut sum, mut in_a, mut in_b) = (0.0, 0.0, 0.0);
        for i in 0..a.len() {
            for j in 0..i {
                let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
                let (x, y) = (sign(a[i] - a[j]), sign(b[i] - b[j]));
                sum += x * y;
                in_a += x * x;
                in_b += y * y;
            }
        }
        if in_a * in_b > 0.0 { sum / f64::sqrt(in_a * in_b) } else { 0.0 }
    }

    #[test]
    fn known_values() {
        let a = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(kendall_tau(&a, &a), 1.0);
        assert_eq!(kendall_tau(&a, &[4.0, 3.0, 2.0, 1.0]), -1.0);
        // The example of scipy.stats.kendalltau.
        let tau = kendall_tau(&[12.0, 2.0, 1.0, 12.0, 2.0], &[1.0, 4.0, 7.0, 1.0, 0.0]);
        assert!((tau - -0.471_404_520_791_031_7).abs() < 1e-12, "{tau}");
        assert_eq!((kendall_tau(&[], &[]), kendall_tau(&[1.0, 1.0], &[1.0, 2.0])), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn sorting_counts_what_the_definition_does(pairs in prop::collection::vec((0u8..6, 0u8..6), 0..60)) {
            let a: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.0)).collect();
            let b: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.1)).collect();
            prop_assert!((kendall_tau(&a, &b) - by_pairs(&a, &b)).abs() < 1e-9);
        }
    }
}
