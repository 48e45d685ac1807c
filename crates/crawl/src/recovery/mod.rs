//! Recovery after a crash, and the cooldowns that hold before the first request of a run.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use harvest::dispatcher::address_policy;
use harvest::files::journal::JournalEntry;
use harvest::files::{journal, work_dirs};
use harvest::harvester::pool::journal_error;
use harvest::item::batch::Batch;
use harvest::settings::crawl_settings::CrawlSettings;
use model::SiteId;
use model::UrlBatch;
use store::{Collection, PageFlags, PageRecord};

use crate::error::Error;
use crate::seeder::Seeder;
use crate::state::cooldowns;
use crate::state::crawl_state::CrawlState;

/// Ingests the journals of a crashed crawl: the delays that servers requested. True if there was a crash; then the times of the
/// last requests are unknown.
pub(crate) fn replay_journals(
    collection: &mut Collection,
    settings: &Arc<CrawlSettings>,
    now_ms: u64,
) -> Result<bool, Error> {
    let dir = work_dirs::journal(collection.dir());
    let entries = journal::read_unclean(&dir).map_err(|source| journal_error(&dir, source))?;
    let Some(entries) = entries else { return Ok(false) };
    let mut seeder = Seeder::new(settings, collection)?;
    for entry in entries {
        if let Some(event) = entry.as_unowned() {
            seeder.add_event(event);
        } else if let Some(site) = site_of_entry(collection, settings, &entry)? {
            seeder.add_event(entry.into_event_for(site));
        }
    }
    seeder.seed(collection)?;
    collection.commit(now_ms as i64)?;
    Ok(true)
}

/// Site of a journal entry. A site that was discovered after the last commit is added again, with its front page.
fn site_of_entry(
    collection: &mut Collection,
    settings: &CrawlSettings,
    entry: &JournalEntry,
) -> Result<Option<SiteId>, Error> {
    if collection.urls.reader().find_site(&entry.site).is_none() {
        let Ok(front) = settings.gathering.rules.canonical(&format!("{}/", entry.site)) else {
            return Ok(None);
        };
        let mut urls = UrlBatch::new();
        urls.push(&front);
        let resolved =
            collection.resolve(&urls, 0, |new| PageRecord::new(new.site, 0, PageFlags::default()))?;
        let new: Vec<SiteId> = resolved.new_pages.iter().map(|new| new.site).collect();
        collection.site_state.update(&new, |_, record| {
            record.pages_known += 1;
            record.pages_static += 1;
        })?;
    }
    let site = collection.urls.reader().find_site(&entry.site);
    if let Some(site) = site {
        collection.site_state.update(&[site], |_, record| record.address = Some(entry.address))?;
    }
    Ok(site)
}

/// Applies the cooldowns after a crash and deletes the journals.
pub(crate) fn finish_recovery(
    collection: &mut Collection,
    settings: &CrawlSettings,
    now_ms: u64,
) -> Result<(), Error> {
    cool_down_all_sites(collection, settings, now_ms)?;
    let dir = work_dirs::journal(collection.dir());
    journal::clear(&dir).map_err(|source| journal_error(&dir, source))?;
    Ok(())
}

/// Starts a cooldown for all sites and commits it: a crashed crawl may have contacted any of them just now, also for the first
/// time.
pub(crate) fn cool_down_all_sites(
    collection: &mut Collection,
    settings: &CrawlSettings,
    now_ms: u64,
) -> Result<(), Error> {
    let all: Vec<SiteId> = (0..collection.site_state.reader().sites()).map(SiteId).collect();
    cool_down_sites(collection, settings, &all, now_ms)?;
    collection.commit(now_ms as i64)?;
    Ok(())
}

/// Starts a cooldown for these sites, which must be sorted by id; without a commit.
pub(crate) fn cool_down_sites(
    collection: &mut Collection,
    settings: &CrawlSettings,
    sites: &[SiteId],
    now_ms: u64,
) -> Result<(), Error> {
    let delays: Vec<u64> =
        sites.iter().map(|site| site_delay_override_ms(collection, settings, *site)).collect();
    collection.site_state.update(sites, |index, record| {
        let crawl_delay_ms = u64::from(record.crawl_delay_ms);
        let override_ms = Some(delays[index]).filter(|delay_ms| *delay_ms > 0);
        let delay_ms = settings.politeness.delay_for_site_ms(record.pages_known, crawl_delay_ms, override_ms);
        record.earliest_request_ms = record.earliest_request_ms.max(now_ms + delay_ms);
    })?;
    Ok(())
}

/// Delay that the settings define for this site; 0 if none.
fn site_delay_override_ms(collection: &Collection, settings: &CrawlSettings, site: SiteId) -> u64 {
    if settings.site_overrides.is_empty() {
        return 0;
    }
    let name = collection.urls.reader().site_name(site).map(|name| format!("{name}/"));
    let url = name.and_then(|name| settings.gathering.rules.canonical(&name).ok());
    url.and_then(|url| settings.override_for(&url)?.delay_ms).unwrap_or(0)
}

/// Times at which addresses may be contacted again: the earliest request of the site contacted last, or the delay of the
/// address. If the clocks were lost in a crash, any site may have been contacted last.
pub(crate) fn address_cooldowns(
    collection: &Collection,
    settings: &CrawlSettings,
    now_ms: u64,
    clocks_lost: bool,
) -> Result<Vec<(IpAddr, u64)>, Error> {
    let politeness = &settings.politeness;
    let parts = collection.site_state.reader().scan(|address_cooldowns: &mut Vec<_>, _, record| {
        let Some(address) = record.address else { return };
        let ready_ms = match (clocks_lost, politeness.address_delay_ms) {
            // Harvesters add the delays that the settings define for single sites.
            (true, None) => {
                now_ms + politeness.delay_for_site_ms(record.pages_known, record.crawl_delay_ms.into(), None)
            }
            (true, Some(delay_ms)) => now_ms + delay_ms,
            (false, None) => record.earliest_request_ms,
            // The last request ended no later than the earliest time of the next one.
            (false, Some(delay_ms)) => record.earliest_request_ms.min(now_ms) + delay_ms,
        };
        if ready_ms > now_ms {
            address_cooldowns.push((address, ready_ms));
        }
    })?;
    let mut address_cooldowns = parts.concat();
    let state = CrawlState::load(collection)?;
    address_cooldowns.extend(cooldowns::active(&state, now_ms).filter_map(|cooldown| {
        let ready_ms = politeness.address_delay_ms.map_or(cooldown.until_ms, |delay_ms| now_ms + delay_ms);
        Some((cooldown.address?, ready_ms))
    }));
    Ok(address_cooldowns)
}

/// Sets the cooldowns of a batch before it is leased: of its addresses, and of the hosts to which its sites redirect.
pub(crate) fn set_batch_cooldowns(
    collection: &Collection,
    settings: &CrawlSettings,
    batch: &mut Batch,
    now_ms: u64,
) -> Result<(), Error> {
    let own_addresses: HashSet<IpAddr> = address_policy::claimed_addresses(batch).collect();
    batch.address_cooldowns = address_cooldowns(collection, settings, now_ms, false)?;
    batch.address_cooldowns.retain(|(address, _)| own_addresses.contains(&address.to_canonical()));
    let names: HashSet<&str> = batch
        .sites
        .iter()
        .flat_map(|site| &site.robots_redirects)
        .map(|redirect| redirect.name.as_str())
        .collect();
    if !names.is_empty() {
        batch.host_cooldowns = host_cooldowns(collection, now_ms)?;
        batch.host_cooldowns.retain(|(name, _)| names.contains(name.as_str()));
    }
    Ok(())
}

/// Hosts in a cooldown, with its end; they may be contacted for a redirected robots.txt.
pub(crate) fn host_cooldowns(collection: &Collection, now_ms: u64) -> Result<Vec<(String, u64)>, Error> {
    let parts = collection.site_state.reader().scan(|cooldowns: &mut Vec<(SiteId, u64)>, site, record| {
        let until_ms = record.earliest_request_ms.max(record.back_off_until_ms);
        if until_ms > now_ms {
            cooldowns.push((site, until_ms));
        }
    })?;
    let known = collection.urls.reader();
    let sites = parts.into_iter().flatten();
    let sites = sites.filter_map(|(site, until_ms)| Some((known.site_name(site)?.to_owned(), until_ms)));
    let state = CrawlState::load(collection)?;
    let hosts = cooldowns::active(&state, now_ms).map(|cooldown| (cooldown.host.clone(), cooldown.until_ms));
    Ok(hosts.chain(sites).collect())
}
