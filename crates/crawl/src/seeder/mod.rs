//! The seeder: ingests fetched pages and events of harvesters into the collection, and adds discovered pages.
//!
//! Fetched pages go through [`Ingest`], and [events](events::apply_events) into the records of pages and sites: skipped and
//! returned pages, robots.txt, cooldowns, sitemaps.

pub(crate) mod events;
pub(crate) mod sitemaps;

use std::sync::Arc;

use harvest::item::gathered_page::GatheredPage;
use harvest::item::harvest_event::{HarvestEvent, UrlList};
use harvest::settings::crawl_settings::CrawlSettings;
use model::SiteId;
use store::{Collection, Result};

use crate::ingest::page_links::PageLinks;
use crate::ingest::page_policy::PagePolicy;
use crate::ingest::summary::IngestSummary;
use crate::ingest::{Ingest, template_release};
use crate::seeder::events::apply_events;
use crate::seeder::sitemaps::{add_sitemaps_on_other_sites, finish_sitemap_polls};

/// Ingests pages and events in batches.
pub(crate) struct Seeder {
    ingest: Ingest,
    pages: Vec<GatheredPage>,
    bytes: u64,
    events: Vec<HarvestEvent>,
    settings: Arc<CrawlSettings>,
}

/// Result of the ingestion of a batch.
#[derive(Debug, Default)]
pub(crate) struct SeedResult {
    pub(crate) ingested: IngestSummary,
    pub(crate) bytes: u64,
    /// Finished sites.
    pub(crate) finished_sites: Vec<SiteId>,
}

/// Equal to the default deduplication window of the page store.
pub(crate) const DUPLICATE_WINDOW: usize = 1 << 20;

impl Seeder {
    pub(crate) fn new(settings: &Arc<CrawlSettings>, collection: &Collection) -> Result<Seeder> {
        let mut policy = PagePolicy::new(settings);
        policy.load_counts(collection)?;
        let settings = Arc::clone(settings);
        let ingest = Ingest::with_policy(DUPLICATE_WINDOW, policy);
        Ok(Seeder { ingest, pages: Vec::new(), bytes: 0, events: Vec::new(), settings })
    }

    /// Replaces the settings, if they have changed.
    pub(crate) fn update_settings(
        &mut self,
        settings: &Arc<CrawlSettings>,
        collection: &Collection,
    ) -> Result<()> {
        if !Arc::ptr_eq(&self.settings, settings) {
            self.settings = Arc::clone(settings);
            self.ingest.policy.update_settings(settings);
            self.ingest.policy.load_counts(collection)?;
        }
        Ok(())
    }

    /// Adds a page to the batch that [`Seeder::seed`] ingests.
    pub(crate) fn add_page(&mut self, page: GatheredPage) {
        self.bytes += page.content_bytes();
        self.pages.push(page);
    }

    /// Adds an event to the batch that [`Seeder::seed`] ingests.
    pub(crate) fn add_event(&mut self, event: HarvestEvent) {
        self.events.push(event);
    }

    /// Bytes of the pending pages.
    pub(crate) fn pending_bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of pending pages and events.
    pub(crate) fn pending_items(&self) -> usize {
        self.pages.len() + self.events.len()
    }

    /// Ingests all pending items: pages before the results of their sites.
    pub(crate) fn seed(&mut self, collection: &mut Collection) -> Result<SeedResult> {
        let mut result = SeedResult { bytes: std::mem::take(&mut self.bytes), ..SeedResult::default() };
        result.ingested = self.ingest.ingest(collection, std::mem::take(&mut self.pages))?;
        let summary = apply_events(collection, std::mem::take(&mut self.events), &self.settings)?;
        let policy = &mut self.ingest.policy;
        for (site, named, now_s) in &summary.named_sitemaps {
            add_sitemaps_on_other_sites(collection, policy, &self.settings, *site, named, *now_s)?;
        }
        for list in &summary.url_lists {
            result.ingested.new_pages += self.add_listed_urls(collection, list)?;
        }
        finish_sitemap_polls(collection, &self.settings.revisits.polls, &summary.sitemap_polls)?;
        result.finished_sites = summary.finished_sites;
        Ok(result)
    }

    /// Ingests outlinks that the separate gatherer has written.
    pub(crate) fn ingest_links(
        &mut self,
        collection: &mut Collection,
        pages: Vec<PageLinks>,
    ) -> Result<IngestSummary> {
        self.ingest.ingest_links(collection, pages)
    }

    /// Admits rejected pages whose URL groups have room again; returns their number.
    pub(crate) fn release_templates(&mut self, collection: &mut Collection) -> Result<u64> {
        template_release::release(collection, &self.ingest.policy)
    }

    /// Adds the URLs of a sitemap or feed; returns the number of new pages.
    pub(crate) fn add_listed_urls(&mut self, collection: &mut Collection, list: &UrlList) -> Result<u64> {
        sitemaps::add_listed_urls(collection, &mut self.ingest.policy, &self.settings, list)
    }
}

#[cfg(test)]
mod tests {
    use harvest::item::harvest_event::{SitemapUrl, UrlListKind};
    use model::Reason;
    use store::{PageFlags, PageStage};

    use super::*;
    use crate::test_collection::{NOON_S, TestCollection};

    const SITE: &str = "http://a.example";

    fn seed(test: &mut TestCollection, settings: CrawlSettings, urls: &[(&str, u32)]) -> SeedResult {
        let urls = urls.iter();
        let urls =
            urls.map(|(url, modified_s)| SitemapUrl { url: (*url).to_owned(), modified_s: *modified_s });
        let urls = urls.collect();
        let mut seeder = Seeder::new(&Arc::new(settings), &test.collection).unwrap();
        let (file, kind) = (format!("{SITE}/sitemap.xml"), UrlListKind::Sitemap);
        seeder.add_event(HarvestEvent::UrlsListed(UrlList { site: test.site_id(SITE), file, kind, urls }));
        seeder.seed(&mut test.collection).unwrap()
    }

    #[test]
    fn urls_of_a_sitemap_become_pages_of_depth_one() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let urls = [("http://a.example/", 0), ("http://a.example/1", 7), ("http://a.example/?x=1", 0)];
        let result = seed(&mut test, CrawlSettings::default(), &urls);
        assert_eq!(result.ingested.new_pages, 2);
        let (page, site) = (test.page("http://a.example/1"), test.site(SITE));
        assert_eq!((page.depth, page.last_change_s, page.stage), (1, 7, PageStage::Discovered));
        assert_eq!(test.page("http://a.example/").depth, 0);
        assert_eq!((site.pages_known, site.pages_static, site.pages_dynamic), (3, 2, 1));
    }

    #[test]
    fn a_sitemap_cannot_exceed_the_page_limit_of_its_site() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let mut settings = CrawlSettings::default();
        settings.limits.pages_per_site = 2;
        seed(&mut test, settings.clone(), &[("http://a.example/1", 0), ("http://a.example/2", 0)]);
        let fates = ["http://a.example/1", "http://a.example/2"].map(|url| test.page(url).reason);
        assert!(fates.contains(&None) && fates.contains(&Some(Reason::SitePageLimit)), "{fates:?}");
        // A full site accepts no further URLs at all.
        let result = seed(&mut test, settings, &[("http://a.example/3", 0)]);
        assert_eq!((result.ingested.new_pages, test.find_page("http://a.example/3")), (0, None));
    }

    #[test]
    fn a_sitemap_date_after_the_last_fetch_marks_the_copy_as_stale() {
        let urls = ["http://a.example/changed", "http://a.example/unchanged"];
        let mut test = TestCollection::contacted(&urls);
        for url in urls {
            test.update_page(url, |page| {
                (page.stage, page.status, page.content_hash) = (PageStage::Fetched, 200, 1);
                (page.last_visit_s, page.last_success_s) = (NOON_S, NOON_S);
            });
        }
        // A page that is listed twice has the later date.
        let entries = [(urls[0], NOON_S + 9), (urls[1], NOON_S - 9), (urls[0], NOON_S - 1)];
        assert_eq!(seed(&mut test, CrawlSettings::default(), &entries).ingested.new_pages, 0);
        let stale = urls.map(|url| test.page(url).flags.has(PageFlags::REPORTED_STALE));
        assert_eq!(stale, [true, false]);
        assert_eq!(test.page(urls[0]).last_change_s, NOON_S + 9);
    }
}
