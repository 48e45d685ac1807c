//! How does a crawl stand with one site, by a commit?

use model::SiteId;
use serde::Serialize;
use store::{SiteRecord, Snapshot};

use crate::crawl_settings::CrawlSettings;
use crate::status::RobotsKind;

/// What is known of a site. Scripts rely on the names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "they are those of SiteRecord")]
pub struct SiteStatus {
    pub site: String,
    pub site_id: u32,
    pub pages_known: u32,
    pub pages_fetched: u32,
    pub pages_queued: u32,
    pub errors: u32,
    pub bytes: u64,
    pub in_links: u32,
    pub address: Option<String>,
    pub wait_ms: u64,
    pub robots: RobotsKind,
    pub robots_status: Option<u16>,
    pub errors_in_a_row: u16,
    pub back_off_until_ms: Option<u64>,
    pub alias_of: Option<String>,
    /// Sites that share its address, itself included: they are asked in turn.
    pub sites_at_address: u64,
}

impl SiteStatus {
    /// What is known of a site; how many share its address is left to who has counted.
    pub fn of(
        snapshot: &Snapshot,
        rules: &CrawlSettings,
        site: SiteId,
        record: &SiteRecord,
        now_ms: u64,
    ) -> SiteStatus {
        let name = |site: SiteId| snapshot.urls.site_name(site).unwrap_or_default().to_owned();
        let front = rules.gather.rules.canonical(&format!("{}/", name(site)));
        let own_wait_ms = front.ok().and_then(|front| rules.site(&front)?.wait_ms);
        SiteStatus {
            site: name(site),
            site_id: site.0,
            pages_known: record.pages_known,
            pages_fetched: record.pages_fetched,
            pages_queued: record.pages_queued,
            errors: record.errors,
            bytes: record.bytes,
            in_links: record.in_links,
            address: record.address.map(|address| address.to_string()),
            wait_ms: rules
                .waits
                .site_wait_ms(record.pages_known, u64::from(record.crawl_delay_ms), own_wait_ms)
                .max(u64::from(record.asked_wait_ms)),
            robots: RobotsKind::of(record),
            robots_status: (record.robots_fetched_s != 0).then_some(record.robots_status),
            errors_in_a_row: record.errors_in_a_row,
            back_off_until_ms: Some(record.back_off_until_ms).filter(|until_ms| *until_ms > now_ms),
            alias_of: record.alias_of.map(name),
            sites_at_address: 0,
        }
    }
}
