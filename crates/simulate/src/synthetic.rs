//! A Web that is made up: sites, sizes, links and change rates as `simweb` serves them, without the faults.
//!
//! Sizes of sites and popularity of pages follow power laws, change rates and answer times are log-normal. All pages change, and
//! the servers of most tell when.

use std::net::IpAddr;

use model::{PageId, SiteId};
use simweb::{PageRef, Ports, Settings, Style, World};

use crate::chance::Chance;
use crate::error::Error;
use crate::web::{Web, WebPage, WebSite};

/// What the made-up Web is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synthetic {
    /// About how many pages there are.
    pub pages: u64,
    /// How many sites they are on.
    pub sites: u64,
    /// Everything is derived from this number.
    pub seed: u64,
}

/// Links of a page, so that there are ten on average that lead to different pages.
const LINKS: (u64, u64) = (4, 20);
/// Median and spread of the answer times.
const ANSWER_MS: (f64, f64) = (300.0, 0.8);
/// What chance is asked about here.
const SPEEDS: u64 = 1;

impl Synthetic {
    /// Makes it up.
    pub fn web(&self) -> Result<Web, Error> {
        let mut settings = Settings::plain();
        let usual = Settings::default();
        for (name, value) in [("pages", self.pages), ("sites", self.sites), ("seed", self.seed)] {
            settings.set(name, value as f64)?;
        }
        (settings.fewest_links, settings.most_links) = LINKS;
        settings.dynamic = usual.dynamic;
        settings.virtual_hosts = usual.virtual_hosts;
        settings.validators = usual.validators;
        settings.changing = 1.0;
        let world = World::new(settings, Ports { http: 80, https: 443 })?;
        Ok(self.of_world(&world))
    }

    fn of_world(&self, world: &World) -> Web {
        let sites: Vec<simweb::Site> = world.site_indexes().map(|index| world.site(index)).collect();
        let mut first = Vec::with_capacity(sites.len() + 1);
        let mut pages = Vec::new();
        for site in &sites {
            first.push(pages.len() as u32);
            let page = |index| WebPage {
                site: SiteId(site.index),
                dynamic: world.page(site, index).style == Style::Dynamic,
                changes_per_day: world.changes_per_day(site, index) as f32,
                dated: site.validators,
                has_content: true,
            };
            pages.extend((0..site.pages).map(page));
        }
        let site_list = sites.iter().map(|site| WebSite {
            address: IpAddr::V4(world.address(site.index)),
            front_page: Some(PageId(first[site.index as usize])),
            answer_ms: answer_ms(self.seed, site.index),
            crawl_delay_ms: 0,
        });
        let mut web = Web::new(pages, site_list.collect(), vec![PageId(0)]);
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

/// How long a site takes to answer, if nobody has measured it.
pub(crate) fn answer_ms(seed: u64, site: u32) -> u32 {
    let (median, spread) = ANSWER_MS;
    (median * (spread * Chance::new(seed, SPEEDS, u64::from(site)).normal()).exp()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_web_and_all_of_it_can_be_reached() {
        let settings = Synthetic { pages: 3_000, sites: 50, seed: 7 };
        let (web, again) = (settings.web().unwrap(), settings.web().unwrap());
        assert_eq!((&web.pages, &web.sites), (&again.pages, &again.sites));
        let links = |web: &Web| -> Vec<PageId> {
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
    fn in_links_have_a_long_tail() {
        let web = Synthetic { pages: 20_000, sites: 200, seed: 1 }.web().unwrap();
        let mut counts = web.in_links();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let top: u32 = counts[..counts.len() / 100].iter().sum();
        let share = f64::from(top) / web.link_count() as f64;
        assert!(share > 0.2, "one page of a hundred has {share} of all links");
    }

    #[test]
    fn what_cannot_be_made_up_is_an_error() {
        assert!(Synthetic { pages: 10, sites: 0, seed: 1 }.web().is_err());
    }
}
