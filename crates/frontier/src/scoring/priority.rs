//! Priority of a fetch: the expected gain for the collection.
//!
//! WIRE values a page by quality^α · P(fresh)^β · represented^γ, and defines the profit of a fetch as the difference between
//! this value after and before (Castillo and Baeza-Yates, "WIRE: an open source Web information retrieval environment",
//! 2005). This is greedy: it favours pages that are stale again immediately. The other [`Objective`]s multiply the quality by
//! an index from [`freshness`](crate::refresh::freshness), which leads to the optimal long-term allocation. Priorities under
//! different objectives cannot be compared.

use crate::refresh::change_rate::DEFAULT_CHANGES_PER_DAY;
use crate::refresh::freshness::{age_index, every_change_index, freshness_index};
use crate::scoring::objective::Objective;

/// Parameters of the priority of a fetch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorityModel {
    /// α: exponent of quality.
    pub quality_exponent: f32,
    /// β: exponent of freshness; used by [`Objective::WireProfit`] only.
    pub freshness_exponent: f32,
    /// γ: exponent of the representation, which is 1 with a copy and 0 without; used by [`Objective::WireProfit`] only, where it
    /// matters only whether γ is 0.
    pub representation_exponent: f32,
    /// Quantity that the fetches maximise.
    pub objective: Objective,
}

impl Default for PriorityModel {
    fn default() -> PriorityModel {
        PriorityModel {
            quality_exponent: 1.0,
            freshness_exponent: 1.0,
            representation_exponent: 1.0,
            objective: Objective::default(),
        }
    }
}

impl PriorityModel {
    /// Priority of the first fetch of a page. The page is valued like one that is known to be stale and changes at the
    /// default rate.
    pub fn for_new_page(&self, quality: f32) -> f32 {
        if self.objective == Objective::WireProfit {
            // A page without a copy is neither fresh nor represented; with both exponents 0 its value is 0^0 = 1 already.
            let has_gain = self.freshness_exponent > 0.0 || self.representation_exponent > 0.0;
            return if has_gain { finite_or_zero(f64::from(self.weight(quality))) } else { 0.0 };
        }
        finite_or_zero(f64::from(self.weight(quality)) * new_page_index(self.objective))
    }

    /// Priority of a revisit of a page whose copy is `age_days` old.
    ///
    /// `known_stale` means that a sitemap or feed announced a change. The announcement may be false, so it raises the priority
    /// at most to that of a new page.
    pub fn for_visited_page(
        &self,
        quality: f32,
        changes_per_day: f32,
        age_days: f32,
        known_stale: bool,
    ) -> f32 {
        let weight = f64::from(self.weight(quality));
        // `max` maps NaN to 0.
        let (rate, age) = (f64::from(changes_per_day.max(0.0)), f64::from(age_days.max(0.0)));
        let gain = match self.objective {
            Objective::WireProfit => self.staleness(rate, age, known_stale),
            Objective::Freshness => freshness_index(rate, age),
            Objective::Age => age_index(rate, age),
            Objective::EveryChange => every_change_index(rate, age),
        };
        let announced_gain = match self.objective {
            objective if known_stale && objective != Objective::WireProfit => {
                known_stale_index(objective, rate, age).min(new_page_index(objective))
            }
            _ => 0.0,
        };
        finite_or_zero(weight * gain.max(announced_gain))
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
            // As accurate as `exp_m1` after rounding to f32, and twice as fast.
            false => match exponent * rate * age {
                x if x < 1e-4 => x - x * x / 2.0,
                x => 1.0 - (-x).exp(),
            },
        }
    }
}

/// Index of a page that is known to have changed, by the argument of [`freshness`](crate::refresh::freshness) with a cycle
/// that begins with 1/λ days of freshness.
///
/// A fetch gains 1/λ days of freshness. For age, with a days since the change, the index is a²/2 + a/λ, where a is the expected
/// age of a page that has changed. For every change the index is at least 1/λ above that of a change that is only suspected.
fn known_stale_index(objective: Objective, rate: f64, age: f64) -> f64 {
    // A page that has changed has a positive rate: at least one change in 30,000 years, which avoids a division by 0.
    let rate = rate.max(1e-7);
    let expected_age = every_change_index(rate, age);
    match objective {
        Objective::WireProfit | Objective::Freshness => 1.0 / rate,
        Objective::Age => {
            let since = expected_age / -(-rate * age).exp_m1().min(-f64::MIN_POSITIVE);
            since * (since / 2.0 + 1.0 / rate)
        }
        Objective::EveryChange => 1.0 / rate + expected_age,
    }
}

/// Index of a page that was never fetched.
fn new_page_index(objective: Objective) -> f64 {
    let rate = f64::from(DEFAULT_CHANGES_PER_DAY);
    known_stale_index(objective, rate, 1.0 / rate)
}

/// Maps every input to a finite number of at least 0, so that priorities can be compared and summed.
fn finite_or_zero(value: f64) -> f32 {
    if value > 0.0 { value.min(f64::from(f32::MAX)) as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn model(objective: Objective) -> PriorityModel {
        PriorityModel { objective, ..PriorityModel::default() }
    }

    #[test]
    fn of_the_three_pages_of_the_wire_paper_the_first_and_the_third_are_chosen() {
        let model = model(Objective::WireProfit);
        // Rate of a page that is fresh after a day with this probability.
        let rate = |fresh: f32| -fresh.ln();
        let priorities = [
            model.for_visited_page(0.4, rate(0.1), 1.0, false),
            model.for_visited_page(0.7, rate(0.9), 1.0, false),
            model.for_new_page(0.6),
        ];
        for (found, expected) in priorities.iter().zip([0.36, 0.07, 0.6]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| priorities[*b].total_cmp(&priorities[*a]));
        let mut two = [order[0], order[1]];
        two.sort_unstable();
        assert_eq!(two, [0, 2]);
    }

    #[test]
    fn exponents_weigh_quality_freshness_and_representation() {
        let of = |quality_exponent, freshness_exponent, representation_exponent| {
            let objective = Objective::WireProfit;
            let model =
                PriorityModel { quality_exponent, freshness_exponent, representation_exponent, objective };
            (model.for_visited_page(0.25, 2.0_f32.ln(), 1.0, false), model.for_new_page(0.25))
        };
        let cases = [
            ((1.0, 1.0, 1.0), (0.125, 0.25)),
            ((0.5, 1.0, 1.0), (0.25, 0.5)),
            ((1.0, 2.0, 1.0), (0.1875, 0.25)),
            // Without freshness, only pages without a copy have a priority.
            ((1.0, 0.0, 1.0), (0.0, 0.25)),
            ((1.0, 0.0, 0.0), (0.0, 0.0)),
        ];
        for ((quality, freshness, representation), (visited, new)) in cases {
            let found = of(quality, freshness, representation);
            assert!((found.0 - visited).abs() < 1e-6 && (found.1 - new).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn an_announced_change_never_lowers_the_priority() {
        for objective in Objective::ALL {
            for (rate, age) in [(0.01, 0.1), (0.01, 30.0), (1.0, 1.0), (1.0, 100.0), (50.0, 3.0)] {
                let of = |known_stale| model(objective).for_visited_page(0.5, rate, age, known_stale);
                assert!(
                    of(true) >= of(false) * 0.999,
                    "{objective} {rate} {age}: {} {}",
                    of(true),
                    of(false)
                );
            }
        }
    }

    #[test]
    fn an_announced_change_raises_the_priority_at_most_to_that_of_a_new_page() {
        for objective in Objective::ALL {
            // A false announcement lowers the estimated rate; this must not raise the priority.
            for rate in [1e-1, 1e-2, 1e-3, 1e-4] {
                let announced = model(objective).for_visited_page(0.5, rate, 3.0, true);
                assert!(announced <= model(objective).for_new_page(0.5), "{objective} {rate}: {announced}");
            }
        }
    }

    #[test]
    fn only_freshness_prefers_slow_pages_to_fast_ones() {
        // One page changes every hour, one every ten days; both copies are ten days old.
        let prefers_fast = |objective| {
            let of = |rate| model(objective).for_visited_page(0.5, rate, 10.0, false);
            of(24.0) > of(0.1)
        };
        assert_eq!(Objective::ALL.map(prefers_fast), [true, false, true, true]);
    }

    fn any_model() -> impl Strategy<Value = PriorityModel> {
        let objective = prop::sample::select(Objective::ALL.to_vec());
        (any::<f32>(), any::<f32>(), any::<f32>(), objective).prop_map(
            |(quality_exponent, freshness_exponent, representation_exponent, objective)| PriorityModel {
                quality_exponent,
                freshness_exponent,
                representation_exponent,
                objective,
            },
        )
    }

    fn sensible() -> impl Strategy<Value = (f32, f32, f32)> {
        (0.0..1.0_f32, (-12.0..6.0_f32).prop_map(f32::exp), (-12.0..9.0_f32).prop_map(f32::exp))
    }

    proptest! {
        #[test]
        fn priorities_are_finite_for_every_input(model in any_model(), quality: f32, rate: f32, age: f32, known_stale: bool) {
            for found in [model.for_new_page(quality), model.for_visited_page(quality, rate, age, known_stale)] {
                prop_assert!(found >= 0.0 && found.is_finite(), "{found}");
            }
        }

        #[test]
        fn priority_grows_with_age_and_quality(
            (quality, rate, age) in sensible(), more in 1.0..3.0_f32, objective in prop::sample::select(Objective::ALL.to_vec()), known_stale: bool,
        ) {
            let of = |quality, age| model(objective).for_visited_page(quality, rate, age, known_stale);
            let now = of(quality, age) * (1.0 - 1e-6);
            prop_assert!(of(quality, age * more) >= now);
            prop_assert!(of(quality * more, age) >= now);
            prop_assert!(model(objective).for_new_page(quality * more) >= model(objective).for_new_page(quality));
        }

        #[test]
        fn priority_grows_with_the_rate_except_for_freshness((quality, rate, age) in sensible(), more in 1.0..3.0_f32) {
            // Freshness gives up pages that change too fast.
            for objective in [Objective::WireProfit, Objective::Age, Objective::EveryChange] {
                let of = |rate| model(objective).for_visited_page(quality, rate, age, false);
                prop_assert!(of(rate * more) >= of(rate) * (1.0 - 1e-6), "{objective}");
            }
        }

        #[test]
        fn the_wire_profit_of_a_revisit_never_exceeds_that_of_a_new_page((quality, rate, age) in sensible(), known_stale: bool) {
            let of = model(Objective::WireProfit).for_visited_page(quality, rate, age, known_stale);
            prop_assert!(of <= model(Objective::WireProfit).for_new_page(quality));
        }
    }
}
