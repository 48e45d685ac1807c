//! What does a batch change beyond its own pages? The pages it links to, their sites, and the graph.

use std::collections::BTreeMap;
use std::net::IpAddr;

use model::{PageId, SiteId};
use store::{Collection, Link, PageFlags, PageRecord, Result, SiteRecord, UrlBatch};

use crate::fetched::Fetched;
use crate::fold::{Folded, Stored};
use crate::gathered::{Gathered, Target};
use crate::outcome::Outcome;
use crate::rows;
use crate::visit::Visit;

/// What a batch brought so far.
#[derive(Default)]
pub(crate) struct News {
    pub(crate) folded: Folded,
    sites: BTreeMap<SiteId, SiteNews>,
    /// How many pages newly link to a page.
    in_links: BTreeMap<PageId, InLinks>,
}

/// What a batch changes about a site.
#[derive(Default)]
struct SiteNews {
    known_static: u32,
    known_dynamic: u32,
    fetched: u32,
    errors: u32,
    bytes: u64,
    in_links: u32,
    last_seen: Option<(u32, Option<IpAddr>)>,
}

#[derive(Default, Clone, Copy)]
struct InLinks {
    all: u32,
    from_other_sites: u32,
}

/// The pages that the followed links of a batch lead to.
pub(crate) struct Targets {
    pages: Vec<PageId>,
    first_new: PageId,
}

impl News {
    pub(crate) fn number_pages(
        &mut self,
        collection: &mut Collection,
        batch: &[Gathered],
        now_s: u32,
    ) -> Result<Vec<PageId>> {
        let mut urls = UrlBatch::new();
        batch.iter().for_each(|page| urls.push(&page.url));
        let resolved = collection.resolve(&urls, now_s, |new| {
            let dynamic = batch[new.link as usize].dynamic;
            self.count_new(new.site, dynamic);
            PageRecord::new(new.site, 0, flags(dynamic))
        })?;
        Ok(resolved.pages)
    }

    /// Numbers where the links of the stored pages lead; new pages are one link deeper than the first that has one.
    pub(crate) fn number_links(
        &mut self,
        collection: &mut Collection,
        stored: &[Stored],
        records: &BTreeMap<PageId, PageRecord>,
        now_s: u32,
    ) -> Result<Targets> {
        let mut urls = UrlBatch::new();
        // Where the links of each page end, and what they share.
        let mut ends = Vec::new();
        for page in stored.iter().filter(|page| page.links_count) {
            urls.extend(&page.page.links.followed);
            ends.push((urls.len(), page));
        }
        let resolved = collection.resolve(&urls, now_s, |new| {
            let link = new.link as usize;
            let source = ends.partition_point(|(end, _)| *end <= link);
            let (end, Stored { page, id, .. }) = ends[source];
            let dynamic = page.links.dynamic[link + page.links.dynamic.len() - end];
            self.count_new(new.site, dynamic);
            let depth = records.get(id).map_or(0, |record| record.depth);
            PageRecord::new(new.site, depth.saturating_add(1), flags(dynamic))
        })?;
        Ok(Targets { pages: resolved.pages, first_new: resolved.first_new })
    }

    /// Writes the links of the stored pages to the log and the table, and counts them.
    pub(crate) fn log_links(
        &mut self,
        collection: &mut Collection,
        stored: &[Stored],
        targets: &Targets,
    ) -> Result<()> {
        let mut rest = targets.pages.as_slice();
        for stored in stored.iter().filter(|page| page.links_count) {
            let (own, behind) = rest.split_at(stored.page.links.followed.len());
            rest = behind;
            let links = &stored.page.links.all;
            let followed = links.iter().filter_map(|link| match link.target {
                Target::Followed(place) => Some(Link {
                    target: own[place as usize],
                    kind: link.kind.code(),
                    context: link.context,
                    anchor_chars: characters(stored.page.links.text(link.anchor)),
                    position: (link.position.clamp(0.0, 1.0) * 65_535.0) as u16,
                }),
                Target::Noted(_) => None,
            });
            collection.links.append(stored.id, followed)?;
            rows::push_links(collection, stored.id, &stored.page, own);
            self.folded.links += links.len() as u64;
            self.count_in_links(stored, own, targets.first_new);
        }
        Ok(())
    }

    /// A page that links twice counts once, and a link to itself not at all. Of pages that were read before, only links
    /// to pages unknown until now count: the others may have been there already.
    fn count_in_links(&mut self, stored: &Stored, own: &[PageId], first_new: PageId) {
        let counts = |target: PageId| target != stored.id && (stored.visit.first || target >= first_new);
        let site = stored.page.url.site();
        let is_own_site = |place: usize| {
            let path = stored.page.links.followed.url(place).strip_prefix(site);
            path.is_some_and(|path| path.starts_with('/'))
        };
        let places = own.iter().enumerate().filter(|(_, target)| counts(**target));
        let mut targets: Vec<(PageId, bool)> =
            places.map(|(place, target)| (*target, is_own_site(place))).collect();
        targets.sort_unstable();
        targets.dedup();
        for (target, own_site) in targets {
            let counts = self.in_links.entry(target).or_default();
            counts.all += 1;
            counts.from_other_sites += u32::from(!own_site);
        }
    }

    fn count_new(&mut self, site: SiteId, dynamic: bool) {
        self.folded.new_pages += 1;
        let news = self.sites.entry(site).or_default();
        if dynamic {
            news.known_dynamic += 1;
        } else {
            news.known_static += 1;
        }
    }

    pub(crate) fn count_visit(&mut self, site: SiteId, page: &Gathered, first_success: bool, visit: Visit) {
        let news = self.sites.entry(site).or_default();
        news.fetched += u32::from(first_success);
        news.errors += u32::from(!page.outcome.is_success());
        news.bytes += page.content_bytes;
        if page.outcome != Outcome::NoAnswer && visit.newest {
            news.last_seen = news.last_seen.max(Some((Fetched::seconds(page.fetched_ms), page.address)));
        }
    }

    /// Writes the records of the batch's pages, of those that they link to, and of their sites.
    pub(crate) fn write(
        &mut self,
        collection: &mut Collection,
        records: &mut BTreeMap<PageId, PageRecord>,
    ) -> Result<()> {
        for (id, record) in records.iter_mut() {
            if let Some(counts) = self.in_links.remove(id) {
                self.add_in_links(record, counts);
            }
        }
        let ids: Vec<PageId> = records.keys().copied().collect();
        let values: Vec<&PageRecord> = records.values().collect();
        collection.pages.update(&ids, |index, record| *record = *values[index])?;

        let counts = std::mem::take(&mut self.in_links);
        let ids: Vec<PageId> = counts.keys().copied().collect();
        let values: Vec<InLinks> = counts.into_values().collect();
        collection.pages.update(&ids, |index, record| self.add_in_links(record, values[index]))?;

        let ids: Vec<SiteId> = self.sites.keys().copied().collect();
        let values: Vec<&SiteNews> = self.sites.values().collect();
        collection.sites.update(&ids, |index, record| values[index].add_to(record))
    }

    fn add_in_links(&mut self, record: &mut PageRecord, counts: InLinks) {
        record.in_links = record.in_links.saturating_add(counts.all);
        self.sites.entry(record.site).or_default().in_links += counts.from_other_sites;
    }
}

impl SiteNews {
    fn add_to(&self, record: &mut SiteRecord) {
        record.pages_known += self.known_static + self.known_dynamic;
        record.pages_static += self.known_static;
        record.pages_dynamic += self.known_dynamic;
        record.pages_fetched += self.fetched;
        record.errors = record.errors.saturating_add(self.errors);
        record.bytes = record.bytes.saturating_add(self.bytes);
        record.in_links = record.in_links.saturating_add(self.in_links);
        if let Some((time_s, address)) = self.last_seen.filter(|(time_s, _)| *time_s >= record.last_seen_s) {
            record.last_seen_s = time_s;
            record.address = address.or(record.address);
        }
    }
}

fn flags(dynamic: bool) -> PageFlags {
    if dynamic { PageFlags::DYNAMIC } else { PageFlags::default() }
}

fn characters(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}
