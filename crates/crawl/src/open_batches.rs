//! Which batches are not finished, and which sites are in them?

use std::collections::{BTreeMap, HashMap};

use model::SiteId;

use crate::batch::Batch;
use crate::busy_places::BusyPlaces;
use crate::live::LiveBatch;

/// Batches with sites that have not come back.
#[derive(Debug, Default)]
pub(crate) struct OpenBatches {
    sites: HashMap<SiteId, OpenSite>,
    batches: BTreeMap<u64, LiveBatch>,
    /// Where workers are; a crew of our own needs none of this.
    pub(crate) busy: BusyPlaces,
}

/// A site in a batch; of one that somebody else harvests, nothing is known.
#[derive(Debug, Clone, Copy, Default)]
struct OpenSite {
    batch: u64,
    /// When the batch was made; 0 if it is elsewhere.
    made_ms: u64,
    pages: u32,
}

impl OpenBatches {
    /// How many sites are in open batches.
    pub(crate) fn sites(&self) -> usize {
        self.sites.len()
    }

    /// How many of them somebody else harvests.
    pub(crate) fn lent_sites(&self) -> usize {
        self.sites.values().filter(|site| site.made_ms == 0).count()
    }

    pub(crate) fn holds(&self, site: SiteId) -> bool {
        self.sites.contains_key(&site)
    }

    /// When the batch of a site was made that is not elsewhere.
    pub(crate) fn made_ms(&self, site: SiteId) -> Option<u64> {
        self.sites.get(&site).map(|site| site.made_ms)
    }

    /// A batch was made.
    pub(crate) fn add(&mut self, batch: &Batch, made_ms: u64) {
        let number = batch.number;
        for site in &batch.sites {
            let pages = site.pages.len() as u32;
            self.sites.insert(site.site, OpenSite { batch: number, made_ms, pages });
        }
        let (sites, pages) = (batch.sites.len() as u32, batch.pages() as u32);
        let open = LiveBatch { number, made_ms, sites, sites_open: sites, pages, pages_open: pages };
        if sites > 0 {
            self.batches.insert(number, open);
        }
    }

    /// Sites that somebody else harvests.
    pub(crate) fn lend(&mut self, sites: impl IntoIterator<Item = SiteId>) {
        self.sites.extend(sites.into_iter().map(|site| (site, OpenSite::default())));
    }

    /// The sites of a batch that have not come back.
    pub(crate) fn sites_of(&self, batch: u64) -> Vec<SiteId> {
        self.sites.iter().filter(|(_, site)| site.batch == batch).map(|(site, _)| *site).collect()
    }

    /// A site came back.
    pub(crate) fn close(&mut self, site: SiteId) {
        self.busy.leave(site);
        let Some(site) = self.sites.remove(&site) else { return };
        let Some(batch) = self.batches.get_mut(&site.batch) else { return };
        batch.sites_open -= 1;
        batch.pages_open -= site.pages;
        if batch.sites_open == 0 {
            self.batches.remove(&site.batch);
        }
    }

    /// The oldest first.
    pub(crate) fn list(&self) -> impl Iterator<Item = LiveBatch> {
        self.batches.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchSite, test_site};

    #[test]
    fn a_batch_is_open_until_its_last_site_is_back() {
        let mut open = OpenBatches::default();
        let site = |number| BatchSite { site: SiteId(number), ..test_site() };
        open.add(&Batch { number: 7, sites: vec![site(1), site(2)], ..Batch::default() }, 99);
        open.lend([SiteId(9)]);
        let of = |open: &OpenBatches| -> Vec<_> {
            open.list().map(|batch| (batch.number, batch.sites_open, batch.pages_open, batch.pages)).collect()
        };
        assert_eq!((open.sites(), of(&open)), (3, vec![(7, 2, 4, 4)]));
        open.close(SiteId(1));
        assert_eq!(of(&open), [(7, 1, 2, 4)]);
        assert_eq!(
            (open.made_ms(SiteId(1)), open.made_ms(SiteId(2)), open.made_ms(SiteId(9))),
            (None, Some(99), Some(0))
        );
        open.close(SiteId(2));
        open.close(SiteId(2));
        assert!(of(&open).is_empty() && open.holds(SiteId(9)) && open.sites() == 1);
    }
}
