//! How fresh is a copy, on average, and how are refreshes best spread over pages?
//!
//! A page changes as a Poisson process with a known rate λ; its copy is t days old, or made anew f times a day at regular
//! intervals. This is the theory, with the allocations that know all rates as bounds (Cho and Garcia-Molina, "Effective page
//! refresh policies for Web crawlers", ACM TODS 2003). What a crawl does, which does not know them, is [`Profit`](crate::Profit).
//!
//! **How an index follows.** Let c(t) be what a copy of age t costs in a unit of time. Refreshing it every t days costs
//! (∫c + T)/t, if T is the price of a refresh; that is least where t·c(t) − ∫₀ᵗc = ∫₀ᵗ s·c'(s) ds = T. So whatever is
//! optimised, a page is due when its index V(t) = ∫₀ᵗ s·c'(s) ds reaches one T for all (Azar, Horvitz, Lubetzky, Peres and
//! Shahaf, "Tractable near-optimal policies for crawling", PNAS 2018):
//!
//! | what a copy costs | c(t) | V(t) |
//! |---|---|---|
//! | 1 while it is stale | 1 − e^{−λt} | 1/λ − (t + 1/λ)e^{−λt} |
//! | the time since the first change it lacks | t − (1 − e^{−λt})/λ | t²/2 − (1/λ)·(the line above) |
//! | the harmonic number of the changes it lacks | E H(N), N Poisson of mean λt | t − (1 − e^{−λt})/λ |
//!
//! The last: E H(N) grows with λt as E 1/(N + 1) = (1 − e^{−λt})/(λt), and s·c'(s) = 1 − e^{−λs}.

/// The probability that a copy is fresh: e^{−λt}.
pub fn fresh_probability(changes_per_day: f64, age_days: f64) -> f64 {
    (-changes_per_day * age_days).exp()
}

/// How much of the time a copy is fresh: (1 − e^{−r})/r with r = λ/f.
pub fn mean_freshness(changes_per_day: f64, refreshes_per_day: f64) -> f64 {
    if changes_per_day <= 0.0 {
        return 1.0;
    }
    if refreshes_per_day <= 0.0 {
        return 0.0;
    }
    1.0 - mean_missing(changes_per_day / refreshes_per_day)
}

/// The mean age of a copy, in days: (1/f)·[1/2 − 1/r + (1 − e^{−r})/r²] with r = λ/f. A copy that is never refreshed ages without
/// end.
pub fn mean_age_days(changes_per_day: f64, refreshes_per_day: f64) -> f64 {
    if changes_per_day <= 0.0 {
        return 0.0;
    }
    if refreshes_per_day <= 0.0 {
        return f64::INFINITY;
    }
    let r = changes_per_day / refreshes_per_day;
    let part = if r < 1e-3 { r / 6.0 - r * r / 24.0 } else { 0.5 - mean_missing(r) / r };
    part / refreshes_per_day
}

/// The mean harmonic staleness of a copy that is refreshed at random, f times a day: ln(1 + λ/f).
pub fn mean_harmonic_staleness(changes_per_day: f64, refreshes_per_day: f64) -> f64 {
    if changes_per_day <= 0.0 { 0.0 } else { (changes_per_day / refreshes_per_day.max(0.0)).ln_1p() }
}

/// The index for freshness, in days of freshness that a refresh buys: 1/λ − (t + 1/λ)e^{−λt}.
pub fn freshness_index(changes_per_day: f64, age_days: f64) -> f64 {
    age_days * gain(changes_per_day * age_days)
}

/// The index for age, in days²: t²/2 − (1/λ)·[1/λ − (t + 1/λ)e^{−λt}].
pub fn age_index(changes_per_day: f64, age_days: f64) -> f64 {
    let x = changes_per_day * age_days;
    let part = if x < 1e-2 {
        // What is left of 1/2 − gain(x)/x when the halves are gone.
        x * (1.0 / 3.0 - x * (1.0 / 8.0 - x * (1.0 / 30.0 - x * (1.0 / 144.0 - x / 840.0))))
    } else {
        0.5 - gain(x) / x
    };
    age_days * age_days * part
}

/// The index where every change matters, in days: t − (1 − e^{−λt})/λ, which is also the expected age. It grows for ever, so that
/// no page starves.
pub fn every_change_index(changes_per_day: f64, age_days: f64) -> f64 {
    age_days * mean_missing(changes_per_day * age_days)
}

/// [1 − (1 + x)e^{−x}]/x.
fn gain(x: f64) -> f64 {
    if x < 1e-2 {
        // Σ (−1)^k (k − 1)/k! x^{k−1}: the difference of numbers near 1 would lose all digits.
        return x * (0.5 - x * (1.0 / 3.0 - x * (1.0 / 8.0 - x * (1.0 / 30.0 - x / 144.0))));
    }
    // Where e^{−x} is nothing, x may be too large to be multiplied by it.
    if x > 700.0 { 1.0 / x } else { (1.0 - (1.0 + x) * (-x).exp()) / x }
}

/// 1 − (1 − e^{−x})/x.
fn mean_missing(x: f64) -> f64 {
    if x < 1e-2 {
        return x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x * (1.0 / 120.0 - x / 720.0))));
    }
    1.0 + (-x).exp_m1() / x
}

/// A page, as an allocation sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refreshed {
    /// How often it changes.
    pub changes_per_day: f64,
    /// How much its freshness counts.
    pub weight: f64,
}

/// Refreshes a day for each page that give the largest weighted mean freshness.
///
/// A page that changes too often for what it counts gets none: the refreshes buy more elsewhere.
pub fn optimal_refreshes(pages: &[Refreshed], refreshes_per_day: f64) -> Vec<f64> {
    let at = |price: f64| pages.iter().map(move |page| refreshes_at(*page, price));
    // The index of a page never passes weight/λ, so at that price nobody is refreshed.
    let most = pages.iter().filter(|page| page.counts()).map(|page| page.weight / page.changes_per_day);
    let price = price(most.fold(0.0, f64::max), refreshes_per_day, |price| at(price).sum());
    price.map_or_else(|| vec![0.0; pages.len()], |price| at(price).collect())
}

/// Refreshes a day for each page, at random times, that give the least weighted harmonic staleness: (√(λ² + 4wλ/L) − λ)/2 with
/// one multiplier L (Kolobov, Peres, Lu and Horvitz, "Staying up to date with online content changes using reinforcement
/// learning for scheduling", NeurIPS 2019).
pub fn harmonic_refreshes(pages: &[Refreshed], refreshes_per_day: f64) -> Vec<f64> {
    let refreshes = |page: &Refreshed, price: f64| {
        let (rate, gain) = (page.changes_per_day, page.weight / price);
        // (√(λ² + 4λg) − λ)/2, without the difference of two that are nearly equal.
        if page.counts() { 2.0 * rate * gain / (rate + (rate * (rate + 4.0 * gain)).sqrt()) } else { 0.0 }
    };
    let at = |price: f64| pages.iter().map(move |page| refreshes(page, price));
    // Each page gets less than weight/L.
    let most: f64 = pages.iter().filter(|page| page.counts()).map(|page| page.weight).sum();
    let price = price(most / refreshes_per_day, refreshes_per_day, |price| at(price).sum());
    price.map_or_else(|| vec![0.0; pages.len()], |price| at(price).collect())
}

/// The same for all.
pub fn uniform_refreshes(pages: &[Refreshed], refreshes_per_day: f64) -> Vec<f64> {
    vec![refreshes_per_day / pages.len() as f64; pages.len()]
}

/// As many for each as it changes.
pub fn proportional_refreshes(pages: &[Refreshed], refreshes_per_day: f64) -> Vec<f64> {
    let sum: f64 = pages.iter().map(|page| page.changes_per_day).sum();
    if sum <= 0.0 {
        return uniform_refreshes(pages, refreshes_per_day);
    }
    pages.iter().map(|page| refreshes_per_day * page.changes_per_day / sum).collect()
}

impl Refreshed {
    /// Whether refreshing it gains anything.
    fn counts(&self) -> bool {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        is_positive(self.changes_per_day) && is_positive(self.weight)
    }
}

/// The f at which the index at t = 1/f is the price: r = λ/f solves 1 − (1 + r)e^{−r} = λ·price/w.
fn refreshes_at(page: Refreshed, price: f64) -> f64 {
    let gained = page.changes_per_day * price / page.weight;
    if !page.counts() || gained >= 1.0 {
        return 0.0;
    }
    // r − ln(1 + r) = s by Newton's method, which comes down from s + √(2s) without passing r (Chatzigeorgiou, "Bounds on
    // the Lambert function", IEEE Communications Letters 2013).
    let s = -(-gained).ln_1p();
    let mut r = s + (2.0 * s).sqrt();
    for _ in 0..20 {
        let step = (r - r.ln_1p() - s) * (1.0 + r) / r;
        r -= step;
        if step.abs() <= 1e-12 * r {
            break;
        }
    }
    page.changes_per_day / r
}

/// The price at which the refreshes bought are as many as there are; `bought` falls from there to 0 at the highest price.
fn price(highest: f64, refreshes_per_day: f64, bought: impl Fn(f64) -> f64) -> Option<f64> {
    if !(highest > 0.0 && highest.is_finite() && refreshes_per_day > 0.0) {
        return None;
    }
    let (mut low, mut high) = (highest, highest);
    while bought(low) < refreshes_per_day && low > f64::MIN_POSITIVE {
        (low, high) = (low / 4.0, low);
    }
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        let enough = bought(middle);
        if (enough - refreshes_per_day).abs() <= 1e-10 * refreshes_per_day || high - low <= 1e-15 * high {
            return Some(middle);
        }
        if enough > refreshes_per_day { low = middle } else { high = middle }
    }
    Some((low * high).sqrt())
}
