//! Estimates of the change rate of a page from its fetches.
//!
//! The model is a Poisson process. A fetch shows whether the page has changed since the previous one, and `Last-Modified`
//! also shows when. Most pages have been fetched once or twice, so the crawl uses [`ChangeHistory`]: the maximum a posteriori
//! rate, with a log-normal prior around the rate of similar pages.
//!
//! The estimators of Cho and Garcia-Molina ("Estimating frequency of change", ACM TOIT 2003), [`regular_rate`],
//! [`irregular_rate`] and [`last_modified_rate`], have no prior. They are references for comparison; the crawl does not use
//! them. This module does not decide when to fetch.

/// Change rate of a page without any information about it or its collection: once in thirty days. Half of the pages that
/// Cho and Garcia-Molina observed in 1999 changed within fifty days; only a fetch can correct a wrong guess, so this value
/// errs towards fetching.
pub const DEFAULT_CHANGES_PER_DAY: f32 = 1.0 / 30.0;

/// Weight of the prior, in fetches.
const PSEUDO_VISITS: f64 = 2.0;
/// Maximum Fisher information of one fetch about ln λ: the maximum of x²/(e^x − 1), at 1.6 changes between fetches.
const VISIT_INFORMATION: f64 = 0.648;
/// Bounds of rates: one change in 30,000 years, and one in a tenth of a second.
const RATE_BOUNDS: (f64, f64) = (1e-7, 1e6);
/// Upper bound for the bisection, which reaches the precision of the numbers long before.
const MAX_ITERATIONS: u32 = 200;

/// Changes of a page that its fetches have shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChangeHistory {
    /// Number of fetches that could be compared with the previous one.
    pub comparable_visits: u32,
    /// Number of fetches at which the page had changed.
    pub changes: u32,
    /// Number of changes whose date is known.
    pub changes_with_date: u32,
    /// Total time between fetches without a change, plus the time from each dated change to the fetch that found it.
    pub unchanged_days: f64,
    /// Total time between fetches with a change whose date is unknown.
    pub changed_days: f64,
}

impl ChangeHistory {
    /// Maximum a posteriori estimate of the rate; `prior` is the median rate of the site or of the collection.
    ///
    /// Rates of pages spread over orders of magnitude, so the prior is log-normal, as narrow as two fetches at the optimal
    /// interval would make it. Two hours without a change then hardly contradict one change a month, while ten changes in ten
    /// hours outweigh the prior; pseudo-counts added to fetches or changes fail in one case or the other. Without fetches
    /// the rate is the prior.
    ///
    /// The log-likelihood of I days without a change is −λI, of a change in I days ln(1 − e^{−λI}), of a change a days ago
    /// ln λ − λa. Undated changes are placed at the mean of their intervals, which makes the rate slightly too low if the
    /// intervals are very unequal. Otherwise the bias is that of the prior, and vanishes as fetches accumulate.
    pub fn changes_per_day(&self, prior: Option<f32>) -> f32 {
        let usable = |prior: &f32| *prior > 0.0 && prior.is_finite();
        let prior = f64::from(prior.filter(usable).unwrap_or(DEFAULT_CHANGES_PER_DAY));
        let prior = prior.clamp(RATE_BOUNDS.0, RATE_BOUNDS.1);
        let changes = f64::from(self.changes.min(self.comparable_visits));
        let dated = f64::from(self.changes_with_date).min(changes);
        let undated = changes - dated;
        let (unchanged_days, changed_days) = (valid_days(self.unchanged_days), valid_days(self.changed_days));
        let interval = if undated > 0.0 { changed_days / undated } else { 0.0 };
        // The derivative of the log-posterior by ln λ. It decreases everywhere, so there is exactly one maximum.
        let slope = |log_rate: f64| {
            let rate = log_rate.exp();
            let seen = dated + undated * per_expm1(rate * interval) - rate * unchanged_days;
            seen - PSEUDO_VISITS * VISIT_INFORMATION * (log_rate - prior.ln())
        };
        find_root(slope, RATE_BOUNDS.0.ln(), RATE_BOUNDS.1.ln()).exp() as f32
    }
}

/// Estimate from n fetches at regular intervals I, of which X found a change: λ = −ln((n − X + ½)/(n + ½)) / I. The bias is
/// small from n = 10 on if the page changes less than twice between fetches.
pub fn regular_rate(visits: u32, changes: u32, interval_days: f64) -> f64 {
    let interval = valid_days(interval_days);
    if interval == 0.0 {
        return 0.0;
    }
    let (visits, unchanged) = (f64::from(visits), f64::from(visits - changes.min(visits)));
    -((unchanged + 0.5) / (visits + 0.5)).ln() / interval
}

/// Maximum likelihood estimate from fetches at irregular intervals, each with whether the page had changed at its end: the λ
/// that solves Σ_changed I/(e^{λI} − 1) = Σ_unchanged I. If all or none had changed there is no such λ, and the result is that
/// of [`regular_rate`] at the mean interval.
pub fn irregular_rate(intervals: &[(f64, bool)]) -> f64 {
    let of = |wanted: bool| -> Vec<f64> {
        let usable =
            intervals.iter().filter(|(interval, changed)| *changed == wanted && valid_days(*interval) > 0.0);
        usable.map(|(interval, _)| *interval).collect()
    };
    let (changed, unchanged) = (of(true), of(false));
    let (changes, visits) = (changed.len() as u32, (changed.len() + unchanged.len()) as u32);
    let (changed_days, unchanged_days): (f64, f64) = (changed.iter().sum(), unchanged.iter().sum());
    if changes == 0 || changes == visits {
        return regular_rate(visits, changes, (changed_days + unchanged_days) / f64::from(visits.max(1)));
    }
    let slope = |log_rate: f64| {
        let rate = log_rate.exp();
        changed.iter().map(|interval| per_expm1(rate * interval)).sum::<f64>() - rate * unchanged_days
    };
    // 1 − x/2 ≤ x/(e^x − 1) ≤ 1 puts the solution between these.
    let changes = f64::from(changes);
    find_root(slope, (changes / (unchanged_days + changed_days / 2.0)).ln(), (changes / unchanged_days).ln())
        .exp()
}

/// Estimate from fetches of a page with `Last-Modified`: λ = [(X − 1) − X/(N ln(1 − X/N))] / T, where T is the sum of the
/// intervals without a change and, for those with one, of the time from the last modification to the fetch.
pub fn last_modified_rate(visits: u32, changes: u32, unchanged_days: f64) -> f64 {
    let total = valid_days(unchanged_days);
    if total == 0.0 || changes == 0 || visits == 0 {
        return 0.0;
    }
    let share = f64::from(changes.min(visits)) / f64::from(visits);
    // With a change at every fetch the logarithm is infinite and the second term 0.
    let count = f64::from(changes.min(visits)) - 1.0 - share / (-share).ln_1p();
    count / total
}

/// x/(e^x − 1): 1 at 0, and decreasing.
fn per_expm1(x: f64) -> f64 {
    if x < 1e-8 { 1.0 } else { x / x.exp_m1() }
}

/// Replaces an impossible time by 0.
fn valid_days(days: f64) -> f64 {
    if days > 0.0 && days < 1e9 { days } else { 0.0 }
}

/// Root of a decreasing function by bisection; an end of the interval if there is none.
fn find_root(decreasing: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..MAX_ITERATIONS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high || high - low < 1e-13 {
            break;
        }
        if decreasing(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_rng::TestRng;

    /// Mean of a sample, and its standard error.
    fn mean_and_error(sample: &[f64]) -> (f64, f64) {
        let count = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / count;
        let variance = sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, (variance / count).sqrt())
    }

    /// Number of fetches, out of `visits`, at which a page has changed.
    fn changes_seen(random: &mut TestRng, visits: u32, rate: f64, interval: f64) -> u32 {
        (0..visits).filter(|_| random.exponential(rate) < interval).count() as u32
    }

    #[test]
    fn regular_rate_corrects_the_bias() {
        let random = &mut TestRng(1);
        for (rate, corrected, naive) in [(0.3, 0.30, 0.26), (1.0, 1.00, 0.63), (2.0, 1.94, 0.87)] {
            // Two days between fetches, so that a wrong unit shows.
            let changes: Vec<u32> = (0..40_000).map(|_| changes_seen(random, 10, rate / 2.0, 2.0)).collect();
            let estimates: Vec<f64> =
                changes.iter().map(|changes| 2.0 * regular_rate(10, *changes, 2.0)).collect();
            let shares: Vec<f64> = changes.iter().map(|changes| f64::from(*changes) / 10.0).collect();
            for (expected, (mean, error)) in
                [(corrected, mean_and_error(&estimates)), (naive, mean_and_error(&shares))]
            {
                // The expected numbers are rounded to two digits.
                assert!(
                    (mean - expected).abs() < 0.005 + 3.0 * error,
                    "{rate}: {mean} ± {error}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn irregular_rate_recovers_the_rate() {
        let random = &mut TestRng(2);
        let intervals: Vec<(f64, bool)> = (0..100_000)
            .map(|_| (0.1 + 5.0 * random.uniform(), random.exponential(0.7)))
            .map(|(interval, change)| (interval, change < interval))
            .collect();
        // The standard error of 100,000 fetches is 0.0034.
        let rate = irregular_rate(&intervals);
        assert!((rate - 0.7).abs() < 0.01, "{rate}");
    }

    #[test]
    fn irregular_rate_agrees_with_regular_rate_at_regular_intervals() {
        let some: Vec<(f64, bool)> = (0..10).map(|number| (3.0, number < 4)).collect();
        assert!((irregular_rate(&some) - (10.0_f64 / 6.0).ln() / 3.0).abs() < 1e-12);
        // All or none had changed.
        assert_eq!(irregular_rate(&[(1.0, true), (3.0, true)]), regular_rate(2, 2, 2.0));
        assert_eq!(irregular_rate(&[(1.0, false), (3.0, false)]), 0.0);
        assert_eq!(irregular_rate(&[]), 0.0);
    }

    #[test]
    fn last_modified_rate_recovers_the_rate_and_its_unit() {
        let random = &mut TestRng(3);
        let (visits, interval) = (10, 4.0);
        for rate in [0.05, 0.25, 0.5] {
            let mut estimates = Vec::new();
            for _ in 0..40_000 {
                let (mut changes, mut unchanged_days) = (0, 0.0);
                for _ in 0..visits {
                    // The time back to the last change has the same distribution as the time to the next one.
                    let elapsed = random.exponential(rate);
                    changes += u32::from(elapsed < interval);
                    unchanged_days += elapsed.min(interval);
                }
                estimates.push(last_modified_rate(visits, changes, unchanged_days));
            }
            let (mean, error) = mean_and_error(&estimates);
            assert!((mean / rate - 1.0).abs() < 0.03 + 3.0 * error, "{rate}: {mean} ± {error}");
        }
        // By hand: [(5 − 1) − 5/(10 ln(1 − 5/10))]/20, and the ends.
        assert!((last_modified_rate(10, 5, 20.0) - (4.0 + 0.5 / 2.0_f64.ln()) / 20.0).abs() < 1e-12);
        assert_eq!(
            (last_modified_rate(10, 10, 3.0), last_modified_rate(10, 0, 3.0), last_modified_rate(0, 0, 0.0)),
            (3.0, 0.0, 0.0)
        );
    }

    fn history(comparable_visits: u32, changes: u32, interval_days: f64) -> ChangeHistory {
        let of = |count: u32| f64::from(count) * interval_days;
        let (unchanged_days, changed_days) = (of(comparable_visits - changes), of(changes));
        ChangeHistory { comparable_visits, changes, changes_with_date: 0, unchanged_days, changed_days }
    }

    #[test]
    fn without_fetches_the_rate_is_the_prior() {
        let none = ChangeHistory::default();
        let near = |found: f32, expected: f32| (found / expected - 1.0).abs() < 1e-5;
        assert!(near(none.changes_per_day(Some(0.2)), 0.2));
        assert!(near(none.changes_per_day(None), DEFAULT_CHANGES_PER_DAY));
        for no_rate in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(near(none.changes_per_day(Some(no_rate)), DEFAULT_CHANGES_PER_DAY), "{no_rate}");
        }
    }

    #[test]
    fn a_short_time_without_change_hardly_affects_the_rate_and_many_changes_raise_it() {
        let hour = 1.0 / 24.0;
        let quiet = history(2, 0, hour).changes_per_day(None);
        assert!(quiet > 0.99 * DEFAULT_CHANGES_PER_DAY, "{quiet}");
        let busy = history(10, 10, hour).changes_per_day(None);
        assert!(busy > 12.0, "{busy}");
        // Years without a change lower the rate.
        let silent = history(100, 0, 10.0).changes_per_day(None);
        assert!(silent < DEFAULT_CHANGES_PER_DAY / 5.0, "{silent}");
    }

    #[test]
    fn many_fetches_outweigh_the_prior() {
        for dated in [false, true] {
            let random = &mut TestRng(4);
            let (mut history, rate) = (ChangeHistory::default(), 0.4);
            for _ in 0..20_000 {
                let (elapsed, interval) = (random.exponential(rate), 2.0);
                let changed = elapsed < interval;
                history.comparable_visits += 1;
                history.changes += u32::from(changed);
                match (changed, dated) {
                    (false, _) => history.unchanged_days += interval,
                    (true, false) => history.changed_days += interval,
                    (true, true) => {
                        history.changes_with_date += 1;
                        history.unchanged_days += elapsed;
                    }
                }
            }
            let found = f64::from(history.changes_per_day(Some(10.0)));
            assert!((found - rate).abs() < 0.015, "{dated}: {found}");
        }
    }

    #[test]
    fn one_dated_change_hardly_affects_the_undated_ones() {
        // Ten weeks with a change each, then one more that is dated six hours before the visit.
        let weekly = history(10, 10, 7.0);
        let before = weekly.changes_per_day(None);
        let dated = ChangeHistory {
            comparable_visits: 11,
            changes: 11,
            changes_with_date: 1,
            unchanged_days: 0.25,
            ..weekly
        };
        let after = dated.changes_per_day(None);
        assert!(after > before && after < 1.5 * before, "{before} {after}");
    }

    #[test]
    fn dated_and_undated_changes_together_recover_the_rate() {
        let random = &mut TestRng(7);
        let (mut seen, rate, interval) = (ChangeHistory::default(), 0.6, 3.0);
        for visit in 0..30_000 {
            let elapsed = random.exponential(rate);
            let (changed, dated) = (elapsed < interval, visit % 3 == 0);
            seen.comparable_visits += 1;
            seen.changes += u32::from(changed);
            seen.changes_with_date += u32::from(changed && dated);
            seen.unchanged_days += if !changed {
                interval
            } else if dated {
                elapsed
            } else {
                0.0
            };
            seen.changed_days += if changed && !dated { interval } else { 0.0 };
        }
        let found = f64::from(seen.changes_per_day(Some(10.0)));
        assert!((found - rate).abs() < 0.02, "{found}");
    }

    /// Mean estimate from ten regular fetches, with a prior ten times too low, correct, and ten times too high.
    #[test]
    fn the_bias_is_that_of_the_prior() {
        let random = &mut TestRng(8);
        for (rate, means) in [(0.3, [0.12, 0.32, 0.58]), (1.0, [0.66, 1.08, 1.64]), (2.0, [1.41, 2.32, 6.77])]
        {
            let changes: Vec<u32> = (0..40_000).map(|_| changes_seen(random, 10, rate, 1.0)).collect();
            for (expected, factor) in means.into_iter().zip([0.1, 1.0, 10.0]) {
                let prior = Some((rate * factor) as f32);
                let of: Vec<f64> =
                    (0..=10).map(|changes| history(10, changes, 1.0).changes_per_day(prior).into()).collect();
                let estimates: Vec<f64> = changes.iter().map(|changes| of[*changes as usize]).collect();
                let (mean, error) = mean_and_error(&estimates);
                assert!(
                    (mean - expected).abs() < 0.005 + 3.0 * error,
                    "{rate}: {mean} ± {error}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn the_prior_helps_when_fetches_are_few() {
        let random = &mut TestRng(5);
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..20_000 {
            let rate = 0.2 * random.normal().exp();
            let seen = history(5, changes_seen(random, 5, rate, 3.0), 3.0);
            let error = |estimate: f64| (estimate.max(0.01) / rate).ln().powi(2);
            with.push(error(f64::from(seen.changes_per_day(Some(0.2)))));
            without.push(error(regular_rate(5, seen.changes, 3.0)));
        }
        let (with, without) = (mean_and_error(&with).0.sqrt(), mean_and_error(&without).0.sqrt());
        assert!(with < 0.8 * without, "{with} {without}");
    }

    proptest! {
        #[test]
        fn the_irregular_estimate_solves_its_equation(
            intervals in prop::collection::vec((1e-3..1e3_f64, any::<bool>()), 2..50),
        ) {
            let sum = |changed: bool, part: &dyn Fn(f64) -> f64| -> f64 {
                intervals.iter().filter(|entry| entry.1 == changed).map(|entry| part(entry.0)).sum()
            };
            prop_assume!(intervals.iter().any(|entry| entry.1) && !intervals.iter().all(|entry| entry.1));
            let rate = irregular_rate(&intervals);
            let left = sum(true, &|interval| interval / (rate * interval).exp_m1());
            let right = sum(false, &|interval| interval);
            prop_assert!((left / right - 1.0).abs() < 1e-6, "{left} {right}");
        }

        #[test]
        fn rates_are_positive_for_every_history(
            comparable_visits: u32, changes: u32, changes_with_date: u32, unchanged_days: f64, changed_days: f64, prior: Option<f32>,
        ) {
            let history = ChangeHistory { comparable_visits, changes, changes_with_date, unchanged_days, changed_days };
            let rate = history.changes_per_day(prior);
            prop_assert!(rate > 0.0 && rate <= 1.0001e6, "{rate}");
            for rate in [
                regular_rate(comparable_visits, changes, unchanged_days),
                last_modified_rate(comparable_visits, changes, unchanged_days),
                irregular_rate(&[(unchanged_days, false), (changed_days, true)]),
            ] {
                prop_assert!(rate >= 0.0, "{rate}");
            }
        }

        #[test]
        fn more_changes_mean_a_higher_rate(comparable_visits in 1u32..1000, share in 0.0..1.0_f64, interval in 1e-3..1e3_f64, prior in 1e-5..1e3_f32) {
            let changes = (share * f64::from(comparable_visits)) as u32;
            let rate = |changes| history(comparable_visits, changes, interval).changes_per_day(Some(prior));
            prop_assert!(rate(changes + 1) > rate(changes) || rate(changes) > 9.9e5);
        }
    }
}
