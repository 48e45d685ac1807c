//! Power-law fit of the tail of a distribution: maximum likelihood, after Clauset, Shalizi and Newman, "Power-law
//! distributions in empirical data" (2009).
//!
//! Above x_min, p(x) ~ x^-alpha. For real numbers alpha = 1 + n / Σ ln(x / x_min); for whole numbers alpha minimises n
//! ln ζ(alpha, x_min) + alpha Σ ln x, with the Hurwitz zeta function. Of all x_min, the one is chosen whose fit has the
//! smallest Kolmogorov-Smirnov distance to the tail.
//!
//! Departures from the paper, for large data: each value is tried as x_min only if there are at most 2,000 different
//! values; otherwise some hundred of them, evenly spaced. A tail has at least [`MIN_TAIL`] values, the largest of them
//! at least [`MIN_RANGE`] times the smallest.

use store::PowerLaw;

use crate::sketch::quantiles::QuantileCounts;

/// Maximum number of comparisons of a value with a law, with at least [`MIN_STARTS`] starts of the tail.
const MAX_COMPARISONS: usize = 4_000_000;
const MIN_STARTS: usize = 200;
/// Fewer values show no law.
const MIN_TAIL: u64 = 50;
/// A narrower tail shows no law either: many distributions fall steeply at their end.
const MIN_RANGE: f64 = 10.0;
/// Number of segments of the drawn law, of equal length on a logarithmic axis.
const LINE_STEPS: usize = 24;
/// Range of exponents.
const ALPHAS: (f64, f64) = (1.000_1, 20.0);

/// Kind of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Whole numbers, such as degrees.
    Discrete,
    /// Real numbers, such as ranks.
    Continuous,
}

/// Power law that fits the tail of the positive values best; none if there are too few different values.
pub fn fit_power_law(counts: &QuantileCounts, values: ValueKind) -> Option<PowerLaw> {
    let positive: Vec<(f64, u64)> = counts.values.iter().copied().filter(|(value, _)| *value > 0.0).collect();
    let n = positive.iter().map(|(_, count)| count).sum();
    let mut best: Option<PowerLaw> = None;
    let largest = positive.last().map_or(0.0, |(value, _)| *value);
    for start in starts(&positive) {
        let tail = Tail::new(&positive[start..]);
        let alpha = match values {
            ValueKind::Discrete => tail.discrete_alpha(),
            ValueKind::Continuous => tail.continuous_alpha(),
        };
        let Some(alpha) = alpha else { continue };
        let ks = match values {
            ValueKind::Discrete => tail.discrete_distance(alpha),
            ValueKind::Continuous => tail.continuous_distance(alpha),
        };
        if best.as_ref().is_none_or(|best| ks < best.ks) {
            best = Some(PowerLaw { alpha, x_min: tail.x_min, ks, tail: tail.count, n, line: Vec::new() });
        }
    }
    best.map(|law| PowerLaw { line: line(&law, largest, values), ..law })
}

/// Points of the law for drawing: the share of values at or above x.
fn line(law: &PowerLaw, largest: f64, values: ValueKind) -> Vec<(f64, f64)> {
    let all = zeta(law.alpha, law.x_min);
    let at = |step: usize| {
        let x = law.x_min * (largest / law.x_min).powf(step as f64 / LINE_STEPS as f64);
        match values {
            ValueKind::Discrete => (x.round(), zeta(law.alpha, x.round()) / all),
            ValueKind::Continuous => (x, (x / law.x_min).powf(1.0 - law.alpha)),
        }
    };
    let mut line: Vec<(f64, f64)> = (0..=LINE_STEPS).map(at).collect();
    line.dedup_by_key(|(x, _)| *x);
    line
}

/// Positions where a tail may start: with enough values in a wide enough range.
fn starts(values: &[(f64, u64)]) -> Vec<usize> {
    let mut tail_count = 0;
    let mut last = None;
    let largest = values.last().map_or(0.0, |(value, _)| *value);
    for (index, (value, count)) in values.iter().enumerate().rev() {
        tail_count += count;
        if tail_count >= MIN_TAIL && value * MIN_RANGE <= largest {
            last = Some(index);
            break;
        }
    }
    let Some(last) = last else { return Vec::new() };
    let tried = (MAX_COMPARISONS / values.len()).max(MIN_STARTS).min(last + 1);
    (0..tried).map(|start| start * (last + 1) / tried).collect()
}

/// The values from x_min.
struct Tail<'v> {
    values: &'v [(f64, u64)],
    x_min: f64,
    count: u64,
    /// Sum of the logarithms.
    logarithms: f64,
}

impl<'v> Tail<'v> {
    fn new(values: &'v [(f64, u64)]) -> Tail<'v> {
        let count = values.iter().map(|(_, count)| count).sum();
        let logarithms = values.iter().map(|(value, count)| value.ln() * *count as f64).sum();
        Tail { values, x_min: values[0].0, count, logarithms }
    }

    fn continuous_alpha(&self) -> Option<f64> {
        let n = self.count as f64;
        let sum = self.logarithms - n * self.x_min.ln();
        Some(1.0 + n / sum).filter(|alpha| (ALPHAS.0..ALPHAS.1).contains(alpha))
    }

    /// Minimum of a convex function, by golden-section search.
    fn discrete_alpha(&self) -> Option<f64> {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        let cost = |alpha: f64| self.count as f64 * zeta(alpha, self.x_min).ln() + alpha * self.logarithms;
        let (mut low, mut high) = ALPHAS;
        let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (mut left_cost, mut right_cost) = (cost(left), cost(right));
        while high - low > 1e-7 {
            if left_cost < right_cost {
                (high, right, right_cost) = (right, left, left_cost);
                left = high - GOLDEN * (high - low);
                left_cost = cost(left);
            } else {
                (low, left, left_cost) = (left, right, right_cost);
                right = low + GOLDEN * (high - low);
                right_cost = cost(right);
            }
        }
        let alpha = f64::midpoint(low, high);
        Some(alpha).filter(|alpha| alpha - ALPHAS.0 > 1e-3 && ALPHAS.1 - alpha > 1e-3)
    }

    /// Distance before and at each value, because only the empirical distribution has a step there.
    fn continuous_distance(&self, alpha: f64) -> f64 {
        self.distance(|value, _| {
            let law = 1.0 - (value / self.x_min).powf(1.0 - alpha);
            (law, law)
        })
    }

    /// Distance at each whole number; between two values of the tail, the law is farthest from it just before the next
    /// one.
    fn discrete_distance(&self, alpha: f64) -> f64 {
        let all = zeta(alpha, self.x_min);
        // Share of the law below x.
        let below = |x: f64| 1.0 - zeta(alpha, x) / all;
        self.distance(|value, is_first| (if is_first { 0.0 } else { below(value) }, below(value + 1.0)))
    }

    /// Kolmogorov-Smirnov distance; `law` returns the shares below and up to a value.
    fn distance(&self, law: impl Fn(f64, bool) -> (f64, f64)) -> f64 {
        let n = self.count as f64;
        let (mut below, mut max) = (0, 0.0_f64);
        for (index, (value, count)) in self.values.iter().enumerate() {
            let (law_below, law_at) = law(*value, index == 0);
            max = max.max((law_below - below as f64 / n).abs());
            below += count;
            max = max.max((law_at - below as f64 / n).abs());
        }
        max
    }
}

/// ζ(s, a) = Σ (a + k)^-s for s > 1 and a > 0: the first terms directly, and the rest by the Euler-Maclaurin formula.
fn zeta(s: f64, a: f64) -> f64 {
    /// B_2j / (2j)!
    const COEFFICIENTS: [f64; 6] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
    ];
    const FROM: f64 = 12.0;
    let mut sum = 0.0;
    let mut x = a;
    while x < FROM {
        sum += x.powf(-s);
        x += 1.0;
    }
    let power = x.powf(-s);
    sum += power * x / (s - 1.0) + power / 2.0;
    let mut term = power * s / x;
    let mut factor = s;
    for coefficient in COEFFICIENTS {
        sum += coefficient * term;
        term *= (factor + 1.0) * (factor + 2.0) / (x * x);
        factor += 2.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::quantiles::Quantiles;

    /// Deterministic pseudorandom numbers between 0 and 1.
    fn uniform(count: usize) -> impl Iterator<Item = f64> {
        let mut state = 88_172_645_463_325_252_u64;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        })
        .take(count)
    }

    fn counts(values: impl Iterator<Item = f64>) -> QuantileCounts {
        let mut quantiles = Quantiles::default();
        values.for_each(|value| quantiles.add(value));
        quantiles.finish()
    }

    /// The whole number above which a law has this share.
    fn draw(alpha: f64, x_min: f64, above: f64) -> f64 {
        let all = zeta(alpha, x_min);
        let (mut low, mut high) = (x_min, 1e7);
        while high - low > 1.0 {
            let middle = f64::midpoint(low, high).floor();
            if zeta(alpha, middle) / all >= above {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    #[test]
    fn zeta_has_the_published_values() {
        for (s, a, expected) in [
            (2.0, 1.0, std::f64::consts::PI.powi(2) / 6.0),
            (3.0, 1.0, 1.202_056_903_159_594),
            (1.5, 1.0, 2.612_375_348_685_488),
            (2.5, 10.0, 0.022_728_699_194_534_543),
            (2.0, 100.0, 0.010_050_166_663_333_573),
            (1.05, 30.0, 16.886_428_420_430_31),
        ] {
            let found = zeta(s, a);
            assert!((found / expected - 1.0).abs() < 1e-12, "ζ({s}, {a}) = {found}");
        }
        // Omitting the first term reduces the sum by that term.
        for s in [1.01, 1.7, 4.2] {
            assert!((zeta(s, 3.0) - zeta(s, 4.0) - 3f64.powf(-s)).abs() < 1e-12);
        }
    }

    #[test]
    fn exponents_of_known_laws_are_found() {
        for alpha in [1.8, 2.1, 2.72, 3.5] {
            let values = counts(uniform(50_000).map(|u| draw(alpha, 1.0, 1.0 - u)));
            let fit = fit_power_law(&values, ValueKind::Discrete).unwrap();
            assert!((fit.alpha - alpha).abs() < 0.06 && fit.ks < 0.02, "{alpha}: {fit:?}");
            let values = counts(uniform(50_000).map(|u| 1e-7 * (1.0 - u).powf(-1.0 / (alpha - 1.0))));
            let fit = fit_power_law(&values, ValueKind::Continuous).unwrap();
            assert!((fit.alpha - alpha).abs() < 0.06 && fit.ks < 0.02, "{alpha}: {fit:?}");
        }
    }

    #[test]
    fn the_tail_starts_where_the_law_starts() {
        let body = uniform(40_000).map(|u| (1.0 + 29.0 * u).floor());
        let tail = uniform(20_000).map(|u| draw(2.4, 30.0, 1.0 - u));
        let fit = fit_power_law(&counts(body.chain(tail)), ValueKind::Discrete).unwrap();
        assert!((25.0..40.0).contains(&fit.x_min) && (fit.alpha - 2.4).abs() < 0.06, "{fit:?}");
        assert!(fit.n == 60_000 && fit.tail <= 21_500, "{fit:?}");
    }

    #[test]
    fn too_few_different_values_have_no_fit() {
        for values in [vec![], vec![0.0; 1_000], vec![3.0; 1_000], (1..40).map(f64::from).collect()] {
            for kind in [ValueKind::Discrete, ValueKind::Continuous] {
                assert_eq!(fit_power_law(&counts(values.iter().copied()), kind), None);
            }
        }
    }
}
