//! How often does a page change of which nobody knows yet? As often as its like: the other pages of its site, else those
//! of the collection, else what is usual on the Web.
//!
//! Rates are spread over many orders of magnitude and near to log-normal, so that their geometric mean is their median, and
//! can be kept up to date by two numbers a site.

use model::SiteId;

use crate::UNKNOWN_CHANGES_PER_DAY;

/// What is known about the rates of pages that were compared at least once.
#[derive(Debug, Clone, Default)]
pub struct ChangePriors {
    sites: Vec<Rates>,
    all: Rates,
}

/// Fewer pages of a site say less than all others.
const FEWEST_PAGES: u32 = 5;

/// Logarithms of rates, and how many.
#[derive(Debug, Clone, Copy, Default)]
struct Rates {
    sum: f64,
    pages: u32,
}

impl ChangePriors {
    /// What to expect of a page of this site, in changes per day.
    pub fn of(&self, site: SiteId) -> f32 {
        let own = self.sites.get(site.index()).filter(|rates| rates.pages >= FEWEST_PAGES);
        let rates = own.unwrap_or(&self.all);
        if rates.pages < FEWEST_PAGES {
            return UNKNOWN_CHANGES_PER_DAY;
        }
        (rates.sum / f64::from(rates.pages)).exp() as f32
    }

    /// The rate of a page is known better now; 0 stands for unknown.
    pub fn replace(&mut self, site: SiteId, before: f32, after: f32) {
        if self.sites.len() <= site.index() {
            self.sites.resize(site.index() + 1, Rates::default());
        }
        for rates in [&mut self.sites[site.index()], &mut self.all] {
            rates.take(before);
            rates.add(after);
        }
    }

    /// Takes those of other pages into account.
    pub fn merge(&mut self, other: &ChangePriors) {
        if self.sites.len() < other.sites.len() {
            self.sites.resize(other.sites.len(), Rates::default());
        }
        for (rates, more) in self.sites.iter_mut().zip(&other.sites).chain([(&mut self.all, &other.all)]) {
            rates.sum += more.sum;
            rates.pages += more.pages;
        }
    }
}

impl Rates {
    fn add(&mut self, rate: f32) {
        if rate > 0.0 {
            self.sum += f64::from(rate).ln();
            self.pages += 1;
        }
    }

    fn take(&mut self, rate: f32) {
        if rate > 0.0 {
            self.sum -= f64::from(rate).ln();
            self.pages = self.pages.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_like_that_are_enough_decide() {
        let mut priors = ChangePriors::default();
        let (fast, slow) = (SiteId(0), SiteId(3));
        assert_eq!(priors.of(fast), UNKNOWN_CHANGES_PER_DAY);
        (0..5).for_each(|_| priors.replace(fast, 0.0, 10.0));
        priors.replace(slow, 0.0, 0.1);
        assert!((priors.of(fast) - 10.0).abs() < 1e-4);
        let all = priors.of(slow);
        assert!((all - 10f32.powf(4.0 / 6.0)).abs() < 1e-4, "one page says less than all: {all}");
        assert_eq!(priors.of(SiteId(99)), all);
        (0..4).for_each(|_| priors.replace(slow, 0.0, 0.1));
        assert!((priors.of(slow) - 0.1).abs() < 1e-6);
        (0..5).for_each(|_| priors.replace(slow, 0.1, 0.2));
        assert!((priors.of(slow) - 0.2).abs() < 1e-6, "what is known better replaces what was");
    }
}
