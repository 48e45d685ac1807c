//! What is a page? A number below its site's page count, from which everything else follows: what it answers, where
//! it lies, what language it is in, how often it changes.
//!
//! The pages of a site form a tree (page `j` has the children `8j + 1` to `8j + 8`) which makes all of them reachable
//! from the root, page 0. Whatever could stop a crawler (a redirect, a file, a robots rule) happens only to pages
//! without children, so that truth about reachability needs no search. Isolated pages have the highest numbers.

use serde::Serialize;

use crate::change::Changes;
use crate::draw::Draw;
use crate::language::Language;
use crate::site::{BRANCHING, Site, one_of};
use crate::world::World;

/// Which page of which site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct PageRef {
    /// The site's index.
    pub site: u32,
    /// The page's index in it.
    pub page: u32,
}

/// Everything known about a page but its strings and its links.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Its index in its site.
    pub index: u32,
    /// What it is.
    pub kind: Kind,
    /// Where it lies.
    pub style: Style,
    /// The language of its text.
    pub language: Language,
    pub(crate) key: Draw,
}

/// What a page is, and so what it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An HTML page with text of its own.
    Html,
    /// The same bytes as another page of the site.
    Duplicate {
        /// That page.
        of: u32,
    },
    /// The same as another page of the site but for some sentences.
    NearDuplicate {
        /// That page.
        of: u32,
    },
    /// A redirect by status.
    Redirect(Redirect),
    /// An HTML page that leads on by meta refresh to another page of the site.
    Refresh {
        /// That page.
        to: u32,
    },
    /// 404.
    Missing,
    /// 410.
    Gone,
    /// 200, but the text says that nothing was found.
    SoftMissing,
    /// 500.
    Error,
    /// Ends before its Content-Length.
    Truncated,
    /// The connection is reset in the middle.
    Reset,
    /// Plain text.
    Text,
    /// Looks like PDF.
    Pdf,
    /// A small picture.
    Image,
}

/// Where a redirect leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// 301, 302, 307 or 308.
    pub status: u16,
    /// How many redirects are answered before the target.
    pub hops: u32,
    /// `None` when it leads round in circles.
    pub target: Option<PageRef>,
}

/// Where in the site's space of URLs a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// An ordinary path.
    Static,
    /// A query tells which page it is.
    Dynamic,
    /// Below `/private/`.
    Private,
    /// Below `/private/` where an Allow line lets it out again.
    Open,
    /// Named `draft-`.
    Draft,
}

/// What the draws below a page's key are for.
#[derive(Clone, Copy)]
pub(crate) enum About {
    Kind = 100,
    Style,
    Target,
    Language,
    Path,
    Title,
    Text,
    Size,
    Rate,
    Changes,
    LinkCount,
    Links,
    Noindex,
    Nofollow,
    Canonical,
    Base,
    Noise,
    Hops,
}

impl Page {
    pub(crate) fn derive(world: &World, site: &Site, index: u32) -> Page {
        let key = site.key.of(u64::from(index));
        // The portal, inner and isolated pages are plain.
        let leaf = index >= site.interior() && index < site.linked && index > 0 && !site.is_portal();
        let kind = if leaf { Kind::drawn(world, site, key) } else { Kind::Html };
        let style = match kind {
            Kind::Html if leaf => Style::drawn(world, key.of(About::Style as u64)),
            _ => Style::Static,
        };
        Page {
            index,
            kind,
            style,
            language: language(world, site, key, leaf && matches!(kind, Kind::Html | Kind::Text)),
            key,
        }
    }

    #[inline]
    pub(crate) fn about(&self, about: About) -> Draw {
        self.key.of(about as u64)
    }

    /// The page whose content this one shows: itself, or what it copies.
    pub fn content(&self) -> u32 {
        match self.kind {
            Kind::Duplicate { of } | Kind::NearDuplicate { of } => of,
            _ => self.index,
        }
    }

    /// Whether it has pages below it in the site's tree.
    pub(crate) fn is_inner(&self, site: &Site) -> bool {
        self.index < site.interior()
    }

    /// How many clicks the tree takes from the root; other links may be shorter.
    pub fn depth(&self) -> u32 {
        std::iter::successors(Some(self.index), |&page| page.checked_sub(1).map(|before| before / BRANCHING))
            .count() as u32
            - 1
    }

    /// Asks not to be indexed.
    pub(crate) fn noindex(&self, world: &World) -> bool {
        self.index > 0 && self.about(About::Noindex).chance(world.settings.noindex)
    }

    /// Asks not to follow its links; never a page that others can only be reached through.
    pub(crate) fn nofollow(&self, world: &World, site: &Site) -> bool {
        !site.is_portal()
            && self.index > 0
            && !self.is_inner(site)
            && self.about(About::Nofollow).chance(world.settings.nofollow)
    }

    /// Whether the robots directives come as a header instead of a meta element.
    pub(crate) fn robots_in_header(&self) -> bool {
        self.about(About::Noindex).bits() & 1 == 1
    }

    pub(crate) fn has_canonical(&self, world: &World) -> bool {
        self.about(About::Canonical).chance(world.settings.canonical)
    }

    pub(crate) fn has_base(&self, world: &World) -> bool {
        self.about(About::Base).chance(world.settings.base_href)
    }

    pub(crate) fn is_noisy(&self, world: &World) -> bool {
        self.about(About::Noise).chance(world.settings.noisy)
    }

    /// When its content changes. Only pages with text do.
    pub(crate) fn changes(&self, world: &World) -> Changes {
        let settings = &world.settings;
        let has_text = matches!(self.kind, Kind::Html | Kind::Text | Kind::Truncated | Kind::Reset);
        let rate = self.about(About::Rate);
        let per_day = if has_text && rate.chance(settings.changing) {
            settings.changes_per_day * (settings.change_spread * rate.of(0).normal()).exp()
        } else {
            0.0
        };
        Changes::new(self.about(About::Changes), per_day)
    }
}

impl Kind {
    fn drawn(world: &World, site: &Site, key: Draw) -> Kind {
        let settings = &world.settings;
        let draw = key.of(About::Kind as u64);
        if draw.unit() >= world.special_pages {
            return Kind::Html;
        }
        // An inner page is always plain HTML: a good original, or target.
        let other = key.of(About::Target as u64).below(u64::from(site.interior())) as u32;
        let kinds = [
            (settings.duplicates, Kind::Duplicate { of: other }),
            (settings.near_duplicates, Kind::NearDuplicate { of: other }),
            (settings.redirects, Kind::Redirect(Redirect::to(PageRef { site: site.index, page: other }))),
            (settings.meta_refresh, Kind::Refresh { to: other }),
            (settings.missing, Kind::Missing),
            (settings.gone, Kind::Gone),
            (settings.soft_404, Kind::SoftMissing),
            (settings.error_pages, Kind::Error),
            (settings.truncated, Kind::Truncated),
            (settings.reset, Kind::Reset),
            (settings.text_pages, Kind::Text),
            (settings.pdf_pages, Kind::Pdf),
            (settings.image_pages, Kind::Image),
        ];
        match one_of(draw, &kinds).unwrap_or(Kind::Html) {
            Kind::Redirect(simple) => Kind::Redirect(simple.drawn(world, key.of(About::Hops as u64))),
            kind => kind,
        }
    }
}

impl Redirect {
    fn to(target: PageRef) -> Redirect {
        Redirect { status: 301, hops: 1, target: Some(target) }
    }

    fn drawn(self, world: &World, draw: Draw) -> Redirect {
        let settings = &world.settings;
        let status = [301, 302, 307, 308][draw.of(0).below(4) as usize];
        let long = 2 + draw.of(3).below(4) as u32;
        // No number of hops means that it never ends.
        let ways = [(settings.redirect_loops, None), (settings.redirect_chains, Some(long))];
        let Some(hops) = one_of(draw.of(1), &ways).unwrap_or(Some(1)) else {
            return Redirect { status, hops: 2, target: None };
        };
        let abroad = draw.of(4).chance(settings.redirect_abroad);
        let target = if abroad {
            Some(PageRef { site: world.popular_site(draw.of(5)), page: 0 })
        } else {
            self.target
        };
        Redirect { status, hops, target }
    }
}

impl Style {
    fn drawn(world: &World, draw: Draw) -> Style {
        let settings = &world.settings;
        let third = settings.private / 3.0;
        let styles = [
            (settings.dynamic, Style::Dynamic),
            (third, Style::Private),
            (third, Style::Draft),
            (third, Style::Open),
        ];
        one_of(draw, &styles).unwrap_or(Style::Static)
    }
}

/// A page in another language needs a text of its own, and an encoding that can write it.
fn language(world: &World, site: &Site, key: Draw, may_differ: bool) -> Language {
    let draw = key.of(About::Language as u64);
    if may_differ && site.charset.is_utf8() && draw.chance(world.settings.foreign) {
        world.languages.other(site.language, draw.of(0))
    } else {
        site.language
    }
}
