//! What does a site tell about its own pages? Sitemaps that its robots.txt names, and robots.rdf.
//!
//! Only what lies on the site itself is read, and only pages of the site itself are taken from it: nobody may fill the
//! queue of another.

use std::io::Cursor;

use fetch::Answer;
use model::CanonicalUrl;
use parse::{SitemapEntry, SitemapLimits, decode_content, read_sitemap};

use crate::clock::seconds;
use crate::crawl_settings::CrawlSettings;
use crate::harvest::FoundPage;
use crate::http_head::HttpHead;
use crate::robots_answer::Robots;
use crate::site_run::SiteRun;

/// An index may lead to indexes, but not for ever.
pub(crate) const LEVELS: u8 = 2;
/// Most sitemaps of a site, however many robots.txt and indexes name.
const FILES: usize = 100;

/// What a file names.
#[derive(Debug, Default)]
pub(crate) struct SitemapRead {
    pub(crate) pages: Vec<FoundPage>,
    pub(crate) sitemaps: Vec<CanonicalUrl>,
}

/// What to ask a site for.
pub(crate) fn of_site(run: &mut SiteRun, settings: &CrawlSettings) -> Vec<CanonicalUrl> {
    let Some(Robots::Rules(rules)) = &run.robots else { return Vec::new() };
    let mut urls: Vec<CanonicalUrl> = Vec::new();
    if settings.sitemaps {
        let named = rules.sitemaps.iter().filter_map(|url| settings.gather.rules.join(&run.front, url).ok());
        urls.extend(named.take(FILES));
    }
    if settings.robots_rdf {
        urls.extend(settings.gather.rules.join(&run.front, "/robots.rdf"));
    }
    urls.retain(|url| is_wanted(run, url));
    urls
}

/// Whether a file is to be asked for: once, if the site itself has it and lets us, and if these are not too many.
fn is_wanted(run: &mut SiteRun, url: &CanonicalUrl) -> bool {
    let allowed = url.site() == run.front.site() && run.allows(url);
    allowed && run.sitemap_files.len() < FILES && run.sitemap_files.insert(url.clone())
}

/// Reads one file; what it takes is taken off the site's allowance.
pub(crate) fn read(
    run: &mut SiteRun,
    file: &CanonicalUrl,
    answer: &Answer,
    settings: &CrawlSettings,
    now_s: u32,
) -> SitemapRead {
    let mut read = SitemapRead::default();
    if !(200..300).contains(&answer.status) {
        return read;
    }
    let encoding = HttpHead(&answer.head).joined("Content-Encoding");
    let limit = settings.sitemap_bytes;
    let body = decode_content(&answer.body, &encoding, limit);
    let limits = SitemapLimits {
        read_bytes: limit as u64,
        expanded_bytes: limit as u64,
        entries: u64::from(run.sitemap_urls_left),
    };
    let rules = &settings.gather.rules;
    let on_site = |url: &str| rules.join(file, url).ok().filter(|url| url.site() == run.front.site());
    read_sitemap(Cursor::new(&body.bytes[..]), limits, |entry| match entry {
        SitemapEntry::Page { url, modified } => {
            let url = on_site(url).filter(|url| settings.gather.scope.judge(url).is_ok());
            let modified_s = modified.and_then(|time_s| u64::try_from(time_s).ok());
            read.pages.extend(url.map(|url| FoundPage {
                url: url.as_str().to_owned(),
                modified_s: modified_s.map_or(0, |time_s| seconds(time_s.saturating_mul(1_000))),
            }));
        }
        SitemapEntry::Sitemap { url, .. } if read.sitemaps.len() < FILES => {
            read.sitemaps.extend(on_site(url));
        }
        SitemapEntry::Sitemap { .. } => {}
    });
    forget_useless_dates(&mut read.pages, now_s);
    read.sitemaps.retain(|url| is_wanted(run, url));
    run.sitemap_urls_left = run.sitemap_urls_left.saturating_sub(read.pages.len() as u32);
    read
}

/// Dates that lie in the future are mistakes. A file that gives all its pages one date tells when the file was made, and
/// nothing about the pages.
fn forget_useless_dates(pages: &mut [FoundPage], now_s: u32) {
    for page in pages.iter_mut().filter(|page| page.modified_s > now_s) {
        page.modified_s = 0;
    }
    let dates = || pages.iter().map(|page| page.modified_s).filter(|date_s| *date_s > 0);
    let (Some(first_s), Some(last_s)) = (dates().min(), dates().max()) else { return };
    if last_s - first_s <= ONE_DATE_S && dates().count() >= FEWEST_DATES {
        pages.iter_mut().for_each(|page| page.modified_s = 0);
    }
}

/// So long a file may take to be made.
const ONE_DATE_S: u32 = 60;
/// A few pages may well have changed together.
const FEWEST_DATES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_that_tell_nothing_about_pages_are_forgotten() {
        let after = |dates: &[u32]| {
            let mut pages: Vec<FoundPage> =
                dates.iter().map(|&modified_s| FoundPage { url: String::new(), modified_s }).collect();
            forget_useless_dates(&mut pages, 1_000);
            pages.iter().map(|page| page.modified_s).collect::<Vec<u32>>()
        };
        assert_eq!(after(&[1, 500, 1_000, 1_001, 0]), [1, 500, 1_000, 0, 0]);
        assert_eq!(after(&[900, 930, 910, 0, 920, 955]), [0; 6], "made on request");
        assert_eq!(after(&[900, 900, 900]), [900, 900, 900], "few may have changed together");
        assert!(after(&[]).is_empty());
    }
}
