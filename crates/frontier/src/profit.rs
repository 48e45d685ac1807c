//! What would a visit to a page gain?
//!
//! WIRE's value of a page is quality^α · P(fresh)^β · represented^γ, and the profit of a visit the difference to what it
//! would be worth afterwards (Castillo and Baeza-Yates, "WIRE: an open source Web information retrieval environment", 2005).
//! That is greedy: it runs after pages that are stale again the next moment. The other [`Aim`]s weigh the quality with an
//! index from [`freshness`](crate::freshness), which is as good as knowing the future of all pages. Gains of different aims cannot be
//! compared.

use std::fmt;
use std::str::FromStr;

use crate::{Error, UNKNOWN_CHANGES_PER_DAY, age_index, every_change_index, freshness_index};

/// What visits are to achieve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Aim {
    /// The largest value of the collection after the next batch, as in WIRE.
    Profit,
    /// As many copies as possible that are as their pages are, all the time.
    #[default]
    Freshness,
    /// Copies that lack as little time of their pages' lives as possible.
    Age,
    /// Every change matters, as for news and archives: harmonic staleness.
    EveryChange,
}

/// How visits are valued.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profit {
    /// α: how much quality counts.
    pub quality_exponent: f32,
    /// β: how much freshness counts; for [`Aim::Profit`] alone.
    pub freshness_exponent: f32,
    /// γ: how much it counts to have a page at all; for [`Aim::Profit`] alone, and only whether it is 0.
    pub representation_exponent: f32,
    /// What for.
    pub aim: Aim,
}

impl Default for Profit {
    fn default() -> Profit {
        Profit {
            quality_exponent: 1.0,
            freshness_exponent: 1.0,
            representation_exponent: 1.0,
            aim: Aim::default(),
        }
    }
}

impl Profit {
    /// What the first visit to a page gains. Beside visited pages it stands like one that is known to be stale and changes
    /// as often as a page of which nothing is known.
    pub fn of_new(&self, quality: f32) -> f32 {
        if self.aim == Aim::Profit {
            // A page that nobody has is neither fresh nor represented, and 0^0 is 1.
            let counts = self.freshness_exponent > 0.0 || self.representation_exponent > 0.0;
            return if counts { bounded(f64::from(self.weight(quality))) } else { 0.0 };
        }
        bounded(f64::from(self.weight(quality)) * new_index(self.aim))
    }

    /// What another visit gains to a page that was visited some days ago. Of a page that is known to be stale, because a
    /// sitemap or a feed tells of a change, nothing is left to chance; but since that may be a lie, the word alone makes
    /// a page worth no more than a new one.
    pub fn of_visited(&self, quality: f32, changes_per_day: f32, age_days: f32, known_stale: bool) -> f32 {
        let weight = f64::from(self.weight(quality));
        // What is not a number counts as 0.
        let (rate, age) = (f64::from(changes_per_day.max(0.0)), f64::from(age_days.max(0.0)));
        let gain = match self.aim {
            Aim::Profit => self.staleness(rate, age, known_stale),
            Aim::Freshness => freshness_index(rate, age),
            Aim::Age => age_index(rate, age),
            Aim::EveryChange => every_change_index(rate, age),
        };
        let told = match self.aim {
            aim if known_stale && aim != Aim::Profit => known_stale_index(aim, rate, age).min(new_index(aim)),
            _ => 0.0,
        };
        bounded(weight * gain.max(told))
    }

    /// quality^α
    fn weight(&self, quality: f32) -> f32 {
        let quality = quality.max(0.0);
        if self.quality_exponent == 1.0 { quality } else { quality.powf(self.quality_exponent) }
    }

    /// 1 − P(fresh)^β
    fn staleness(&self, rate: f64, age: f64, known_stale: bool) -> f64 {
        let exponent = f64::from(self.freshness_exponent.max(0.0));
        match known_stale {
            true => f64::from(u8::from(exponent > 0.0)),
            // As good as `exp_m1` for what is rounded afterwards, and twice as fast.
            false => match exponent * rate * age {
                x if x < 1e-4 => x - x * x / 2.0,
                x => 1.0 - (-x).exp(),
            },
        }
    }
}

/// The index of a page that is known to have changed: by the argument of [`freshness`](crate::freshness), with a cycle that
/// begins with 1/λ days of freshness.
///
/// A visit buys 1/λ days of freshness. For age, with a days since the change, the index is a²/2 + a/λ; a is the age that is to be
/// expected of a page that has changed. For every change it is at least 1/λ more than if the change were only suspected.
fn known_stale_index(aim: Aim, rate: f64, age: f64) -> f64 {
    // A page that has changed does change, if only once in 30,000 years.
    let rate = rate.max(1e-7);
    let expected_age = every_change_index(rate, age);
    match aim {
        Aim::Profit | Aim::Freshness => 1.0 / rate,
        Aim::Age => {
            let since = expected_age / -(-rate * age).exp_m1().min(-f64::MIN_POSITIVE);
            since * (since / 2.0 + 1.0 / rate)
        }
        Aim::EveryChange => 1.0 / rate + expected_age,
    }
}

/// The index of a page that nobody has visited yet.
fn new_index(aim: Aim) -> f64 {
    let rate = f64::from(UNKNOWN_CHANGES_PER_DAY);
    known_stale_index(aim, rate, 1.0 / rate)
}

/// A number that can be compared and added up, whatever was put in.
fn bounded(value: f64) -> f32 {
    if value > 0.0 { value.min(f64::from(f32::MAX)) as f32 } else { 0.0 }
}

impl Aim {
    /// All there are.
    pub const ALL: [Aim; 4] = [Aim::Profit, Aim::Freshness, Aim::Age, Aim::EveryChange];

    /// Its name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Aim::Profit => "profit",
            Aim::Freshness => "freshness",
            Aim::Age => "age",
            Aim::EveryChange => "every-change",
        }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Aim {
    type Err = Error;

    fn from_str(name: &str) -> Result<Aim, Error> {
        let named = Aim::ALL.into_iter().find(|aim| aim.as_str() == name);
        named.ok_or_else(|| Error::UnknownAim { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn profit(aim: Aim) -> Profit {
        Profit { aim, ..Profit::default() }
    }

    /// The example of the WIRE paper.
    #[test]
    fn of_three_pages_the_first_and_the_third_are_fetched() {
        let profit = profit(Aim::Profit);
        // After a day, a page with this rate is fresh with this probability.
        let rate = |fresh: f32| -fresh.ln();
        let profits = [
            profit.of_visited(0.4, rate(0.1), 1.0, false),
            profit.of_visited(0.7, rate(0.9), 1.0, false),
            profit.of_new(0.6),
        ];
        for (found, expected) in profits.iter().zip([0.36, 0.07, 0.6]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| profits[*b].total_cmp(&profits[*a]));
        let mut two = [order[0], order[1]];
        two.sort_unstable();
        assert_eq!(two, [0, 2]);
    }

    #[test]
    fn exponents_say_what_counts() {
        let of = |quality_exponent, freshness_exponent, representation_exponent| {
            let aim = Aim::Profit;
            let profit = Profit { quality_exponent, freshness_exponent, representation_exponent, aim };
            (profit.of_visited(0.25, 2.0_f32.ln(), 1.0, false), profit.of_new(0.25))
        };
        let cases = [
            ((1.0, 1.0, 1.0), (0.125, 0.25)),
            ((0.5, 1.0, 1.0), (0.25, 0.5)),
            ((1.0, 2.0, 1.0), (0.1875, 0.25)),
            // Freshness does not count: only what nobody has.
            ((1.0, 0.0, 1.0), (0.0, 0.25)),
            ((1.0, 0.0, 0.0), (0.0, 0.0)),
        ];
        for ((quality, freshness, representation), (visited, new)) in cases {
            let found = of(quality, freshness, representation);
            assert!((found.0 - visited).abs() < 1e-6 && (found.1 - new).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn what_is_known_to_be_stale_is_worth_at_least_as_much() {
        for aim in Aim::ALL {
            for (rate, age) in [(0.01, 0.1), (0.01, 30.0), (1.0, 1.0), (1.0, 100.0), (50.0, 3.0)] {
                let of = |known_stale| profit(aim).of_visited(0.5, rate, age, known_stale);
                assert!(of(true) >= of(false) * 0.999, "{aim} {rate} {age}: {} {}", of(true), of(false));
            }
        }
    }

    #[test]
    fn a_word_is_worth_no_more_than_a_new_page() {
        for aim in Aim::ALL {
            // Each lie makes the page seem slower, and may not make it dearer.
            for rate in [1e-1, 1e-2, 1e-3, 1e-4] {
                let told = profit(aim).of_visited(0.5, rate, 3.0, true);
                assert!(told <= profit(aim).of_new(0.5), "{aim} {rate}: {told}");
            }
        }
    }

    #[test]
    fn aims_differ_in_what_they_do_about_fast_pages() {
        // One changes every hour, one every ten days; both were seen ten days ago.
        let prefers_fast = |aim| {
            let of = |rate| profit(aim).of_visited(0.5, rate, 10.0, false);
            of(24.0) > of(0.1)
        };
        assert_eq!(Aim::ALL.map(prefers_fast), [true, false, true, true]);
    }

    #[test]
    fn names_come_back_and_the_error_lists_them() {
        for aim in Aim::ALL {
            assert_eq!(aim.as_str().parse(), Ok(aim));
        }
        let error = "fresh".parse::<Aim>().unwrap_err().to_string();
        assert!(Aim::ALL.iter().all(|aim| error.contains(aim.as_str())), "{error}");
    }

    fn any_profit() -> impl Strategy<Value = Profit> {
        let aim = prop::sample::select(Aim::ALL.to_vec());
        (any::<f32>(), any::<f32>(), any::<f32>(), aim).prop_map(
            |(quality_exponent, freshness_exponent, representation_exponent, aim)| Profit {
                quality_exponent,
                freshness_exponent,
                representation_exponent,
                aim,
            },
        )
    }

    fn sensible() -> impl Strategy<Value = (f32, f32, f32)> {
        (0.0..1.0_f32, (-12.0..6.0_f32).prop_map(f32::exp), (-12.0..9.0_f32).prop_map(f32::exp))
    }

    proptest! {
        #[test]
        fn profits_are_numbers_whatever_comes(profit in any_profit(), quality: f32, rate: f32, age: f32, known_stale: bool) {
            for found in [profit.of_new(quality), profit.of_visited(quality, rate, age, known_stale)] {
                prop_assert!(found >= 0.0 && found.is_finite(), "{found}");
            }
        }

        #[test]
        fn nobody_loses_by_waiting_or_by_being_better(
            (quality, rate, age) in sensible(), more in 1.0..3.0_f32, aim in prop::sample::select(Aim::ALL.to_vec()), known_stale: bool,
        ) {
            let of = |quality, age| profit(aim).of_visited(quality, rate, age, known_stale);
            let now = of(quality, age) * (1.0 - 1e-6);
            prop_assert!(of(quality, age * more) >= now);
            prop_assert!(of(quality * more, age) >= now);
            prop_assert!(profit(aim).of_new(quality * more) >= profit(aim).of_new(quality));
        }

        #[test]
        fn pages_that_change_more_often_are_staler((quality, rate, age) in sensible(), more in 1.0..3.0_f32) {
            // Not so for freshness, which gives pages up that change too fast.
            for aim in [Aim::Profit, Aim::Age, Aim::EveryChange] {
                let of = |rate| profit(aim).of_visited(quality, rate, age, false);
                prop_assert!(of(rate * more) >= of(rate) * (1.0 - 1e-6), "{aim}");
            }
        }

        #[test]
        fn profit_never_passes_quality((quality, rate, age) in sensible(), known_stale: bool) {
            let of = profit(Aim::Profit).of_visited(quality, rate, age, known_stale);
            prop_assert!(of <= profit(Aim::Profit).of_new(quality));
        }
    }
}
