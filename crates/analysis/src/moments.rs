//! How many numbers are there, how large are they on average, and at most?

/// Count, sum, smallest and largest of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moments {
    /// How many there are.
    pub count: u64,
    /// All together.
    pub sum: f64,
    /// The smallest; 0 if there are none.
    pub min: f64,
    /// The largest; 0 if there are none.
    pub max: f64,
}

impl Moments {
    /// Counts a number; what is no number is left out.
    pub fn add(&mut self, number: f64) {
        if !number.is_nan() {
            self.merge(&Moments { count: 1, sum: number, min: number, max: number });
        }
    }

    /// Counts what another has counted.
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

    /// The average; none if there are no numbers.
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
        fn moments_are_those_of_the_naive_way(
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
