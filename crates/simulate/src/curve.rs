//! How good was an order? How much of the importance of a Web had come, when how much of its pages had.

use model::PageId;

use crate::kendall::kendall_tau;
use crate::order::CrawlOrder;
use crate::page_rank::partial_ranks;
use crate::web::Web;

/// What an order of pages is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderScore {
    /// Share of the pages that had come, share of all PageRank that came with them; from (0, 0) to (1, 1).
    pub curve: Vec<(f64, f64)>,
    /// The area under the curve.
    pub area: f64,
    /// The share of PageRank when 10, 20 and 50 % of the pages had come.
    pub at: [f64; 3],
    /// Of the first [`EARLY`] pages, those that are among as many with the most in-links (H/T of Cho).
    pub important_share: f64,
    /// Kendall's τ-b of the PageRank of those pages, as known then and in the end.
    pub kendall_tau: f64,
    /// How long it took until half of the pages had come, and until all had, in milliseconds.
    pub half_ms: u64,
    /// See there.
    pub all_ms: u64,
}

/// What counts as early: the first fifth.
pub const EARLY: f64 = 0.2;
/// Points of a curve.
const POINTS: usize = 400;

impl OrderScore {
    /// Of pages in the order in which they came, by the PageRank of every page of the Web. What does not come does not count.
    pub fn new(web: &Web, order: &CrawlOrder, ranks: &[f64]) -> OrderScore {
        let CrawlOrder { pages: order, times_ms } = order;
        let time_ms = |pages: usize| pages.checked_sub(1).map_or(0, |last| times_ms[last]);
        let values: Vec<f64> = order.iter().map(|page| ranks[page.index()]).collect();
        let sums = cumulative(&values);
        let early = ((order.len() as f64 * EARLY).ceil() as usize).min(order.len());
        let then = partial_ranks(web, &order[..early]);
        OrderScore {
            curve: sampled(&sums),
            area: area(&sums),
            at: [0.1, 0.2, 0.5].map(|share| at(&sums, share)),
            important_share: important_share(web, order, early),
            kendall_tau: kendall_tau(&then, &values[..early]),
            half_ms: time_ms(order.len().div_ceil(2)),
            all_ms: time_ms(order.len()),
        }
    }
}

/// The curve of the pages by falling rank: nobody can do better, polite or not.
pub fn ceiling(order: &[PageId], ranks: &[f64]) -> (Vec<(f64, f64)>, f64) {
    let mut values: Vec<f64> = order.iter().map(|page| ranks[page.index()]).collect();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    let sums = cumulative(&values);
    (sampled(&sums), area(&sums))
}

/// Sums of the first 0, 1, 2 ... values, as shares of the sum of all.
fn cumulative(values: &[f64]) -> Vec<f64> {
    let all: f64 = values.iter().sum();
    let mut sum = 0.0;
    let sums = values.iter().map(|value| {
        sum += value / all;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

/// By trapezoids, between 0 and 1.
fn area(sums: &[f64]) -> f64 {
    let pages = sums.len().saturating_sub(1).max(1) as f64;
    sums.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).sum::<f64>() / pages
}

/// The value of the curve at a share of the pages.
fn at(sums: &[f64], share: f64) -> f64 {
    let place = share * (sums.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let next = sums[(below + 1).min(sums.len() - 1)];
    sums[below] + part * (next - sums[below])
}

/// Enough points to draw it; closer where most happens, at the beginning.
fn sampled(sums: &[f64]) -> Vec<(f64, f64)> {
    let share = |point: usize| (point as f64 / POINTS as f64).powi(2);
    (0..=POINTS).map(|point| (share(point), at(sums, share(point)))).collect()
}

fn important_share(web: &Web, order: &[PageId], early: usize) -> f64 {
    let in_links = web.in_links();
    let mut counts: Vec<u32> = order.iter().map(|page| in_links[page.index()]).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let Some(least) = early.checked_sub(1).and_then(|last| counts.get(last)) else { return 0.0 };
    // Of those with just enough links, only so many are among the best.
    let above = counts.partition_point(|count| count > least);
    let first = order[..early].iter().map(|page| in_links[page.index()]);
    let (more, equal) = first.fold((0, 0), |(more, equal), count| {
        (more + usize::from(count > *least), equal + usize::from(count == *least))
    });
    (more + equal.min(early - above)) as f64 / early as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_rank::page_ranks;
    use crate::web::tests::web;

    #[test]
    fn a_curve_that_was_computed_by_hand() {
        let sums = cumulative(&[6.0, 2.0, 1.0, 1.0]);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(sums.iter().zip([0.0, 0.6, 0.8, 0.9, 1.0]).all(|(a, b)| close(*a, b)));
        // Trapezoids of width 1/4: (0.6 + 1.4 + 1.7 + 1.9) / 2 / 4.
        assert!(close(area(&sums), 0.7));
        assert!(close(at(&sums, 0.1), 0.24) && close(at(&sums, 0.5), 0.8) && close(at(&sums, 1.0), 1.0));
        let curve = sampled(&sums);
        assert_eq!((curve[0], curve[curve.len() - 1].0), ((0.0, 0.0), 1.0));
    }

    #[test]
    fn the_best_order_touches_the_ceiling() {
        let web = web(&[5], &[(0, 1), (0, 2), (1, 2), (2, 1), (3, 2), (4, 2)]);
        let ranks = page_ranks(&web);
        let order =
            |pages: [u32; 5]| CrawlOrder { pages: pages.map(PageId).into(), times_ms: vec![1, 2, 3, 4, 5] };
        let (best, worst) = (order([2, 1, 0, 3, 4]), order([4, 3, 0, 1, 2]));
        let (_, most) = ceiling(&best.pages, &ranks);
        let score = OrderScore::new(&web, &best, &ranks);
        assert!((score.area - most).abs() < 1e-12);
        assert_eq!((score.half_ms, score.all_ms), (3, 5));
        assert_eq!(
            (score.important_share, OrderScore::new(&web, &worst, &ranks).important_share),
            (1.0, 0.0)
        );
        assert!(OrderScore::new(&web, &worst, &ranks).area < most);
    }
}
