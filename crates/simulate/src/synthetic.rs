//! Synthetic Web model: sites, sizes, links and change rates as `simweb` serves them, without faults.
//!
//! Sizes of sites and popularity of pages follow power laws; change rates and response times are log-normal. All pages
//! change, and most servers state when.

use std::net::IpAddr;

use model::{PageId, SiteId};
use simweb::{PageRef, PathClass, Ports, Settings, World};

use crate::error::Error;
use crate::random::KeyedRandom;
use crate::web_model::{WebModel, WebPage, WebSite};

/// Parameters of the synthetic Web model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synthetic {
    /// Approximate number of pages.
    pub pages: u64,
    /// Number of sites.
    pub sites: u64,
    /// Random seed.
    pub seed: u64,
}

/// Minimum and maximum number of links per page, which gives ten different targets on average.
const LINKS: (u64, u64) = (4, 20);
/// Median and spread of the response times.
const RESPONSE_MS: (f64, f64) = (300.0, 0.8);
/// Domain of the random numbers.
const RESPONSE_TIME_DOMAIN: u64 = 1;

impl Synthetic {
    /// Generates the model.
    pub fn web(&self) -> Result<WebModel, Error> {
        let mut settings = Settings::plain();
        let default = Settings::default();
        for (name, value) in [("pages", self.pages), ("sites", self.sites), ("seed", self.seed)] {
            settings.set(name, value as f64)?;
        }
        (settings.min_links, settings.max_links) = LINKS;
        settings.dynamic = default.dynamic;
        settings.virtual_hosts = default.virtual_hosts;
        settings.validators = default.validators;
        settings.changing_pages = 1.0;
        let world = World::new(settings, Ports { http: 80, https: 443 })?;
        Ok(self.model_of(&world))
    }

    fn model_of(&self, world: &World) -> WebModel {
        let sites: Vec<simweb::Site> = world.site_indexes().map(|index| world.site(index)).collect();
        let mut first = Vec::with_capacity(sites.len() + 1);
        let mut pages = Vec::new();
        for site in &sites {
            first.push(pages.len() as u32);
            let page = |index| WebPage {
                site: SiteId(site.index),
                is_dynamic: world.page(site, index).path_class == PathClass::Dynamic,
                changes_per_day: world.changes_per_day(site, index) as f32,
                has_last_modified: site.validators,
                has_content: true,
            };
            pages.extend((0..site.pages).map(page));
        }
        let site_list = sites.iter().map(|site| WebSite {
            ip_address: IpAddr::V4(world.ip_address(site.index)),
            front_page: Some(PageId(first[site.index as usize])),
            response_ms: response_ms(self.seed, site.index),
            crawl_delay_ms: 0,
        });
        let mut web = WebModel::new(pages, site_list.collect(), vec![PageId(0)]);
        let number = |page: PageRef| PageId(first[page.site as usize] + page.page);
        let mut targets = Vec::new();
        for site in &sites {
            for index in 0..site.pages {
                targets.clear();
                targets.extend(world.link_targets(site, index).map(number));
                web.push_links(&mut targets);
            }
        }
        web
    }
}

/// Response time of a site that was not measured.
pub(crate) fn response_ms(seed: u64, site: u32) -> u32 {
    let (median, spread) = RESPONSE_MS;
    (median * (spread * KeyedRandom::new(seed, RESPONSE_TIME_DOMAIN, u64::from(site)).normal()).exp()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_web_and_all_pages_are_reachable() {
        let settings = Synthetic { pages: 3_000, sites: 50, seed: 7 };
        let (web, again) = (settings.web().unwrap(), settings.web().unwrap());
        assert_eq!((&web.pages, &web.sites), (&again.pages, &again.sites));
        let links = |web: &WebModel| -> Vec<PageId> {
            (0..web.pages.len()).flat_map(|page| web.links(PageId(page as u32)).to_vec()).collect()
        };
        assert_eq!(links(&web), links(&again));
        assert!(web.reachable().iter().all(|reached| *reached));
        let per_page = web.link_count() as f64 / web.pages.len() as f64;
        assert!((8.0..12.0).contains(&per_page), "{per_page}");
        let other = Synthetic { seed: 8, ..settings }.web().unwrap();
        assert_ne!(links(&web), links(&other));
    }

    #[test]
    fn inlinks_have_a_long_tail() {
        let web = Synthetic { pages: 20_000, sites: 200, seed: 1 }.web().unwrap();
        let mut counts = web.inlinks();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let top: u32 = counts[..counts.len() / 100].iter().sum();
        let share = f64::from(top) / web.link_count() as f64;
        assert!(share > 0.2, "one page of a hundred has {share} of all links");
    }

    #[test]
    fn impossible_parameters_are_an_error() {
        assert!(Synthetic { pages: 10, sites: 0, seed: 1 }.web().is_err());
    }
}
