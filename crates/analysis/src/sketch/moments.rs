//! Count, sum, minimum and maximum of numbers.

/// Count, sum, minimum and maximum of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Sum.
    pub sum: f64,
    /// Minimum; 0 without values.
    pub min: f64,
    /// Maximum; 0 without values.
    pub max: f64,
}

impl Moments {
    /// Adds a value; NaN is ignored.
    pub fn add(&mut self, number: f64) {
        if !number.is_nan() {
            self.merge(&Moments { count: 1, sum: number, min: number, max: number });
        }
    }

    /// Adds the values of another.
    pub fn merge(&mut self, other: &Moments) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Mean; none without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn moments_equal_those_computed_directly(
            numbers in prop::collection::vec(-1000i32..1000, 0..50), cut in 0usize..50,
        ) {
            let numbers: Vec<f64> = numbers.into_iter().map(f64::from).collect();
            let (mut first, mut second) = (Moments::default(), Moments::default());
            let cut = cut.min(numbers.len());
            numbers[..cut].iter().for_each(|number| first.add(*number));
            numbers[cut..].iter().for_each(|number| second.add(*number));
            second.add(f64::NAN);
            first.merge(&second);
            prop_assert_eq!((first.count, first.sum), (numbers.len() as u64, numbers.iter().sum()));
            let extreme = |pick: fn(f64, f64) -> f64| numbers.iter().copied().reduce(pick).unwrap_or(0.0);
            prop_assert_eq!((first.min, first.max), (extreme(f64::min), extreme(f64::max)));
            prop_assert_eq!(first.mean().is_none(), numbers.is_empty());
        }
    }
}
