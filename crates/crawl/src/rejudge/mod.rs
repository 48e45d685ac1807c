//! Judging pages again when a setting has changed on which their stored decision depends.
//!
//! A reason knows the settings that it depends on ([`Reason::settings`]), and the crawl state has the digests of these settings at
//! the last crawl. If a digest differs, the pages with such a reason are judged again, and the pages that the new settings exclude
//! are rejected. Links that were not followed for such a reason are judged, too: the table `links` has them. Nothing is scanned if
//! nothing has changed.
//!
//! A fetched page that the settings exclude keeps its content and its stage; it has the reason, and is not fetched again.

mod changes;
mod links;
mod page_judge;
mod site_limit;

use std::collections::{BTreeMap, BTreeSet};

use harvest::settings::clock::seconds;
use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, Reason, SiteId};
use store::{Collection, PageStateReader, Result, SiteStateReader, Snapshot, UrlReader};

use self::changes::ChangedReasons;
use self::page_judge::{PageAction, PageChange};
use crate::state::crawl_state::CrawlState;

/// Effect of judging pages again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RejudgeSummary {
    /// Names of the settings that have changed; all of them in a collection that was never crawled.
    pub changed_settings: Vec<String>,
    /// Pages by effect.
    pub effects: Vec<RejudgeEffect>,
}

/// Pages of a site that are freed or rejected for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejudgeEffect {
    /// Whether the pages are rejected now; otherwise they were, and are freed.
    pub is_rejection: bool,
    /// Reason of the rejection, now or before.
    pub reason: Reason,
    /// Scheme, host and port.
    pub site: String,
    /// Number of pages.
    pub pages: u64,
}

impl RejudgeSummary {
    /// Number of pages that are freed, and number of pages that are rejected.
    pub fn pages(&self) -> (u64, u64) {
        let sum = |is_rejection: bool| {
            let effects = self.effects.iter().filter(|effect| effect.is_rejection == is_rejection);
            effects.map(|effect| effect.pages).sum()
        };
        (sum(false), sum(true))
    }
}

/// Maximum number of separate effects; the rest is counted per reason, under [`OTHER_SITES`].
const MAX_EFFECTS: usize = 100_000;
const OTHER_SITES: &str = "other sites";

/// Counts of effects.
#[derive(Debug, Default)]
struct EffectCounts(BTreeMap<(bool, Reason, String), u64>);

impl EffectCounts {
    fn add(&mut self, is_rejection: bool, reason: Reason, site: &str, pages: u64) {
        let key = (is_rejection, reason, site.to_owned());
        let is_full = self.0.len() >= MAX_EFFECTS && !self.0.contains_key(&key);
        let key = if is_full { (is_rejection, reason, OTHER_SITES.to_owned()) } else { key };
        *self.0.entry(key).or_default() += pages;
    }

    fn into_effects(self) -> Vec<RejudgeEffect> {
        let effects = self.0.into_iter();
        effects
            .map(|((is_rejection, reason, site), pages)| RejudgeEffect { is_rejection, reason, site, pages })
            .collect()
    }
}

/// Readers of a collection or of a snapshot.
#[derive(Clone, Copy)]
struct Readers<'c> {
    pages: &'c PageStateReader,
    sites: &'c SiteStateReader,
    urls: &'c UrlReader,
}

/// Computes what the settings would change, without changing anything.
pub fn preview_rejudge(snapshot: &Snapshot, settings: &CrawlSettings) -> Result<RejudgeSummary> {
    let state = CrawlState::from_manifest(&snapshot.manifest)?;
    let changed = ChangedReasons::between(&state.setting_digests, &settings.setting_digests);
    let mut counts = EffectCounts::default();
    if !changed.is_empty() {
        let readers =
            Readers { pages: &snapshot.page_state, sites: &snapshot.site_state, urls: &snapshot.urls };
        page_changes(readers, settings, &changed, &mut counts)?;
        links::preview(snapshot, settings, &changed, &mut counts)?;
    }
    Ok(RejudgeSummary { changed_settings: changed.settings, effects: counts.into_effects() })
}

/// Judges the pages of a collection again, as far as settings have changed since the last time. All changes of the collection
/// must be committed; the effects become durable with the next commit.
pub fn rejudge(collection: &mut Collection, settings: &CrawlSettings, now_ms: u64) -> Result<RejudgeSummary> {
    let state = CrawlState::load(collection)?;
    let changed = ChangedReasons::between(&state.setting_digests, &settings.setting_digests);
    let mut counts = EffectCounts::default();
    if !changed.is_empty() {
        let readers = Readers {
            pages: collection.page_state.reader(),
            sites: collection.site_state.reader(),
            urls: collection.urls.reader(),
        };
        let changes = page_changes(readers, settings, &changed, &mut counts)?;
        apply_changes(collection, &changes)?;
        links::add_pages(collection, settings, &changed, seconds(now_ms), &mut counts)?;
        CrawlState::update(collection, |state| state.setting_digests.clone_from(&settings.setting_digests))?;
    }
    Ok(RejudgeSummary { changed_settings: changed.settings, effects: counts.into_effects() })
}

/// Changes of known pages, sorted by page.
fn page_changes(
    readers: Readers<'_>,
    settings: &CrawlSettings,
    changed: &ChangedReasons,
    counts: &mut EffectCounts,
) -> Result<Vec<PageChange>> {
    let mut changes = page_judge::judge_pages(readers, settings, changed)?;
    changes.extend(site_limit::judge_pages(readers, settings, changed)?);
    changes.sort_unstable_by_key(|change| change.page);
    changes.dedup_by_key(|change| change.page);
    for change in &changes {
        if let Some((is_rejection, reason)) = change.effect {
            counts.add(is_rejection, reason, readers.urls.site_name(change.site).unwrap_or_default(), 1);
        }
    }
    Ok(changes)
}

fn apply_changes(collection: &mut Collection, changes: &[PageChange]) -> Result<()> {
    let pages: Vec<PageId> = changes.iter().map(|change| change.page).collect();
    collection.page_state.update(&pages, |index, record| changes[index].action.apply(record))?;
    let contacted = |change: &&PageChange| change.action == PageAction::Contact;
    let sites: BTreeSet<SiteId> = changes.iter().filter(contacted).map(|change| change.site).collect();
    let sites: Vec<SiteId> = sites.into_iter().collect();
    // The site failed under the old settings, which says nothing about the new ones.
    collection.site_state.update(&sites, |_, record| {
        (record.back_off_until_ms, record.consecutive_errors, record.address_expires_s) = (0, 0, 0);
        if record.robots_status == 0 {
            record.robots_fetched_s = 0;
        }
    })
}

#[cfg(test)]
mod tests {
    use frontier::ScopeRules;
    use store::PageStage;

    use super::*;
    use crate::ingest::Ingest;
    use crate::ingest::page_policy::PagePolicy;
    use crate::test_collection::{NOON_MS, TestCollection, response_in_scope};

    const FRONT: &str = "http://a.example/";
    const OTHER: &str = "http://b.example/x";

    /// Settings with digests by which these settings, and no others, differ from the defaults.
    fn settings(changed: &[&str], change: impl FnOnce(&mut CrawlSettings)) -> CrawlSettings {
        let mut settings = CrawlSettings::default();
        for name in Reason::all().flat_map(Reason::settings) {
            settings.setting_digests.insert((*name).to_owned(), u64::from(changed.contains(name)));
        }
        change(&mut settings);
        settings
    }

    fn judge(test: &mut TestCollection, settings: &CrawlSettings) -> Vec<(bool, Reason, String, u64)> {
        let snapshot_effects = {
            test.collection.commit(1).unwrap();
            let snapshot = Snapshot::open(test.dir.path(), None).unwrap();
            preview_rejudge(&snapshot, settings).unwrap()
        };
        let summary = rejudge(&mut test.collection, settings, NOON_MS).unwrap();
        assert_eq!(snapshot_effects, summary, "the preview is exact");
        test.collection.commit(2).unwrap();
        let again = rejudge(&mut test.collection, settings, NOON_MS).unwrap();
        assert_eq!(again, RejudgeSummary::default(), "nothing has changed since");
        let effects = summary.effects.into_iter();
        effects.map(|effect| (effect.is_rejection, effect.reason, effect.site, effect.pages)).collect()
    }

    fn fate(test: &TestCollection, url: &str) -> (PageStage, Option<Reason>) {
        (test.page(url).stage, test.page(url).reason)
    }

    fn reject(test: &mut TestCollection, url: &str, reason: Reason) {
        test.update_page(url, |page| (page.stage, page.reason) = (PageStage::Rejected, Some(reason)));
    }

    /// Judges under the default settings first, so that only what changes later is judged.
    fn judged(urls: &[&str]) -> TestCollection {
        let mut test = TestCollection::contacted(urls);
        rejudge(&mut test.collection, &settings(&[], |_| {}), NOON_MS).unwrap();
        test
    }

    #[test]
    fn a_larger_depth_frees_pages_that_were_too_deep_and_a_smaller_one_rejects_pages() {
        let mut test = judged(&[FRONT, OTHER]);
        test.update_page(OTHER, |page| page.depth = 3);
        let flat = settings(&["limits.max_depth_static"], |settings| settings.limits.depth_static = 2);
        let site = "http://b.example".to_owned();
        assert_eq!(judge(&mut test, &flat), [(true, Reason::TooDeep, site.clone(), 1)]);
        assert_eq!(fate(&test, OTHER), (PageStage::Rejected, Some(Reason::TooDeep)));
        assert_eq!(judge(&mut test, &settings(&[], |_| {})), [(false, Reason::TooDeep, site, 1)]);
        assert_eq!(fate(&test, OTHER), (PageStage::Discovered, None));
    }

    #[test]
    fn a_narrower_scope_rejects_discovered_pages_and_keeps_the_content_of_fetched_ones() {
        let mut test = judged(&[FRONT, OTHER, "http://b.example/fetched"]);
        test.update_page("http://b.example/fetched", |page| {
            (page.stage, page.status, page.fetch_count) = (PageStage::Fetched, 200, 1);
        });
        let narrow = settings(&["scope.accept"], |settings| {
            settings.gathering.scope.accept = ScopeRules::new(["a.example"]).unwrap();
        });
        assert_eq!(judge(&mut test, &narrow), [(true, Reason::OutOfScope, "http://b.example".to_owned(), 2)]);
        assert_eq!(fate(&test, OTHER), (PageStage::Rejected, Some(Reason::OutOfScope)));
        assert_eq!(fate(&test, "http://b.example/fetched"), (PageStage::Fetched, Some(Reason::OutOfScope)));
        assert_eq!(judge(&mut test, &settings(&[], |_| {})).len(), 1);
        assert_eq!(fate(&test, OTHER), (PageStage::Discovered, None));
        assert_eq!(fate(&test, "http://b.example/fetched"), (PageStage::Fetched, None));
    }

    #[test]
    fn only_pages_whose_reason_depends_on_a_changed_setting_are_freed() {
        let mut test = judged(&[FRONT, OTHER]);
        reject(&mut test, FRONT, Reason::CrawlerTrap);
        reject(&mut test, OTHER, Reason::RobotsDisallowed);
        assert_eq!(judge(&mut test, &settings(&["fetch.proxy"], |_| {})), []);
        let traps = judge(&mut test, &settings(&["traps", "fetch.proxy"], |_| {}));
        assert_eq!(traps, [(false, Reason::CrawlerTrap, "http://a.example".to_owned(), 1)]);
        assert_eq!(fate(&test, OTHER).1, Some(Reason::RobotsDisallowed));
    }

    #[test]
    fn a_blocked_address_is_contacted_again_when_it_is_allowed() {
        let ip = "http://127.0.0.1:8080/";
        let mut test = judged(&[ip, OTHER]);
        reject(&mut test, ip, Reason::IpBlocked);
        test.update_page(OTHER, |page| {
            (page.stage, page.reason) = (PageStage::Failed, Some(Reason::IpBlocked));
            page.earliest_visit_s = u32::MAX;
        });
        test.update_site("http://b.example", |site| site.back_off_until_ms = u64::MAX);
        assert_eq!(
            judge(&mut test, &settings(&["network.blocked_networks"], |_| {})).len(),
            1,
            "one by name"
        );
        assert_eq!(fate(&test, ip), (PageStage::Rejected, Some(Reason::IpBlocked)), "still blocked");
        assert_eq!(
            (test.page(OTHER).earliest_visit_s, test.site("http://b.example").back_off_until_ms),
            (0, 0)
        );
        let allowed = settings(&["network.allowed_networks"], |settings| {
            settings.fetch.network_filter.allow("127.0.0.0/8").unwrap();
        });
        judge(&mut test, &allowed);
        assert_eq!(fate(&test, ip), (PageStage::Discovered, None));
    }

    #[test]
    fn a_larger_page_limit_frees_pages_in_the_order_of_discovery() {
        let urls: Vec<String> = (0..6).map(|number| format!("http://a.example/{number}")).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let mut test = judged(&urls);
        let limit = |pages| {
            settings(&["limits.max_pages_per_site"], |settings| settings.limits.pages_per_site = pages)
        };
        assert_eq!(judge(&mut test, &limit(2))[0].3, 4);
        let rejected = |test: &TestCollection| {
            urls.iter().filter(|url| fate(test, url).1 == Some(Reason::SitePageLimit)).count()
        };
        assert_eq!((rejected(&test), fate(&test, urls[1]).0), (4, PageStage::Discovered));
        let five = CrawlSettings { setting_digests: settings(&[], |_| {}).setting_digests, ..limit(5) };
        let site = "http://a.example".to_owned();
        assert_eq!(judge(&mut test, &five), [(false, Reason::SitePageLimit, site, 3)]);
        assert_eq!(fate(&test, urls[5]), (PageStage::Rejected, Some(Reason::SitePageLimit)));
    }

    #[test]
    fn links_that_were_out_of_scope_become_pages_when_the_scope_grows() {
        let narrow = settings(&["scope.accept"], |settings| {
            settings.gathering.scope.accept = ScopeRules::new(["a.example"]).unwrap();
        });
        let mut test = TestCollection::contacted(&[FRONT]);
        rejudge(&mut test.collection, &narrow, NOON_MS).unwrap();
        let mut policy = PagePolicy::new(&narrow);
        policy.load_counts(&test.collection).unwrap();
        let body = "<a href=http://b.example/x>x</a> <a href=/own>own</a> <img src=http://b.example/y>";
        let page = response_in_scope(&narrow.gathering, FRONT, 200, "", body);
        Ingest::with_policy(9, policy).ingest(&mut test.collection, vec![page]).unwrap();
        assert_eq!(test.find_page(OTHER), None);
        let effects = judge(&mut test, &settings(&[], |_| {}));
        assert_eq!(effects, [(false, Reason::OutOfScope, "http://b.example".to_owned(), 1)]);
        assert_eq!((test.page(OTHER).depth, test.page(OTHER).inlinks), (1, 1));
        assert_eq!(test.site("http://b.example").pages_known, 1);
        assert_eq!(test.find_page("http://b.example/y"), None, "an image is not a page");
    }
}
