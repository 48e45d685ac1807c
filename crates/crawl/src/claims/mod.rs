//! Claims of batches that workers hold: the addresses and hosts that no other batch may contact.

pub(crate) mod address_claims;
pub(crate) mod claim_lookup;
pub(crate) mod open_batches;
pub(crate) mod outstanding_claims;

/// Site for tests.
#[cfg(test)]
fn test_site() -> harvest::BatchSite {
    harvest::BatchSite {
        site: model::SiteId(3),
        name: "http://a.example".to_owned(),
        address: Some(std::net::IpAddr::from([192, 0, 2, 1])),
        address_expires_s: 4,
        earliest_request_ms: 5,
        consecutive_errors: 6,
        throttle_delay_ms: 10,
        pages_known: 7,
        robots: None,
        robots_redirects: Vec::new(),
        sitemaps_due: true,
        pages: [(1, "http://a.example/"), (9, "http://a.example/b")]
            .map(|(page, url)| harvest::BatchPage {
                page: model::PageId(page),
                url: url.to_owned(),
                validators: harvest::Validators::default(),
            })
            .into(),
    }
}
