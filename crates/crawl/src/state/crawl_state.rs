//! State of a crawl that is committed together with the collection, so that a restart neither repeats nor loses anything.
//!
//! The store keeps it as one opaque value of the manifest ([`Manifest::application_state`]). It is small: it holds entries only
//! for open batches, hosts in a cooldown, and sites whose robots.txt is redirected or has just changed. Each change is read, applied and
//! written back; callers that make several changes load the state once.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use frontier::{TemplateLimits, UrlGroups};
use model::{CanonicalUrl, SiteId};
use serde::{Deserialize, Serialize};
use store::{Collection, Error, Manifest, Result};

use crate::state::day_counter::DayCounter;
use crate::state::template_budgets::{StoredBudgets, TemplateBudget};

/// Version of the serialised form.
const VERSION: u32 = 1;

/// State of a crawl at a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrawlState {
    version: u32,
    /// Id of the last batch created; 0 before the first.
    pub last_batch: u64,
    /// Hash of the id of the broker through which batches were leased last.
    pub(crate) transport_id: Option<u64>,
    /// Sequence number of the last log entry ingested, for each batch that workers hold.
    pub(crate) log_cursors: BTreeMap<u64, u64>,
    /// Sites whose results are ingested, for each of these batches.
    pub(crate) finished_sites: BTreeMap<u64, BTreeSet<SiteId>>,
    /// Progress of the harvests that the separate programs ingest, by batch.
    pub(crate) ingest_progress: BTreeMap<u64, IngestProgress>,
    /// Cooldowns of hosts that are not sites of the collection.
    pub(crate) host_cooldowns: Vec<StoredCooldown>,
    /// Hosts to which the robots.txt of a site redirects, until it has been fetched.
    pub(crate) robots_redirects: BTreeMap<SiteId, BTreeSet<String>>,
    /// Sites whose robots.txt has changed: pages that it disallowed may be allowed now.
    pub(crate) changed_robots: BTreeSet<SiteId>,
    /// OPIC cash that no page holds, in millionths.
    pub(crate) shared_cash_millionths: u64,
    /// Page requests of the current day.
    pub(crate) day_counter: DayCounter,
    /// Time at which the user confirmed that robots.txt may be ignored for the sites of the settings, in Unix milliseconds.
    pub(crate) robots_permission_ms: Option<u64>,
    /// Digests of the settings by which the pages were judged last, by the name of the setting.
    pub(crate) setting_digests: BTreeMap<String, u64>,
    /// Page budgets of URL groups.
    pub(crate) template_budgets: StoredBudgets,
}

/// Time before which a host must not be contacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredCooldown {
    /// Scheme, host and port.
    pub(crate) host: String,
    pub(crate) address: Option<IpAddr>,
    /// Unix milliseconds.
    pub(crate) until_ms: u64,
}

/// Ingestion progress of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IngestProgress {
    /// Nothing is ingested.
    #[default]
    None,
    /// All pages are ingested, and this number of lines of outlinks.
    Pages { lines: u64 },
    /// Pages and outlinks are ingested.
    All,
}

impl Default for CrawlState {
    fn default() -> CrawlState {
        CrawlState {
            version: VERSION,
            last_batch: 0,
            transport_id: None,
            log_cursors: BTreeMap::new(),
            finished_sites: BTreeMap::new(),
            ingest_progress: BTreeMap::new(),
            host_cooldowns: Vec::new(),
            robots_redirects: BTreeMap::new(),
            changed_robots: BTreeSet::new(),
            shared_cash_millionths: 0,
            day_counter: DayCounter::default(),
            robots_permission_ms: None,
            setting_digests: BTreeMap::new(),
            template_budgets: StoredBudgets::default(),
        }
    }
}

impl CrawlState {
    /// Reads the state of a collection that is open for writing, with the changes since its last commit.
    pub(crate) fn load(collection: &Collection) -> Result<CrawlState> {
        decode(&collection.application_state)
    }

    /// Reads the state of a commit.
    pub fn from_manifest(manifest: &Manifest) -> Result<CrawlState> {
        decode(&manifest.application_state)
    }

    /// Whether robots.txt may be ignored: the user has confirmed the permission, now (`is_confirmed`) or before.
    pub fn permits_ignoring_robots(
        collection: &mut Collection,
        is_confirmed: bool,
        now_ms: u64,
    ) -> Result<bool> {
        CrawlState::update(collection, |state| {
            if is_confirmed && state.robots_permission_ms.is_none() {
                state.robots_permission_ms = Some(now_ms);
            }
            state.robots_permission_ms.is_some()
        })
    }

    /// OPIC cash that no page holds.
    pub fn shared_cash(&self) -> f64 {
        self.shared_cash_millionths as f64 / 1e6
    }

    /// Page budget of the narrowest group of URLs like this one that has no room; `None` if all have room.
    pub fn exhausted_template(
        &self,
        limits: &TemplateLimits,
        site: SiteId,
        url: &CanonicalUrl,
    ) -> Option<TemplateBudget> {
        self.template_budgets.exhausted(limits, site, UrlGroups::of_url(url.as_str()))
    }

    /// Replaces the state of the collection; durable with the next commit.
    pub(crate) fn save(self, collection: &mut Collection) -> Result<()> {
        collection.application_state = serde_json::to_value(self).map_err(|error| corrupt(&error))?;
        Ok(())
    }

    /// Loads the state, changes it and saves it.
    pub(crate) fn update<T>(
        collection: &mut Collection,
        change: impl FnOnce(&mut CrawlState) -> T,
    ) -> Result<T> {
        let mut state = CrawlState::load(collection)?;
        let result = change(&mut state);
        state.save(collection)?;
        Ok(result)
    }
}

fn decode(value: &serde_json::Value) -> Result<CrawlState> {
    if value.is_null() {
        return Ok(CrawlState::default());
    }
    let state = CrawlState::deserialize(value).map_err(|error| corrupt(&error))?;
    if state.version != VERSION {
        let path = Path::new("MANIFEST").to_owned();
        return Err(Error::UnknownVersion { path, found: state.version, known: VERSION });
    }
    Ok(state)
}

fn corrupt(error: &serde_json::Error) -> Error {
    Error::Corrupt {
        path: Path::new("MANIFEST").to_owned(),
        location: "in application_state".to_owned(),
        cause: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_survives_serialisation() {
        let mut state = CrawlState { last_batch: 7, transport_id: Some(u64::MAX), ..CrawlState::default() };
        state.log_cursors.insert(3, 99);
        state.ingest_progress.insert(2, IngestProgress::Pages { lines: 5 });
        state.robots_redirects.entry(SiteId(4)).or_default().insert("http://a.example".to_owned());
        state.host_cooldowns.push(StoredCooldown {
            host: "http://b.example".to_owned(),
            address: Some(IpAddr::from([192, 0, 2, 1])),
            until_ms: 1,
        });
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(decode(&serde_json::from_str(&text).unwrap()).unwrap(), state);
        assert_eq!(decode(&serde_json::Value::Null).unwrap(), CrawlState::default());
    }

    #[test]
    fn another_version_is_rejected() {
        let error = decode(&serde_json::json!({ "version": 2 })).unwrap_err();
        assert!(matches!(error, Error::UnknownVersion { found: 2, known: 1, .. }), "{error}");
        assert!(matches!(decode(&serde_json::json!({ "last_batch": "x" })), Err(Error::Corrupt { .. })));
    }
}
