//! Who fetches a robots.txt that a site keeps elsewhere? The harvester of that other address, on an errand: so that the
//! clocks of an address stay in one place. The pages of the site wait until the answer is back.

use std::collections::HashMap;

use model::{CanonicalUrl, SiteId};

/// A request for another harvester's site.
#[derive(Debug, Clone)]
pub(crate) struct Errand {
    pub(crate) url: CanonicalUrl,
    /// Redirects so far.
    pub(crate) hops: u8,
    for_site: SiteId,
    from_harvester: usize,
}

impl Errand {
    pub(crate) fn new(for_site: SiteId, from_harvester: usize, url: CanonicalUrl, hops: u8) -> Errand {
        Errand { url, hops, for_site, from_harvester }
    }

    /// The same errand, to where a redirect leads.
    pub(crate) fn on_to(self, url: CanonicalUrl) -> Errand {
        Errand { url, hops: self.hops + 1, ..self }
    }

    /// The harvester that waits for the answer, and the site it is for.
    pub(crate) fn home(&self) -> (usize, SiteId) {
        (self.from_harvester, self.for_site)
    }
}

/// The errands that a harvester waits for, and the sites that it makes up to run those of others.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    made_up: u32,
    /// The jobs of sites that wait for an answer.
    held: HashMap<SiteId, Vec<u32>>,
}

impl Errands {
    /// A site that is in no collection: they count down from the last number. The workbench knows no errands.
    pub(crate) fn make_up_site(&mut self) -> SiteId {
        self.made_up = self.made_up.wrapping_add(1) & 0xf_ffff;
        SiteId(u32::MAX - self.made_up)
    }

    pub(crate) fn hold(&mut self, site: SiteId, jobs: Vec<u32>) {
        self.held.insert(site, jobs);
    }

    pub(crate) fn holds(&self, site: SiteId) -> bool {
        self.held.contains_key(&site)
    }

    pub(crate) fn release(&mut self, site: SiteId) -> Vec<u32> {
        self.held.remove(&site).unwrap_or_default()
    }
}
