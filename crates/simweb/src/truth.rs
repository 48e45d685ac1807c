//! What is true about this Web? Sites, pages, links and duplicates, one record at a time, in constant memory: what a
//! perfect crawler would find.

use std::net::Ipv4Addr;

use serde::Serialize;

use crate::charset::Declared;
use crate::html;
use crate::language::Language;
use crate::links::{Link, Links, Place, Target};
use crate::page::{Kind, Page, PageRef, Style};
use crate::robots::RobotsKind;
use crate::sheet::Sheet;
use crate::site::{Certificate, Copied, Health, SessionStyle, Site, TrapKind};
use crate::sitemap::{self, SitemapKind};
use crate::text;
use crate::world::{Naming, World};

/// A site.
#[derive(Clone, Debug, Serialize)]
pub struct SiteTruth {
    /// Its index.
    pub site: u32,
    /// The URL of its root.
    pub url: String,
    /// Its host name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Pages, isolated ones included.
    pub pages: u32,
    /// Pages that its root leads to.
    pub linked_pages: u32,
    /// Language of most pages.
    pub language: Language,
    /// Encoding label.
    pub encoding: &'static str,
    /// Where that is declared.
    pub encoding_declared: Declared,
    /// Its robots.txt.
    pub robots: RobotsKind,
    /// The Crawl-delay it asks for.
    pub crawl_delay_s: Option<u64>,
    /// Its sitemap.
    pub sitemap: Option<SitemapKind>,
    /// Whether it has a robots.rdf.
    pub robots_rdf: bool,
    /// Whether and how it works.
    pub health: Health,
    /// Quality of its certificate, for https sites.
    pub certificate: Option<Certificate>,
    /// How it is a copy.
    pub copy: Option<Copied>,
    /// Of which site.
    pub copy_of: Option<String>,
    /// Its endless part.
    pub trap: Option<TrapKind>,
    /// How it writes session ids.
    pub session: Option<SessionStyle>,
    /// The shortest interval it accepts before it answers 429.
    pub rate_limit_ms: Option<u64>,
    /// Whether a client that obeys robots.txt and checks certificates gets pages from it.
    pub crawlable: bool,
}

/// A page.
#[derive(Clone, Debug, Serialize)]
pub struct PageTruth {
    /// Its canonical URL.
    pub url: String,
    /// Site and page index.
    #[serde(flatten)]
    pub page: PageRef,
    /// What it is.
    pub kind: &'static str,
    /// Where it lies.
    pub style: Style,
    /// The status it answers.
    pub status: u16,
    /// Its language; `None` where there is no text.
    pub language: Option<Language>,
    /// Encoding label; `None` where there is no text.
    pub encoding: Option<&'static str>,
    /// Where that is declared.
    pub encoding_declared: Option<Declared>,
    /// The page with the same bytes: its original, on this site or on the one this is a copy of.
    pub duplicate_of: Option<String>,
    /// The page it nearly copies.
    pub near_duplicate_of: Option<String>,
    /// Share of that page's sentences which it has too.
    pub overlap: Option<f64>,
    /// Where it redirects to in the end, by status or meta refresh; `None` for loops too.
    pub redirect_to: Option<String>,
    /// How many redirects are answered on the way.
    pub redirect_hops: Option<u32>,
    /// Mean number of changes a day.
    pub changes_per_day: f64,
    /// Whether robots.txt lets everybody fetch it; where robots.txt cannot be had, it lets nobody.
    pub allowed: bool,
    /// Whether a client that only follows links gets to it, given time.
    pub reachable: bool,
    /// Whether one that also obeys robots.txt and checks certificates gets its whole content: 200, to the last byte.
    pub crawlable: bool,
    /// In the sitemap of its site.
    pub in_sitemap: bool,
    /// Asks not to be indexed.
    pub noindex: bool,
    /// Asks not to follow its links.
    pub nofollow: bool,
    /// Clicks from the site's root along its tree; other links may be shorter. `None` for isolated pages.
    pub depth: Option<u32>,
}

/// A link from a page.
#[derive(Clone, Debug, Serialize)]
pub struct LinkTruth {
    /// The page it stands on.
    pub source: String,
    /// Where it leads, without session ids and tracking.
    pub target: String,
    /// The page it leads to, if there is one.
    #[serde(skip)]
    pub target_page: Option<PageRef>,
    /// Where on the page it stands.
    pub place: Place,
    /// Whether it has `rel=nofollow`.
    pub nofollow: bool,
    /// Whether it carries tracking parameters.
    pub tracked: bool,
    /// Its text.
    pub anchor: String,
}

impl World {
    /// The truth about a site.
    pub fn site_truth(&self, index: u32) -> SiteTruth {
        let site = self.site(index);
        SiteTruth {
            site: index,
            url: self.url(PageRef { site: index, page: 0 }),
            name: self.name(index),
            address: self.address(index),
            pages: site.pages,
            linked_pages: site.linked,
            language: site.language,
            encoding: site.charset.label,
            encoding_declared: site.charset.declared,
            robots: site.robots,
            crawl_delay_s: (site.robots == RobotsKind::CrawlDelay).then_some(self.settings.crawl_delay_s),
            sitemap: site.sitemap,
            robots_rdf: site.rdf,
            health: site.health,
            certificate: site.https.then_some(site.certificate),
            copy: site.copy,
            copy_of: site.copy.map(|_| self.name(site.content)),
            trap: site.trap,
            session: site.session,
            rate_limit_ms: site.rate_limited.then_some(self.settings.rate_limit_ms),
            crawlable: crawlable(&site),
        }
    }

    /// The truth about a page.
    pub fn page_truth(&self, site: &Site, index: u32) -> PageTruth {
        let page = self.page(site, index);
        let content = self.page(site, page.content());
        let own = |page| PageRef { site: site.index, page };
        let has_text = !matches!(page.kind, Kind::Redirect(_) | Kind::Error | Kind::Pdf | Kind::Image);
        let charset = match page.kind {
            Kind::Text => site.charset.without_meta(),
            _ => site.charset,
        };
        let near = matches!(page.kind, Kind::NearDuplicate { .. });
        let (redirect_to, redirect_hops) = match page.kind {
            Kind::Redirect(redirect) => (redirect.target.map(|target| self.url(target)), Some(redirect.hops)),
            Kind::Refresh { to } => (Some(self.url(own(to))), None),
            _ => (None, None),
        };
        let allowed = site.health.lives() && site.robots.allows(page.style);
        let reachable = site.health.lives() && index < site.linked;
        PageTruth {
            url: self.url(own(index)),
            page: own(index),
            kind: page.kind.name(),
            style: page.style,
            status: page.kind.status(),
            language: has_text.then_some(content.language),
            encoding: has_text.then_some(charset.label),
            encoding_declared: has_text.then_some(charset.declared),
            duplicate_of: self.original(site, &page).map(|original| self.url(original)),
            near_duplicate_of: near.then(|| self.url(own(page.content()))),
            overlap: near.then(|| {
                let (changed, total) = html::changed_sentences(self, site, &page);
                1.0 - f64::from(changed) / f64::from(total)
            }),
            redirect_to,
            redirect_hops,
            changes_per_day: self.changes_per_day(site, index),
            allowed,
            reachable,
            crawlable: reachable && allowed && crawlable(site) && page.kind.is_whole(),
            in_sitemap: site.sitemap.is_some_and(|kind| index < kind.listed(site))
                && sitemap::lists(site, &page),
            noindex: page.kind.is_article() && content.noindex(self),
            nofollow: page.kind.is_article() && content.nofollow(self, site),
            depth: (index < site.linked).then(|| page.depth()),
        }
    }

    /// The page that has the same bytes and is no copy itself.
    fn original(&self, site: &Site, page: &Page) -> Option<PageRef> {
        let original = match page.kind {
            Kind::Duplicate { of } => PageRef { site: site.content, page: of },
            _ => PageRef { site: site.content, page: page.index },
        };
        (original != PageRef { site: site.index, page: page.index }).then_some(original)
    }

    /// The links of a page, in the order of its source.
    pub fn links_truth<'w>(&'w self, site: &'w Site, index: u32) -> impl Iterator<Item = LinkTruth> + 'w {
        let asked = self.page(site, index);
        let source = self.url(PageRef { site: site.index, page: index });
        self.links(site, &asked).map(move |link| {
            let target_page = link.target.page(site);
            LinkTruth {
                source: source.clone(),
                target: self.target_url(site, link.target, target_page),
                target_page,
                place: link.place,
                nofollow: link.nofollow,
                tracked: link.tracked,
                anchor: self.anchor(target_page, link.draw, site),
            }
        })
    }

    /// The links that stand on a page; what an error says is no page.
    pub(crate) fn links<'w>(&'w self, site: &'w Site, page: &Page) -> impl Iterator<Item = Link> + use<'w> {
        let content = page.kind.is_article().then(|| self.page(site, page.content()));
        let home = (page.kind == Kind::SoftMissing).then(|| Link::home(page));
        content.into_iter().flat_map(|content| Links::new(self, site, &content).iter()).chain(home)
    }

    /// The pages that the links of a page lead to, as often as they do; links to where there is no page are left out.
    pub fn link_targets<'w>(&'w self, site: &'w Site, index: u32) -> impl Iterator<Item = PageRef> + use<'w> {
        self.links(site, &self.page(site, index)).filter_map(|link| link.target.page(site))
    }

    /// How often the content of a page changes.
    pub fn changes_per_day(&self, site: &Site, index: u32) -> f64 {
        let page = self.page(site, index);
        self.page(site, page.content()).changes(self).per_day
    }

    fn target_url(&self, site: &Site, target: Target, page: Option<PageRef>) -> String {
        if let Some(page) = page {
            return self.url(page);
        }
        let mut url = String::new();
        match target {
            Target::Dead(number) => url = format!("http://lost{number}.test/"),
            Target::Refused(other) => url = format!("http://{}:1/", self.name(other)),
            Target::Trap(trap) => {
                self.write_origin(site, Naming::Names, &mut url);
                url.push_str(trap.entrance());
            }
            Target::Own(_) | Target::Abroad(_) => {}
        }
        url
    }

    fn anchor(&self, target: Option<PageRef>, draw: crate::draw::Draw, site: &Site) -> String {
        let mut anchor = Sheet::default();
        match target {
            Some(target) => {
                let site = self.site(target.site);
                text::push_anchor(&mut anchor, &site, &self.page(&site, target.page), draw);
            }
            None => anchor.push_str(site.language.vocabulary().topic(draw, false).trim_end()),
        }
        anchor.into_text()
    }
}

impl Kind {
    /// Its name in truth.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Html => "html",
            Kind::Duplicate { .. } => "duplicate",
            Kind::NearDuplicate { .. } => "near_duplicate",
            Kind::Redirect(_) => "redirect",
            Kind::Refresh { .. } => "meta_refresh",
            Kind::Missing => "missing",
            Kind::Gone => "gone",
            Kind::SoftMissing => "soft_404",
            Kind::Error => "error",
            Kind::Truncated => "truncated",
            Kind::Reset => "reset",
            Kind::Text => "text",
            Kind::Pdf => "pdf",
            Kind::Image => "image",
        }
    }

    /// Whether it is an HTML page with text, links and directives; some end too early.
    pub(crate) fn is_article(self) -> bool {
        matches!(
            self,
            Kind::Html | Kind::Duplicate { .. } | Kind::NearDuplicate { .. } | Kind::Truncated | Kind::Reset
        )
    }

    /// Whether it answers with content, to the last byte.
    fn is_whole(self) -> bool {
        self.status() == 200 && !matches!(self, Kind::Truncated | Kind::Reset)
    }

    /// The status it answers with.
    pub fn status(self) -> u16 {
        match self {
            Kind::Redirect(redirect) => redirect.status,
            Kind::Missing => 404,
            Kind::Gone => 410,
            Kind::Error => 500,
            _ => 200,
        }
    }
}

/// Lives, lets robots in, and proves who it is.
fn crawlable(site: &Site) -> bool {
    let trusted = !site.https || site.certificate == Certificate::Good;
    site.health.lives() && trusted && site.robots.allows(Style::Static)
}
