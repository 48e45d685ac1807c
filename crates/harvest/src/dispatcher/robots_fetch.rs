//! Fetch of a robots.txt that redirects to another host. The harvester of that host's address sends the request, so that the
//! clocks of an address stay in one place; the pages of the site wait for the result.

use std::collections::HashMap;

use model::{CanonicalUrl, SiteId};

/// Request for the robots.txt of a site at another host.
#[derive(Debug, Clone)]
pub(crate) struct CrossHostRobotsFetch {
    pub(crate) url: CanonicalUrl,
    /// Redirects so far.
    pub(crate) redirects: u8,
    for_site: SiteId,
    from_harvester: usize,
}

impl CrossHostRobotsFetch {
    pub(crate) fn new(
        for_site: SiteId,
        from_harvester: usize,
        url: CanonicalUrl,
        redirects: u8,
    ) -> CrossHostRobotsFetch {
        CrossHostRobotsFetch { url, redirects, for_site, from_harvester }
    }

    /// Returns the same fetch with the target of a redirect as its URL.
    pub(crate) fn redirected_to(self, url: CanonicalUrl) -> CrossHostRobotsFetch {
        CrossHostRobotsFetch { url, redirects: self.redirects + 1, ..self }
    }

    /// Harvester and site that wait for the result.
    pub(crate) fn origin(&self) -> (usize, SiteId) {
        (self.from_harvester, self.for_site)
    }
}

/// Key of a site in the workbench of a harvester.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SiteKey {
    /// Site of a batch.
    Site(SiteId),
    /// Host that is contacted once, for the robots.txt of another site.
    Synthetic(u32),
}

impl SiteKey {
    /// Id of a site of a batch.
    pub(crate) fn id(self) -> Option<SiteId> {
        match self {
            SiteKey::Site(site) => Some(site),
            SiteKey::Synthetic(_) => None,
        }
    }
}

impl From<SiteId> for SiteKey {
    fn from(site: SiteId) -> SiteKey {
        SiteKey::Site(site)
    }
}

/// Fetches that a harvester waits for, and synthetic sites for those that it does for others.
#[derive(Debug, Default)]
pub(crate) struct PendingRobotsFetches {
    last_synthetic: u32,
    /// Jobs of sites that wait for a result.
    held_jobs: HashMap<SiteId, Vec<u32>>,
}

impl PendingRobotsFetches {
    /// Allocates a key for a host that is contacted for another site.
    pub(crate) fn allocate_synthetic_site(&mut self) -> SiteKey {
        self.last_synthetic = self.last_synthetic.wrapping_add(1);
        SiteKey::Synthetic(self.last_synthetic)
    }

    pub(crate) fn hold_jobs(&mut self, site: SiteId, jobs: Vec<u32>) {
        self.held_jobs.insert(site, jobs);
    }

    pub(crate) fn is_pending(&self, site: SiteId) -> bool {
        self.held_jobs.contains_key(&site)
    }

    pub(crate) fn release_jobs(&mut self, site: SiteId) -> Vec<u32> {
        self.held_jobs.remove(&site).unwrap_or_default()
    }
}
