//! Ground truth about sites, pages, links and duplicates: what a perfect crawler would find. Each record is computed
//! on its own, in constant memory.

use std::net::Ipv4Addr;

use serde::Serialize;

use crate::content::html;
use crate::content::sitemap;
use crate::content::text;
use crate::world::charset::Declared;
use crate::world::kinds::{
    Certificate, Health, PageRef, PathClass, ReplicaKind, RobotsKind, SessionStyle, SitemapKind, TrapKind,
};
use crate::world::language::Language;
use crate::world::links::{Link, LinkPosition, Links, Target};
use crate::world::page::{Page, PageKind};
use crate::world::site::Site;
use crate::world::synthetic_web::{Naming, World};
use crate::world::text_buffer::TextBuffer;

/// Ground truth about a site.
#[derive(Clone, Debug, Serialize)]
pub struct SiteGroundTruth {
    /// Index of the site.
    pub site: u32,
    /// URL of its front page.
    pub url: String,
    /// Host name.
    pub name: String,
    /// IP address.
    pub ip_address: Ipv4Addr,
    /// Number of pages, including isolated ones.
    pub pages: u32,
    /// Number of pages that are linked from its front page.
    pub linked_pages: u32,
    /// Language of most pages.
    pub language: Language,
    /// Label of its charset.
    pub charset: &'static str,
    /// Location of the charset declaration.
    pub charset_declared: Declared,
    /// Kind of its robots.txt.
    pub robots: RobotsKind,
    /// The Crawl-delay in its robots.txt.
    pub crawl_delay_s: Option<u64>,
    /// Format of its sitemap, if it has one.
    pub sitemap: Option<SitemapKind>,
    /// Whether it has a robots.rdf.
    pub robots_rdf: bool,
    /// Behaviour of its server.
    pub health: Health,
    /// Validity of its certificate, for https sites.
    pub certificate: Option<Certificate>,
    /// Kind of replica, if it is one.
    pub replica: Option<ReplicaKind>,
    /// Host name of its origin.
    pub replica_of: Option<String>,
    /// Kind of its trap, if it has one.
    pub trap: Option<TrapKind>,
    /// Form of session ids in its links, if it has them.
    pub session: Option<SessionStyle>,
    /// Minimum interval between requests; faster requests get 429.
    pub rate_limit_ms: Option<u64>,
    /// Whether a client that obeys robots.txt and validates certificates can fetch pages from it.
    pub crawlable: bool,
}

/// Ground truth about a page.
#[derive(Clone, Debug, Serialize)]
pub struct PageGroundTruth {
    /// Canonical URL.
    pub url: String,
    /// Site and page index.
    #[serde(flatten)]
    pub page: PageRef,
    /// Kind of the page.
    pub kind: &'static str,
    /// Class of its path.
    pub path_class: PathClass,
    /// HTTP status.
    pub status: u16,
    /// Language; `None` without text.
    pub language: Option<Language>,
    /// Label of its charset; `None` without text.
    pub charset: Option<&'static str>,
    /// Location of the charset declaration.
    pub charset_declared: Option<Declared>,
    /// URL of the original with the same bytes, on this site or on the origin of a replica.
    pub duplicate_of: Option<String>,
    /// URL of the page of which it is a near duplicate.
    pub near_duplicate_of: Option<String>,
    /// Share of that page's sentences that it contains.
    pub overlap: Option<f64>,
    /// Final target of a redirect by status or meta refresh; `None` for loops.
    pub redirect_to: Option<String>,
    /// Number of redirects before the target.
    pub redirect_hops: Option<u32>,
    /// Mean number of changes per day.
    pub changes_per_day: f64,
    /// Whether robots.txt allows every agent to fetch it; false if robots.txt is unreachable.
    pub allowed: bool,
    /// Whether a client that follows all links can reach it.
    pub reachable: bool,
    /// Whether a client that also obeys robots.txt and validates certificates gets its complete content with status
    /// 200.
    pub crawlable: bool,
    /// Whether it is in the sitemap of its site.
    pub in_sitemap: bool,
    /// Whether it has the noindex directive.
    pub noindex: bool,
    /// Whether it has the nofollow directive.
    pub nofollow: bool,
    /// Depth in the tree of the site; other links may be shorter. `None` for isolated pages.
    pub depth: Option<u32>,
}

/// Ground truth about a link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkGroundTruth {
    /// URL of the page that contains it.
    pub source: String,
    /// URL of the target, without session ids and tracking parameters.
    pub target: String,
    /// Target page, if there is one.
    #[serde(skip)]
    pub target_page: Option<PageRef>,
    /// Position on the page.
    pub position: LinkPosition,
    /// Whether it has `rel=nofollow`.
    pub nofollow: bool,
    /// Whether it has tracking parameters.
    pub has_tracking: bool,
    /// Anchor text.
    pub anchor: String,
}

impl World {
    /// Returns the ground truth about a site.
    pub fn site_ground_truth(&self, index: u32) -> SiteGroundTruth {
        let site = self.site(index);
        SiteGroundTruth {
            site: index,
            url: self.url(PageRef { site: index, page: 0 }),
            name: self.name(index),
            ip_address: self.ip_address(index),
            pages: site.pages,
            linked_pages: site.linked,
            language: site.language,
            charset: site.charset.label,
            charset_declared: site.charset.declared,
            robots: site.robots,
            crawl_delay_s: (site.robots == RobotsKind::CrawlDelay).then_some(self.settings.crawl_delay_s),
            sitemap: site.sitemap,
            robots_rdf: site.rdf,
            health: site.health,
            certificate: site.https.then_some(site.certificate),
            replica: site.replica,
            replica_of: site.replica.map(|_| self.name(site.content)),
            trap: site.trap,
            session: site.session,
            rate_limit_ms: site.rate_limited.then_some(self.settings.rate_limit_ms),
            crawlable: crawlable(&site),
        }
    }

    /// Returns the ground truth about a page.
    pub fn page_ground_truth(&self, site: &Site, index: u32) -> PageGroundTruth {
        let page = self.page(site, index);
        let content = self.page(site, page.content());
        let own = |page| PageRef { site: site.index, page };
        let has_text = !matches!(
            page.kind,
            PageKind::Redirect(_) | PageKind::ServerError | PageKind::Pdf | PageKind::Image
        );
        let charset = match page.kind {
            PageKind::Text => site.charset.without_meta(),
            _ => site.charset,
        };
        let near = matches!(page.kind, PageKind::NearDuplicate { .. });
        let (redirect_to, redirect_hops) = match page.kind {
            PageKind::Redirect(redirect) => {
                (redirect.target.map(|target| self.url(target)), Some(redirect.hops))
            }
            PageKind::Refresh { to } => (Some(self.url(own(to))), None),
            _ => (None, None),
        };
        let allowed = site.health.responds() && site.robots.allows(page.path_class);
        let reachable = site.health.responds() && index < site.linked;
        PageGroundTruth {
            url: self.url(own(index)),
            page: own(index),
            kind: page.kind.name(),
            path_class: page.path_class,
            status: page.kind.status(),
            language: has_text.then_some(content.language),
            charset: has_text.then_some(charset.label),
            charset_declared: has_text.then_some(charset.declared),
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
            crawlable: reachable && allowed && crawlable(site) && page.kind.is_complete(),
            in_sitemap: site.sitemap.is_some_and(|kind| index < kind.listed_pages(site))
                && sitemap::lists(site, &page),
            noindex: page.kind.is_article() && content.noindex(self),
            nofollow: page.kind.is_article() && content.nofollow(self, site),
            depth: (index < site.linked).then(|| page.depth()),
        }
    }

    /// Returns the original with the same bytes, if the page is not an original.
    fn original(&self, site: &Site, page: &Page) -> Option<PageRef> {
        let original = match page.kind {
            PageKind::Duplicate { of } => PageRef { site: site.content, page: of },
            _ => PageRef { site: site.content, page: page.index },
        };
        (original != PageRef { site: site.index, page: page.index }).then_some(original)
    }

    /// Returns the links of a page in source order.
    pub fn links_ground_truth<'w>(
        &'w self,
        site: &'w Site,
        index: u32,
    ) -> impl Iterator<Item = LinkGroundTruth> + 'w {
        let page = self.page(site, index);
        let source = self.url(PageRef { site: site.index, page: index });
        self.links(site, &page).map(move |link| {
            let target_page = link.target.page(site);
            LinkGroundTruth {
                source: source.clone(),
                target: self.target_url(site, link.target, target_page),
                target_page,
                position: link.position,
                nofollow: link.nofollow,
                has_tracking: link.has_tracking,
                anchor: self.anchor(target_page, link.random, site),
            }
        })
    }

    /// Returns the links of a page; error pages have none.
    pub(crate) fn links<'w>(&'w self, site: &'w Site, page: &Page) -> impl Iterator<Item = Link> + use<'w> {
        let content = page.kind.is_article().then(|| self.page(site, page.content()));
        let home = (page.kind == PageKind::Soft404).then(|| Link::home(page));
        content.into_iter().flat_map(|content| Links::new(self, site, &content).iter()).chain(home)
    }

    /// Returns the target pages of the links of a page, with repetitions; links without a target page are skipped.
    pub fn link_targets<'w>(&'w self, site: &'w Site, index: u32) -> impl Iterator<Item = PageRef> + use<'w> {
        self.links(site, &self.page(site, index)).filter_map(|link| link.target.page(site))
    }

    /// Returns the change rate of a page.
    pub fn changes_per_day(&self, site: &Site, index: u32) -> f64 {
        let page = self.page(site, index);
        self.page(site, page.content()).change_process(self).per_day
    }

    fn target_url(&self, site: &Site, target: Target, page: Option<PageRef>) -> String {
        if let Some(page) = page {
            return self.url(page);
        }
        let mut url = String::new();
        match target {
            Target::NxDomain(number) => url = format!("http://lost{number}.test/"),
            Target::ClosedPort(other) => url = format!("http://{}:1/", self.name(other)),
            Target::Trap(trap) => {
                self.write_origin(site, Naming::Names, &mut url);
                url.push_str(trap.entrance());
            }
            Target::SameSite(_) | Target::OtherSite(_) => {}
        }
        url
    }

    fn anchor(
        &self,
        target: Option<PageRef>,
        random: crate::world::random::KeyedRandom,
        site: &Site,
    ) -> String {
        let mut anchor = TextBuffer::default();
        match target {
            Some(target) => {
                let site = self.site(target.site);
                text::push_anchor(&mut anchor, &site, &self.page(&site, target.page), random);
            }
            None => anchor.push_str(site.language.vocabulary().topic(random, false).trim_end()),
        }
        anchor.into_text()
    }
}

impl PageKind {
    /// Name in the ground truth.
    pub fn name(self) -> &'static str {
        match self {
            PageKind::Html => "html",
            PageKind::Duplicate { .. } => "duplicate",
            PageKind::NearDuplicate { .. } => "near_duplicate",
            PageKind::Redirect(_) => "redirect",
            PageKind::Refresh { .. } => "meta_refresh",
            PageKind::NotFound => "not_found",
            PageKind::Gone => "gone",
            PageKind::Soft404 => "soft_404",
            PageKind::ServerError => "server_error",
            PageKind::Truncated => "truncated",
            PageKind::Reset => "reset",
            PageKind::Text => "text",
            PageKind::Pdf => "pdf",
            PageKind::Image => "image",
        }
    }

    /// Reports whether it is an HTML page with text, links and directives, possibly truncated.
    pub(crate) fn is_article(self) -> bool {
        matches!(
            self,
            PageKind::Html
                | PageKind::Duplicate { .. }
                | PageKind::NearDuplicate { .. }
                | PageKind::Truncated
                | PageKind::Reset
        )
    }

    /// Reports whether the response has complete content.
    fn is_complete(self) -> bool {
        self.status() == 200 && !matches!(self, PageKind::Truncated | PageKind::Reset)
    }

    /// HTTP status of the response.
    pub fn status(self) -> u16 {
        match self {
            PageKind::Redirect(redirect) => redirect.status,
            PageKind::NotFound => 404,
            PageKind::Gone => 410,
            PageKind::ServerError => 500,
            _ => 200,
        }
    }
}

/// Reports whether a site responds, allows crawlers and has a valid certificate.
fn crawlable(site: &Site) -> bool {
    let trusted = !site.https || site.certificate == Certificate::Good;
    site.health.responds() && trusted && site.robots.allows(PathClass::Static)
}
