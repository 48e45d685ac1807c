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
use model::{AddressGroup, SiteId, UrlBatch};
use store::{Collection, PageFlags, PageRecord};

use crate::error::Error;
use crate::manager::revisit::site_delay_ms;
use crate::manager::site_url::front_page;
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
    let delays: Vec<Option<u64>> =
        sites.iter().map(|site| site_delay_override_ms(collection, settings, *site)).collect();
    collection.site_state.update(sites, |index, record| {
        let delay_ms = site_delay_ms(settings, record, delays[index]);
        record.earliest_request_ms = record.earliest_request_ms.max(now_ms + delay_ms);
    })?;
    Ok(())
}

/// Delay that the settings define for this site, if they do.
fn site_delay_override_ms(collection: &Collection, settings: &CrawlSettings, site: SiteId) -> Option<u64> {
    if settings.site_overrides.is_empty() {
        return None;
    }
    let url = front_page(collection.urls.reader(), settings, site)?;
    settings.override_for(&url)?.delay_ms
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
            (true, None) => now_ms + site_delay_ms(settings, record, None),
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
    let own_addresses: HashSet<AddressGroup> = address_policy::claimed_addresses(batch).collect();
    batch.address_cooldowns = address_cooldowns(collection, settings, now_ms, false)?;
    batch.address_cooldowns.retain(|(address, _)| own_addresses.contains(&(*address).into()));
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

/// Hosts in a cooldown that a redirected robots.txt may lead to, each with the end of its cooldown.
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

#[cfg(test)]
mod tests {
    use harvest::SiteOverride;
    use harvest::files::journal::Journal;
    use harvest::item::harvest_event::HarvestEvent;
    use harvest::item::robots_response::RobotsResponse;

    use super::*;
    use crate::test_collection::{NOON_MS, NOON_S, TestCollection, override_for};

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    /// Writes events into the journal of a harvester that does not end cleanly.
    fn write_journal(test: &TestCollection, events: &[(&str, HarvestEvent)]) {
        let dir = work_dirs::journal(test.collection.dir());
        journal::start(&dir, &[]).unwrap();
        let mut journal = Journal::create(Some(&dir), 0, Arc::default()).unwrap();
        for (name, event) in events {
            journal.next_seq();
            journal.append(&JournalEntry::from_event(event, |_| Some((*name, ADDRESS))).unwrap()).unwrap();
        }
    }

    fn robots(fetched_s: u32, text: &str) -> HarvestEvent {
        let response = RobotsResponse { fetched_s, status: 200, text: text.as_bytes().to_vec() };
        // The id is that of the crashed process; recovery finds the site by its name.
        HarvestEvent::RobotsFetched { site: SiteId(99), response }
    }

    fn replay(test: &mut TestCollection) -> bool {
        replay_journals(&mut test.collection, &Arc::new(CrawlSettings::default()), NOON_MS).unwrap()
    }

    #[test]
    fn a_crawl_that_ended_cleanly_needs_no_recovery() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        assert!(!replay(&mut test));
        write_journal(&test, &[]);
        assert!(replay(&mut test), "a journal without entries is that of a crawl that was killed");
        finish_recovery(&mut test.collection, &CrawlSettings::default(), NOON_MS).unwrap();
        assert!(!replay(&mut test), "recovery is done once");
    }

    #[test]
    fn robots_txt_and_back_off_survive_a_kill() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let until_ms = NOON_MS + 3_600_000;
        let back_off = HarvestEvent::SiteBackedOff { site: SiteId(99), until_ms, consecutive_errors: 3 };
        let text = "User-agent: *\nCrawl-delay: 20\nDisallow: /x\n";
        write_journal(&test, &[("http://a.example", robots(NOON_S, text)), ("http://a.example", back_off)]);
        assert!(replay(&mut test));
        // The replay is part of a commit.
        let test = test.kill();
        let (id, site) = (test.site_id("http://a.example"), test.site("http://a.example"));
        let stored = test.collection.site_state.reader().robots_text(id).unwrap();
        assert_eq!(stored.as_deref(), Some(text.as_bytes()));
        assert_eq!((site.robots_fetched_s, site.robots_status, site.crawl_delay_ms), (NOON_S, 200, 20_000));
        assert_eq!((site.back_off_until_ms, site.consecutive_errors), (until_ms, 3));
        assert_eq!(site.address, Some(ADDRESS));
    }

    #[test]
    fn a_site_that_was_discovered_after_the_last_commit_is_added_again_with_its_front_page() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        write_journal(&test, &[("http://new.example", robots(NOON_S, "User-agent: *\nDisallow: /x\n"))]);
        assert!(replay(&mut test));
        let site = test.site("http://new.example");
        assert_eq!((site.pages_known, site.pages_static, site.robots_fetched_s), (1, 1, NOON_S));
        assert!(test.find_page("http://new.example/").is_some());
        assert_eq!(test.site("http://a.example").robots_fetched_s, 0);
    }

    #[test]
    fn after_a_kill_every_site_waits_its_full_delay() {
        let names = ["plain", "crawl-delay", "override", "no-delay", "throttled", "later"];
        let urls = names.map(|name| format!("http://{name}.example/"));
        let mut test = TestCollection::contacted(&urls.each_ref().map(String::as_str));
        test.update_site("http://crawl-delay.example", |site| site.crawl_delay_ms = 20_000);
        test.update_site("http://throttled.example", |site| site.throttle_delay_ms = 40_000);
        test.update_site("http://later.example", |site| site.earliest_request_ms = NOON_MS + 99_000);
        let mut settings = CrawlSettings::default();
        for (host, delay_ms) in [("override.example", 30_000), ("no-delay.example", 0)] {
            settings.site_overrides.push(SiteOverride { delay_ms: Some(delay_ms), ..override_for(host) });
        }
        write_journal(&test, &[]);
        finish_recovery(&mut test.collection, &settings, NOON_MS).unwrap();
        let test = test.kill();
        let waits =
            names.map(|name| test.site(&format!("http://{name}.example")).earliest_request_ms - NOON_MS);
        assert_eq!(waits, [15_000, 20_000, 30_000, 0, 40_000, 99_000]);
    }

    #[test]
    fn an_address_waits_like_the_site_contacted_last_or_for_its_own_delay() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        test.update_site("http://a.example", |site| {
            (site.address, site.earliest_request_ms) = (Some(ADDRESS), NOON_MS + 7_000);
            site.throttle_delay_ms = 40_000;
        });
        let mut settings = CrawlSettings::default();
        let wait = |settings: &CrawlSettings, now_ms, clocks_lost| {
            let all = address_cooldowns(&test.collection, settings, now_ms, clocks_lost).unwrap();
            all.into_iter().map(|(_, until_ms)| until_ms - NOON_MS).collect::<Vec<u64>>()
        };
        assert_eq!(wait(&settings, NOON_MS, false), [7_000]);
        assert_eq!(wait(&settings, NOON_MS, true), [40_000]);
        assert!(wait(&settings, NOON_MS + 7_000, false).is_empty());
        settings.politeness.address_delay_ms = Some(2_000);
        assert_eq!(wait(&settings, NOON_MS, false), [2_000]);
        assert_eq!(wait(&settings, NOON_MS, true), [2_000]);
    }
}
