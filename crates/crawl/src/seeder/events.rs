//! Application of harvest events to page and site records.

use std::collections::BTreeMap;

use frontier::Politeness;
use harvest::item::harvest_event::{HarvestEvent, SiteResult, SitemapUrl};
use harvest::item::robots_policy::RobotsPolicy;
use harvest::item::robots_response::RobotsResponse;
use model::SiteId;
use store::{Collection, Result};

use crate::state::crawl_state::{CrawlState, StoredCooldown};
use crate::state::stages::{UnfetchedPage, update_unfetched};
use crate::state::{cooldowns, robots_redirects};

/// Effects of a batch of events.
#[derive(Debug, Default)]
pub(crate) struct EventSummary {
    /// Finished sites.
    pub(crate) finished_sites: Vec<SiteId>,
    /// Sites with pages that returned without a fetch, and their number.
    pub(crate) unfetched: Vec<(SiteId, u32)>,
    /// Sites whose robots.txt has changed.
    pub(crate) changed_robots: Vec<SiteId>,
    /// URLs of sitemaps.
    pub(crate) sitemap_urls: Vec<(SiteId, Vec<SitemapUrl>)>,
}

/// Applies events to page records, site records and the crawl state.
pub(crate) fn apply_events(
    collection: &mut Collection,
    events: Vec<HarvestEvent>,
    politeness: &Politeness,
) -> Result<EventSummary> {
    let mut summary = EventSummary::default();
    let mut state = CrawlState::load(collection)?;
    let (mut unfetched, mut results) = (BTreeMap::new(), Vec::new());
    for event in events {
        match event {
            HarvestEvent::PageSkipped { page, reason } => {
                unfetched.insert(page, UnfetchedPage::Skipped(reason));
            }
            HarvestEvent::PageReturned { page, reason } => {
                unfetched.insert(page, UnfetchedPage::Returned(reason));
            }
            HarvestEvent::RobotsFetched { site, response } => {
                robots_redirects::remove(&mut state, site);
                if store_robots(collection, site, &response)? {
                    summary.changed_robots.push(site);
                }
            }
            HarvestEvent::RobotsRedirect { site, name } => robots_redirects::record(&mut state, site, &name),
            HarvestEvent::SiteBackedOff { site, until_ms, consecutive_errors } => {
                collection.site_state.update(&[site], |_, record| {
                    record.back_off_until_ms = record.back_off_until_ms.max(until_ms);
                    record.consecutive_errors = consecutive_errors;
                })?;
            }
            HarvestEvent::HostContacted { name, address, ended_ms, until_ms } => {
                let cooldown = StoredCooldown { host: name, address, until_ms };
                cooldowns::record(collection, &mut state, cooldown, ended_ms, politeness)?;
            }
            HarvestEvent::SitemapUrls { site, urls } => summary.sitemap_urls.push((site, urls)),
            HarvestEvent::SiteDone(result) => results.push(result),
        }
    }
    state.save(collection)?;
    summary.unfetched = update_unfetched(collection, &unfetched)?;
    results.sort_unstable_by_key(|result| result.site);
    summary.finished_sites = apply_site_results(collection, &results)?;
    Ok(summary)
}

/// Stores a robots.txt; true if it has changed.
fn store_robots(collection: &mut Collection, site: SiteId, response: &RobotsResponse) -> Result<bool> {
    let Some(before) = collection.site_state.reader().get(site)? else { return Ok(false) };
    if before.robots_fetched_s > response.fetched_s {
        return Ok(false);
    }
    let rules = RobotsPolicy::from_response(response, "");
    // While robots.txt is unreachable, the last good text is retained.
    if matches!(rules, RobotsPolicy::Rules(_)) {
        collection.site_state.set_robots_text(site, &response.text)?;
    }
    collection.site_state.update(&[site], |_, record| {
        record.robots_fetched_s = response.fetched_s;
        record.robots_status = response.status;
        if let RobotsPolicy::Rules(rules) = &rules {
            let delay = rules.crawl_delay.unwrap_or_default().as_millis();
            record.crawl_delay_ms = u32::try_from(delay).unwrap_or(u32::MAX);
        }
    })?;
    let after = collection.site_state.reader().get(site)?.map_or(0, |record| record.robots_hash());
    Ok(before.robots_fetched_s != 0
        && (after, response.status) != (before.robots_hash(), before.robots_status))
}

/// Stores the results of finished sites; returns the sites.
fn apply_site_results(collection: &mut Collection, results: &[SiteResult]) -> Result<Vec<SiteId>> {
    let sites: Vec<SiteId> = results.iter().map(|result| result.site).collect();
    collection.site_state.update(&sites, |index, record| {
        let result = &results[index];
        record.address = result.address.or(record.address);
        if result.resolved_s != 0 {
            record.resolved_s = result.resolved_s;
        }
        record.address_expires_s = result.address_expires_s;
        record.earliest_request_ms = record.earliest_request_ms.max(result.next_request_ms);
        record.consecutive_errors = result.consecutive_errors;
        record.back_off_until_ms = result.back_off_until_ms;
        record.throttle_delay_ms = u32::try_from(result.throttle_delay_ms).unwrap_or(u32::MAX);
        record.sitemaps_read_s = record.sitemaps_read_s.max(result.sitemaps_read_s);
    })?;
    Ok(sites)
}
