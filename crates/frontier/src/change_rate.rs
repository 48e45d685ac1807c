//! How often does a page change, by what its visits have shown?
//!
//! A page is taken to change as a Poisson process, and a visit shows whether it has changed since the one before, or by
//! `Last-Modified` also when. The estimators are those of Cho and Garcia-Molina ("Estimating frequency of change", ACM TOIT
//! 2003). [`ChangeHistory`] weighs what a page has shown against what its neighbours let expect, since most pages of a
//! collection have been visited once or twice. Nothing here decides when to visit.

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
    /// The time between visits in which it did not change. Of a dated page also the time from each last modification to the
    /// visit that found it.
    pub unchanged_days: f64,
    /// The time between visits at the end of which it had changed. It tells nothing more about a dated page.
    pub changed_days: f64,
    /// Its server tells when it was last modified.
    pub dated: bool,
}

impl ChangeHistory {
    /// The rate that best explains the visits and the expectation together; `prior` is the median rate of the page's site, or
    /// of the collection.
    ///
    /// Rates of pages spread over orders of magnitude, so the expectation is log-normal around the prior, as narrow as two
    /// visits at the best pace would make it. Two hours without a change then say nothing against a change a month, while ten
    /// changes in ten hours say all; pseudo-visits or pseudo-changes that are just added to the counts fail one or the other.
    /// Without visits the rate is the prior. The most probable rate needs no correction of its bias.
    pub fn changes_per_day(&self, prior: Option<f32>) -> f32 {
        let usable = |prior: &f32| *prior > 0.0 && prior.is_finite();
        let prior = f64::from(prior.filter(usable).unwrap_or(UNKNOWN_CHANGES_PER_DAY));
        let prior = prior.clamp(RATES.0, RATES.1);
        let changes = f64::from(self.changes.min(self.compared));
        let unchanged_days = days(self.unchanged_days);
        let changed_days = if self.dated { 0.0 } else { days(self.changed_days) };
        let interval = if changes > 0.0 { changed_days / changes } else { 0.0 };
        // The derivative of the log-likelihood by ln λ. It falls everywhere, so there is one best rate.
        let slope = |log_rate: f64| {
            let rate = log_rate.exp();
            let seen = changes * per_expm1(rate * interval) - rate * unchanged_days;
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
    let usable = intervals.iter().filter(|(interval, _)| days(*interval) > 0.0);
    let (changed, unchanged): (Vec<f64>, Vec<f64>) = usable.fold(Default::default(), |mut both, entry| {
        if entry.1 {
            both.0.push(entry.0)
        } else {
            both.1.push(entry.0)
        }
        both
    });
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
