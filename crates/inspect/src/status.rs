//! Size of a collection, and its pages by stage and reason.

use std::collections::BTreeMap;

use model::Reason;
use serde::Serialize;
use store::{PageColumn, PageStage, Result, Snapshot};

use crate::robots_state::RobotsState;
use crawl::{CrawlState, QuarantinedItem, list_quarantine};

/// Status of a commit. The field names are part of the JSON interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct CollectionStatus {
    /// Known pages, of all stages.
    pub pages_known: u64,
    /// Pages whose last fetch succeeded.
    pub pages_fetched: u64,
    /// Pages in an open batch.
    pub pages_queued: u64,
    /// Known sites.
    pub sites_known: u64,
    /// Size of the WARC files.
    pub warc_bytes: u64,
    /// Rows of the table `links`.
    pub links: u64,
    /// Fetched pages whose body was cut at a limit on size or time.
    pub pages_truncated: u64,
    /// Pages whose last fetch failed.
    pub pages_failed: u64,
    /// Rejected pages.
    pub pages_rejected: u64,
    /// Discovered pages, not yet in a batch.
    pub pages_discovered: u64,
    /// Id of the last batch; 0 before the first.
    pub last_batch: u64,
    /// Generation of the commit; 0 before the first.
    pub generation: u64,
    /// Time of the commit, in Unix milliseconds.
    pub committed_ms: i64,
    /// Size of all files of the commit.
    pub disk_bytes: u64,
    /// Number of files.
    pub files: u64,
    /// Pages not fetched successfully, by reason.
    pub pages_by_reason: BTreeMap<&'static str, u64>,
    /// Sites by state.
    pub site_states: SiteCounts,
    /// Harvested data that cannot be ingested.
    pub quarantine: Vec<QuarantinedItem>,
}

/// Sites by state.
#[derive(Debug, PartialEq, Eq, Serialize, Default, Clone, Copy)]
pub struct SiteCounts {
    /// With pages in an open batch.
    pub with_queued_pages: u64,
    /// In back-off.
    pub in_back_off: u64,
    /// Aliases of other sites.
    pub aliases: u64,
    /// With rules in robots.txt, or an empty one.
    pub robots_rules: u64,
    /// Without a robots.txt, which allows everything.
    pub robots_missing: u64,
    /// With an unreachable robots.txt, which disallows everything.
    pub robots_unreachable: u64,
    /// With a robots.txt that was not fetched yet.
    pub robots_not_fetched: u64,
}

impl CollectionStatus {
    /// Counts the pages and sites of a commit; `now_ms` decides which sites are in back-off.
    pub fn load(snapshot: &Snapshot, now_ms: u64) -> Result<CollectionStatus> {
        let manifest = &snapshot.manifest;
        // One counter per stage and reason.
        let counts =
            snapshot.page_state.scan(&[PageColumn::StageAndFlags], |counts: &mut Vec<u64>, row| {
                counts.resize(STAGES << 8, 0);
                counts[(row.stage as usize) << 8 | usize::from(row.reason.map_or(0, Reason::code))] += 1;
            })?;
        let count = |index: usize| counts.iter().filter_map(|counts| counts.get(index)).sum::<u64>();
        let at = |stage: PageStage| (0..256).map(|reason| count((stage as usize) << 8 | reason)).sum();
        let mut pages_by_reason = BTreeMap::new();
        for reason in Reason::all() {
            let index = |stage: PageStage| (stage as usize) << 8 | usize::from(reason.code());
            let pages = count(index(PageStage::Discovered))
                + count(index(PageStage::Failed))
                + count(index(PageStage::Rejected));
            if pages > 0 {
                pages_by_reason.insert(reason.as_str(), pages);
            }
        }
        let lengths = |matches: fn(&str) -> bool| {
            manifest.files.iter().filter(|file| matches(&file.name)).map(store::FileEntry::length).sum()
        };
        Ok(CollectionStatus {
            pages_known: u64::from(snapshot.page_state.pages()),
            pages_fetched: at(PageStage::Fetched),
            pages_queued: at(PageStage::Queued),
            sites_known: u64::from(snapshot.site_state.sites()),
            warc_bytes: lengths(|name| name.ends_with(".warc.gz")),
            links: store::count_rows(snapshot.dir(), manifest, "links")?,
            pages_truncated: [Reason::BodyTruncated, Reason::TotalTimeout]
                .into_iter()
                .map(|reason| count((PageStage::Fetched as usize) << 8 | usize::from(reason.code())))
                .sum(),
            pages_failed: at(PageStage::Failed),
            pages_rejected: at(PageStage::Rejected),
            pages_discovered: at(PageStage::Discovered),
            last_batch: CrawlState::from_manifest(manifest)?.last_batch,
            generation: manifest.generation,
            committed_ms: manifest.committed_ms,
            disk_bytes: lengths(|_| true),
            files: manifest.files.len() as u64,
            pages_by_reason,
            site_states: site_states(snapshot, now_ms)?,
            // The quarantine is no part of a commit, and a directory that cannot be read has no items to show.
            quarantine: list_quarantine(snapshot.dir()).unwrap_or_default(),
        })
    }
}

const STAGES: usize = 5;

fn site_states(snapshot: &Snapshot, now_ms: u64) -> Result<SiteCounts> {
    let parts = snapshot.site_state.scan(|states: &mut SiteCounts, _, site| {
        states.with_queued_pages += u64::from(site.pages_queued > 0);
        states.in_back_off += u64::from(site.back_off_until_ms > now_ms);
        states.aliases += u64::from(site.alias_of.is_some());
        *match RobotsState::from_record(site) {
            RobotsState::Rules => &mut states.robots_rules,
            RobotsState::Missing => &mut states.robots_missing,
            RobotsState::Unreachable => &mut states.robots_unreachable,
            RobotsState::NotFetched => &mut states.robots_not_fetched,
        } += 1;
    })?;
    Ok(parts.into_iter().fold(SiteCounts::default(), SiteCounts::with))
}

impl SiteCounts {
    fn with(self, other: SiteCounts) -> SiteCounts {
        SiteCounts {
            with_queued_pages: self.with_queued_pages + other.with_queued_pages,
            in_back_off: self.in_back_off + other.in_back_off,
            aliases: self.aliases + other.aliases,
            robots_rules: self.robots_rules + other.robots_rules,
            robots_missing: self.robots_missing + other.robots_missing,
            robots_unreachable: self.robots_unreachable + other.robots_unreachable,
            robots_not_fetched: self.robots_not_fetched + other.robots_not_fetched,
        }
    }
}
