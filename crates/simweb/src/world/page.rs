//! Pages: status, path, language and change rate of a page, derived from its index in its site.
//!
//! The pages of a site form a tree, in which page `j` has the children `8j + 1` to `8j + 8`, so that all are
//! reachable from the root, page 0. Properties that could stop a crawler (redirects, files, robots rules) occur only
//! in leaves. The ground truth about reachability therefore needs no graph search. Isolated pages have the highest
//! indexes.

use crate::world::change_process::ChangeProcess;
use crate::world::kinds::{PageRef, PathClass};
use crate::world::language::Language;
use crate::world::random::KeyedRandom;
use crate::world::random::one_of;
use crate::world::site::{BRANCHING, Site};
use crate::world::synthetic_web::World;

/// Properties of a page, without its strings and links.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Index in its site.
    pub index: u32,
    /// Kind of the page.
    pub kind: PageKind,
    /// Class of its path.
    pub path_class: PathClass,
    /// Language of its text.
    pub language: Language,
    pub(crate) key: KeyedRandom,
}

/// Kind of a page, which determines its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// HTML page with its own text.
    Html,
    /// Exact duplicate of another page of the site.
    Duplicate {
        /// Index of the original.
        of: u32,
    },
    /// Near duplicate of another page of the site: some sentences differ.
    NearDuplicate {
        /// Index of the original.
        of: u32,
    },
    /// Redirect by status.
    Redirect(Redirect),
    /// HTML page with a meta refresh to another page of the site.
    Refresh {
        /// Index of the target.
        to: u32,
    },
    /// Status 404.
    NotFound,
    /// Status 410.
    Gone,
    /// Status 200 with a "not found" text.
    Soft404,
    /// Status 500.
    ServerError,
    /// Body ends before its Content-Length.
    Truncated,
    /// Connection is reset in the middle of the body.
    Reset,
    /// Plain text.
    Text,
    /// Binary file that looks like PDF.
    Pdf,
    /// Small image.
    Image,
}

/// Redirect with its hops and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// 301, 302, 307 or 308.
    pub status: u16,
    /// Number of redirects before the target.
    pub hops: u32,
    /// Target page; `None` for a loop.
    pub target: Option<PageRef>,
}

/// Keys of the random properties of a page, below its own key.
#[derive(Clone, Copy)]
pub(crate) enum PageKey {
    Kind = 100,
    PathClass,
    Target,
    Language,
    Path,
    Title,
    Text,
    Size,
    Rate,
    ChangeProcess,
    LinkCount,
    Links,
    Noindex,
    Nofollow,
    Canonical,
    Base,
    Volatile,
    Hops,
}

impl Page {
    pub(crate) fn derive(world: &World, site: &Site, index: u32) -> Page {
        let key = site.key.child(u64::from(index));
        // The portal, inner pages and isolated pages are plain HTML.
        let leaf = index >= site.interior() && index < site.linked && index > 0 && !site.is_portal();
        let kind = if leaf { PageKind::generate(world, site, key) } else { PageKind::Html };
        let path_class = match kind {
            PageKind::Html if leaf => PathClass::generate(world, key.child(PageKey::PathClass as u64)),
            _ => PathClass::Static,
        };
        Page {
            index,
            kind,
            path_class,
            language: language(world, site, key, leaf && matches!(kind, PageKind::Html | PageKind::Text)),
            key,
        }
    }

    #[inline]
    pub(crate) fn random(&self, purpose: PageKey) -> KeyedRandom {
        self.key.child(purpose as u64)
    }

    /// Returns the page whose content this page shows: itself or its original.
    pub fn content(&self) -> u32 {
        match self.kind {
            PageKind::Duplicate { of } | PageKind::NearDuplicate { of } => of,
            _ => self.index,
        }
    }

    /// Reports whether it has children in the tree of the site.
    pub(crate) fn is_inner(&self, site: &Site) -> bool {
        self.index < site.interior()
    }

    /// Returns the depth in the tree of the site; other links may be shorter.
    pub fn depth(&self) -> u32 {
        std::iter::successors(Some(self.index), |&page| page.checked_sub(1).map(|before| before / BRANCHING))
            .count() as u32
            - 1
    }

    /// Reports whether the page has the noindex directive.
    pub(crate) fn noindex(&self, world: &World) -> bool {
        self.index > 0 && self.random(PageKey::Noindex).chance(world.settings.noindex)
    }

    /// Reports whether the page has the nofollow directive. Inner pages never have it, because their children would be
    /// unreachable.
    pub(crate) fn nofollow(&self, world: &World, site: &Site) -> bool {
        !site.is_portal()
            && self.index > 0
            && !self.is_inner(site)
            && self.random(PageKey::Nofollow).chance(world.settings.nofollow)
    }

    /// Reports whether the robots directives are sent as a header instead of a meta element.
    pub(crate) fn robots_in_header(&self) -> bool {
        self.random(PageKey::Noindex).bits() & 1 == 1
    }

    pub(crate) fn has_canonical(&self, world: &World) -> bool {
        self.random(PageKey::Canonical).chance(world.settings.canonical)
    }

    pub(crate) fn has_base(&self, world: &World) -> bool {
        self.random(PageKey::Base).chance(world.settings.base_href)
    }

    pub(crate) fn has_volatile_content(&self, world: &World) -> bool {
        self.random(PageKey::Volatile).chance(world.settings.volatile_content)
    }

    /// Returns the change process of its content. Only pages with text change.
    pub(crate) fn change_process(&self, world: &World) -> ChangeProcess {
        let settings = &world.settings;
        let has_text =
            matches!(self.kind, PageKind::Html | PageKind::Text | PageKind::Truncated | PageKind::Reset);
        let rate = self.random(PageKey::Rate);
        let per_day = if has_text && rate.chance(settings.changing_pages) {
            settings.changes_per_day * (settings.change_rate_sigma * rate.child(0).normal()).exp()
        } else {
            0.0
        };
        ChangeProcess::new(self.random(PageKey::ChangeProcess), per_day)
    }
}

impl PageKind {
    fn generate(world: &World, site: &Site, key: KeyedRandom) -> PageKind {
        let settings = &world.settings;
        let random = key.child(PageKey::Kind as u64);
        if random.unit() >= world.special_pages {
            return PageKind::Html;
        }
        // Inner pages are always plain HTML, and so are valid originals and targets.
        let other = key.child(PageKey::Target as u64).below(u64::from(site.interior())) as u32;
        let kinds = [
            (settings.duplicates, PageKind::Duplicate { of: other }),
            (settings.near_duplicates, PageKind::NearDuplicate { of: other }),
            (settings.redirects, PageKind::Redirect(Redirect::to(PageRef { site: site.index, page: other }))),
            (settings.meta_refresh, PageKind::Refresh { to: other }),
            (settings.not_found, PageKind::NotFound),
            (settings.gone, PageKind::Gone),
            (settings.soft_404, PageKind::Soft404),
            (settings.server_error_pages, PageKind::ServerError),
            (settings.truncated, PageKind::Truncated),
            (settings.reset, PageKind::Reset),
            (settings.text_pages, PageKind::Text),
            (settings.pdf_pages, PageKind::Pdf),
            (settings.image_pages, PageKind::Image),
        ];
        match one_of(random, &kinds).unwrap_or(PageKind::Html) {
            PageKind::Redirect(simple) => {
                PageKind::Redirect(simple.generate(world, key.child(PageKey::Hops as u64)))
            }
            kind => kind,
        }
    }
}

impl Redirect {
    fn to(target: PageRef) -> Redirect {
        Redirect { status: 301, hops: 1, target: Some(target) }
    }

    fn generate(self, world: &World, random: KeyedRandom) -> Redirect {
        let settings = &world.settings;
        let status = [301, 302, 307, 308][random.child(0).below(4) as usize];
        let long = 2 + random.child(3).below(4) as u32;
        // `None` hops: an endless loop.
        let ways = [(settings.redirect_loops, None), (settings.redirect_chains, Some(long))];
        let Some(hops) = one_of(random.child(1), &ways).unwrap_or(Some(1)) else {
            return Redirect { status, hops: 2, target: None };
        };
        let abroad = random.child(4).chance(settings.external_redirects);
        let target = if abroad {
            Some(PageRef { site: world.popular_site(random.child(5)), page: 0 })
        } else {
            self.target
        };
        Redirect { status, hops, target }
    }
}

impl PathClass {
    fn generate(world: &World, random: KeyedRandom) -> PathClass {
        let settings = &world.settings;
        let third = settings.private / 3.0;
        let classes = [
            (settings.dynamic, PathClass::Dynamic),
            (third, PathClass::Private),
            (third, PathClass::Draft),
            (third, PathClass::Open),
        ];
        one_of(random, &classes).unwrap_or(PathClass::Static)
    }
}

/// Selects the language. A page in another language needs its own text and a charset that can encode it.
fn language(world: &World, site: &Site, key: KeyedRandom, may_differ: bool) -> Language {
    let random = key.child(PageKey::Language as u64);
    if may_differ && site.charset.is_utf8() && random.chance(world.settings.other_language) {
        world.languages.other(site.language, random.child(0))
    } else {
        site.language
    }
}
