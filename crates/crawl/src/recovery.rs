//! What must be known before anybody asks a server? What was going on when the last program ended, and who else is at
//! work.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use model::SiteId;
use store::{Collection, PageFlags, PageRecord, UrlBatch};

use crate::batch::Batch;
use crate::crawl_settings::CrawlSettings;
use crate::crew::journal_error;
use crate::error::Error;
use crate::journal::{self, Entry};
use crate::noted_rests;
use crate::places::{self, Place};
use crate::seeder::Seeder;
use crate::territory;

/// Takes in what a crawl that died had been told by servers. True if there was one: then clocks are not known.
pub(crate) fn replay_journals(
    collection: &mut Collection,
    settings: &Arc<CrawlSettings>,
    now_ms: u64,
) -> Result<bool, Error> {
    let folder = places::journal(collection.folder());
    let left = journal::left_behind(&folder).map_err(|source| journal_error(&folder, source))?;
    let Some(news) = left else { return Ok(false) };
    let mut seeder = Seeder::new(settings, collection)?;
    for entry in news {
        if let Some(news) = entry.of_anybody() {
            seeder.take_news(news);
        } else if let Some(site) = journalled_site(collection, settings, &entry)? {
            seeder.take_news(entry.about(site));
        }
    }
    seeder.seed(collection)?;
    collection.commit(now_ms as i64)?;
    Ok(true)
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

/// Takes note of a crawl that died: from then on its journals are not needed any more.
pub(crate) fn settle(
    collection: &mut Collection,
    settings: &CrawlSettings,
    now_ms: u64,
) -> Result<(), Error> {
    let_rest(collection, settings, now_ms)?;
    let folder = places::journal(collection.folder());
    journal::clear(&folder).map_err(|source| journal_error(&folder, source))
}

/// A crawl that died may have asked any site just now, also one that it had never asked before: all are left alone for
/// their wait, whatever becomes of this run.
pub(crate) fn let_rest(
    collection: &mut Collection,
    settings: &CrawlSettings,
    now_ms: u64,
) -> Result<(), Error> {
    let all: Vec<SiteId> = (0..collection.sites.reader().sites()).map(SiteId).collect();
    let_sites_rest(collection, settings, &all, now_ms)?;
    collection.commit(now_ms as i64)?;
    Ok(())
}

/// The same for some sites, in the order of their numbers, without a commit.
pub(crate) fn let_sites_rest(
    collection: &mut Collection,
    settings: &CrawlSettings,
    sites: &[SiteId],
    now_ms: u64,
) -> Result<(), Error> {
    let waits: Vec<u64> = sites.iter().map(|site| own_wait(collection, settings, *site)).collect();
    collection.sites.update(sites, |index, record| {
        let crawl_delay_ms = u64::from(record.crawl_delay_ms);
        let own_wait_ms = Some(waits[index]).filter(|wait_ms| *wait_ms > 0);
        let wait_ms = settings.waits.site_wait_ms(record.pages_known, crawl_delay_ms, own_wait_ms);
        record.next_request_ms = record.next_request_ms.max(now_ms + wait_ms);
    })?;
    Ok(())
}

/// What the settings say for this very site; 0 if nothing.
fn own_wait(collection: &Collection, settings: &CrawlSettings, site: SiteId) -> u64 {
    if settings.sites.is_empty() {
        return 0;
    }
    let name = collection.urls.known().site_name(site).map(|name| format!("{name}/"));
    let url = name.and_then(|name| settings.gather.rules.canonical(&name).ok());
    url.and_then(|url| settings.site(&url)?.wait_ms).unwrap_or(0)
}

/// What lies in the collection's folder for somebody else to harvest.
#[derive(Debug, Default)]
pub(crate) struct Lent {
    pub(crate) sites: HashSet<SiteId>,
    /// The addresses that the batches own.
    pub(crate) addresses: HashSet<IpAddr>,
    /// Its sites by name, and those that are asked on behalf of them.
    pub(crate) names: HashSet<String>,
}

impl Lent {
    pub(crate) fn of(collection: &Collection) -> Result<Lent, Error> {
        let mut lent = Lent::of_others(collection)?;
        for (_, folder) in Place::Lent.list(collection.folder())? {
            lent.add(&Batch::read(&folder)?);
        }
        Ok(lent)
    }

    /// The same without what workers of ours have.
    pub(crate) fn of_others(collection: &Collection) -> Result<Lent, Error> {
        let mut lent = Lent::default();
        for (_, folder) in Place::Batches.list(collection.folder())? {
            lent.add(&Batch::read(&folder)?);
        }
        Ok(lent)
    }

    pub(crate) fn add(&mut self, batch: &Batch) {
        self.sites.extend(batch.sites.iter().map(|site| site.site));
        self.addresses.extend(territory::addresses(batch));
        for site in &batch.sites {
            self.names.insert(site.name.clone());
            self.names.extend(site.refers.iter().map(|referral| referral.name.clone()));
        }
    }
}

/// The lent sites, those that are known to share an address with one of them, and those that are asked on behalf of one: each
/// must have one visitor at a time.
pub(crate) fn neighbours(collection: &Collection, lent: &Lent) -> Result<HashSet<SiteId>, Error> {
    if lent.sites.is_empty() {
        return Ok(HashSet::new());
    }
    let reader = collection.sites.reader();
    let parts = reader.scan(|all: &mut Vec<(SiteId, IpAddr)>, site, record| {
        all.extend(record.address.map(|address| (site, address.to_canonical())));
    })?;
    let known = parts.into_iter().flatten();
    let near = known.filter(|(_, address)| lent.addresses.contains(address)).map(|(site, _)| site);
    let named = lent.names.iter().filter_map(|name| collection.urls.known().find_site(name));
    Ok(near.chain(lent.sites.iter().copied()).chain(named).collect())
}

/// When addresses may be asked again: when the site that was last asked there may, or after their own wait. If clocks are
/// lost, any site may have been the last.
pub(crate) fn address_clocks(
    collection: &Collection,
    settings: &CrawlSettings,
    now_ms: u64,
    unknown: bool,
) -> Result<Vec<(IpAddr, u64)>, Error> {
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
    let mut clocks = parts.concat();
    clocks.extend(noted_rests::all(collection, now_ms).filter_map(|rest| {
        let ready_ms = waits.address_wait_ms.map_or(rest.until_ms, |wait_ms| now_ms + wait_ms);
        Some((rest.address?, ready_ms))
    }));
    Ok(clocks)
}

/// Tells a batch that is to be lent when the addresses may be asked that it owns, and the sites that its own refer to.
pub(crate) fn set_clocks(
    collection: &Collection,
    settings: &CrawlSettings,
    batch: &mut Batch,
    now_ms: u64,
) -> Result<(), Error> {
    let own: HashSet<IpAddr> = territory::addresses(batch).collect();
    batch.addresses = address_clocks(collection, settings, now_ms, false)?;
    batch.addresses.retain(|(address, _)| own.contains(&address.to_canonical()));
    let names: HashSet<&str> =
        batch.sites.iter().flat_map(|site| &site.refers).map(|referral| referral.name.as_str()).collect();
    if !names.is_empty() {
        let mut rests = rests(collection, now_ms)?;
        rests.retain(|(name, _)| names.contains(name.as_str()));
        batch.rests = rests;
    }
    Ok(())
}

/// When sites may be asked again, by name, that must be left alone for now: they may be asked for a robots.txt that others
/// refer to.
pub(crate) fn rests(collection: &Collection, now_ms: u64) -> Result<Vec<(String, u64)>, Error> {
    let parts = collection.sites.reader().scan(|rests: &mut Vec<(SiteId, u64)>, site, record| {
        let until_ms = record.next_request_ms.max(record.back_off_until_ms);
        if until_ms > now_ms {
            rests.push((site, until_ms));
        }
    })?;
    let known = collection.urls.known();
    let sites = parts.into_iter().flatten();
    let sites = sites.filter_map(|(site, until_ms)| Some((known.site_name(site)?.to_owned(), until_ms)));
    let noted = noted_rests::all(collection, now_ms).map(|rest| (rest.name.to_owned(), rest.until_ms));
    Ok(noted.chain(sites).collect())
}
