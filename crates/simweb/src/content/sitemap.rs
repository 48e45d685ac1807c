//! Sitemaps in four formats, and robots.rdf, with the correct date of the last change of each page. Isolated pages
//! are in neither, unless the sitemap grows.

use std::fmt::Write;

use crate::content::gzip::gzip;
use crate::world::date;
use crate::world::kinds::SitemapKind;
use crate::world::page::{Page, PageKind};
use crate::world::path;
use crate::world::site::Site;
use crate::world::synthetic_web::{Naming, World};

/// A file of a sitemap.
pub(crate) struct SitemapFile {
    pub(crate) content_type: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// Number of pages in a sitemap file: fewer than the protocol's 50,000, so that an index also occurs on small sites.
const PAGES_PER_FILE: u32 = 5_000;
const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

impl SitemapKind {
    /// Number of pages of a site that the sitemap lists; a single file is limited.
    pub(crate) fn listed_pages(self, site: &Site) -> u32 {
        if self == SitemapKind::Index { site.linked } else { site.linked.min(PAGES_PER_FILE) }
    }
}

/// Returns the file of a site's sitemap at `path`.
pub(crate) fn file(
    world: &World,
    site: &Site,
    path: &str,
    naming: Naming,
    seconds: u64,
) -> Option<SitemapFile> {
    let kind = site.sitemap?;
    let xml = |bytes| Some(SitemapFile { content_type: "application/xml", bytes });
    if path == kind.path() {
        let pages = 0..kind.listed_pages(site);
        return match kind {
            SitemapKind::Xml => xml(url_set(world, site, pages, naming, seconds).into_bytes()),
            SitemapKind::Gzip => {
                let bytes = gzip(url_set(world, site, pages, naming, seconds).as_bytes());
                Some(SitemapFile { content_type: "application/gzip", bytes })
            }
            SitemapKind::Text => {
                let bytes = url_list(world, site, pages, naming, seconds).into_bytes();
                Some(SitemapFile { content_type: "text/plain; charset=utf-8", bytes })
            }
            SitemapKind::Index => xml(index(world, site, naming).into_bytes()),
        };
    }
    let part: u32 = path.strip_prefix("/sitemap-")?.strip_suffix(".xml")?.parse().ok()?;
    let first = part.checked_mul(PAGES_PER_FILE)?;
    let pages = first..first.checked_add(PAGES_PER_FILE)?.min(site.linked);
    if kind != SitemapKind::Index || pages.is_empty() {
        return None;
    }
    xml(url_set(world, site, pages, naming, seconds).into_bytes())
}

/// Returns a robots.rdf: the pages of a site with the time of their last change, as Dublin Core in RDF.
pub(crate) fn rdf(world: &World, site: &Site, naming: Naming, seconds: u64) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" \
         xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n",
    );
    for_each_page(world, site, 0..site.linked.min(PAGES_PER_FILE), naming, seconds, |page, url| {
        let _ = write!(out, "<rdf:Description rdf:about=\"{}\"><dc:date>", url.replace('&', "&amp;"));
        date::push_iso(&mut out, world.version(site, page, seconds).1);
        out.push_str("</dc:date></rdf:Description>\n");
    });
    out.push_str("</rdf:RDF>\n");
    out
}

/// Reports whether a page is listed in the sitemap of its site, if there is one.
pub(crate) fn lists(site: &Site, page: &Page) -> bool {
    page.index < site.linked
        && matches!(
            page.kind,
            PageKind::Html | PageKind::Duplicate { .. } | PageKind::NearDuplicate { .. } | PageKind::Text
        )
}

fn url_set(world: &World, site: &Site, pages: std::ops::Range<u32>, naming: Naming, seconds: u64) -> String {
    let mut out = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"{NAMESPACE}\">\n");
    for_each_page(world, site, pages, naming, seconds, |page, url| {
        let _ = write!(out, "<url><loc>{}</loc><lastmod>", url.replace('&', "&amp;"));
        date::push_iso(&mut out, world.version(site, page, seconds).1);
        out.push_str("</lastmod></url>\n");
    });
    out.push_str("</urlset>\n");
    out
}

fn url_list(world: &World, site: &Site, pages: std::ops::Range<u32>, naming: Naming, seconds: u64) -> String {
    let mut out = String::new();
    for_each_page(world, site, pages, naming, seconds, |_, url| {
        out.push_str(url);
        out.push('\n');
    });
    out
}

fn index(world: &World, site: &Site, naming: Naming) -> String {
    let mut out =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"{NAMESPACE}\">\n");
    let mut origin = String::new();
    world.write_origin(site, naming, &mut origin);
    for part in 0..site.linked.div_ceil(PAGES_PER_FILE) {
        let _ = writeln!(out, "<sitemap><loc>{origin}/sitemap-{part}.xml</loc></sitemap>");
    }
    out.push_str("</sitemapindex>\n");
    out
}

fn for_each_page(
    world: &World,
    site: &Site,
    pages: std::ops::Range<u32>,
    naming: Naming,
    seconds: u64,
    mut each: impl FnMut(&Page, &str),
) {
    let mut url = String::new();
    world.write_origin(site, naming, &mut url);
    let origin = url.len();
    // The first file also lists isolated pages, from their time on.
    let isolated = if pages.start == 0 { site.linked..site.pages } else { 0..0 };
    let isolated =
        isolated.filter(|index| world.listed_s(site, *index).is_some_and(|time_s| time_s <= seconds));
    let linked = pages.map(|index| world.page(site, index)).filter(|page| lists(site, page));
    for page in linked.chain(isolated.map(|index| world.page(site, index))) {
        path::write_path(world, site, &page, &mut url);
        each(&page, &url);
        url.truncate(origin);
    }
}
