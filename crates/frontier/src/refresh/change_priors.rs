//! Prior change rates: the expected rate of a page by those of its site, the collection, or the Web.
//!
//! The mean of a site is shrunk towards that of the collection: over few pages, each with few fetches, it is mostly noise.
//!
//! Rates spread over many orders of magnitude and are nearly log-normal. Their geometric mean is therefore their median, and
//! two numbers per site are enough to keep it up to date.

use model::SiteId;

use crate::refresh::change_rate::DEFAULT_CHANGES_PER_DAY;

/// Rates of the pages that were compared at least once, summed by site.
#[derive(Debug, Clone, Default)]
pub struct ChangePriors {
    sites: Vec<LogRateSum>,
    all: LogRateSum,
}

/// Minimum number of pages; with fewer, the default rate applies.
const MIN_PAGES: u32 = 5;
/// Weight of the collection in the mean of a site, in pages. On the synthetic Web of 20,000 pages, `weir simulate` reaches
/// 96.7 % of the optimal freshness with it, and 96.2 % without.
const PRIOR_WEIGHT_PAGES: f64 = 20.0;

/// Sum of the logarithms of rates, and their number.
#[derive(Debug, Clone, Copy, Default)]
struct LogRateSum {
    sum: f64,
    pages: u32,
}

impl ChangePriors {
    /// Expected rate of a page of this site, in changes per day.
    pub fn for_site(&self, site: SiteId) -> f32 {
        if self.all.pages < MIN_PAGES {
            return DEFAULT_CHANGES_PER_DAY;
        }
        let all = self.all.sum / f64::from(self.all.pages);
        let own = self.sites.get(site.index()).copied().unwrap_or_default();
        ((own.sum + PRIOR_WEIGHT_PAGES * all) / (f64::from(own.pages) + PRIOR_WEIGHT_PAGES)).exp() as f32
    }

    /// Replaces the rate of a page by a better estimate; 0 stands for unknown.
    pub fn update(&mut self, site: SiteId, before: f32, after: f32) {
        if self.sites.len() <= site.index() {
            self.sites.resize(site.index() + 1, LogRateSum::default());
        }
        for rates in [&mut self.sites[site.index()], &mut self.all] {
            rates.remove(before);
            rates.add(after);
        }
    }

    /// Adds the rates of other pages.
    pub fn merge(&mut self, other: &ChangePriors) {
        if self.sites.len() < other.sites.len() {
            self.sites.resize(other.sites.len(), LogRateSum::default());
        }
        for (rates, more) in self.sites.iter_mut().zip(&other.sites).chain([(&mut self.all, &other.all)]) {
            rates.sum += more.sum;
            rates.pages += more.pages;
        }
    }
}

impl LogRateSum {
    fn add(&mut self, rate: f32) {
        if rate > 0.0 {
            self.sum += f64::from(rate).ln();
            self.pages += 1;
        }
    }

    fn remove(&mut self, rate: f32) {
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
    fn the_prior_approaches_the_rate_of_the_site_as_pages_accumulate() {
        let mut priors = ChangePriors::default();
        let (fast, slow, unknown) = (SiteId(0), SiteId(3), SiteId(99));
        (0..4).for_each(|_| priors.update(fast, 0.0, 10.0));
        assert_eq!(priors.for_site(fast), DEFAULT_CHANGES_PER_DAY, "four pages are too few");
        priors.update(fast, 0.0, 10.0);
        priors.update(slow, 0.0, 0.1);
        // Five tens and one tenth.
        let all = 10f32.powf(4.0 / 6.0);
        assert!((priors.for_site(unknown) - all).abs() < 1e-4);
        assert!((0.1..all).contains(&priors.for_site(slow)) && (all..10.0).contains(&priors.for_site(fast)));
        let few = priors.for_site(slow);
        (0..1_000).for_each(|_| priors.update(slow, 0.0, 0.1));
        assert!(priors.for_site(slow) < few && (priors.for_site(slow) / 0.1 - 1.0).abs() < 0.01);
        (0..1_000).for_each(|_| priors.update(slow, 0.1, 0.2));
        assert!((priors.for_site(slow) / 0.2 - 1.0).abs() < 0.01, "an update replaces the previous rate");
    }
}
