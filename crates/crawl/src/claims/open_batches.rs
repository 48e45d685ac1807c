//! Open batches and their sites.

use std::collections::{BTreeMap, HashMap};

use harvest::control::live_status::LiveBatch;
use harvest::item::batch::Batch;
use model::SiteId;

use crate::claims::address_claims::AddressClaims;

/// Batches with unfinished sites, and claimed sites of other processes.
#[derive(Debug, Default)]
pub(crate) struct OpenBatches {
    sites: HashMap<SiteId, OpenSite>,
    batches: BTreeMap<u64, LiveBatch>,
    /// Claims of leased batches; empty with local harvesters, which share one dispatcher.
    pub(crate) claims: AddressClaims,
}

/// Site in an open batch; the default value for a site claimed by another process.
#[derive(Debug, Clone, Copy, Default)]
struct OpenSite {
    batch: u64,
    /// Creation time of the batch; 0 for a batch of another process.
    created_ms: u64,
    pages: u32,
}

impl OpenBatches {
    /// Number of sites in open batches, including claimed ones.
    pub(crate) fn sites(&self) -> usize {
        self.sites.len()
    }

    /// Number of sites claimed by other processes.
    pub(crate) fn claimed_sites(&self) -> usize {
        self.sites.values().filter(|site| site.created_ms == 0).count()
    }

    pub(crate) fn contains(&self, site: SiteId) -> bool {
        self.sites.contains_key(&site)
    }

    /// Adds a new batch.
    pub(crate) fn add(&mut self, batch: &Batch, created_ms: u64) {
        for site in &batch.sites {
            let pages = site.pages.len() as u32;
            self.sites.insert(site.site, OpenSite { batch: batch.id, created_ms, pages });
        }
        let id = batch.id;
        let (sites, pages) = (batch.sites.len() as u32, batch.pages() as u32);
        let open = LiveBatch { id, created_ms, sites, sites_remaining: sites, pages, pages_remaining: pages };
        if sites > 0 {
            self.batches.insert(id, open);
        }
    }

    /// Claims sites for another process.
    pub(crate) fn claim(&mut self, sites: impl IntoIterator<Item = SiteId>) {
        self.sites.extend(sites.into_iter().map(|site| (site, OpenSite::default())));
    }

    /// Unfinished sites of a batch.
    pub(crate) fn open_sites(&self, batch: u64) -> Vec<SiteId> {
        self.sites.iter().filter(|(_, site)| site.batch == batch).map(|(site, _)| *site).collect()
    }

    /// Closes a finished site.
    pub(crate) fn close(&mut self, site: SiteId) {
        self.claims.release(site);
        let Some(site) = self.sites.remove(&site) else { return };
        let Some(batch) = self.batches.get_mut(&site.batch) else { return };
        batch.sites_remaining -= 1;
        batch.pages_remaining -= site.pages;
        if batch.sites_remaining == 0 {
            self.batches.remove(&site.batch);
        }
    }

    /// Open batches, oldest first.
    pub(crate) fn list(&self) -> impl Iterator<Item = LiveBatch> {
        self.batches.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::test_site;
    use harvest::item::batch::BatchSite;

    #[test]
    fn a_batch_is_open_until_its_last_site_is_closed() {
        let mut open = OpenBatches::default();
        let site = |number| BatchSite { site: SiteId(number), ..test_site() };
        open.add(&Batch { id: 7, sites: vec![site(1), site(2)], ..Batch::default() }, 99);
        open.claim([SiteId(9)]);
        let of = |open: &OpenBatches| -> Vec<_> {
            open.list()
                .map(|batch| (batch.id, batch.sites_remaining, batch.pages_remaining, batch.pages))
                .collect()
        };
        assert_eq!((open.sites(), of(&open)), (3, vec![(7, 2, 4, 4)]));
        open.close(SiteId(1));
        assert_eq!(of(&open), [(7, 1, 2, 4)]);
        assert_eq!([1, 2, 9].map(|site| open.contains(SiteId(site))), [false, true, true]);
        open.close(SiteId(2));
        open.close(SiteId(2));
        assert!(of(&open).is_empty() && open.contains(SiteId(9)) && open.sites() == 1);
    }
}
