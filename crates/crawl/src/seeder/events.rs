//! Application of harvest events to page and site records.

use std::collections::BTreeMap;

use frontier::PollIntervals;
use harvest::item::harvest_event::{HarvestEvent, SiteResult, SitemapOutcome, UrlList};
use harvest::item::robots_policy::RobotsPolicy;
use harvest::item::robots_response::RobotsResponse;
use harvest::settings::crawl_settings::CrawlSettings;
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
    /// URLs of sitemaps and feeds.
    pub(crate) url_lists: Vec<UrlList>,
    /// Sites whose sitemaps were polled.
    pub(crate) sitemap_polls: BTreeMap<SiteId, SitemapOutcome>,
    /// Sitemaps that the robots.txt of a site names, and the time of its fetch in Unix seconds.
    pub(crate) named_sitemaps: Vec<(SiteId, Vec<String>, u32)>,
}

/// Applies events to page records, site records and the crawl state.
pub(crate) fn apply_events(
    collection: &mut Collection,
    events: Vec<HarvestEvent>,
    settings: &CrawlSettings,
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
                let rules = RobotsPolicy::from_response(&response, "");
                if store_robots(collection, site, &response, &rules, &settings.revisits.polls)? {
                    state.changed_robots.insert(site);
                }
                if let RobotsPolicy::Rules(rules) = rules
                    && settings.sitemaps.enabled
                    && !rules.sitemaps.is_empty()
                {
                    summary.named_sitemaps.push((site, rules.sitemaps, response.fetched_s));
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
                cooldowns::record(collection, &mut state, cooldown, ended_ms, &settings.politeness)?;
            }
            HarvestEvent::UrlsListed(list) => summary.url_lists.push(list),
            HarvestEvent::SiteDone(result) => results.push(result),
        }
    }
    state.save(collection)?;
    update_unfetched(collection, &unfetched)?;
    results.sort_unstable_by_key(|result| result.site);
    for result in results.iter().filter(|result| result.sitemaps_read_s != 0) {
        summary.sitemap_polls.insert(result.site, result.sitemaps);
    }
    summary.finished_sites = apply_site_results(collection, &results)?;
    Ok(summary)
}

/// Stores a robots.txt; true if it has changed.
fn store_robots(
    collection: &mut Collection,
    site: SiteId,
    response: &RobotsResponse,
    rules: &RobotsPolicy,
    polls: &PollIntervals,
) -> Result<bool> {
    let Some(before) = collection.site_state.reader().get(site)? else { return Ok(false) };
    if before.robots_fetched_s > response.fetched_s {
        return Ok(false);
    }
    // While robots.txt is unreachable, the last good text is retained.
    if matches!(rules, RobotsPolicy::Rules(_)) {
        collection.site_state.set_robots_text(site, &response.text)?;
    }
    collection.site_state.update(&[site], |_, record| {
        record.robots_fetched_s = response.fetched_s;
        record.robots_status = response.status;
        if let RobotsPolicy::Rules(rules) = rules {
            let delay = rules.crawl_delay.unwrap_or_default().as_millis();
            record.crawl_delay_ms = u32::try_from(delay).unwrap_or(u32::MAX);
        }
    })?;
    let after = collection.site_state.reader().get(site)?.map_or(0, |record| record.robots_hash());
    let is_first = before.robots_fetched_s == 0;
    let has_changed = !is_first && (after, response.status) != (before.robots_hash(), before.robots_status);
    collection.site_state.update(&[site], |_, record| {
        // A new site is asked as often as a stored robots.txt may be used: whether it changes is not known.
        record.robots_interval_s =
            if is_first { polls.min_s } else { polls.adapted_s(record.robots_interval_s, has_changed) };
        if has_changed {
            // It may name other sitemaps, and those that it disallowed may be allowed now.
            record.sitemaps_read_s = 0;
        }
    })?;
    Ok(has_changed)
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

#[cfg(test)]
mod tests {
    use model::Reason;
    use store::PageStage;

    use super::*;
    use crate::test_collection::{NOON_MS, NOON_S, TestCollection};

    const SITE: &str = "http://a.example";

    fn apply(test: &mut TestCollection, events: Vec<HarvestEvent>) -> EventSummary {
        apply_events(&mut test.collection, events, &CrawlSettings::default()).unwrap()
    }

    /// Sites whose robots.txt has changed by an event.
    fn changed_robots(test: &mut TestCollection, event: HarvestEvent) -> Vec<SiteId> {
        apply(test, vec![event]);
        let changed =
            CrawlState::update(&mut test.collection, |state| std::mem::take(&mut state.changed_robots));
        changed.unwrap().into_iter().collect()
    }

    fn robots(test: &TestCollection, fetched_s: u32, status: u16, text: &str) -> HarvestEvent {
        let response = RobotsResponse { fetched_s, status, text: text.as_bytes().to_vec() };
        HarvestEvent::RobotsFetched { site: test.site_id(SITE), response }
    }

    fn stored_text(test: &TestCollection) -> String {
        let text = test.collection.site_state.reader().robots_text(test.site_id(SITE)).unwrap();
        String::from_utf8(text.unwrap_or_default()).unwrap()
    }

    #[test]
    fn an_unreachable_robots_txt_keeps_the_last_good_text_and_its_delay() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let text = "User-agent: *\nCrawl-delay: 20\nDisallow: /x\n";
        let event = robots(&test, NOON_S, 200, text);
        assert!(changed_robots(&mut test, event).is_empty(), "the first one is no change");
        let event = robots(&test, NOON_S + 60, 503, "");
        apply(&mut test, vec![event]);
        let site = test.site(SITE);
        assert_eq!(
            (site.robots_fetched_s, site.robots_status, site.crawl_delay_ms),
            (NOON_S + 60, 503, 20_000)
        );
        assert_eq!(stored_text(&test), text);
    }

    #[test]
    fn a_changed_robots_txt_is_reported_and_an_older_one_is_ignored() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let (old, new) = ("User-agent: *\nDisallow: /\n", "User-agent: *\nDisallow: /x\n");
        let event = robots(&test, NOON_S, 200, old);
        apply(&mut test, vec![event]);
        let event = robots(&test, NOON_S + 60, 200, old);
        assert!(changed_robots(&mut test, event).is_empty());
        let event = robots(&test, NOON_S + 120, 200, new);
        assert_eq!(changed_robots(&mut test, event), [test.site_id(SITE)]);
        // Journals of several harvesters can be replayed in any order.
        let event = robots(&test, NOON_S + 60, 200, old);
        assert!(changed_robots(&mut test, event).is_empty());
        assert_eq!((stored_text(&test).as_str(), test.site(SITE).robots_fetched_s), (new, NOON_S + 120));
    }

    #[test]
    fn skipped_pages_get_their_reason_and_returned_pages_their_stage() {
        let urls = ["http://a.example/skipped", "http://a.example/returned", "http://a.example/failed"];
        let mut test = TestCollection::contacted(&urls);
        for url in urls {
            test.update_page(url, |page| page.stage = PageStage::Queued);
        }
        test.update_page(urls[2], |page| (page.fetch_count, page.status) = (1, 503));
        test.update_site(SITE, |site| site.pages_queued = 3);
        let [skipped, returned, failed] = urls.map(|url| test.page_id(url));
        apply(
            &mut test,
            vec![
                HarvestEvent::PageReturned { page: failed, reason: Some(Reason::SiteFailing) },
                HarvestEvent::PageSkipped { page: skipped, reason: Reason::RobotsDisallowed },
                HarvestEvent::PageReturned { page: returned, reason: None },
            ],
        );
        let expected = [
            (PageStage::Rejected, Some(Reason::RobotsDisallowed)),
            (PageStage::Discovered, None),
            (PageStage::Failed, Some(Reason::SiteFailing)),
        ];
        assert_eq!(urls.map(|url| (test.page(url).stage, test.page(url).reason)), expected);
        assert_eq!(test.site(SITE).pages_queued, 0);
    }

    #[test]
    fn a_finished_site_never_shortens_its_wait() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        test.update_site(SITE, |site| {
            (site.earliest_request_ms, site.address) = (NOON_MS + 20_000, Some([192, 0, 2, 1].into()));
        });
        let result = |next_request_ms| SiteResult {
            site: test.site_id(SITE),
            address: None,
            resolved_s: 0,
            address_expires_s: 0,
            next_request_ms,
            consecutive_errors: 2,
            back_off_until_ms: NOON_MS + 5,
            throttle_delay_ms: 30_000,
            sitemaps_read_s: 0,
            sitemaps: SitemapOutcome::Absent,
        };
        let (early, late) = (result(NOON_MS), result(NOON_MS + 30_000));
        assert_eq!(
            apply(&mut test, vec![HarvestEvent::SiteDone(early)]).finished_sites,
            [test.site_id(SITE)]
        );
        let site = test.site(SITE);
        assert_eq!((site.earliest_request_ms, site.address), (NOON_MS + 20_000, Some([192, 0, 2, 1].into())));
        assert_eq!((site.resolved_s, site.consecutive_errors), (1, 2));
        assert_eq!((site.back_off_until_ms, site.throttle_delay_ms), (NOON_MS + 5, 30_000));
        apply(&mut test, vec![HarvestEvent::SiteDone(late)]);
        assert_eq!(test.site(SITE).earliest_request_ms, NOON_MS + 30_000);
    }

    #[test]
    fn a_host_outside_the_collection_keeps_its_cooldown_in_the_committed_state() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let contacted = |name: &str| HarvestEvent::HostContacted {
            name: name.to_owned(),
            address: Some([192, 0, 2, 1].into()),
            ended_ms: NOON_MS,
            until_ms: NOON_MS + 15_000,
        };
        apply(&mut test, vec![contacted("http://other.example"), contacted(SITE)]);
        test.collection.commit(NOON_MS as i64).unwrap();
        let test = test.kill();
        let state = CrawlState::load(&test.collection).unwrap();
        let hosts = |now_ms| {
            cooldowns::active(&state, now_ms).map(|cooldown| cooldown.host.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(hosts(NOON_MS), ["http://other.example"]);
        assert!(hosts(NOON_MS + 15_000).is_empty());
        assert_eq!(test.site(SITE).earliest_request_ms, NOON_MS + 15_000);
    }
}
