//! Judgement of links that were not followed: they are no pages, but rows of the table `links`.

use std::collections::{BTreeMap, HashSet};

use frontier::UrlScorer;
use harvest::settings::crawl_settings::CrawlSettings;
use model::{CanonicalUrl, PageId, Reason, SiteId, UrlBatch, UrlClass};
use parse::LinkKind;
use store::{
    Collection, LinkRow, Manifest, PageRecord, PageStateReader, Result, Snapshot, UrlReader,
    for_each_unresolved_link,
};
use xxhash_rust::xxh3::xxh3_64;

use super::EffectCounts;
use super::changes::ChangedReasons;
use crate::ingest::batch_delta::is_front_page;
use crate::ingest::page_policy::PagePolicy;

/// Links that are resolved at a time.
const CHUNK_LINKS: usize = 100_000;

/// Link that the settings allow to follow now.
struct AllowedLink {
    url: CanonicalUrl,
    source: PageId,
    dynamic: bool,
    is_redirect: bool,
    reason: Reason,
    hops_outside: u8,
}

/// Counts the pages that links would add.
pub(super) fn preview(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    changed: &ChangedReasons,
    counts: &mut EffectCounts,
) -> Result<()> {
    let judge = LinkJudge::new(snapshot, settings, changed);
    // 8 bytes per page that would be new.
    let mut seen: HashSet<u64> = HashSet::new();
    let mut failure = None;
    judge.for_each_allowed(snapshot.dir(), &snapshot.manifest, |link| {
        match snapshot.urls.find(&link.url) {
            Ok(None) if seen.insert(xxh3_64(link.url.as_str().as_bytes())) => {
                counts.add(false, link.reason, link.url.site(), 1);
            }
            Ok(_) => {}
            Err(error) => failure = Some(error),
        }
    })?;
    failure.map_or(Ok(()), Err)
}

/// Adds the pages of links that the settings allow to follow now.
pub(super) fn add_pages(
    collection: &mut Collection,
    settings: &CrawlSettings,
    changed: &ChangedReasons,
    now_s: u32,
    counts: &mut EffectCounts,
) -> Result<()> {
    if !LINK_REASONS.into_iter().any(|reason| changed.contains(reason)) {
        return Ok(());
    }
    let (dir, manifest) = (collection.dir().to_owned(), collection.manifest()?.clone());
    let snapshot = Snapshot::open(&dir, Some(&manifest.generation.to_string()))?;
    let judge = LinkJudge::new(&snapshot, settings, changed);
    let mut policy = PagePolicy::new(settings);
    policy.load_counts(collection)?;
    let mut adder =
        PageAdder { collection, policy, url_scorer: UrlScorer::new(&settings.url_patterns), now_s };
    let (mut pending, mut outcome) = (Vec::new(), Ok(()));
    judge.for_each_allowed(&dir, &manifest, |link| {
        pending.push(link);
        if pending.len() >= CHUNK_LINKS && outcome.is_ok() {
            outcome = adder.add(&std::mem::take(&mut pending), &snapshot.page_state, counts);
        }
    })?;
    outcome?;
    adder.add(&pending, &snapshot.page_state, counts)
}

/// Reasons for which links are not followed, and that depend on settings.
const LINK_REASONS: [Reason; 11] = [
    Reason::OutOfScope,
    Reason::RejectedByPattern,
    Reason::FileExtension,
    Reason::SitePageLimit,
    Reason::CollectionLimit,
    Reason::CrawlerTrap,
    Reason::DeepLink,
    Reason::SchemeNotAllowed,
    Reason::PortBlocked,
    Reason::LinkElement,
    Reason::TooManyRedirects,
];

struct LinkJudge<'c> {
    settings: &'c CrawlSettings,
    changed: &'c ChangedReasons,
    pages: &'c PageStateReader,
    urls: &'c UrlReader,
    /// Names of the elements whose links are followed.
    page_elements: Vec<&'static str>,
}

impl<'c> LinkJudge<'c> {
    fn new(
        snapshot: &'c Snapshot,
        settings: &'c CrawlSettings,
        changed: &'c ChangedReasons,
    ) -> LinkJudge<'c> {
        let kinds = settings.gathering.followed_kinds.iter().copied().chain([LinkKind::Redirect]);
        let page_elements = kinds.map(LinkKind::as_str).collect();
        LinkJudge { settings, changed, pages: &snapshot.page_state, urls: &snapshot.urls, page_elements }
    }

    fn for_each_allowed(
        &self,
        dir: &std::path::Path,
        manifest: &Manifest,
        mut on_link: impl FnMut(AllowedLink),
    ) -> Result<()> {
        let reasons: Vec<Reason> =
            LINK_REASONS.into_iter().filter(|reason| self.changed.contains(*reason)).collect();
        if reasons.is_empty() {
            return Ok(());
        }
        let mut failure = None;
        for_each_unresolved_link(dir, manifest, |link| {
            let reason = reasons.iter().find(|reason| link.reason == Some(reason.as_str()));
            let Some(reason) = reason else { return };
            match self.judge(link, *reason) {
                Ok(allowed) => allowed.into_iter().for_each(&mut on_link),
                Err(error) => failure = Some(error),
            }
        })?;
        failure.map_or(Ok(()), Err)
    }

    fn judge(&self, link: &LinkRow<'_>, reason: Reason) -> Result<Option<AllowedLink>> {
        if !self.page_elements.contains(&link.element) {
            return Ok(None);
        }
        let Ok(url) = self.settings.gathering.rules.canonical(link.target_url) else { return Ok(None) };
        let source = PageId(link.source_page_id);
        let scope = &self.settings.gathering.scope;
        let from_other_site = || -> Result<bool> {
            let site = self.urls.site_of(source)?.and_then(|site| self.urls.site_name(site));
            Ok(site != Some(url.site()))
        };
        let Ok(class) = scope.check_link(&url, scope.enter_by_front_page && from_other_site()?) else {
            return Ok(None);
        };
        let mut hops_outside = 0;
        if scope.hops_outside > 0 && scope.check(&url).is_err() {
            let record = self.pages.get(source)?;
            hops_outside = record.map_or(0, |record| record.flags.hops_outside()) + 1;
            if hops_outside > scope.hops_outside {
                return Ok(None);
            }
        }
        let (dynamic, is_redirect) =
            (class == UrlClass::Dynamic, link.element == LinkKind::Redirect.as_str());
        Ok(Some(AllowedLink { url, source, dynamic, is_redirect, reason, hops_outside }))
    }
}

/// Adds pages in chunks.
struct PageAdder<'c> {
    collection: &'c mut Collection,
    policy: PagePolicy,
    url_scorer: UrlScorer,
    now_s: u32,
}

impl PageAdder<'_> {
    fn add(
        &mut self,
        links: &[AllowedLink],
        sources: &PageStateReader,
        counts: &mut EffectCounts,
    ) -> Result<()> {
        let mut urls = UrlBatch::new();
        links.iter().for_each(|link| urls.push(&link.url));
        let ids: Vec<PageId> = links.iter().map(|link| link.source).collect();
        let sources = source_records(sources, &ids)?;
        let (policy, url_scorer) = (&self.policy, &self.url_scorer);
        let mut new_pages: BTreeMap<SiteId, (u32, u32)> = BTreeMap::new();
        let resolved = self.collection.resolve_admitted(
            &urls,
            self.now_s,
            |site| policy.admits(site),
            |new| {
                let link = &links[new.link_index as usize];
                let site = new_pages.entry(new.site).or_default();
                *(if link.dynamic { &mut site.1 } else { &mut site.0 }) += 1;
                let site_pages = policy.pages_known(new.site) + site.0 + site.1;
                let source = &sources[&link.source];
                let depth = match source.site == new.site {
                    true => source.depth.saturating_add(u8::from(!link.is_redirect)),
                    false => u8::from(!is_front_page(link.url.as_str())),
                };
                let redirects = if link.is_redirect { source.flags.redirects() + 1 } else { 0 };
                let mut record = policy.new_page_record(new.site, site_pages, depth, redirects, link.dynamic);
                record.flags = record.flags.with_hops_outside(link.hops_outside);
                record.url_score = url_scorer.score(link.url.as_str());
                record
            },
        )?;
        let mut inlinks: BTreeMap<PageId, u32> = BTreeMap::new();
        for page in resolved.pages.iter().flatten().filter(|page| **page >= resolved.first_new_page) {
            *inlinks.entry(*page).or_default() += 1;
        }
        let pages: Vec<PageId> = inlinks.keys().copied().collect();
        let numbers: Vec<u32> = inlinks.into_values().collect();
        self.collection.page_state.update(&pages, |index, record| record.inlinks += numbers[index])?;
        for new in &resolved.new_pages {
            let link = &links[new.link_index as usize];
            counts.add(false, link.reason, link.url.site(), 1);
        }
        self.count_pages(&new_pages)
    }

    fn count_pages(&mut self, new_pages: &BTreeMap<SiteId, (u32, u32)>) -> Result<()> {
        let sites: Vec<SiteId> = new_pages.keys().copied().collect();
        let numbers: Vec<(u32, u32)> = new_pages.values().copied().collect();
        let policy = &mut self.policy;
        self.collection.site_state.update(&sites, |index, record| {
            let (new_static, new_dynamic) = numbers[index];
            record.pages_known += new_static + new_dynamic;
            record.pages_static += new_static;
            record.pages_dynamic += new_dynamic;
            policy.record_site_size(sites[index], record.pages_known);
        })?;
        self.policy.record_collection_size(self.collection);
        Ok(())
    }
}

/// Records of source pages.
fn source_records(pages: &PageStateReader, ids: &[PageId]) -> Result<BTreeMap<PageId, PageRecord>> {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let records = pages.get_many(&sorted)?;
    Ok(sorted.into_iter().zip(records).collect())
}
