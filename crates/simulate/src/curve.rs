//! Score of a crawl order: the share of all PageRank as a function of the share of pages fetched.

use model::PageId;

use crate::kendall::kendall_tau;
use crate::order::CrawlOrder;
use crate::page_rank::partial_ranks;
use crate::web_model::WebModel;

/// Score of an order.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderScore {
    /// Share of pages fetched, share of all PageRank fetched; from (0, 0) to (1, 1).
    pub curve: Vec<(f64, f64)>,
    /// Area under the curve.
    pub auc: f64,
    /// Share of PageRank after 10, 20 and 50 % of the pages.
    pub pagerank_at: [f64; 3],
    /// Share of the first [`EARLY_SHARE`] of pages that are among the same number of pages with the most inlinks (hot
    /// pages of Cho).
    pub top_inlinks_share: f64,
    /// Kendall's τ-b between two rankings of those pages: by PageRank over the links known at that time, and by the final
    /// PageRank.
    pub kendall_tau: f64,
    /// Time until half of the pages were fetched, in milliseconds.
    pub time_to_half_ms: u64,
    /// Time until all pages were fetched, in milliseconds.
    pub time_to_all_ms: u64,
}

/// The first fifth of the pages is early.
pub const EARLY_SHARE: f64 = 0.2;
/// Number of points of a curve.
const CURVE_POINTS: usize = 400;

impl OrderScore {
    /// Computes the score of pages in the order of fetching, from the PageRank of all pages. Pages that were not
    /// fetched do not count.
    pub fn new(web: &WebModel, order: &CrawlOrder, ranks: &[f64]) -> OrderScore {
        let CrawlOrder { pages: order, times_ms } = order;
        let time_ms = |pages: usize| pages.checked_sub(1).map_or(0, |last| times_ms[last]);
        let values: Vec<f64> = order.iter().map(|page| ranks[page.index()]).collect();
        let sums = cumulative(&values);
        let early = ((order.len() as f64 * EARLY_SHARE).ceil() as usize).min(order.len());
        let then = partial_ranks(web, &order[..early]);
        OrderScore {
            curve: sampled(&sums),
            auc: area(&sums),
            pagerank_at: [0.1, 0.2, 0.5].map(|share| at(&sums, share)),
            top_inlinks_share: top_inlinks_share(web, order, early),
            kendall_tau: kendall_tau(&then, &values[..early]),
            time_to_half_ms: time_ms(order.len().div_ceil(2)),
            time_to_all_ms: time_ms(order.len()),
        }
    }
}

/// Curve of the pages by descending rank, and its AUC: the upper bound of all orders.
pub fn upper_bound(order: &[PageId], ranks: &[f64]) -> (Vec<(f64, f64)>, f64) {
    let mut values: Vec<f64> = order.iter().map(|page| ranks[page.index()]).collect();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    let sums = cumulative(&values);
    (sampled(&sums), area(&sums))
}

/// Sums of the first 0, 1, 2 ... values, as shares of the total.
fn cumulative(values: &[f64]) -> Vec<f64> {
    let all: f64 = values.iter().sum();
    let mut sum = 0.0;
    let sums = values.iter().map(|value| {
        sum += value / all;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

/// Area by trapezoids, between 0 and 1.
fn area(sums: &[f64]) -> f64 {
    let pages = sums.len().saturating_sub(1).max(1) as f64;
    sums.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).sum::<f64>() / pages
}

/// Value of the curve at a share of the pages.
fn at(sums: &[f64], share: f64) -> f64 {
    let position = share * (sums.len() - 1) as f64;
    let (below, part) = (position.floor() as usize, position.fract());
    let next = sums[(below + 1).min(sums.len() - 1)];
    sums[below] + part * (next - sums[below])
}

/// Points for drawing, denser at the beginning.
fn sampled(sums: &[f64]) -> Vec<(f64, f64)> {
    let share = |point: usize| (point as f64 / CURVE_POINTS as f64).powi(2);
    (0..=CURVE_POINTS).map(|point| (share(point), at(sums, share(point)))).collect()
}

fn top_inlinks_share(web: &WebModel, order: &[PageId], early: usize) -> f64 {
    let in_links = web.inlinks();
    let mut counts: Vec<u32> = order.iter().map(|page| in_links[page.index()]).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let Some(threshold) = early.checked_sub(1).and_then(|last| counts.get(last)) else { return 0.0 };
    // Of the pages at the threshold, only the remaining positions count.
    let above = counts.partition_point(|count| count > threshold);
    let first = order[..early].iter().map(|page| in_links[page.index()]);
    let (more, equal) = first.fold((0, 0), |(more, equal), count| {
        (more + usize::from(count > *threshold), equal + usize::from(count == *threshold))
    });
    (more + equal.min(early - above)) as f64 / early as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_rank::page_ranks;
    use crate::web_model::tests::web;

    #[test]
    fn a_curve_equals_one_computed_by_hand() {
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
    fn the_best_order_reaches_the_upper_bound() {
        let web = web(&[5], &[(0, 1), (0, 2), (1, 2), (2, 1), (3, 2), (4, 2)]);
        let ranks = page_ranks(&web);
        let order =
            |pages: [u32; 5]| CrawlOrder { pages: pages.map(PageId).into(), times_ms: vec![1, 2, 3, 4, 5] };
        let (best, worst) = (order([2, 1, 0, 3, 4]), order([4, 3, 0, 1, 2]));
        let (_, max) = upper_bound(&best.pages, &ranks);
        let score = OrderScore::new(&web, &best, &ranks);
        assert!((score.auc - max).abs() < 1e-12);
        assert_eq!((score.time_to_half_ms, score.time_to_all_ms), (3, 5));
        assert_eq!(
            (score.top_inlinks_share, OrderScore::new(&web, &worst, &ranks).top_inlinks_share),
            (1.0, 0.0)
        );
        assert!(OrderScore::new(&web, &worst, &ranks).auc < max);
    }
}
