//! Links of a page, numbered, each computable on its own. The page and the ground truth use the same functions.
//!
//! First come the links of every page (the main pages of the site, the parent, the children), then free ones: to
//! nearby pages, to popular pages, to other sites. Popularity falls as 1/rank, so that in-degrees follow a power law
//! with an exponent of about 2, as on the Web.

use serde::Serialize;

use crate::world::kinds::{PageRef, TrapKind};
use crate::world::page::{Page, PageKey};
use crate::world::random::KeyedRandom;
use crate::world::site::{BRANCHING, SITES_PER_PORTAL_PAGE, Site};
use crate::world::synthetic_web::World;

/// Number of links to the main pages of the site at the top of every page.
const MENU_LINKS: u32 = 6;
/// Maximum distance of a nearby page, in page indexes.
const MAX_LOCAL_DISTANCE: u64 = 24;

/// A link of a page.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Target of the link.
    pub target: Target,
    /// Position on the page.
    pub position: LinkPosition,
    /// Whether it has `rel=nofollow`.
    pub nofollow: bool,
    /// Whether it has tracking parameters.
    pub has_tracking: bool,
    pub(crate) random: KeyedRandom,
}

impl Link {
    /// Returns the only link of a soft 404.
    pub(crate) fn home(page: &Page) -> Link {
        let random = page.random(PageKey::Links);
        Link {
            target: Target::SameSite(0),
            position: LinkPosition::Up,
            nofollow: false,
            has_tracking: false,
            random,
        }
    }
}

/// Target of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A page of the same site.
    SameSite(u32),
    /// A page of any site, with an absolute URL.
    OtherSite(PageRef),
    /// A host that does not exist (NXDOMAIN).
    NxDomain(u32),
    /// A closed port of a site.
    ClosedPort(u32),
    /// The entrance of the trap of the site.
    Trap(TrapKind),
}

impl Target {
    /// Returns the target page of a link on `site`; `None` if there is none.
    pub fn page(self, site: &Site) -> Option<PageRef> {
        match self {
            Target::SameSite(page) => Some(PageRef { site: site.index, page }),
            Target::OtherSite(page) => Some(page),
            Target::NxDomain(_) | Target::ClosedPort(_) | Target::Trap(_) => None,
        }
    }
}

/// Position of a link on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkPosition {
    /// Menu at the top.
    Menu,
    /// Link to the parent or to the front page.
    Up,
    /// List of children.
    Child,
    /// List of sites on the portal.
    Directory,
    /// Running text, and the lists beside and below it.
    Text,
}

/// Links of one page, by index.
#[derive(Clone, Copy)]
pub(crate) struct Links<'w> {
    world: &'w World,
    site: &'w Site,
    page: Page,
    children: u32,
    listed: u32,
    trap: Option<TrapKind>,
    len: u32,
}

impl<'w> Links<'w> {
    /// Returns the links of a page with its own text; duplicates have the links of their original.
    pub(crate) fn new(world: &'w World, site: &'w Site, page: &Page) -> Links<'w> {
        let first_child = u64::from(page.index) * u64::from(BRANCHING) + 1;
        let children = u64::from(site.linked).saturating_sub(first_child).min(u64::from(BRANCHING)) as u32;
        let listed = if site.is_portal() {
            let first = u64::from(page.index) * SITES_PER_PORTAL_PAGE + 1;
            world.settings.sites.saturating_sub(first).min(SITES_PER_PORTAL_PAGE) as u32
        } else {
            0
        };
        let trap = site.trap.filter(|_| page.index == 0);
        let fixed = MENU_LINKS + 1 + children + listed + u32::from(trap.is_some());
        let settings = &world.settings;
        let spread = settings.max_links - settings.min_links + 1;
        let drawn = (settings.min_links + page.random(PageKey::LinkCount).below(spread)) as u32;
        // An isolated page is outside the tree and has no children.
        let children = if page.index < site.linked { children } else { 0 };
        Links { world, site, page: *page, children, listed, trap, len: drawn.max(fixed) }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Link> + use<'w> {
        (0..self.len).map(move |number| self.get(number))
    }

    /// Returns the link with this index.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Link {
        let random = self.page.random(PageKey::Links).child(u64::from(number));
        let fixed =
            |target, position| Link { target, position, nofollow: false, has_tracking: false, random };
        let Some(rest) = number.checked_sub(MENU_LINKS) else {
            let main = if number + 1 < self.site.linked { number + 1 } else { 0 };
            return fixed(Target::SameSite(main), LinkPosition::Menu);
        };
        let Some(rest) = rest.checked_sub(1) else {
            return fixed(Target::SameSite(self.parent()), LinkPosition::Up);
        };
        let Some(rest) = rest.checked_sub(self.children) else {
            return fixed(Target::SameSite(self.page.index * BRANCHING + 1 + rest), LinkPosition::Child);
        };
        let Some(rest) = rest.checked_sub(self.listed) else {
            let site = self.page.index * SITES_PER_PORTAL_PAGE as u32 + 1 + rest;
            return fixed(Target::OtherSite(PageRef { site, page: 0 }), LinkPosition::Directory);
        };
        match self.trap {
            Some(trap) if rest == 0 => fixed(Target::Trap(trap), LinkPosition::Text),
            _ => self.free_link(random),
        }
    }

    /// Returns the parent; for isolated pages the front page.
    fn parent(&self) -> u32 {
        if self.page.index < self.site.linked { self.page.index.saturating_sub(1) / BRANCHING } else { 0 }
    }

    fn free_link(&self, random: KeyedRandom) -> Link {
        let settings = &self.world.settings;
        let target = if random.chance(settings.external_links) {
            self.external_target(random.child(1))
        } else if random.child(1).chance(settings.local_links) {
            Target::SameSite(self.local_target(random.child(2)))
        } else {
            Target::SameSite(random.child(2).zipf(u64::from(self.site.linked)) as u32)
        };
        Link {
            target,
            position: LinkPosition::Text,
            nofollow: random.child(3).chance(settings.nofollow_links),
            has_tracking: random.child(4).chance(settings.tracking_links),
            random,
        }
    }

    fn local_target(&self, random: KeyedRandom) -> u32 {
        let last = self.site.linked - 1;
        let from = self.page.index.min(last);
        let distance = 1 + random.child(0).zipf(MAX_LOCAL_DISTANCE) as u32;
        let target = if random.bits() & 1 == 0 {
            from.checked_sub(distance)
        } else {
            from.checked_add(distance).filter(|&page| page <= last)
        };
        target.unwrap_or(0)
    }

    fn external_target(&self, random: KeyedRandom) -> Target {
        let settings = &self.world.settings;
        if random.child(0).chance(settings.nxdomain_links) {
            return Target::NxDomain(random.child(1).below(1_000_000) as u32);
        }
        let site = self.world.popular_site(random.child(2));
        if random.child(0).child(0).chance(settings.closed_port_links) {
            return Target::ClosedPort(site);
        }
        // Half of the links from other sites lead to the front page.
        let page = if random.bits() & 1 == 0 {
            0
        } else {
            random.child(3).zipf(u64::from(Site::derive(self.world, site).linked)) as u32
        };
        Target::OtherSite(PageRef { site, page })
    }
}
