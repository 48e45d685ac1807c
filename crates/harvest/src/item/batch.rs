//! Batch: a list of pages to fetch, grouped by site, with everything that a harvester needs to know.
//!
//! A batch is self-contained: its directory can be copied to another machine, harvested there,
//! and the harvest copied back. A site is in at most one open batch, so that one harvester at a time has its clocks.

use std::net::IpAddr;

use model::{AddressGroup, PageId, SiteId};
use serde::{Deserialize, Serialize};

use crate::item::robots_response::RobotsResponse;
use crate::item::validators::Validators;

/// Pages that were selected to be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Batch {
    /// Id, from 1 in each collection.
    pub id: u64,
    /// Sites with their pages.
    pub sites: Vec<BatchSite>,
    /// Earliest times of the next request to addresses of the batch, in Unix milliseconds.
    pub address_cooldowns: Vec<(IpAddr, u64)>,
    /// Earliest times of the next request to hosts that robots.txt files redirect to, in Unix milliseconds.
    pub host_cooldowns: Vec<(String, u64)>,
}

/// Site of a batch, with its pages in fetch order and its politeness state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchSite {
    /// Id in the collection.
    pub site: SiteId,
    /// Scheme, host and port.
    pub name: String,
    /// Address, if it was resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// Expiry of the address, in Unix seconds.
    #[serde(default)]
    pub address_expires_s: u32,
    /// Earliest time of the next request, in Unix milliseconds.
    #[serde(default)]
    pub earliest_request_ms: u64,
    /// Consecutive failed requests.
    #[serde(default)]
    pub consecutive_errors: u16,
    /// Delay that results from throttling responses (429).
    #[serde(default)]
    pub throttle_delay_ms: u64,
    /// Number of known pages; large sites have a shorter delay.
    #[serde(default)]
    pub pages_known: u32,
    /// Last response to a request for robots.txt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robots: Option<RobotsResponse>,
    /// Other hosts that its robots.txt redirects to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub robots_redirects: Vec<RobotsRedirect>,
    /// Whether sitemaps are to be fetched.
    #[serde(default)]
    pub sitemaps_due: bool,
    /// Pages to fetch.
    pub pages: Vec<BatchPage>,
}

impl BatchSite {
    /// Whether the address is known and has not expired.
    pub fn is_resolved(&self, now_s: u32) -> bool {
        self.address.is_some() && self.address_expires_s > now_s
    }

    /// Number of names to resolve before the site can be leased.
    pub fn names_to_resolve(&self, now_s: u32) -> usize {
        usize::from(!self.is_resolved(now_s)) + self.robots_redirects.len()
    }

    /// Address of the site, and those of the hosts that its robots.txt redirects to.
    pub fn addresses(&self) -> impl Iterator<Item = AddressGroup> {
        let others = self.robots_redirects.iter().filter_map(|redirect| redirect.address);
        self.address.into_iter().chain(others).map(AddressGroup::from)
    }
}

/// Host that the robots.txt of a site redirects to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsRedirect {
    /// Scheme, host and port.
    pub name: String,
    /// Address; `None` if the name cannot be resolved.
    pub address: Option<IpAddr>,
}

/// Page to fetch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPage {
    /// Id in the collection.
    pub page: PageId,
    /// Canonical URL.
    pub url: String,
    /// Validators of the stored version.
    #[serde(default, skip_serializing_if = "Validators::is_empty")]
    pub validators: Validators,
}

impl Batch {
    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.sites.iter().map(|site| site.pages.len()).sum()
    }
}

/// Site with a value in every field.
#[cfg(test)]
pub fn test_site() -> BatchSite {
    let validators = Validators { etag: Some("\"é\"".to_owned()), last_modified: None };
    let page = |page, url: &str| BatchPage {
        page: PageId(page),
        url: url.to_owned(),
        validators: if page == 9 { validators.clone() } else { Validators::default() },
    };
    BatchSite {
        site: SiteId(3),
        name: "http://a.example".to_owned(),
        address: Some(IpAddr::from([192, 0, 2, 1])),
        address_expires_s: 4,
        earliest_request_ms: 5,
        consecutive_errors: 6,
        throttle_delay_ms: 10,
        pages_known: 7,
        robots: Some(RobotsResponse { fetched_s: 8, status: 200, text: (0..=255).collect() }),
        robots_redirects: Vec::new(),
        sitemaps_due: true,
        pages: vec![page(1, "http://a.example/"), page(9, "http://a.example/ü")],
    }
}
