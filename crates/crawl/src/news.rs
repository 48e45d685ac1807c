//! What does a batch change beyond its own pages? The pages it links to, their sites, and the graph.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

use frontier::{CommonCash, linking_bit};
use model::{PageId, SiteId};
use store::{Collection, Link, NewPage, PageFlags, PageRecord, Resolved, Result, SiteRecord, UrlBatch};

use crate::common_cash;
use crate::fetched::Fetched;
use crate::fold::Folded;
use crate::found::Found;
use crate::gathered::{Gathered, Target};
use crate::outcome::Outcome;
use crate::rows;
use crate::rules::Rules;
use crate::visit::Visit;

/// What a batch brought so far.
#[derive(Default)]
pub(crate) struct News {
    pub(crate) folded: Folded,
    sites: BTreeMap<SiteId, SiteNews>,
    /// How many pages newly link to a page.
    in_links: BTreeMap<PageId, InLinks>,
    /// Cash of pages that lead nowhere.
    common_cash: CommonCash,
}

/// What a batch changes about a site.
#[derive(Default)]
struct SiteNews {
    known_static: u32,
    known_dynamic: u32,
    dequeued: u32,
    fetched: u32,
    errors: u32,
    in_links: u32,
    last_seen: Option<(u32, Option<IpAddr>)>,
    bytes: u64,
    front_hash: u64,
    linking_domains: u64,
}

/// What new links say about a page.
#[derive(Clone, Copy)]
struct InLinks {
    all: u32,
    from_other_sites: u32,
    /// The bits of the domains that they come from, other than its own.
    linking_domains: u64,
    /// How deep it is by the shortest of them.
    depth: u8,
    /// What pages pass on to it.
    cash: f32,
    /// How relevant it is by the best of them.
    relevance: u16,
}

impl Default for InLinks {
    fn default() -> InLinks {
        InLinks { all: 0, from_other_sites: 0, linking_domains: 0, depth: u8::MAX, cash: 0.0, relevance: 0 }
    }
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

    /// Numbers where links lead, writes them to the log and the table, and counts them.
    pub(crate) fn take_links(
        &mut self,
        collection: &mut Collection,
        found: &[Found],
        records: &BTreeMap<PageId, PageRecord>,
        rules: &Rules,
    ) -> Result<()> {
        let targets = self.number_links(collection, found, records, rules)?;
        self.log_links(collection, found, &targets, records, rules)
    }

    /// Numbers where the links of pages lead, as far as the rules admit them.
    fn number_links(
        &mut self,
        collection: &mut Collection,
        found: &[Found],
        records: &BTreeMap<PageId, PageRecord>,
        rules: &Rules,
    ) -> Result<Targets> {
        let now_s = found.first().map_or(0, |first| Fetched::seconds(first.fetched_ms));
        let mut urls = UrlBatch::new();
        // Where the links of each page end, and what they share.
        let mut ends = Vec::with_capacity(found.len());
        for page in found {
            urls.extend(&page.links.followed);
            ends.push((urls.len(), page));
        }
        let describe = |new: &NewPage| {
            let link = new.link as usize;
            let source = ends.partition_point(|(end, _)| *end <= link);
            let (end, page) = ends[source];
            let place = link + page.links.dynamic.len() - end;
            let dynamic = page.links.dynamic[place];
            let site_pages = rules.pages_known(new.site) + self.count_new(new.site, dynamic);
            let Some(record) = records.get(&page.id) else {
                return rules.new_page(new.site, site_pages, 0, 0, dynamic);
            };
            let redirects = match page.outcome {
                Outcome::Redirect => record.flags.redirects() + 1,
                _ => 0,
            };
            let url = page.links.followed.url(place);
            let is_front = || url.ends_with('/') && url.bytes().filter(|byte| *byte == b'/').count() == 3;
            let depth = match new.site == record.site {
                true => depth_behind(record, page.outcome),
                false if is_front() => 0,
                false => 1,
            };
            let mut new_page = rules.new_page(new.site, site_pages, depth, redirects, dynamic);
            new_page.location = rules.promise.of(url);
            new_page
        };
        let resolved = if rules.admits_all() {
            collection.resolve(&urls, now_s, describe)?
        } else {
            collection.resolve_where(&urls, now_s, |site| rules.admits(site), describe)?
        };
        Ok(Targets { pages: resolved.pages, first_new: resolved.first_new })
    }

    fn log_links(
        &mut self,
        collection: &mut Collection,
        found: &[Found],
        targets: &Targets,
        records: &BTreeMap<PageId, PageRecord>,
        rules: &Rules,
    ) -> Result<()> {
        let mut rest = targets.pages.as_slice();
        for page in found {
            let (own, behind) = rest.split_at(page.links.followed.len());
            rest = behind;
            let links = &page.links.all;
            let followed = links.iter().filter_map(|link| match link.target {
                Target::Followed(place) if own[place as usize] == Resolved::REFUSED => None,
                Target::Followed(place) => Some(Link {
                    target: own[place as usize],
                    kind: link.kind.code(),
                    context: link.context,
                    anchor_chars: characters(page.links.text(link.anchor)),
                    position: (link.position.clamp(0.0, 1.0) * 65_535.0) as u16,
                }),
                Target::Noted(..) => None,
            });
            collection.links.append(page.id, followed)?;
            rows::push_links(collection, page, own, rules);
            self.folded.links += links.len() as u64;
            self.count_in_links(page, own, targets.first_new, records.get(&page.id));
        }
        Ok(())
    }

    /// A page that links twice counts once, and a link to itself not at all. Cash goes to all in equal parts. Of pages that
    /// were read before, only links to pages unknown until now count besides: the others may have been there already.
    fn count_in_links(
        &mut self,
        page: &Found,
        own: &[PageId],
        first_new: PageId,
        record: Option<&PageRecord>,
    ) {
        let url = &page.url;
        let domain = url.registered_domain();
        // A redirect says nothing; what was hoped of it is hoped of where it leads.
        let hoped = record.filter(|_| page.outcome == Outcome::Redirect).map_or(0, |record| record.relevance);
        let is_page = |target: &PageId| *target != page.id && *target != Resolved::REFUSED;
        let places = own.iter().enumerate().filter(|(_, target)| is_page(target));
        let mut targets: Vec<(PageId, Reverse<u16>, Nearness)> = places
            .map(|(place, target)| {
                let relevance = page.links.relevance(place).max(hoped);
                let nearness = nearness(url.site(), domain, page.links.followed.url(place));
                (*target, Reverse(relevance), nearness)
            })
            .collect();
        targets.sort_unstable();
        targets.dedup_by_key(|(target, ..)| *target);
        if targets.is_empty() {
            self.keep_in_common(page.cash);
        }
        let share = page.cash / targets.len() as f32;
        let depth = record.map_or(0, |record| depth_behind(record, page.outcome));
        let bit = domain.map_or(0, linking_bit);
        for (target, Reverse(relevance), nearness) in targets {
            let counts = self.in_links.entry(target).or_default();
            counts.cash += share;
            counts.relevance = counts.relevance.max(relevance);
            if !page.first && target < first_new {
                continue;
            }
            counts.all += 1;
            counts.from_other_sites += u32::from(nearness != Nearness::Site);
            counts.linking_domains |= if nearness == Nearness::World { bit } else { 0 };
            counts.depth = counts.depth.min(if nearness == Nearness::Site { depth } else { 1 });
        }
    }

    /// Cash of a page that leads nowhere.
    pub(crate) fn keep_in_common(&mut self, cash: f32) {
        self.common_cash.add(cash);
    }

    /// Counts a new page; tells how many of its site this batch has brought.
    fn count_new(&mut self, site: SiteId, dynamic: bool) -> u32 {
        self.folded.new_pages += 1;
        let news = self.sites.entry(site).or_default();
        if dynamic {
            news.known_dynamic += 1;
        } else {
            news.known_static += 1;
        }
        news.known_static + news.known_dynamic
    }

    pub(crate) fn count_visit(
        &mut self,
        site: SiteId,
        page: &Gathered,
        first_success: bool,
        visit: Visit,
        was_queued: bool,
    ) {
        let news = self.sites.entry(site).or_default();
        news.dequeued += u32::from(was_queued);
        news.fetched += u32::from(first_success);
        news.errors += u32::from(!page.outcome.is_success());
        news.bytes += page.content_bytes;
        if page.outcome == Outcome::Ok && visit.newest && page.url.path_and_query() == "/" {
            news.front_hash = page.content_hash;
        }
        if page.outcome != Outcome::NoAnswer && visit.newest {
            news.last_seen = news.last_seen.max(Some((Fetched::seconds(page.fetched_ms), page.address)));
        }
    }

    /// Writes the records of the batch's pages, of those that they link to, and of their sites.
    pub(crate) fn write(
        &mut self,
        collection: &mut Collection,
        records: &mut BTreeMap<PageId, PageRecord>,
        rules: &mut Rules,
    ) -> Result<()> {
        for (id, record) in records.iter_mut() {
            if let Some(counts) = self.in_links.remove(id) {
                self.add_in_links(record, counts, rules);
            }
        }
        let ids: Vec<PageId> = records.keys().copied().collect();
        let values: Vec<&PageRecord> = records.values().collect();
        collection.pages.update(&ids, |index, record| *record = *values[index])?;

        let counts = std::mem::take(&mut self.in_links);
        let ids: Vec<PageId> = counts.keys().copied().collect();
        let values: Vec<InLinks> = counts.into_values().collect();
        collection.pages.update(&ids, |index, record| self.add_in_links(record, values[index], rules))?;

        let ids: Vec<SiteId> = self.sites.keys().copied().collect();
        let values: Vec<&SiteNews> = self.sites.values().collect();
        collection.sites.update(&ids, |index, record| {
            values[index].add_to(record);
            rules.note_site(ids[index], record.pages_known);
        })?;
        rules.note_size(collection);
        common_cash::add(&mut collection.notes, std::mem::take(&mut self.common_cash));
        Ok(())
    }

    fn add_in_links(&mut self, record: &mut PageRecord, counts: InLinks, rules: &Rules) {
        record.in_links = record.in_links.saturating_add(counts.all);
        record.cash += counts.cash;
        // Its own text, once it is known, says more.
        if record.visits == 0 {
            record.relevance = record.relevance.max(counts.relevance);
        }
        rules.come_nearer(record, counts.depth);
        let site = self.sites.entry(record.site).or_default();
        site.in_links += counts.from_other_sites;
        site.linking_domains |= counts.linking_domains;
    }
}

impl SiteNews {
    fn add_to(&self, record: &mut SiteRecord) {
        record.pages_known += self.known_static + self.known_dynamic;
        record.pages_static += self.known_static;
        record.pages_dynamic += self.known_dynamic;
        record.pages_queued = record.pages_queued.saturating_sub(self.dequeued);
        record.pages_fetched += self.fetched;
        record.errors = record.errors.saturating_add(self.errors);
        record.in_links = record.in_links.saturating_add(self.in_links);
        record.bytes = record.bytes.saturating_add(self.bytes);
        record.linking_domains |= self.linking_domains;
        if self.front_hash != 0 {
            record.front_hash = self.front_hash;
        }
        if let Some((time_s, address)) = self.last_seen.filter(|(time_s, _)| *time_s >= record.last_seen_s) {
            record.last_seen_s = time_s;
            record.address = address.or(record.address);
        }
    }
}

/// How far a link leads away.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// To the same site.
    Site,
    /// To another site of the same registered domain.
    Domain,
    /// To another domain.
    World,
}

fn nearness(site: &str, domain: Option<&str>, url: &str) -> Nearness {
    if url.strip_prefix(site).is_some_and(|path| path.starts_with('/')) {
        return Nearness::Site;
    }
    let authority = url.split_once("//").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(""));
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let before = domain.and_then(|domain| host.strip_suffix(domain));
    match before {
        Some(before) if before.is_empty() || before.ends_with('.') => Nearness::Domain,
        _ => Nearness::World,
    }
}

/// How deep a page is that a page of the same site leads to: one link deeper, but a redirect leads no deeper.
fn depth_behind(record: &PageRecord, outcome: Outcome) -> u8 {
    if outcome == Outcome::Redirect { record.depth } else { record.depth.saturating_add(1) }
}

fn flags(dynamic: bool) -> PageFlags {
    if dynamic { PageFlags::DYNAMIC } else { PageFlags::default() }
}

fn characters(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}
