//! Judgement of known pages by URL, depth and robots.txt.

use std::collections::HashMap;

use harvest::item::robots_policy::RobotsPolicy;
use harvest::item::robots_response::RobotsResponse;
use harvest::settings::crawl_settings::CrawlSettings;
use model::{CanonicalUrl, PageId, Reason, SiteId};
use store::{PageColumn, PageFlags, PageRecord, PageStage, Result};

use super::Readers;
use super::changes::{ChangedReasons, is_count_limit};
use crate::manager::page_check::check_settings;
use crate::state::stages::stage_before_queueing;

/// Change of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageChange {
    pub(super) page: PageId,
    pub(super) site: SiteId,
    pub(super) action: PageAction,
    /// Whether it is rejected (otherwise freed), and the reason; `None` if only the reason of a rejection changes.
    pub(super) effect: Option<(bool, Reason)>,
}

/// Action on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageAction {
    /// Sets the reason for which the page is excluded; the stage becomes rejected, except for a fetched page.
    Exclude(Reason),
    /// Returns the page to the stage before its rejection.
    Free,
    /// The same, and forgets the failures of its site: the page could not be fetched under the old settings.
    Contact,
    /// Requests a new fetch of a page that was not stored.
    Refetch,
}

impl PageAction {
    pub(super) fn apply(self, record: &mut PageRecord) {
        match self {
            PageAction::Exclude(reason) => {
                record.reason = Some(reason);
                if record.stage != PageStage::Fetched {
                    record.stage = PageStage::Rejected;
                }
            }
            PageAction::Free => {
                (record.stage, record.reason) = (stage_before_queueing(record), None);
            }
            PageAction::Contact => {
                (record.stage, record.reason) = (stage_before_queueing(record), None);
                record.earliest_visit_s = 0;
            }
            PageAction::Refetch => record.flags = record.flags.with(PageFlags::REFETCH),
        }
    }
}

/// Pages that are read at a time.
const CHUNK_PAGES: usize = 1 << 16;
/// Maximum number of robots.txt files in memory.
const MAX_ROBOTS: usize = 10_000;

/// Judges all pages that the changed settings concern.
pub(super) fn judge_pages(
    readers: Readers<'_>,
    settings: &CrawlSettings,
    changed: &ChangedReasons,
) -> Result<Vec<PageChange>> {
    let may_exclude = changed.may_exclude();
    let columns = [PageColumn::Site, PageColumn::StageAndFlags];
    let parts = readers.pages.scan(&columns, |pages: &mut Vec<PageId>, row| {
        let has_changed_reason =
            row.reason.is_some_and(|reason| changed.contains(reason) && !is_count_limit(reason));
        let may_be_excluded = may_exclude && !matches!(row.stage, PageStage::Queued | PageStage::Rejected);
        if row.stage != PageStage::Queued && (has_changed_reason || may_be_excluded) {
            pages.push(row.page);
        }
    })?;
    let mut pages = parts.concat();
    pages.sort_unstable();
    let mut robots = RobotsCache { readers, settings, policies: HashMap::new() };
    let mut changes = Vec::new();
    for chunk in pages.chunks(CHUNK_PAGES) {
        let records = readers.pages.get_many(chunk)?;
        let urls = readers.urls.urls(chunk)?;
        for ((page, record), url) in chunk.iter().zip(&records).zip(urls) {
            let Some(url) = url else { continue };
            let exclusion = exclusion(settings, &mut robots, record, &url)?;
            if let Some((action, effect)) = decide(record, exclusion, changed) {
                changes.push(PageChange { page: *page, site: record.site, action, effect });
            }
        }
    }
    Ok(changes)
}

/// Reason for which the settings exclude a page.
fn exclusion(
    settings: &CrawlSettings,
    robots: &mut RobotsCache<'_>,
    record: &PageRecord,
    url: &str,
) -> Result<Option<Reason>> {
    let Ok(url) = settings.gathering.rules.canonical(url) else {
        return Ok(Some(Reason::RejectedByPattern));
    };
    if let Err(reason) = check_settings(settings, &url, record.depth, record.flags) {
        return Ok(Some(reason));
    }
    let is_disallowed =
        record.reason == Some(Reason::RobotsDisallowed) && !robots.allows(record.site, &url)?;
    Ok(is_disallowed.then_some(Reason::RobotsDisallowed))
}

/// Action for a page and its effect; `None` if nothing changes.
fn decide(
    record: &PageRecord,
    exclusion: Option<Reason>,
    changed: &ChangedReasons,
) -> Option<(PageAction, Option<(bool, Reason)>)> {
    if let Some(reason) = exclusion {
        let is_excluded = record.stage == PageStage::Rejected
            || record.stage == PageStage::Fetched && record.reason.is_some_and(Reason::excludes);
        let effect = (!is_excluded).then_some((true, reason));
        let is_new = !is_excluded || record.reason != Some(reason);
        return is_new.then_some((PageAction::Exclude(reason), effect));
    }
    let reason = record.reason.filter(|reason| changed.contains(*reason))?;
    let action = match (record.stage, reason) {
        (PageStage::Fetched, Reason::MimeType | Reason::BodyTruncated)
            if record.flags.has(PageFlags::REFETCH) =>
        {
            return None;
        }
        (PageStage::Fetched, Reason::MimeType | Reason::BodyTruncated) => PageAction::Refetch,
        (PageStage::Fetched, _) if !reason.excludes() => return None,
        (_, Reason::RobotsUnreachable) => PageAction::Contact,
        _ if reason >= Reason::DnsNotFound => PageAction::Contact,
        _ => PageAction::Free,
    };
    Some((action, Some((false, reason))))
}

/// Policies of the stored robots.txt files, under the current settings.
struct RobotsCache<'c> {
    readers: Readers<'c>,
    settings: &'c CrawlSettings,
    policies: HashMap<SiteId, RobotsPolicy>,
}

impl RobotsCache<'_> {
    /// Whether the stored robots.txt of a site allows a URL; true without one, because the harvester fetches it first.
    fn allows(&mut self, site: SiteId, url: &CanonicalUrl) -> Result<bool> {
        if self.policies.len() >= MAX_ROBOTS {
            self.policies.clear();
        }
        if !self.policies.contains_key(&site) {
            let policy = self.read(site, url)?;
            self.policies.insert(site, policy);
        }
        Ok(match self.policies.get(&site) {
            Some(RobotsPolicy::Rules(rules)) => rules.decide(url.path_and_query()).allowed,
            Some(RobotsPolicy::Unreachable) | None => true,
        })
    }

    fn read(&self, site: SiteId, url: &CanonicalUrl) -> Result<RobotsPolicy> {
        let Some(record) = self.readers.sites.get(site)?.filter(|record| record.robots_fetched_s != 0) else {
            return Ok(RobotsPolicy::Unreachable);
        };
        let text = self.readers.sites.robots_text(site)?.unwrap_or_default();
        let response =
            RobotsResponse { fetched_s: record.robots_fetched_s, status: record.robots_status, text };
        let site = self.settings.override_for(url);
        if site.is_some_and(|site| site.ignores_robots) {
            return Ok(RobotsPolicy::Unreachable);
        }
        let own = site.and_then(|site| site.robots_agent.as_deref());
        Ok(RobotsPolicy::from_response(&response, own.unwrap_or(&self.settings.robots.agent)))
    }
}
