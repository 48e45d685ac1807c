//! Theory of freshness: mean freshness and age of copies, indices of staleness, and optimal allocations of refreshes.
//!
//! A page changes as a Poisson process with a known rate λ; its copy is t days old, or refreshed f times a day at regular
//! intervals. The allocations know all rates and serve as upper bounds (Cho and Garcia-Molina, "Effective page refresh
//! policies for Web crawlers", ACM TODS 2003). The crawl, which has to estimate the rates, uses the indices through
//! [`PriorityModel`](crate::PriorityModel). The simulator takes its bound from here; the other means and allocations are
//! references for tests.
//!
//! **Derivation of an index.** Let c(t) be the cost of a copy of age t per unit of time. Refreshing it every t days costs
//! (∫c + T)/t, if T is the price of a refresh; that is least where t·c(t) − ∫₀ᵗc = ∫₀ᵗ s·c'(s) ds = T. So whatever is
//! optimised, a page is due when its index V(t) = ∫₀ᵗ s·c'(s) ds reaches one T for all (Azar, Horvitz, Lubetzky, Peres and
//! Shahaf, "Tractable near-optimal policies for crawling", PNAS 2018):
//!
//! | cost of a copy | c(t) | V(t) |
//! |---|---|---|
//! | 1 while it is stale | 1 − e^{−λt} | 1/λ − (t + 1/λ)e^{−λt} |
//! | the time since the first change it lacks | t − (1 − e^{−λt})/λ | t²/2 − (1/λ)·(the line above) |
//! | the harmonic number of the changes it lacks | E H(N), N Poisson of mean λt | t − (1 − e^{−λt})/λ |
//!
//! For the last row: E H(N) grows with λt as E 1/(N + 1) = (1 − e^{−λt})/(λt), and s·c'(s) = 1 − e^{−λs}.

/// Probability that a copy is fresh: e^{−λt}.
pub fn fresh_probability(changes_per_day: f64, age_days: f64) -> f64 {
    (-changes_per_day * age_days).exp()
}

/// Fraction of the time in which a copy is fresh: (1 − e^{−r})/r with r = λ/f.
pub fn mean_freshness(changes_per_day: f64, refreshes_per_day: f64) -> f64 {
    if changes_per_day <= 0.0 {
        return 1.0;
    }
    if refreshes_per_day <= 0.0 {
        return 0.0;
    }
    1.0 - mean_missing(changes_per_day / refreshes_per_day)
}

/// Mean age of a copy, in days: (1/f)·[1/2 − 1/r + (1 − e^{−r})/r²] with r = λ/f; infinite if it is never refreshed.
pub fn mean_age_days(changes_per_day: f64, refreshes_per_day: f64) -> f64 {
    if changes_per_day <= 0.0 {
        return 0.0;
    }
    if refreshes_per_day <= 0.0 {
        return f64::INFINITY;
    }
    let r = changes_per_day / refreshes_per_day;
    let part =
        if r < 1e-3 { r * (1.0 / 6.0 - r * (1.0 / 24.0 - r / 120.0)) } else { 0.5 - mean_missing(r) / r };
    part / refreshes_per_day
}

/// Mean harmonic staleness of a copy that is refreshed at random times, f times a day: ln(1 + λ/f).
pub fn mean_harmonic_staleness(changes_per_day: f64, refreshes_per_day: f64) -> f64 {
    if changes_per_day <= 0.0 { 0.0 } else { (changes_per_day / refreshes_per_day.max(0.0)).ln_1p() }
}

/// Index for freshness, in days of freshness that a refresh gains: 1/λ − (t + 1/λ)e^{−λt}.
pub fn freshness_index(changes_per_day: f64, age_days: f64) -> f64 {
    age_days * gain(changes_per_day * age_days)
}

/// Index for age, in days²: t²/2 − (1/λ)·[1/λ − (t + 1/λ)e^{−λt}].
pub fn age_index(changes_per_day: f64, age_days: f64) -> f64 {
    let x = changes_per_day * age_days;
    let part = if x < 1e-2 {
        // Series of 1/2 − gain(x)/x, whose direct form would cancel.
        x * (1.0 / 3.0 - x * (1.0 / 8.0 - x * (1.0 / 30.0 - x * (1.0 / 144.0 - x / 840.0))))
    } else {
        0.5 - gain(x) / x
    };
    age_days * age_days * part
}

/// Index where every change counts, in days: t − (1 − e^{−λt})/λ, which is also the expected age. It grows without bound, so
/// that no page starves.
pub fn every_change_index(changes_per_day: f64, age_days: f64) -> f64 {
    age_days * mean_missing(changes_per_day * age_days)
}

/// [1 − (1 + x)e^{−x}]/x.
fn gain(x: f64) -> f64 {
    if x < 1e-2 {
        // Series Σ (−1)^k (k − 1)/k! x^{k−1}: the difference of numbers near 1 would lose all digits.
        return x * (0.5 - x * (1.0 / 3.0 - x * (1.0 / 8.0 - x * (1.0 / 30.0 - x / 144.0))));
    }
    // Where e^{−x} underflows, x · e^{−x} could be infinity times 0.
    if x > 700.0 { 1.0 / x } else { (1.0 - (1.0 + x) * (-x).exp()) / x }
}

/// 1 − (1 − e^{−x})/x.
fn mean_missing(x: f64) -> f64 {
    if x < 1e-2 {
        return x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x * (1.0 / 120.0 - x / 720.0))));
    }
    1.0 - (1.0 - (-x).exp()) / x
}

/// Page in an allocation of refreshes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefreshTarget {
    /// Change rate.
    pub changes_per_day: f64,
    /// Weight of its freshness.
    pub weight: f64,
}

/// Refreshes per day for each page that maximise the weighted mean freshness.
///
/// A page that changes too often for its weight gets none: the refreshes gain more elsewhere.
pub fn optimal_refreshes(pages: &[RefreshTarget], refreshes_per_day: f64) -> Vec<f64> {
    // The index of a page never exceeds weight/λ, so at that price no page is refreshed.
    let prices =
        pages.iter().filter(|page| page.is_refreshable()).map(|page| page.weight / page.changes_per_day);
    allocate(pages, refreshes_per_day, prices.fold(0.0, f64::max), refreshes_at_price)
}

/// Refreshes per day for each page, at random times, that minimise the weighted harmonic staleness: (√(λ² + 4wλ/L) − λ)/2
/// with one multiplier L (Kolobov, Peres, Lu and Horvitz, "Staying up to date with online content changes using reinforcement
/// learning for scheduling", NeurIPS 2019).
pub fn harmonic_refreshes(pages: &[RefreshTarget], refreshes_per_day: f64) -> Vec<f64> {
    let refreshes = |page: &RefreshTarget, multiplier: f64| {
        let (rate, gain) = (page.changes_per_day, page.weight / multiplier);
        // The form above is a difference of nearly equal numbers; this one keeps all digits.
        2.0 * gain / (1.0 + (1.0 + 4.0 * gain / rate).sqrt())
    };
    // Each page gets less than weight/L.
    let total_weight: f64 = pages.iter().filter(|page| page.is_refreshable()).map(|page| page.weight).sum();
    allocate(pages, refreshes_per_day, total_weight / refreshes_per_day, refreshes)
}

/// The same number of refreshes for every page.
pub fn uniform_refreshes(pages: &[RefreshTarget], refreshes_per_day: f64) -> Vec<f64> {
    vec![refreshes_per_day / pages.len() as f64; pages.len()]
}

/// Refreshes in proportion to the change rate.
pub fn proportional_refreshes(pages: &[RefreshTarget], refreshes_per_day: f64) -> Vec<f64> {
    let sum: f64 = pages.iter().map(|page| page.changes_per_day).sum();
    if sum <= 0.0 {
        return uniform_refreshes(pages, refreshes_per_day);
    }
    pages.iter().map(|page| refreshes_per_day * page.changes_per_day / sum).collect()
}

impl RefreshTarget {
    /// Whether a refresh gains anything. Outside these bounds products and quotients would overflow.
    fn is_refreshable(&self) -> bool {
        let usable = 1e-100..1e100;
        usable.contains(&self.changes_per_day) && usable.contains(&self.weight)
    }
}

/// The f at which the index at t = 1/f is the price: r = λ/f solves 1 − (1 + r)e^{−r} = λ·price/w.
fn refreshes_at_price(page: &RefreshTarget, price: f64) -> f64 {
    let gained = page.changes_per_day * price / page.weight;
    if gained >= 1.0 {
        return 0.0;
    }
    // r − ln(1 + r) = s by Newton's method, which comes down from s + √(2s) without passing r (Chatzigeorgiou, "Bounds on
    // the Lambert function", IEEE Communications Letters 2013).
    let s = -(-gained).ln_1p();
    let mut r = s + (2.0 * s).sqrt();
    // Here the square root is exact; the bound avoids a division by 0.
    if s < 1e-12 {
        return page.changes_per_day / r.max(1e-150);
    }
    for _ in 0..20 {
        let step = (r - r.ln_1p() - s) * (1.0 + r) / r;
        r -= step;
        if step.abs() <= 1e-12 * r {
            break;
        }
    }
    page.changes_per_day / r
}

/// Refreshes of each page at the price at which the total demand equals the supply. The demand of a page falls with the
/// price; at `max_price` the total demand is below the supply.
fn allocate(
    pages: &[RefreshTarget],
    refreshes_per_day: f64,
    max_price: f64,
    demand: impl Fn(&RefreshTarget, f64) -> f64,
) -> Vec<f64> {
    let none = vec![0.0; pages.len()];
    if !(max_price > 0.0 && max_price.is_finite() && refreshes_per_day > 0.0) {
        return none;
    }
    let demand =
        |page: &RefreshTarget, price: f64| if page.is_refreshable() { demand(page, price) } else { 0.0 };
    let demands = |price: f64| -> Vec<f64> { pages.iter().map(|page| demand(page, price)).collect() };
    let total = |price: f64| -> f64 { pages.iter().map(|page| demand(page, price)).sum() };
    let (mut low, mut high) = (max_price, max_price);
    while total(low) < refreshes_per_day && low > f64::MIN_POSITIVE {
        (low, high) = (low / 4.0, low);
    }
    while high - low > 1e-15 * high {
        let middle = low.sqrt() * high.sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if total(middle) > refreshes_per_day { low = middle } else { high = middle }
    }
    // The demand of a page whose index is nearly at its limit jumps within the last digit of the price; interpolate.
    let (much, little) = (demands(low), demands(high));
    let (more, less): (f64, f64) = (much.iter().sum(), little.iter().sum());
    let part = if more > less { ((refreshes_per_day - less) / (more - less)).clamp(0.0, 1.0) } else { 0.0 };
    much.iter().zip(little).map(|(much, little)| little + part * (much - little)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pages(pages: &[(f64, f64)]) -> Vec<RefreshTarget> {
        pages.iter().map(|&(changes_per_day, weight)| RefreshTarget { changes_per_day, weight }).collect()
    }

    fn weighted_freshness(pages: &[RefreshTarget], refreshes: &[f64]) -> f64 {
        let freshness = |(page, refreshes): (&RefreshTarget, &f64)| {
            page.weight * mean_freshness(page.changes_per_day, *refreshes)
        };
        pages.iter().zip(refreshes).map(freshness).sum()
    }

    /// Numerical integral from 0.
    fn integral(of: impl Fn(f64) -> f64, to: f64) -> f64 {
        let step = to / 20_000.0;
        (0..20_000).map(|number| of((f64::from(number) + 0.5) * step) * step).sum()
    }

    #[test]
    fn a_page_that_changes_once_between_refreshes_is_fresh_63_percent_of_the_time() {
        assert!((mean_freshness(1.0, 1.0) - 0.632).abs() < 5e-4);
        assert_eq!((mean_freshness(0.0, 0.0), mean_freshness(1.0, 0.0)), (1.0, 0.0));
        assert_eq!((mean_age_days(0.0, 0.0), mean_age_days(1.0, 0.0)), (0.0, f64::INFINITY));
    }

    #[test]
    fn means_agree_with_integrals_over_the_time_between_refreshes() {
        for (rate, refreshes) in [(1e-5, 2.0), (0.01, 4.0), (0.3, 0.5), (2.0, 0.25), (50.0, 1.0)] {
            let to = 1.0 / refreshes;
            let freshness = integral(|age| fresh_probability(rate, age), to) * refreshes;
            assert!((mean_freshness(rate, refreshes) - freshness).abs() < 1e-8);
            // The age of a copy is the time since it became stale.
            let age = |age: f64| integral(|since| rate * fresh_probability(rate, age - since) * since, age);
            let step = to / 50.0;
            let mean: f64 = (0..50).map(|number| age((f64::from(number) + 0.5) * step)).sum::<f64>() / 50.0;
            let found = mean_age_days(rate, refreshes);
            assert!((found / mean - 1.0).abs() < 1e-3, "{rate} {refreshes}: {found} {mean}");
        }
    }

    #[test]
    fn indices_agree_with_their_definition_by_cost() {
        // t·c(t) − ∫c
        let by_cost = |cost: &dyn Fn(f64) -> f64, to: f64| to * cost(to) - integral(cost, to);
        for (rate, age) in [(0.01, 0.5), (0.2, 1.0), (1.0, 1.0), (2.0, 3.0), (0.5, 20.0)] {
            let harmonic = |age: f64| {
                let (mut probability, mut number, mut sum) = ((-rate * age).exp(), 0.0, 0.0);
                for count in 1..200 {
                    probability *= rate * age / f64::from(count);
                    number += 1.0 / f64::from(count);
                    sum += probability * number;
                }
                sum
            };
            let lag = |age: f64| age - (1.0 - fresh_probability(rate, age)) / rate;
            let cases = [
                (freshness_index(rate, age), by_cost(&|age| 1.0 - fresh_probability(rate, age), age)),
                (age_index(rate, age), by_cost(&lag, age)),
                (every_change_index(rate, age), by_cost(&harmonic, age)),
            ];
            for (found, expected) in cases {
                assert!((found / expected - 1.0).abs() < 1e-4, "{rate} {age}: {found} {expected}");
            }
        }
    }

    #[test]
    fn indices_are_accurate_for_small_arguments() {
        for age in [1e-6, 1.0, 1e6] {
            for x in [1e-12, 1e-5, 9.99e-3] {
                let rate = x / age;
                let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < x;
                assert!(near(freshness_index(rate, age), x * age / 2.0));
                assert!(near(age_index(rate, age), x * age * age / 3.0));
                assert!(near(every_change_index(rate, age), x * age / 2.0));
            }
        }
        // No jump where the series ends.
        for index in [freshness_index, age_index, every_change_index] {
            let (below, above) = (index(0.01 * (1.0 - 1e-9), 1.0), index(0.01, 1.0));
            assert!((above / below - 1.0).abs() < 1e-8, "{below} {above}");
        }
        assert_eq!(freshness_index(4.0, 1e300), 0.25);
    }

    #[test]
    fn the_optimal_allocation_ignores_pages_that_change_too_fast() {
        let pages = pages(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (4.0, 1.0), (5.0, 1.0)]);
        let found = optimal_refreshes(&pages, 5.0);
        for (found, expected) in found.iter().zip([1.15, 1.36, 1.35, 1.14, 0.0]) {
            assert!((found - expected).abs() < 0.005, "{found} {expected}");
        }
        // With harmonic staleness no page starves.
        let harmonic = harmonic_refreshes(&pages, 5.0);
        assert!(harmonic.windows(2).all(|two| 0.5 < two[0] && two[0] < two[1]), "{harmonic:?}");
        assert!((harmonic.iter().sum::<f64>() - 5.0).abs() < 1e-6);
    }

    #[test]
    fn all_refreshed_pages_have_the_same_price() {
        let pages = pages(&[(0.01, 1.0), (0.2, 3.0), (1.0, 5.0), (7.0, 90.0), (0.0, 1.0), (1.0, 0.0)]);
        let refreshes = optimal_refreshes(&pages, 20.0);
        assert_eq!(refreshes[4..], [0.0, 0.0]);
        let price = |index: usize| {
            pages[index].weight * freshness_index(pages[index].changes_per_day, 1.0 / refreshes[index])
        };
        for index in 1..4 {
            assert!((price(index) / price(0) - 1.0).abs() < 1e-6, "{refreshes:?}");
        }
        let harmonic = harmonic_refreshes(&pages, 20.0);
        let slope = |index: usize| {
            let (rate, refreshes) = (pages[index].changes_per_day, harmonic[index]);
            pages[index].weight * rate / (refreshes * (refreshes + rate))
        };
        assert!((1..4).all(|index| (slope(index) / slope(0) - 1.0).abs() < 1e-6), "{harmonic:?}");
        assert!(optimal_refreshes(&[], 1.0).is_empty());
    }

    fn any_pages() -> impl Strategy<Value = Vec<(f64, f64)>> {
        let rate = (-6.0..4.0_f64).prop_map(f64::exp);
        prop::collection::vec((rate, 0.01..10.0_f64), 1..40)
    }

    proptest! {
        #[test]
        fn uniform_beats_proportional_for_any_mix(mix in any_pages(), share in 0.01..10.0_f64) {
            let pages: Vec<RefreshTarget> =
                mix.iter().map(|&(changes_per_day, _)| RefreshTarget { changes_per_day, weight: 1.0 }).collect();
            let budget = share * pages.len() as f64;
            let uniform = weighted_freshness(&pages, &uniform_refreshes(&pages, budget));
            let proportional = weighted_freshness(&pages, &proportional_refreshes(&pages, budget));
            prop_assert!(uniform >= proportional * (1.0 - 1e-9), "{uniform} {proportional}");
        }

        #[test]
        fn no_allocation_beats_the_optimal_one(mix in any_pages(), others in prop::collection::vec(0.0..1.0_f64, 40), share in 0.01..10.0_f64) {
            let pages = pages(&mix);
            let budget = share * pages.len() as f64;
            let best = optimal_refreshes(&pages, budget);
            prop_assert!((best.iter().sum::<f64>() / budget - 1.0).abs() < 1e-6);
            let sum: f64 = others[..pages.len()].iter().sum::<f64>().max(1e-9);
            let other: Vec<f64> = others[..pages.len()].iter().map(|share| budget * share / sum).collect();
            let found = weighted_freshness(&pages, &best);
            for other in [other, uniform_refreshes(&pages, budget), proportional_refreshes(&pages, budget)] {
                prop_assert!(found >= weighted_freshness(&pages, &other) * (1.0 - 1e-7));
            }
        }

        #[test]
        fn allocations_are_valid_for_every_input(hostile in prop::collection::vec((any::<f64>(), any::<f64>()), 0..5), budget in 1e-9..1e9_f64) {
            let pages = pages(&hostile);
            for refreshes in [optimal_refreshes(&pages, budget), harmonic_refreshes(&pages, budget)] {
                prop_assert!(refreshes.iter().all(|refreshes| *refreshes >= 0.0), "{refreshes:?}");
            }
        }
    }
}
