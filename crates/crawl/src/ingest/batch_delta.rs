//! Changes of a batch beyond its own pages: link targets, sites and the link graph.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

use frontier::{GroupSet, SharedCash, UrlGroups, linking_domain_bit};
use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::fetched_page::FetchedPage;
use harvest::item::gathered_page::{GatheredPage, LinkTarget};
use model::UrlBatch;
use model::{PageId, Reason, SiteId};
use store::{Collection, Link, NewPage, PageFlags, PageRecord, Result, SiteRecord};

use crate::ingest::page_links::PageLinks;
use crate::ingest::page_policy::PagePolicy;
use crate::ingest::summary::IngestSummary;
use crate::ingest::table_rows;
use crate::ingest::visit::VisitComparison;
use crate::state::crawl_state::CrawlState;
use crate::state::day_counter::DAY_MS;
use crate::state::shared_cash;
use crate::state::template_budgets::LinkSupport;

/// Accumulated changes of a batch.
#[derive(Default)]
pub(crate) struct BatchDelta {
    pub(crate) summary: IngestSummary,
    sites: BTreeMap<SiteId, SiteDelta>,
    /// New inlinks, by target page.
    in_links: BTreeMap<PageId, InlinkDelta>,
    /// Cash that has no receiver.
    shared_cash: SharedCash,
    /// Requests of a crawl, by the time of one of each day, in Unix milliseconds.
    requests: BTreeMap<u64, u64>,
}

/// Changes of a site.
#[derive(Default)]
struct SiteDelta {
    known_static: u32,
    known_dynamic: u32,
    dequeued: u32,
    fetched: u32,
    failed_requests: u32,
    in_links: u32,
    last_response: Option<(u32, Option<IpAddr>)>,
    bytes: u64,
    front_page_hash: u64,
    linking_domains: u64,
}

/// New inlinks of a page.
#[derive(Clone, Copy)]
struct InlinkDelta {
    all: u32,
    from_other_sites: u32,
    /// Sketch of the domains that they come from, other than its own.
    linking_domains: u64,
    /// Depth by the shortest path through them.
    depth: u8,
    /// Cash received.
    cash: f32,
    /// Topic relevance by the best of them.
    relevance: u16,
    /// Depth by the second shortest path.
    second_depth: u8,
    /// URL groups of the page, and those that a link comes from outside of.
    groups: UrlGroups,
    outside: GroupSet,
}

impl Default for InlinkDelta {
    fn default() -> InlinkDelta {
        InlinkDelta {
            all: 0,
            from_other_sites: 0,
            linking_domains: 0,
            depth: u8::MAX,
            cash: 0.0,
            relevance: 0,
            second_depth: u8::MAX,
            groups: UrlGroups::default(),
            outside: 0,
        }
    }
}

/// Target pages of the followed links of a batch.
pub(crate) struct ResolvedTargets {
    /// `None` for pages that were not admitted.
    pages: Vec<Option<PageId>>,
    first_new_page: PageId,
}

impl BatchDelta {
    /// Resolves the URLs of a batch to page ids.
    pub(crate) fn resolve_pages(
        &mut self,
        collection: &mut Collection,
        batch: &[GatheredPage],
        now_s: u32,
    ) -> Result<Vec<PageId>> {
        let mut urls = UrlBatch::new();
        batch.iter().for_each(|page| urls.push(&page.url));
        let resolved = collection.resolve(&urls, now_s, |new| {
            let dynamic = batch[new.link_index as usize].dynamic;
            self.count_new_page(new.site, dynamic);
            PageRecord::new(new.site, 0, flags(dynamic))
        })?;
        Ok(resolved.pages)
    }

    /// Resolves the outlinks of pages, appends them to link log and table, and counts them.
    pub(crate) fn ingest_links(
        &mut self,
        collection: &mut Collection,
        pages: &[PageLinks],
        records: &BTreeMap<PageId, PageRecord>,
        policy: &PagePolicy,
    ) -> Result<()> {
        let targets = self.resolve_links(collection, pages, records, policy)?;
        self.log_links(collection, pages, &targets, records, policy)
    }

    /// Resolves the targets of followed links, except those that the policy does not admit.
    fn resolve_links(
        &mut self,
        collection: &mut Collection,
        pages: &[PageLinks],
        records: &BTreeMap<PageId, PageRecord>,
        policy: &PagePolicy,
    ) -> Result<ResolvedTargets> {
        let now_s = pages.first().map_or(0, |first| FetchedPage::seconds(first.fetched_ms));
        let mut urls = UrlBatch::new();
        // End of the links of each page in `urls`.
        let mut ends = Vec::with_capacity(pages.len());
        for page in pages {
            urls.extend(&page.links.followed);
            ends.push((urls.len(), page, UrlGroups::of_url(page.url.as_str())));
        }
        let describe = |new: &NewPage| {
            let link = new.link_index as usize;
            let source = ends.partition_point(|(end, ..)| *end <= link);
            let (end, page, groups) = ends[source];
            let index = link + page.links.dynamic.len() - end;
            let dynamic = page.links.dynamic[index];
            let site_pages = policy.pages_known(new.site) + self.count_new_page(new.site, dynamic);
            let Some(record) = records.get(&page.id) else {
                return policy.new_page_record(new.site, site_pages, 0, 0, dynamic);
            };
            let redirects = match page.outcome {
                FetchOutcome::Redirect => record.flags.redirects() + 1,
                _ => 0,
            };
            let url = page.links.followed.url(index);
            let depth = match new.site == record.site {
                true => target_depth(record, page.outcome),
                false => u8::from(!is_front_page(url)),
            };
            let mut new_page = policy.new_page_record(new.site, site_pages, depth, redirects, dynamic);
            new_page.url_score = policy.url_scorer.score(url);
            let hops = policy.hops_outside(url, policy.source_hops(page.url.as_str(), record)).unwrap_or(0);
            new_page.flags = new_page.flags.with_hops_outside(hops);
            policy.apply_template_budget(
                &mut new_page,
                url,
                Some(groups).filter(|_| new.site == record.site),
            );
            new_page
        };
        Ok(if policy.admits_all() {
            let resolved = collection.resolve(&urls, now_s, describe)?;
            let pages = resolved.pages.into_iter().map(Some).collect();
            ResolvedTargets { pages, first_new_page: resolved.first_new_page }
        } else {
            let admit = |site| policy.admits(site);
            let resolved = collection.resolve_admitted(&urls, now_s, admit, describe)?;
            ResolvedTargets { pages: resolved.pages, first_new_page: resolved.first_new_page }
        })
    }

    fn log_links(
        &mut self,
        collection: &mut Collection,
        pages: &[PageLinks],
        targets: &ResolvedTargets,
        records: &BTreeMap<PageId, PageRecord>,
        policy: &PagePolicy,
    ) -> Result<()> {
        let mut rest = targets.pages.as_slice();
        for page in pages {
            let (targets_of_page, remaining) = rest.split_at(page.links.followed.len());
            rest = remaining;
            let links = &page.links.all;
            let followed = links.iter().filter_map(|link| match link.target {
                LinkTarget::Followed(index) => Some(Link {
                    target: targets_of_page[index as usize]?,
                    kind: link.kind.code(),
                    context: link.context,
                    anchor_chars: characters(page.links.text(link.anchor)),
                    position: (link.position.clamp(0.0, 1.0) * 65_535.0) as u16,
                }),
                LinkTarget::Unfollowed(..) => None,
            });
            collection.links.append(page.id, followed)?;
            table_rows::push_links(collection, page, targets_of_page, policy);
            self.summary.links += links.len() as u64;
            self.count_in_links(page, targets_of_page, targets.first_new_page, records.get(&page.id));
            if let Some(record) = records.get(&page.id).filter(|_| page.is_first)
                && is_closed(collection, page, targets_of_page, targets.first_new_page, record.site, policy)?
            {
                let groups = UrlGroups::of_url(page.url.as_str());
                policy.templates.borrow_mut().add_closed_page(record.site, groups);
            }
        }
        Ok(())
    }

    /// Counts the inlinks of the targets of a page. Several links to one target count once, links to itself not at all; each
    /// target gets an equal share of the cash. Of a page that was fetched before, only links to newly discovered pages count:
    /// the others may have been counted at the earlier fetch.
    fn count_in_links(
        &mut self,
        page: &PageLinks,
        targets_of_page: &[Option<PageId>],
        first_new: PageId,
        record: Option<&PageRecord>,
    ) {
        let url = &page.url;
        let domain = url.registered_domain();
        // A redirect has no text of its own, so its target inherits the expected relevance.
        let expected_relevance = record
            .filter(|_| page.outcome == FetchOutcome::Redirect)
            .map_or(0, |record| record.topic_relevance);
        let indexed = targets_of_page.iter().enumerate().filter_map(|(index, target)| {
            target.filter(|target| *target != page.id).map(|target| (index, target))
        });
        let mut targets: Vec<(PageId, Reverse<u16>, LinkDistance, usize)> = indexed
            .map(|(index, target)| {
                let relevance = page.links.relevance(index).max(expected_relevance);
                let nearness = link_distance(url.site(), domain, page.links.followed.url(index));
                (target, Reverse(relevance), nearness, index)
            })
            .collect();
        targets.sort_unstable();
        targets.dedup_by_key(|(target, ..)| *target);
        if targets.is_empty() {
            self.add_shared_cash(page.cash);
        }
        let share = page.cash / targets.len() as f32;
        let depth = record.map_or(0, |record| target_depth(record, page.outcome));
        let bit = domain.map_or(0, linking_domain_bit);
        let own_groups = UrlGroups::of_url(url.as_str());
        for (target, Reverse(relevance), nearness, index) in targets {
            let counts = self.in_links.entry(target).or_default();
            counts.cash += share;
            counts.relevance = counts.relevance.max(relevance);
            if !page.is_first && target < first_new {
                continue;
            }
            counts.all += 1;
            counts.from_other_sites += u32::from(nearness != LinkDistance::SameSite);
            counts.linking_domains |= if nearness == LinkDistance::OtherDomain { bit } else { 0 };
            let link_depth = if nearness == LinkDistance::SameSite { depth } else { 1 };
            counts.second_depth = counts.second_depth.min(counts.depth.max(link_depth));
            counts.depth = counts.depth.min(link_depth);
            counts.groups = UrlGroups::of_url(page.links.followed.url(index));
            counts.outside |= match nearness {
                LinkDistance::SameSite => counts.groups.without(own_groups),
                LinkDistance::SameDomain | LinkDistance::OtherDomain => GroupSet::MAX,
            };
        }
    }

    /// Adds cash without a receiver to the shared account.
    pub(crate) fn add_shared_cash(&mut self, cash: f32) {
        self.shared_cash.add(cash);
    }

    /// Counts a discovered page; returns the number of pages of its site discovered by this batch.
    fn count_new_page(&mut self, site: SiteId, dynamic: bool) -> u32 {
        self.summary.new_pages += 1;
        let delta = self.sites.entry(site).or_default();
        if dynamic {
            delta.known_dynamic += 1;
        } else {
            delta.known_static += 1;
        }
        delta.known_static + delta.known_dynamic
    }

    /// Counts a request of a crawl.
    pub(crate) fn count_request(&mut self, page: &GatheredPage) {
        let ended_ms = u64::try_from(page.fetched_ms).unwrap_or(0);
        *self.requests.entry(ended_ms / DAY_MS * DAY_MS).or_default() += 1;
    }

    /// Counts a fetch for the site of the page.
    pub(crate) fn count_visit(
        &mut self,
        site: SiteId,
        page: &GatheredPage,
        first_success: bool,
        visit: VisitComparison,
        was_queued: bool,
    ) {
        let delta = self.sites.entry(site).or_default();
        delta.dequeued += u32::from(was_queued);
        delta.fetched += u32::from(first_success);
        delta.failed_requests += u32::from(!page.outcome.is_success());
        delta.bytes += page.content_bytes;
        if page.outcome == FetchOutcome::Success && visit.is_newest && page.url.path_and_query() == "/" {
            let fingerprint = page.document.as_ref().map_or(0, |document| document.front_page_hash);
            delta.front_page_hash = if fingerprint != 0 { fingerprint } else { page.content_hash };
        }
        if page.outcome != FetchOutcome::NoResponse && visit.is_newest {
            delta.last_response =
                delta.last_response.max(Some((FetchedPage::seconds(page.fetched_ms), page.address)));
        }
    }

    /// Writes the records of the pages of the batch, of their link targets and of their sites.
    pub(crate) fn apply(
        &mut self,
        collection: &mut Collection,
        records: &mut BTreeMap<PageId, PageRecord>,
        policy: &mut PagePolicy,
    ) -> Result<()> {
        for (id, record) in records.iter_mut() {
            if let Some(counts) = self.in_links.remove(id) {
                self.add_in_links(record, counts, policy);
            }
        }
        let ids: Vec<PageId> = records.keys().copied().collect();
        let values: Vec<&PageRecord> = records.values().collect();
        collection.page_state.update(&ids, |index, record| *record = *values[index])?;

        let counts = std::mem::take(&mut self.in_links);
        let ids: Vec<PageId> = counts.keys().copied().collect();
        let values: Vec<InlinkDelta> = counts.into_values().collect();
        collection
            .page_state
            .update(&ids, |index, record| self.add_in_links(record, values[index], policy))?;

        let ids: Vec<SiteId> = self.sites.keys().copied().collect();
        let values: Vec<&SiteDelta> = self.sites.values().collect();
        collection.site_state.update(&ids, |index, record| {
            values[index].add_to(record);
            policy.record_site_size(ids[index], record.pages_known);
        })?;
        policy.record_collection_size(collection);
        let (cash, requests) = (std::mem::take(&mut self.shared_cash), std::mem::take(&mut self.requests));
        CrawlState::update(collection, |state| {
            shared_cash::add(state, cash);
            requests.into_iter().for_each(|(time_ms, count)| state.day_counter.count(time_ms, count));
            if let Some(stored) = policy.templates.borrow_mut().store() {
                state.template_budgets = stored;
            }
        })
    }

    fn add_in_links(&mut self, record: &mut PageRecord, counts: InlinkDelta, policy: &PagePolicy) {
        let before = record.inlinks;
        record.inlinks = record.inlinks.saturating_add(counts.all);
        record.cash += counts.cash;
        if counts.all > 0 {
            policy.apply_support(record, link_support(record, before, counts));
        }
        // The relevance of its own text, once fetched, takes precedence.
        if record.fetch_count == 0 {
            record.topic_relevance = record.topic_relevance.max(counts.relevance);
        }
        policy.relax_depth(record, counts.depth);
        let site = self.sites.entry(record.site).or_default();
        site.in_links += counts.from_other_sites;
        site.linking_domains |= counts.linking_domains;
    }
}

impl SiteDelta {
    fn add_to(&self, record: &mut SiteRecord) {
        record.pages_known += self.known_static + self.known_dynamic;
        record.pages_static += self.known_static;
        record.pages_dynamic += self.known_dynamic;
        record.pages_queued = record.pages_queued.saturating_sub(self.dequeued);
        record.pages_fetched += self.fetched;
        record.failed_requests = record.failed_requests.saturating_add(self.failed_requests);
        record.inlinks = record.inlinks.saturating_add(self.in_links);
        record.bytes_received = record.bytes_received.saturating_add(self.bytes);
        record.linking_domains_sketch |= self.linking_domains;
        if self.front_page_hash != 0 {
            record.front_page_hash = self.front_page_hash;
        }
        if let Some((time_s, address)) =
            self.last_response.filter(|(time_s, _)| *time_s >= record.last_seen_s)
        {
            record.last_seen_s = time_s;
            record.address = address.or(record.address);
        }
    }
}

/// Whether no link of a page leads to a page of its site that is new, or rejected by the budget of its URL group.
fn is_closed(
    collection: &Collection,
    page: &PageLinks,
    targets_of_page: &[Option<PageId>],
    first_new: PageId,
    site: SiteId,
    policy: &PagePolicy,
) -> Result<bool> {
    let is_on_site = |index: usize| {
        let path = page.links.followed.url(index).strip_prefix(page.url.site());
        path.is_some_and(|path| path.starts_with('/'))
    };
    let on_site = targets_of_page.iter().enumerate().filter(|(index, _)| is_on_site(*index));
    let Some(mut targets) = on_site.map(|(_, target)| *target).collect::<Option<Vec<PageId>>>() else {
        return Ok(false);
    };
    if page.outcome != FetchOutcome::Success || targets.iter().any(|target| *target >= first_new) {
        return Ok(false);
    }
    if !policy.templates.borrow().has_rejected(site) {
        return Ok(true);
    }
    targets.sort_unstable();
    targets.dedup();
    let records = collection.page_state.reader().get_many(&targets)?;
    Ok(records.iter().all(|record| record.reason != Some(Reason::TemplateBudget)))
}

/// Support of a page by new links, of which it had `before` earlier. The link that discovered it is no support, and further ones
/// count only while there are few.
fn link_support(record: &PageRecord, before: u32, counts: InlinkDelta) -> LinkSupport {
    let second_depth = if before == 0 { counts.second_depth } else { counts.depth };
    let is_second = before <= 1 && record.inlinks >= 2 && second_depth <= record.depth.saturating_add(1);
    let is_early = (1..MAX_SUPPORTING_LINKS).contains(&before);
    LinkSupport { groups: counts.groups, outside: if is_early { counts.outside } else { 0 }, is_second }
}

/// Number of links from which on further ones say nothing new about the URL groups of a page.
const MAX_SUPPORTING_LINKS: u32 = 4;

/// Distance of a link target from its source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LinkDistance {
    /// Same site.
    SameSite,
    /// Another site of the same registered domain.
    SameDomain,
    /// Another registered domain.
    OtherDomain,
}

fn link_distance(site: &str, domain: Option<&str>, url: &str) -> LinkDistance {
    if url.strip_prefix(site).is_some_and(|path| path.starts_with('/')) {
        return LinkDistance::SameSite;
    }
    let authority = url.split_once("//").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(""));
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let before = domain.and_then(|domain| host.strip_suffix(domain));
    match before {
        Some(before) if before.is_empty() || before.ends_with('.') => LinkDistance::SameDomain,
        _ => LinkDistance::OtherDomain,
    }
}

/// Whether a canonical URL is that of the front page of a site.
pub(crate) fn is_front_page(url: &str) -> bool {
    url.ends_with('/') && url.bytes().filter(|byte| *byte == b'/').count() == 3
}

/// Depth of a link target on the same site: one more than its source, or equal for a redirect.
fn target_depth(record: &PageRecord, outcome: FetchOutcome) -> u8 {
    if outcome == FetchOutcome::Redirect { record.depth } else { record.depth.saturating_add(1) }
}

fn flags(dynamic: bool) -> PageFlags {
    if dynamic { PageFlags::DYNAMIC } else { PageFlags::default() }
}

fn characters(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use harvest::settings::crawl_settings::CrawlSettings;
    use store::{LinkRows, PageStage, TableReader};

    use super::*;
    use crate::ingest::Ingest;
    use crate::test_collection::{NOON_MS, TestCollection, fetched_page, response};

    const FRONT: &str = "http://a.example/";

    /// Ingests pages, one batch each.
    fn ingest(test: &mut TestCollection, settings: &CrawlSettings, pages: Vec<GatheredPage>) {
        let mut policy = PagePolicy::new(settings);
        policy.load_counts(&test.collection).unwrap();
        let mut ingest = Ingest::with_policy(100, policy);
        for page in pages {
            ingest.ingest(&mut test.collection, vec![page]).unwrap();
        }
    }

    /// Stage, reason and depth of a page.
    fn fate(test: &TestCollection, url: &str) -> (PageStage, Option<Reason>, u8) {
        let record = test.page(url);
        (record.stage, record.reason, record.depth)
    }

    #[test]
    fn links_to_a_full_site_are_rejected_with_the_reason_site_page_limit() {
        let mut test = TestCollection::contacted(&[FRONT]);
        let mut settings = CrawlSettings::default();
        settings.limits.pages_per_site = 2;
        let front = fetched_page(FRONT, "<a href=1>1</a> <a href=2>2</a>");
        let next = fetched_page("http://a.example/1", "<a href=3>3</a> <a href=http://b.example/>b</a>");
        ingest(&mut test, &settings, vec![front, next]);
        // A page that exceeds the limit within its batch is known, but not fetched.
        let fates = ["http://a.example/1", "http://a.example/2"].map(|url| test.page(url).reason);
        assert!(fates.contains(&Some(Reason::SitePageLimit)), "{fates:?}");
        assert_eq!(test.find_page("http://a.example/3"), None);
        assert_eq!(fate(&test, "http://b.example/"), (PageStage::Discovered, None, 0));
        // The links table has the reason.
        test.collection.commit(NOON_MS as i64).unwrap();
        let table =
            TableReader::<LinkRows>::open_committed(test.dir.path(), test.collection.manifest().unwrap());
        let mut rejected = Vec::new();
        table
            .unwrap()
            .for_each_row(|row| {
                if row.target_page_id.is_none() {
                    rejected.push((row.target_url.to_owned(), row.reason.map(str::to_owned)));
                }
            })
            .unwrap();
        let reason = Reason::SitePageLimit.as_str().to_owned();
        assert_eq!(rejected, [("http://a.example/3".to_owned(), Some(reason))]);
    }

    #[test]
    fn a_link_on_a_shorter_path_relaxes_the_depth_of_a_rejected_page() {
        let deep = "http://a.example/deep";
        let mut test = TestCollection::contacted(&[FRONT, "http://a.example/2"]);
        test.update_page("http://a.example/2", |page| page.depth = 2);
        let mut settings = CrawlSettings::default();
        settings.limits.depth_static = 2;
        ingest(&mut test, &settings, vec![fetched_page("http://a.example/2", "<a href=deep>deep</a>")]);
        assert_eq!(fate(&test, deep), (PageStage::Rejected, Some(Reason::TooDeep), 3));
        ingest(&mut test, &settings, vec![fetched_page(FRONT, "<p>Front</p><a href=deep>deep</a>")]);
        assert_eq!(fate(&test, deep), (PageStage::Discovered, None, 1));
    }

    #[test]
    fn a_target_counts_one_inlink_per_page_and_none_from_itself() {
        let target = "http://a.example/target";
        let mut test = TestCollection::contacted(&[FRONT, "http://b.example/"]);
        let pages = vec![
            fetched_page(FRONT, "<a href=target>one</a> <a href=target>two</a>"),
            fetched_page("http://b.example/", "<a href=http://a.example/target>three</a>"),
            fetched_page(target, "<p>Target</p><a href=target>itself</a>"),
        ];
        ingest(&mut test, &CrawlSettings::default(), pages);
        assert_eq!((test.page(target).inlinks, test.site("http://a.example").inlinks), (2, 1));
        assert_eq!(
            frontier::estimate_linking_domains(test.site("http://a.example").linking_domains_sketch),
            1
        );
        // An unchanged list of links is not counted again.
        let mut again = fetched_page(FRONT, "<p>New</p><a href=target>one</a> <a href=new>new</a>");
        again.fetched_ms += 60_000;
        ingest(&mut test, &CrawlSettings::default(), vec![again]);
        assert_eq!((test.page(target).inlinks, test.page("http://a.example/new").inlinks), (2, 1));
    }

    #[test]
    fn a_chain_of_redirects_ends_at_the_limit() {
        let mut test = TestCollection::contacted(&[FRONT]);
        let mut settings = CrawlSettings::default();
        settings.limits.redirects = 2;
        let hop = |from: &str, to: &str| response(from, 301, &format!("Location: {to}\r\n"), "");
        let pages = vec![hop(FRONT, "/1"), hop("http://a.example/1", "/2"), hop("http://a.example/2", "/3")];
        ingest(&mut test, &settings, pages);
        // A redirect does not add to the depth.
        assert_eq!(test.page("http://a.example/2").flags.redirects(), 2);
        assert_eq!(fate(&test, "http://a.example/2").2, 0);
        assert_eq!(
            fate(&test, "http://a.example/3"),
            (PageStage::Rejected, Some(Reason::TooManyRedirects), 0)
        );
    }

    #[test]
    fn pages_of_another_site_have_depth_one_and_its_front_page_depth_zero() {
        let mut test = TestCollection::contacted(&[FRONT]);
        test.update_page(FRONT, |page| page.depth = 4);
        let body =
            "<a href=http://b.example/>front</a> <a href=http://b.example/x>deep</a> <a href=y>own</a>";
        ingest(&mut test, &CrawlSettings::default(), vec![fetched_page(FRONT, body)]);
        let depths = ["http://b.example/", "http://b.example/x", "http://a.example/y"];
        assert_eq!(depths.map(|url| test.page(url).depth), [0, 1, 5]);
    }
}
