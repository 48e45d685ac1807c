//! Aliases: sites that are other names of a site. They are detected by address, robots.txt and front page, and their unfetched
//! pages become pages of the site that they stand for.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, Reason, SiteId, UrlBatch};
use store::{Collection, PageColumn, PageFlags, PageRecord, PageStage, Result};

use crate::ingest::page_policy::PagePolicy;

/// Marks sites with the same address, robots.txt and front page as another site as its aliases. Virtual hosts that share an
/// address have different front pages.
pub(super) fn mark_aliases(collection: &mut Collection) -> Result<()> {
    type SiteFingerprint = (IpAddr, u64, u64);
    let parts = collection.site_state.reader().scan(
        |fingerprints: &mut Vec<(SiteId, SiteFingerprint)>, site, record| {
            if let (Some(address), None) = (record.address, record.alias_of)
                && record.front_page_hash != 0
                && record.robots_fetched_s != 0
            {
                fingerprints.push((site, (address, record.robots_hash(), record.front_page_hash)));
            }
        },
    )?;
    let mut fingerprints: Vec<(SiteId, SiteFingerprint)> = parts.concat();
    fingerprints.sort_unstable_by_key(|(site, _)| *site);
    let mut first: HashMap<SiteFingerprint, SiteId> = HashMap::with_capacity(fingerprints.len());
    let mut aliases = Vec::new();
    for (site, fingerprint) in fingerprints {
        match first.get(&fingerprint) {
            Some(original) => aliases.push((site, *original)),
            None => {
                first.insert(fingerprint, site);
            }
        }
    }
    let sites: Vec<SiteId> = aliases.iter().map(|(site, _)| *site).collect();
    collection.site_state.update(&sites, |index, record| record.alias_of = Some(aliases[index].1))
}

/// Moves the unfetched pages of aliases to the sites that they stand for. The page under the alias is rejected, so that it is
/// moved once; links that are discovered later are moved with the next batch.
pub(super) fn move_alias_pages(
    collection: &mut Collection,
    settings: &CrawlSettings,
    now_s: u32,
) -> Result<()> {
    let aliases = aliases(collection)?;
    if aliases.is_empty() {
        return Ok(());
    }
    let columns = [PageColumn::Site, PageColumn::StageAndFlags];
    let parts = collection.page_state.reader().scan(&columns, |pages: &mut Vec<PageId>, row| {
        if row.stage == PageStage::Discovered && aliases.contains_key(&row.site) {
            pages.push(row.page);
        }
    })?;
    let mut pages = parts.concat();
    pages.sort_unstable();
    for chunk in pages.chunks(CHUNK_PAGES) {
        move_pages(collection, settings, &aliases, chunk, now_s)?;
    }
    Ok(())
}

/// Pages moved at once.
const CHUNK_PAGES: usize = 1 << 14;
/// Maximum length of a chain of aliases; the site that an alias stands for can become an alias itself.
const MAX_CHAIN: usize = 8;

/// All aliases, with the sites that they stand for.
fn aliases(collection: &Collection) -> Result<HashMap<SiteId, SiteId>> {
    let parts =
        collection.site_state.reader().scan(|aliases: &mut Vec<(SiteId, SiteId)>, site, record| {
            aliases.extend(record.alias_of.map(|original| (site, original)));
        })?;
    let direct: HashMap<SiteId, SiteId> = parts.into_iter().flatten().collect();
    let end_of_chain = |site: &SiteId| {
        std::iter::successors(direct.get(site), |site| direct.get(site)).take(MAX_CHAIN).last().copied()
    };
    Ok(direct.keys().filter_map(|site| Some((*site, end_of_chain(site)?))).collect())
}

fn move_pages(
    collection: &mut Collection,
    settings: &CrawlSettings,
    aliases: &HashMap<SiteId, SiteId>,
    pages: &[PageId],
    now_s: u32,
) -> Result<()> {
    let records = collection.page_state.reader().get_many(pages)?;
    let urls = collection.urls.reader().urls(pages)?;
    let mut moved = UrlBatch::new();
    let mut sources: Vec<PageRecord> = Vec::with_capacity(pages.len());
    for (record, url) in records.into_iter().zip(urls) {
        let names = collection.urls.reader();
        let target = aliases.get(&record.site).and_then(|site| names.site_name(*site));
        let alias = names.site_name(record.site);
        let path = url.as_deref().zip(alias).and_then(|(url, alias)| url.strip_prefix(alias));
        let target = target.zip(path).map(|(target, path)| format!("{target}{path}"));
        let canonical = target.and_then(|url| settings.gathering.rules.canonical(&url).ok());
        if let Some(url) = canonical.filter(|url| settings.gathering.scope.check(url).is_ok()) {
            moved.push(&url);
            sources.push(record);
        }
    }
    add_moved_pages(collection, settings, &moved, &sources, now_s)?;
    collection.page_state.update(pages, |_, record| {
        (record.stage, record.reason) = (PageStage::Rejected, Some(Reason::SiteAlias));
    })
}

/// Values of pages under aliases that their page inherits.
#[derive(Default)]
struct Inherited {
    depth: Option<u8>,
    inlinks: u32,
    cash: f32,
    is_seed: bool,
}

/// Adds pages under their new URLs, with depth, inlinks, cash and seed mark of the pages under the alias.
fn add_moved_pages(
    collection: &mut Collection,
    settings: &CrawlSettings,
    urls: &UrlBatch,
    sources: &[PageRecord],
    now_s: u32,
) -> Result<()> {
    let mut policy = PagePolicy::new(settings);
    policy.load_site_sizes(collection)?;
    let mut counts: BTreeMap<SiteId, (u32, u32)> = BTreeMap::new();
    let resolved = collection.resolve(urls, now_s, |new| {
        let source = &sources[new.link_index as usize];
        let dynamic = source.flags.has(PageFlags::DYNAMIC);
        let count = counts.entry(new.site).or_default();
        *(if dynamic { &mut count.1 } else { &mut count.0 }) += 1;
        let site_pages = policy.pages_known(new.site) + count.0 + count.1;
        let redirects = source.flags.redirects();
        let mut record = policy.new_page_record(new.site, site_pages, source.depth, redirects, dynamic);
        record.url_score = policy.url_scorer.score(urls.url(new.link_index as usize));
        // It inherits the cash of the page under the alias.
        record.cash = 0.0;
        record
    })?;
    let mut inherited: BTreeMap<PageId, Inherited> = BTreeMap::new();
    for (page, source) in resolved.pages.iter().zip(sources) {
        let sum = inherited.entry(*page).or_default();
        sum.depth = Some(sum.depth.map_or(source.depth, |depth| depth.min(source.depth)));
        sum.inlinks = sum.inlinks.saturating_add(source.inlinks);
        sum.cash += source.cash;
        sum.is_seed |= source.flags.has(PageFlags::SEED);
    }
    let pages: Vec<PageId> = inherited.keys().copied().collect();
    let inherited: Vec<Inherited> = inherited.into_values().collect();
    collection.page_state.update(&pages, |index, record| {
        let Inherited { depth, inlinks, cash, is_seed } = inherited[index];
        record.inlinks = record.inlinks.saturating_add(inlinks);
        record.cash += cash;
        if is_seed {
            record.flags = record.flags.with(PageFlags::SEED);
        }
        policy.relax_depth(record, depth.unwrap_or(u8::MAX));
    })?;
    let sites: Vec<SiteId> = counts.keys().copied().collect();
    let counts: Vec<(u32, u32)> = counts.into_values().collect();
    collection.site_state.update(&sites, |index, record| {
        let (new_static, new_dynamic) = counts[index];
        record.pages_known += new_static + new_dynamic;
        record.pages_static += new_static;
        record.pages_dynamic += new_dynamic;
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_collection::{NOON_S, TestCollection};

    const SITE: &str = "http://b.example";
    const ALIAS: &str = "http://www.b.example";

    /// Two names of one site; the pages are under the alias.
    fn test_collection(pages: &[&str]) -> TestCollection {
        let urls: Vec<String> = pages.iter().map(|path| format!("{ALIAS}{path}")).collect();
        let front_page = format!("{SITE}/");
        let urls: Vec<&str> = [&front_page].into_iter().chain(&urls).map(String::as_str).collect();
        let mut test = TestCollection::contacted(&urls);
        let original = test.site_id(SITE);
        test.update_site(ALIAS, |site| site.alias_of = Some(original));
        test
    }

    fn move_all(test: &mut TestCollection, settings: &CrawlSettings) {
        move_alias_pages(&mut test.collection, settings, NOON_S).unwrap();
    }

    #[test]
    fn unfetched_pages_of_an_alias_become_pages_of_its_site() {
        let mut test = test_collection(&["/", "/only.html", "/list?page=2", "/fetched"]);
        test.update_page(&format!("{ALIAS}/only.html"), |page| {
            (page.depth, page.inlinks, page.cash) = (3, 5, 2.5);
            page.flags = page.flags.with(PageFlags::SEED);
        });
        test.update_page(&format!("{ALIAS}/fetched"), |page| page.stage = PageStage::Fetched);
        test.update_page(&format!("{ALIAS}/list?page=2"), |page| page.flags = PageFlags::DYNAMIC);
        move_all(&mut test, &CrawlSettings::default());
        let page = test.page(&format!("{SITE}/only.html"));
        assert_eq!((page.stage, page.reason, page.depth), (PageStage::Discovered, None, 3));
        assert_eq!((page.inlinks, page.cash, page.flags.has(PageFlags::SEED)), (5, 2.5, true));
        let old = test.page(&format!("{ALIAS}/only.html"));
        assert_eq!((old.stage, old.reason), (PageStage::Rejected, Some(Reason::SiteAlias)));
        assert_eq!(test.page(&format!("{ALIAS}/fetched")).stage, PageStage::Fetched);
        assert_eq!(test.find_page(&format!("{SITE}/fetched")), None, "it has been fetched");
        let site = test.site(SITE);
        assert_eq!((site.pages_known, site.pages_static, site.pages_dynamic), (3, 2, 1));
        // A second run changes nothing.
        move_all(&mut test, &CrawlSettings::default());
        assert_eq!((test.site(SITE).pages_known, test.page(&format!("{SITE}/only.html")).inlinks), (3, 5));
    }

    #[test]
    fn pages_of_a_chain_of_aliases_are_merged_at_its_end_within_the_limits() {
        let mut test = test_collection(&["/a", "/b"]);
        let (alias, original) = (test.site_id(ALIAS), test.site_id(SITE));
        let mut urls = UrlBatch::new();
        urls.push(&crate::test_collection::canonical("http://b2.example/a"));
        let describe = |page: &store::NewPage| PageRecord::new(page.site, 1, PageFlags::default());
        test.collection.resolve(&urls, 0, describe).unwrap();
        test.update_site("http://b2.example", |site| site.alias_of = Some(alias));
        // A circle has no end, but does no harm either.
        test.update_site(SITE, |site| site.alias_of = None);
        let mut settings = CrawlSettings::default();
        settings.limits.pages_per_site = 2;
        move_all(&mut test, &settings);
        assert_eq!(test.page("http://b.example/a").site, original);
        assert_eq!(test.page("http://b.example/b").reason, Some(Reason::SitePageLimit));
        test.update_site(SITE, |site| site.alias_of = Some(alias));
        test.update_page("http://b.example/", |page| page.stage = PageStage::Discovered);
        move_all(&mut test, &settings);
    }
}
