//! What does a crawl have to know before its first request? What the last run was told and did not get to write down, which
//! sites are in other hands, and when each address may be asked again.

use std::collections::HashSet;
use std::net::IpAddr;

use model::SiteId;
use store::{Collection, PageFlags, PageRecord, UrlBatch};

use crate::crawl::journal_error;
use crate::crawl_settings::CrawlSettings;
use crate::error::Error;
use crate::journal::{self, Entry};
use crate::running::Running;
use crate::seeder::Seeder;

/// Takes in what a run that died had been told by servers. True if there was one: then clocks are not known.
pub(crate) fn replay_journals(collection: &mut Collection, running: &Running) -> Result<bool, Error> {
    let left =
        journal::left_behind(collection.folder()).map_err(|source| journal_error(collection, source))?;
    let Some(news) = left else { return Ok(false) };
    let mut seeder = Seeder::new(&running.settings(), collection)?;
    for entry in news {
        if let Some(site) = journalled_site(collection, &running.settings(), &entry)? {
            seeder.take_news(entry.about(site));
        }
    }
    seeder.seed(collection)?;
    collection.commit(running.clock.now_ms() as i64)?;
    Ok(true)
}

/// The sites of batches that lie in the collection's folder, for somebody else to harvest.
pub(crate) fn lent_sites(collection: &Collection) -> Result<HashSet<SiteId>, Error> {
    let mut lent = HashSet::new();
    for folder in crate::roles::open_batches(collection.folder())? {
        lent.extend(crate::batch::Batch::read(&folder)?.sites.iter().map(|site| site.site));
    }
    Ok(lent)
}

/// The site that a journal speaks of. One that was found since the last commit is found again, by its front page.
fn journalled_site(
    collection: &mut Collection,
    settings: &CrawlSettings,
    entry: &Entry,
) -> Result<Option<SiteId>, Error> {
    if collection.urls.known().find_site(&entry.site).is_none() {
        let Ok(front) = settings.gather.rules.canonical(&format!("{}/", entry.site)) else { return Ok(None) };
        let mut urls = UrlBatch::new();
        urls.push(&front);
        let resolved =
            collection.resolve(&urls, 0, |new| PageRecord::new(new.site, 0, PageFlags::default()))?;
        let new: Vec<SiteId> = resolved.new.iter().map(|new| new.site).collect();
        collection.sites.update(&new, |_, record| {
            record.pages_known += 1;
            record.pages_static += 1;
        })?;
    }
    let site = collection.urls.known().find_site(&entry.site);
    if let Some(site) = site {
        collection.sites.update(&[site], |_, record| record.address = Some(entry.address))?;
    }
    Ok(site)
}

/// When addresses may be asked again: when the site that was last asked there may, or after their own wait. If clocks are
/// lost, any site may have been the last.
pub(crate) fn address_clocks(
    collection: &Collection,
    running: &Running,
    unknown: bool,
) -> Result<Vec<(IpAddr, u64)>, Error> {
    let (settings, now_ms) = (running.settings(), running.clock.now_ms());
    let waits = &settings.waits;
    let parts = collection.sites.reader().scan(|clocks: &mut Vec<_>, _, record| {
        let Some(address) = record.address else { return };
        let ready_ms = match (unknown, waits.address_wait_ms) {
            // What the settings say for single sites, harvesters add.
            (true, None) => {
                now_ms + waits.site_wait_ms(record.pages_known, record.crawl_delay_ms.into(), None)
            }
            (true, Some(wait_ms)) => now_ms + wait_ms,
            (false, None) => record.next_request_ms,
            // A request ended no later than when the next may begin.
            (false, Some(wait_ms)) => record.next_request_ms.min(now_ms) + wait_ms,
        };
        if ready_ms > now_ms {
            clocks.push((address, ready_ms));
        }
    })?;
    Ok(parts.concat())
}
