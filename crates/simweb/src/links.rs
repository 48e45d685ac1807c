//! Where does a page link to? The links of a page are numbered; each can be asked for on its own, so that the page
//! and the truth about it are made by the same few lines.
//!
//! First come the links every page has (the site's main pages, its parent, its children), then free ones: to near
//! pages, to popular pages, to other sites. Popularity falls as 1/rank, which gives in-degrees a power law with an
//! exponent of about 2, as on the Web.

use serde::Serialize;

use crate::draw::Draw;
use crate::page::{About, Page, PageRef};
use crate::site::{BRANCHING, SITES_PER_PORTAL_PAGE, Site, TrapKind};
use crate::world::World;

/// Links to the site's main pages that head every page.
const MENU: u32 = 6;
/// How far "near" reaches, in page numbers.
const NEAR: u64 = 24;

/// A link of a page.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Where it leads.
    pub target: Target,
    /// Where on the page it stands.
    pub place: Place,
    /// Whether it has `rel=nofollow`.
    pub nofollow: bool,
    /// Whether it carries tracking parameters.
    pub tracked: bool,
    pub(crate) draw: Draw,
}

impl Link {
    /// The only link of a page that says that nothing was found.
    pub(crate) fn home(page: &Page) -> Link {
        let draw = page.about(About::Links);
        Link { target: Target::Own(0), place: Place::Up, nofollow: false, tracked: false, draw }
    }
}

/// Where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A page of the same site.
    Own(u32),
    /// A page of a site named in full.
    Abroad(PageRef),
    /// A host that does not exist.
    Dead(u32),
    /// A port of a site where nobody listens.
    Refused(u32),
    /// The entrance of the site's trap.
    Trap(TrapKind),
}

impl Target {
    /// The page it is, for a link on `site`; `None` where there is none.
    pub fn page(self, site: &Site) -> Option<PageRef> {
        match self {
            Target::Own(page) => Some(PageRef { site: site.index, page }),
            Target::Abroad(page) => Some(page),
            Target::Dead(_) | Target::Refused(_) | Target::Trap(_) => None,
        }
    }
}

/// Where on a page a link stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The menu at the top.
    Menu,
    /// The way up to the parent, or home.
    Up,
    /// The list of children.
    Child,
    /// The portal's list of sites.
    Directory,
    /// Running text, or the lists beside and below it.
    Text,
}

/// The links of one page, by number.
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
    /// The links of a page with text of its own; copies have those of their original.
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
        let fixed = MENU + 1 + children + listed + u32::from(trap.is_some());
        let settings = &world.settings;
        let spread = settings.most_links - settings.fewest_links + 1;
        let wanted = (settings.fewest_links + page.about(About::LinkCount).below(spread)) as u32;
        // An isolated page lies beyond the tree: its children would be, too.
        let children = if page.index < site.linked { children } else { 0 };
        Links { world, site, page: *page, children, listed, trap, len: wanted.max(fixed) }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Link> + use<'w> {
        (0..self.len).map(move |number| self.get(number))
    }

    /// The link with this number.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Link {
        let draw = self.page.about(About::Links).of(u64::from(number));
        let fixed = |target, place| Link { target, place, nofollow: false, tracked: false, draw };
        let Some(rest) = number.checked_sub(MENU) else {
            let main = if number + 1 < self.site.linked { number + 1 } else { 0 };
            return fixed(Target::Own(main), Place::Menu);
        };
        let Some(rest) = rest.checked_sub(1) else {
            return fixed(Target::Own(self.parent()), Place::Up);
        };
        let Some(rest) = rest.checked_sub(self.children) else {
            return fixed(Target::Own(self.page.index * BRANCHING + 1 + rest), Place::Child);
        };
        let Some(rest) = rest.checked_sub(self.listed) else {
            let site = self.page.index * SITES_PER_PORTAL_PAGE as u32 + 1 + rest;
            return fixed(Target::Abroad(PageRef { site, page: 0 }), Place::Directory);
        };
        match self.trap {
            Some(trap) if rest == 0 => fixed(Target::Trap(trap), Place::Text),
            _ => self.free(draw),
        }
    }

    /// Isolated pages name the root as their parent.
    fn parent(&self) -> u32 {
        if self.page.index < self.site.linked { self.page.index.saturating_sub(1) / BRANCHING } else { 0 }
    }

    fn free(&self, draw: Draw) -> Link {
        let settings = &self.world.settings;
        let target = if draw.chance(settings.external_links) {
            self.abroad(draw.of(1))
        } else if draw.of(1).chance(settings.near_links) {
            Target::Own(self.near(draw.of(2)))
        } else {
            Target::Own(draw.of(2).zipf(u64::from(self.site.linked)) as u32)
        };
        Link {
            target,
            place: Place::Text,
            nofollow: draw.of(3).chance(settings.nofollow_links),
            tracked: draw.of(4).chance(settings.tracking),
            draw,
        }
    }

    fn near(&self, draw: Draw) -> u32 {
        let last = self.site.linked - 1;
        let from = self.page.index.min(last);
        let distance = 1 + draw.of(0).zipf(NEAR) as u32;
        let target = if draw.bits() & 1 == 0 {
            from.checked_sub(distance)
        } else {
            from.checked_add(distance).filter(|&page| page <= last)
        };
        target.unwrap_or(0)
    }

    fn abroad(&self, draw: Draw) -> Target {
        let settings = &self.world.settings;
        if draw.of(0).chance(settings.dead_links) {
            return Target::Dead(draw.of(1).below(1_000_000) as u32);
        }
        let site = self.world.popular_site(draw.of(2));
        if draw.of(0).of(0).chance(settings.refused_links) {
            return Target::Refused(site);
        }
        // Half of the links from elsewhere lead to the front page.
        let page = if draw.bits() & 1 == 0 {
            0
        } else {
            draw.of(3).zipf(u64::from(self.world.site(site).linked)) as u32
        };
        Target::Abroad(PageRef { site, page })
    }
}
