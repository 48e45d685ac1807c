//! Which power law describes the tail of a distribution? Maximum likelihood, after Clauset, Shalizi and Newman,
//! "Power-law distributions in empirical data" (2009).
//!
//! Above x_min, p(x) ~ x^-alpha. For real numbers alpha = 1 + n / Σ ln(x / x_min); for whole ones it is where
//! n ln ζ(alpha, x_min) + alpha Σ ln x is least, with the zeta function of Hurwitz. Of all x_min, that one is taken whose
//! law is closest to the tail, by the largest distance between their cumulative distributions (Kolmogorov-Smirnov).
//!
//! It departs from the paper where there is much: every value is tried as x_min only if the different values are few (up to
//! 2,000); of more, some hundreds that are spread evenly over them. And a tail has at least [`LEAST_TAIL`] values,
//! the largest of them [`LEAST_RANGE`] times the smallest.

use store::PowerLaw;

use crate::quantiles::Spread;

/// So many comparisons of a value with a law are worth while, with at least so many places for the beginning of the tail.
const MOST_COMPARISONS: usize = 4_000_000;
const LEAST_STARTS: usize = 200;
/// Fewer values show no law.
const LEAST_TAIL: u64 = 50;
/// A tail within a narrower range shows none either: many things fall steeply at their end.
const LEAST_RANGE: f64 = 10.0;
/// A law is drawn in so many pieces, equally long on a logarithmic axis.
const LINE_STEPS: usize = 24;
/// Exponents are looked for in between.
const ALPHAS: (f64, f64) = (1.000_1, 20.0);

/// What values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Whole numbers, such as degrees.
    Discrete,
    /// Real numbers, such as ranks.
    Continuous,
}

/// The power law that describes the tail of values above 0 best; none if they are too few, or all alike.
pub fn fit_power_law(spread: &Spread, values: Values) -> Option<PowerLaw> {
    let positive: Vec<(f64, u64)> = spread.values.iter().copied().filter(|(value, _)| *value > 0.0).collect();
    let n = positive.iter().map(|(_, count)| count).sum();
    let mut best: Option<PowerLaw> = None;
    let largest = positive.last().map_or(0.0, |(value, _)| *value);
    for start in starts(&positive) {
        let tail = Tail::new(&positive[start..]);
        let alpha = match values {
            Values::Discrete => tail.discrete_alpha(),
            Values::Continuous => tail.continuous_alpha(),
        };
        let Some(alpha) = alpha else { continue };
        let ks = match values {
            Values::Discrete => tail.discrete_distance(alpha),
            Values::Continuous => tail.continuous_distance(alpha),
        };
        if best.as_ref().is_none_or(|best| ks < best.ks) {
            best = Some(PowerLaw { alpha, x_min: tail.x_min, ks, tail: tail.count, n, line: Vec::new() });
        }
    }
    best.map(|law| PowerLaw { line: line(&law, largest, values), ..law })
}

/// The law, to be drawn: how much of it is at some values and above.
fn line(law: &PowerLaw, largest: f64, values: Values) -> Vec<(f64, f64)> {
    let all = zeta(law.alpha, law.x_min);
    let at = |step: usize| {
        let x = law.x_min * (largest / law.x_min).powf(step as f64 / LINE_STEPS as f64);
        match values {
            Values::Discrete => (x.round(), zeta(law.alpha, x.round()) / all),
            Values::Continuous => (x, (x / law.x_min).powf(1.0 - law.alpha)),
        }
    };
    let mut line: Vec<(f64, f64)> = (0..=LINE_STEPS).map(at).collect();
    line.dedup_by_key(|(x, _)| *x);
    line
}

/// Where a tail may begin: with enough values behind, and a wide range of them.
fn starts(values: &[(f64, u64)]) -> Vec<usize> {
    let mut behind = 0;
    let mut last = None;
    let largest = values.last().map_or(0.0, |(value, _)| *value);
    for (place, (value, count)) in values.iter().enumerate().rev() {
        behind += count;
        if behind >= LEAST_TAIL && value * LEAST_RANGE <= largest {
            last = Some(place);
            break;
        }
    }
    let Some(last) = last else { return Vec::new() };
    let tried = (MOST_COMPARISONS / values.len()).max(LEAST_STARTS).min(last + 1);
    (0..tried).map(|number| number * (last + 1) / tried).collect()
}

/// The values from some on.
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

    /// The least of a convex function, by golden sections.
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

    /// Before and at every value, since the one distribution climbs there and the other does not.
    fn continuous_distance(&self, alpha: f64) -> f64 {
        self.distance(|value, _| {
            let law = 1.0 - (value / self.x_min).powf(1.0 - alpha);
            (law, law)
        })
    }

    /// At every whole number; between two values of the tail the law is farthest from it just before the next one.
    fn discrete_distance(&self, alpha: f64) -> f64 {
        let all = zeta(alpha, self.x_min);
        // The share of the law that is smaller than x.
        let below = |x: f64| 1.0 - zeta(alpha, x) / all;
        self.distance(|value, is_first| (if is_first { 0.0 } else { below(value) }, below(value + 1.0)))
    }

    /// `law` tells which shares are below and up to a value; the tail has its own.
    fn distance(&self, law: impl Fn(f64, bool) -> (f64, f64)) -> f64 {
        let n = self.count as f64;
        let (mut below, mut most) = (0, 0.0_f64);
        for (place, (value, count)) in self.values.iter().enumerate() {
            let (law_below, law_at) = law(*value, place == 0);
            most = most.max((law_below - below as f64 / n).abs());
            below += count;
            most = most.max((law_at - below as f64 / n).abs());
        }
        most
    }
}

/// ζ(s, a) = Σ (a + k)^-s for s > 1 and a > 0: some terms, and the rest by the formula of Euler and Maclaurin.
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
    use crate::quantiles::Quantiles;

    /// Numbers between 0 and 1 that look like chance, the same in every run.
    fn chances(count: usize) -> impl Iterator<Item = f64> {
        let mut state = 88_172_645_463_325_252_u64;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        })
        .take(count)
    }

    fn spread(values: impl Iterator<Item = f64>) -> Spread {
        let mut quantiles = Quantiles::default();
        values.for_each(|value| quantiles.add(value));
        quantiles.finish()
    }

    /// The whole number that has so much of a law above it.
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
    fn zeta_is_that_of_the_tables() {
        for (s, a, wanted) in [
            (2.0, 1.0, std::f64::consts::PI.powi(2) / 6.0),
            (3.0, 1.0, 1.202_056_903_159_594),
            (1.5, 1.0, 2.612_375_348_685_488),
            (2.5, 10.0, 0.022_728_699_194_534_543),
            (2.0, 100.0, 0.010_050_166_663_333_573),
            (1.05, 30.0, 16.886_428_420_430_31),
        ] {
            let found = zeta(s, a);
            assert!((found / wanted - 1.0).abs() < 1e-12, "ζ({s}, {a}) = {found}");
        }
        // A term less, and the sum is that much smaller.
        for s in [1.01, 1.7, 4.2] {
            assert!((zeta(s, 3.0) - zeta(s, 4.0) - 3f64.powf(-s)).abs() < 1e-12);
        }
    }

    #[test]
    fn exponents_of_known_laws_are_found() {
        for alpha in [1.8, 2.1, 2.72, 3.5] {
            let values = spread(chances(50_000).map(|chance| draw(alpha, 1.0, 1.0 - chance)));
            let fit = fit_power_law(&values, Values::Discrete).unwrap();
            assert!((fit.alpha - alpha).abs() < 0.06 && fit.ks < 0.02, "{alpha}: {fit:?}");
            let values =
                spread(chances(50_000).map(|chance| 1e-7 * (1.0 - chance).powf(-1.0 / (alpha - 1.0))));
            let fit = fit_power_law(&values, Values::Continuous).unwrap();
            assert!((fit.alpha - alpha).abs() < 0.06 && fit.ks < 0.02, "{alpha}: {fit:?}");
        }
    }

    #[test]
    fn the_tail_begins_where_the_law_does() {
        let body = chances(40_000).map(|chance| (1.0 + 29.0 * chance).floor());
        let tail = chances(20_000).map(|chance| draw(2.4, 30.0, 1.0 - chance));
        let fit = fit_power_law(&spread(body.chain(tail)), Values::Discrete).unwrap();
        assert!((25.0..40.0).contains(&fit.x_min) && (fit.alpha - 2.4).abs() < 0.06, "{fit:?}");
        assert!(fit.n == 60_000 && fit.tail <= 21_500, "{fit:?}");
    }

    #[test]
    fn too_little_has_no_law() {
        for values in [vec![], vec![0.0; 1_000], vec![3.0; 1_000], (1..40).map(f64::from).collect()] {
            for kind in [Values::Discrete, Values::Continuous] {
                assert_eq!(fit_power_law(&spread(values.iter().copied()), kind), None);
            }
        }
    }
}
