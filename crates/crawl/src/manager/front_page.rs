//! Where is a site entered that nobody has asked yet? At its front page, alone.

use model::{CanonicalUrl, PageId, SiteId};
use store::{Collection, PageFlags, PageRecord, Result, Stage, UrlBatch, UrlReader};

use super::composition::judge;
use super::standing::{Standing, Take};
use crate::clock::seconds;
use crate::crawl_settings::CrawlSettings;
use crate::url_promise::UrlPromise;

/// The front pages of sites that nobody has asked yet, as many as fit. A site whose front page is not to be fetched is
/// entered anywhere.
pub(super) fn front_pages(
    collection: &mut Collection,
    settings: &CrawlSettings,
    standings: &mut [Standing],
    room: usize,
    now_ms: u64,
) -> Result<Vec<PageId>> {
    let mut urls = UrlBatch::new();
    for (number, standing) in standings.iter_mut().enumerate() {
        if standing.take == Take::FrontPage && urls.len() < room {
            match front_page(collection.urls.known(), settings, SiteId(number as u32)) {
                Some(url) if judge(settings, &url, 0).is_ok() => urls.push(&url),
                _ => standing.take = Take::Pages,
            }
        }
    }
    let promise = UrlPromise::new(&settings.url_words);
    let resolved = collection.resolve(&urls, seconds(now_ms), |new| PageRecord {
        location: promise.of(urls.url(new.link as usize)),
        ..PageRecord::new(new.site, 0, PageFlags::default())
    })?;
    let new: Vec<SiteId> = resolved.new.iter().map(|new| new.site).collect();
    collection.sites.update(&new, |_, record| {
        record.pages_known += 1;
        record.pages_static += 1;
    })?;
    let mut pages = resolved.pages;
    pages.sort_unstable();
    let records = collection.pages.reader().get_many(&pages)?;
    let mut due = Vec::with_capacity(pages.len());
    for (page, record) in pages.into_iter().zip(records) {
        match record.stage {
            Stage::New => due.push(page),
            _ => standings[record.site.index()].take = Take::Pages,
        }
    }
    Ok(due)
}

pub(crate) fn front_page(urls: &UrlReader, settings: &CrawlSettings, site: SiteId) -> Option<CanonicalUrl> {
    let name = urls.site_name(site)?;
    settings.gather.rules.canonical(&format!("{name}/")).ok()
}
