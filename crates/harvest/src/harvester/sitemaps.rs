//! Sitemaps that the robots.txt of a site lists, and robots.rdf.
//!
//! Only files on the site itself are fetched here. A file on another site is a page of that site, which the seeder adds. URLs
//! of other sites are passed on: the seeder knows whether the robots.txt of these sites names the file, so that no site can fill
//! the queue of another one.

use std::io::Cursor;

use fetch::Response;
use model::CanonicalUrl;
use parse::{SitemapEntry, SitemapLimits, decode_content, read_sitemap};

use crate::harvester::active_site::ActiveSite;
use crate::item::harvest_event::SitemapUrl;
use crate::item::http_head::HttpHead;
use crate::item::robots_policy::RobotsPolicy;
use crate::settings::crawl_settings::CrawlSettings;

/// Maximum depth of nested sitemap indexes.
pub(crate) const MAX_SITEMAP_DEPTH: u8 = 2;
/// Maximum number of sitemaps of a site.
const MAX_SITEMAPS_PER_SITE: usize = 100;

/// Content of a sitemap.
#[derive(Debug, Default)]
pub(crate) struct SitemapContent {
    pub(crate) pages: Vec<SitemapUrl>,
    pub(crate) sitemaps: Vec<CanonicalUrl>,
}

/// URLs of the sitemaps to fetch.
pub(crate) fn sitemap_urls(site: &mut ActiveSite, settings: &CrawlSettings) -> Vec<CanonicalUrl> {
    let Some(RobotsPolicy::Rules(rules)) = &site.robots else { return Vec::new() };
    let mut urls: Vec<CanonicalUrl> = Vec::new();
    if settings.sitemaps.enabled {
        let listed =
            rules.sitemaps.iter().filter_map(|url| settings.gathering.rules.join(&site.front_page, url).ok());
        urls.extend(listed.take(MAX_SITEMAPS_PER_SITE));
        if rules.sitemaps.is_empty() && settings.sitemaps.default_path {
            urls.extend(settings.gathering.rules.join(&site.front_page, "/sitemap.xml"));
        }
    }
    if settings.sitemaps.robots_rdf {
        urls.extend(settings.gathering.rules.join(&site.front_page, "/robots.rdf"));
    }
    urls.retain(|url| claim_sitemap(site, url));
    urls
}

/// Claims a sitemap: true once for each file that is on the site, allowed, and within the maximum number.
fn claim_sitemap(site: &mut ActiveSite, url: &CanonicalUrl) -> bool {
    let allowed = url.site() == site.front_page.site() && site.allows(url);
    allowed && site.sitemap_files.len() < MAX_SITEMAPS_PER_SITE && site.sitemap_files.insert(url.clone())
}

/// Parses a sitemap; its URLs count against the quota of the site.
pub(crate) fn parse_sitemap(
    site: &mut ActiveSite,
    file: &CanonicalUrl,
    response: &Response,
    settings: &CrawlSettings,
    now_s: u32,
) -> SitemapContent {
    let mut content = SitemapContent::default();
    if !(200..300).contains(&response.status) {
        return content;
    }
    let encoding = HttpHead(&response.head).joined("Content-Encoding");
    let max_bytes = settings.sitemaps.max_bytes;
    let body = decode_content(&response.body, &encoding, max_bytes);
    let limits = SitemapLimits {
        read_bytes: max_bytes as u64,
        expanded_bytes: max_bytes as u64,
        entries: u64::from(site.sitemap_url_quota),
    };
    let rules = &settings.gathering.rules;
    let in_scope = |url: &str| {
        let url = rules.join(file, url).ok();
        url.filter(|url| settings.gathering.scope.check(url).is_ok())
    };
    read_sitemap(Cursor::new(&body.bytes[..]), limits, |entry| match entry {
        SitemapEntry::Page { url, modified } => {
            content.pages.extend(in_scope(url).map(|url| SitemapUrl::new(&url, modified)));
        }
        SitemapEntry::Sitemap { url, .. } if content.sitemaps.len() < MAX_SITEMAPS_PER_SITE => {
            match rules.join(file, url) {
                Ok(url) if url.site() == site.front_page.site() => content.sitemaps.push(url),
                // A sitemap of another site is subject to the same rule as a page of it.
                _ => content.pages.extend(in_scope(url).map(|url| SitemapUrl::new(&url, None))),
            }
        }
        SitemapEntry::Sitemap { .. } => {}
    });
    drop_useless_dates(&mut content.pages, now_s);
    content.sitemaps.retain(|url| claim_sitemap(site, url));
    site.sitemap_url_quota = site.sitemap_url_quota.saturating_sub(content.pages.len() as u32);
    content
}

/// Removes dates without information: those in the future, and those of a file in which all dates are the same, which is the
/// time at which the file was generated.
pub(crate) fn drop_useless_dates(pages: &mut [SitemapUrl], now_s: u32) {
    for page in pages.iter_mut().filter(|page| page.modified_s > now_s) {
        page.modified_s = 0;
    }
    let dates = || pages.iter().map(|page| page.modified_s).filter(|date_s| *date_s > 0);
    let (Some(first_s), Some(last_s)) = (dates().min(), dates().max()) else { return };
    if last_s - first_s <= SAME_DATE_WINDOW_S && dates().count() >= MIN_DATES {
        pages.iter_mut().for_each(|page| page.modified_s = 0);
    }
}

/// Dates within this time count as the same: a file can take this long to generate.
const SAME_DATE_WINDOW_S: u32 = 60;
/// Fewer pages can really have changed together.
const MIN_DATES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_without_information_are_removed() {
        let after = |dates: &[u32]| {
            let mut pages: Vec<SitemapUrl> =
                dates.iter().map(|&modified_s| SitemapUrl { url: String::new(), modified_s }).collect();
            drop_useless_dates(&mut pages, 1_000);
            pages.iter().map(|page| page.modified_s).collect::<Vec<u32>>()
        };
        assert_eq!(after(&[1, 500, 1_000, 1_001, 0]), [1, 500, 1_000, 0, 0]);
        assert_eq!(after(&[900, 930, 910, 0, 920, 955]), [0; 6], "generated on request");
        assert_eq!(after(&[900, 900, 900]), [900, 900, 900], "few pages can have changed together");
        assert!(after(&[]).is_empty());
    }
}
