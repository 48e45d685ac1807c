//! How often does a page change, by what its visits have shown?
//!
//! A page is taken to change as a Poisson process, and a visit shows whether it has changed since the one before, or by
//! `Last-Modified` also when. Most pages of a collection have been visited once or twice, so a crawl goes by [`ChangeHistory`]: the
//! most probable rate, by what a page has shown and a log-normal prior around what its neighbours let expect.
//!
//! The estimators of Cho and Garcia-Molina ("Estimating frequency of change", ACM TOIT 2003), [`regular_rate`], [`irregular_rate`]
//! and [`dated_rate`], know no prior. They are the reference that estimates are compared with; no crawl uses them. Nothing here
//! decides when to visit.

/// The rate of a page of which nothing is known, in a collection of which nothing is known: once in thirty days. Half of the
/// pages that Cho and Garcia-Molina watched in 1999 changed within fifty days; since a wrong guess is only corrected by a visit,
/// this errs towards visiting.
pub const UNKNOWN_CHANGES_PER_DAY: f32 = 1.0 / 30.0;

/// What is expected of a page counts as much as so many visits to it.
const PSEUDO_VISITS: f64 = 2.0;
/// What one visit tells at best, as Fisher information about ln λ: the largest x²/(e^x − 1), at 1.6 changes between visits.
const VISIT_INFORMATION: f64 = 0.648;
/// Rates are kept between these: a change in 30,000 years, and one in a tenth of a second.
const RATES: (f64, f64) = (1e-7, 1e6);
/// Bisection and Newton's method are at the limit of the numbers long before.
const MOST_STEPS: u32 = 200;

/// What the visits to a page have shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChangeHistory {
    /// Visits that could be compared with the one before.
    pub compared: u32,
    /// Those at which the page had changed.
    pub changes: u32,
    /// Of how many of those it is known when they happened.
    pub dated_changes: u32,
    /// The time between visits in which it did not change, and the time from each dated change to the visit that found it.
    pub unchanged_days: f64,
    /// The time between visits at the end of which it had changed, nobody tells when.
    pub changed_days: f64,
}

impl ChangeHistory {
    /// The rate that best explains the visits and the expectation together; `prior` is the median rate of the page's site, or
    /// of the collection.
    ///
    /// Rates of pages spread over orders of magnitude, so the expectation is log-normal around the prior, as narrow as two
    /// visits at the best pace would make it. Two hours without a change then say nothing against a change a month, while ten
    /// changes in ten hours say all; pseudo-visits or pseudo-changes that are just added to the counts fail one or the other.
    /// Without visits the rate is the prior.
    ///
    /// The log-likelihood of I days without a change is −λI, of a change in I days ln(1 − e^{−λI}), of one that happened a days
    /// ago ln λ − λa. Undated changes stand at the mean of their intervals, which makes the rate somewhat too low if those are very
    /// unequal. Else its bias is that of the prior, and vanishes with the visits.
    pub fn changes_per_day(&self, prior: Option<f32>) -> f32 {
        let usable = |prior: &f32| *prior > 0.0 && prior.is_finite();
        let prior = f64::from(prior.filter(usable).unwrap_or(UNKNOWN_CHANGES_PER_DAY));
        let prior = prior.clamp(RATES.0, RATES.1);
        let changes = f64::from(self.changes.min(self.compared));
        let dated = f64::from(self.dated_changes).min(changes);
        let undated = changes - dated;
        let (unchanged_days, changed_days) = (days(self.unchanged_days), days(self.changed_days));
        let interval = if undated > 0.0 { changed_days / undated } else { 0.0 };
        // The derivative of the log-likelihood by ln λ. It falls everywhere, so there is one best rate.
        let slope = |log_rate: f64| {
            let rate = log_rate.exp();
            let seen = dated + undated * per_expm1(rate * interval) - rate * unchanged_days;
            seen - PSEUDO_VISITS * VISIT_INFORMATION * (log_rate - prior.ln())
        };
        root(slope, RATES.0.ln(), RATES.1.ln()).exp() as f32
    }
}

/// From visits at regular intervals, changes having been found at some: λ = −ln((n − X + ½)/(n + ½)) / I, whose bias is small
/// from n = 10 on if the page changes less than twice between visits.
pub fn regular_rate(visits: u32, changes: u32, interval_days: f64) -> f64 {
    let interval = days(interval_days);
    if interval == 0.0 {
        return 0.0;
    }
    let (visits, unchanged) = (f64::from(visits), f64::from(visits - changes.min(visits)));
    -((unchanged + 0.5) / (visits + 0.5)).ln() / interval
}

/// From visits at irregular intervals, each with whether the page had changed at its end: the λ of maximum likelihood, which
/// solves Σ_changed I/(e^{λI} − 1) = Σ_unchanged I. If all or none had changed there is no such λ, and the estimate is
/// that for regular visits at the mean interval.
pub fn irregular_rate(intervals: &[(f64, bool)]) -> f64 {
    let of = |wanted: bool| -> Vec<f64> {
        let usable =
            intervals.iter().filter(|(interval, changed)| *changed == wanted && days(*interval) > 0.0);
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
    root(slope, (changes / (unchanged_days + changed_days / 2.0)).ln(), (changes / unchanged_days).ln()).exp()
}

/// From visits to a page that tells when it was last modified: λ = [(X − 1) − X/(N ln(1 − X/N))] / T, where T adds up the
/// intervals without a change and, of those with one, the time from the last modification to the visit.
pub fn dated_rate(visits: u32, changes: u32, unchanged_days: f64) -> f64 {
    let total = days(unchanged_days);
    if total == 0.0 || changes == 0 || visits == 0 {
        return 0.0;
    }
    let share = f64::from(changes.min(visits)) / f64::from(visits);
    // With a change at each visit the logarithm is infinite and the second part 0.
    let count = f64::from(changes.min(visits)) - 1.0 - share / (-share).ln_1p();
    count / total
}

/// x/(e^x − 1): 1 at 0, and falling.
fn per_expm1(x: f64) -> f64 {
    if x < 1e-8 { 1.0 } else { x / x.exp_m1() }
}

/// A time that can be meant, or none.
fn days(days: f64) -> f64 {
    if days > 0.0 && days < 1e9 { days } else { 0.0 }
}

/// Where a function that falls crosses 0, by bisection; an end, if it does not.
fn root(falling: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..MOST_STEPS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high || high - low < 1e-13 {
            break;
        }
        if falling(middle) > 0.0 {
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
    use crate::seeded::Seeded;

    /// The mean of a sample, and its standard error.
    fn mean_and_error(sample: &[f64]) -> (f64, f64) {
        let count = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / count;
        let variance = sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, (variance / count).sqrt())
    }

    /// At how many of `visits` a page has changed.
    fn changes_seen(random: &mut Seeded, visits: u32, rate: f64, interval: f64) -> u32 {
        (0..visits).filter(|_| random.wait(rate) < interval).count() as u32
    }

    #[test]
    fn the_bias_of_regular_visits_is_corrected() {
        let random = &mut Seeded(1);
        for (rate, corrected, naive) in [(0.3, 0.30, 0.26), (1.0, 1.00, 0.63), (2.0, 1.94, 0.87)] {
            // Two days between visits, so that a wrong unit is seen.
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
    fn irregular_visits_tell_the_rate() {
        let random = &mut Seeded(2);
        let intervals: Vec<(f64, bool)> = (0..100_000)
            .map(|_| (0.1 + 5.0 * random.share(), random.wait(0.7)))
            .map(|(interval, change)| (interval, change < interval))
            .collect();
        // The information of so many visits leaves a standard error of 0.0034.
        let rate = irregular_rate(&intervals);
        assert!((rate - 0.7).abs() < 0.01, "{rate}");
    }

    #[test]
    fn regular_visits_are_a_case_of_irregular_ones() {
        let some: Vec<(f64, bool)> = (0..10).map(|number| (3.0, number < 4)).collect();
        assert!((irregular_rate(&some) - (10.0_f64 / 6.0).ln() / 3.0).abs() < 1e-12);
        // All or none: as for regular visits.
        assert_eq!(irregular_rate(&[(1.0, true), (3.0, true)]), regular_rate(2, 2, 2.0));
        assert_eq!(irregular_rate(&[(1.0, false), (3.0, false)]), 0.0);
        assert_eq!(irregular_rate(&[]), 0.0);
    }

    #[test]
    fn last_modified_tells_more_and_has_the_right_unit() {
        let random = &mut Seeded(3);
        let (visits, interval) = (10, 4.0);
        for rate in [0.05, 0.25, 0.5] {
            let mut estimates = Vec::new();
            for _ in 0..40_000 {
                let (mut changes, mut unchanged_days) = (0, 0.0);
                for _ in 0..visits {
                    // Backwards in time the last change is as far away as the first one forwards.
                    let since = random.wait(rate);
                    changes += u32::from(since < interval);
                    unchanged_days += since.min(interval);
                }
                estimates.push(dated_rate(visits, changes, unchanged_days));
            }
            let (mean, error) = mean_and_error(&estimates);
            assert!((mean / rate - 1.0).abs() < 0.03 + 3.0 * error, "{rate}: {mean} ± {error}");
        }
        // By hand: [(5 − 1) − 5/(10 ln(1 − 5/10))]/20, and the ends.
        assert!((dated_rate(10, 5, 20.0) - (4.0 + 0.5 / 2.0_f64.ln()) / 20.0).abs() < 1e-12);
        assert_eq!((dated_rate(10, 10, 3.0), dated_rate(10, 0, 3.0), dated_rate(0, 0, 0.0)), (3.0, 0.0, 0.0));
    }

    fn history(compared: u32, changes: u32, interval_days: f64) -> ChangeHistory {
        let of = |count: u32| f64::from(count) * interval_days;
        let (unchanged_days, changed_days) = (of(compared - changes), of(changes));
        ChangeHistory { compared, changes, dated_changes: 0, unchanged_days, changed_days }
    }

    #[test]
    fn without_visits_the_neighbours_decide() {
        let none = ChangeHistory::default();
        let near = |found: f32, expected: f32| (found / expected - 1.0).abs() < 1e-5;
        assert!(near(none.changes_per_day(Some(0.2)), 0.2));
        assert!(near(none.changes_per_day(None), UNKNOWN_CHANGES_PER_DAY));
        for no_rate in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(near(none.changes_per_day(Some(no_rate)), UNKNOWN_CHANGES_PER_DAY), "{no_rate}");
        }
    }

    #[test]
    fn a_short_while_without_changes_says_little_and_changes_say_much() {
        let hour = 1.0 / 24.0;
        let quiet = history(2, 0, hour).changes_per_day(None);
        assert!(quiet > 0.99 * UNKNOWN_CHANGES_PER_DAY, "{quiet}");
        let busy = history(10, 10, hour).changes_per_day(None);
        assert!(busy > 12.0, "{busy}");
        // Years of silence are heard.
        let silent = history(100, 0, 10.0).changes_per_day(None);
        assert!(silent < UNKNOWN_CHANGES_PER_DAY / 5.0, "{silent}");
    }

    #[test]
    fn many_visits_outweigh_the_neighbours() {
        for dated in [false, true] {
            let random = &mut Seeded(4);
            let (mut history, rate) = (ChangeHistory::default(), 0.4);
            for _ in 0..20_000 {
                let (since, interval) = (random.wait(rate), 2.0);
                let changed = since < interval;
                history.compared += 1;
                history.changes += u32::from(changed);
                match (changed, dated) {
                    (false, _) => history.unchanged_days += interval,
                    (true, false) => history.changed_days += interval,
                    (true, true) => {
                        history.dated_changes += 1;
                        history.unchanged_days += since;
                    }
                }
            }
            let found = f64::from(history.changes_per_day(Some(10.0)));
            assert!((found - rate).abs() < 0.015, "{dated}: {found}");
        }
    }

    #[test]
    fn one_dated_change_leaves_the_others_what_they_are() {
        // Ten weeks with a change each, then one more that is dated six hours before the visit.
        let weekly = history(10, 10, 7.0);
        let before = weekly.changes_per_day(None);
        let dated =
            ChangeHistory { compared: 11, changes: 11, dated_changes: 1, unchanged_days: 0.25, ..weekly };
        let after = dated.changes_per_day(None);
        assert!(after > before && after < 1.5 * before, "{before} {after}");
    }

    #[test]
    fn dated_and_undated_changes_tell_the_rate_together() {
        let random = &mut Seeded(7);
        let (mut seen, rate, interval) = (ChangeHistory::default(), 0.6, 3.0);
        for visit in 0..30_000 {
            let since = random.wait(rate);
            let (changed, dated) = (since < interval, visit % 3 == 0);
            seen.compared += 1;
            seen.changes += u32::from(changed);
            seen.dated_changes += u32::from(changed && dated);
            seen.unchanged_days += if !changed {
                interval
            } else if dated {
                since
            } else {
                0.0
            };
            seen.changed_days += if changed && !dated { interval } else { 0.0 };
        }
        let found = f64::from(seen.changes_per_day(Some(10.0)));
        assert!((found - rate).abs() < 0.02, "{found}");
    }

    /// The mean estimate from ten regular visits, with a prior ten times too low, right, and ten times too high.
    #[test]
    fn the_bias_is_that_of_the_prior() {
        let random = &mut Seeded(8);
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
    fn what_neighbours_tell_helps_where_visits_are_few() {
        let random = &mut Seeded(5);
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
        fn rates_are_positive_numbers_whatever_the_history(
            compared: u32, changes: u32, dated_changes: u32, unchanged_days: f64, changed_days: f64, prior: Option<f32>,
        ) {
            let history = ChangeHistory { compared, changes, dated_changes, unchanged_days, changed_days };
            let rate = history.changes_per_day(prior);
            prop_assert!(rate > 0.0 && rate <= 1.0001e6, "{rate}");
            for rate in [
                regular_rate(compared, changes, unchanged_days),
                dated_rate(compared, changes, unchanged_days),
                irregular_rate(&[(unchanged_days, false), (changed_days, true)]),
            ] {
                prop_assert!(rate >= 0.0, "{rate}");
            }
        }

        #[test]
        fn more_changes_mean_a_higher_rate(compared in 1u32..1000, share in 0.0..1.0_f64, interval in 1e-3..1e3_f64, prior in 1e-5..1e3_f32) {
            let changes = (share * f64::from(compared)) as u32;
            let rate = |changes| history(compared, changes, interval).changes_per_day(Some(prior));
            prop_assert!(rate(changes + 1) > rate(changes) || rate(changes) > 9.9e5);
        }
    }
}
