//! The seeder as a separate program: ingests the outlinks that the gatherer has written, and seeds of the user.
//!
//! Each commit records how many lines of a directory it holds; after a crash the next run continues there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use frontier::Limits;
use harvest::files::sealed_dir::SealedDirError;
use harvest::files::work_dirs::WorkDir;
use harvest::settings::clock::{CrawlClock, seconds};
use harvest::settings::crawl_settings::CrawlSettings;
use model::UrlBatch;
use model::{CanonicalUrl, ExtensionLists, PageId, SiteId, UrlClass};
use store::{Collection, PageFlags, PageRecord, PageStage};

use crate::error::Error;
use crate::ingest::outlinks_dir::{OutlinksLine, OutlinksReader};
use crate::ingest::page_policy::PagePolicy;
use crate::ingest::table_rows::describe_sites;
use crate::seeder::Seeder;
use crate::state::crawl_state::{CrawlState, IngestProgress};
use crate::state::ingest_progress;
use crate::state::stages::stage_before_queueing;

/// Result of a run of the seeder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeedSummary {
    /// Outlinks directories ingested.
    pub link_files: u64,
    /// Links in them.
    pub links: u64,
    /// Pages discovered.
    pub new_pages: u64,
}

/// Links are ingested when a chunk reaches one of these sizes.
const CHUNK_PAGES: usize = 4 << 10;
const CHUNK_LINKS: usize = 200_000;
/// Maximum number of links in memory before a commit.
const COMMIT_LINKS: usize = 1 << 20;

/// Ingests all outlinks directories of the collection.
pub fn seed(collection: &mut Collection, settings: &Arc<CrawlSettings>) -> Result<SeedSummary, Error> {
    let dir = collection.dir().to_owned();
    CrawlState::update(collection, |state| ingest_progress::remove_finished(state, &dir))?;
    let clock = CrawlClock::start();
    let mut seeder = Seeder::new(settings, collection)?;
    let mut summary = SeedSummary::default();
    let all = WorkDir::Outlinks.list(&dir)?;
    for (index, (batch, outlinks)) in all.iter().enumerate() {
        match ingest_progress::of_batch(&CrawlState::load(collection)?, *batch) {
            // Its gatherer crashed before the commit, and will write it again.
            IngestProgress::None => continue,
            IngestProgress::Pages { lines } => {
                ingest_dir(collection, &mut seeder, settings, (*batch, outlinks, lines), &mut summary)?;
                CrawlState::update(collection, |state| {
                    ingest_progress::record(state, *batch, IngestProgress::All);
                })?;
                if index + 1 == all.len() {
                    describe_sites(collection, clock.now_ms() as i64)?;
                }
                collection.commit(clock.now_ms() as i64)?;
                summary.link_files += 1;
            }
            IngestProgress::All => {}
        }
        WorkDir::Outlinks.remove(&dir, *batch)?;
    }
    Ok(summary)
}

/// Ingests an outlinks directory, starting after the lines already ingested.
fn ingest_dir(
    collection: &mut Collection,
    seeder: &mut Seeder,
    settings: &CrawlSettings,
    (batch, dir, mut lines): (u64, &Path, u64),
    summary: &mut SeedSummary,
) -> Result<(), Error> {
    let failed = |source| SealedDirError::Io { operation: "read", dir: dir.to_owned(), source };
    let mut reader = OutlinksReader::open(dir, &settings.gathering.rules)?;
    for _ in 0..lines {
        reader.next().map_err(failed)?;
    }
    loop {
        let (mut pages, mut links, mut sitemap, mut is_end) = (Vec::new(), 0, None, false);
        while pages.len() < CHUNK_PAGES && links < CHUNK_LINKS && sitemap.is_none() && !is_end {
            match reader.next().map_err(failed)? {
                Some(OutlinksLine::Page(page)) => {
                    links += page.links.all.len();
                    pages.push(page);
                }
                Some(OutlinksLine::Sitemap(list)) => sitemap = Some(list),
                None => is_end = true,
            }
        }
        lines += pages.len() as u64 + u64::from(sitemap.is_some());
        let ingested = seeder.ingest_links(collection, pages)?;
        summary.links += ingested.links;
        summary.new_pages += ingested.new_pages;
        if let Some(list) = sitemap {
            summary.new_pages += seeder.add_listed_urls(collection, &list)?;
        }
        if is_end {
            return Ok(());
        }
        let progress = IngestProgress::Pages { lines };
        CrawlState::update(collection, |state| ingest_progress::record(state, batch, progress))?;
        if collection.links.pending() >= COMMIT_LINKS || collection.should_commit() {
            collection.commit(CrawlClock::start().now_ms() as i64)?;
        }
    }
}

/// Adds seeds and commits; returns the number of new pages.
pub fn add_seeds(
    collection: &mut Collection,
    extensions: &ExtensionLists,
    limits: &Limits,
    urls: &[CanonicalUrl],
) -> Result<u64, Error> {
    let now_ms = CrawlClock::start().now_ms();
    let mut url_batch = UrlBatch::new();
    urls.iter().for_each(|url| url_batch.push(url));
    let is_dynamic = |url: &CanonicalUrl| url.class(extensions) == UrlClass::Dynamic;
    let mut counts: BTreeMap<SiteId, (u32, u32)> = BTreeMap::new();
    let resolved = collection.resolve(&url_batch, seconds(now_ms), |new| {
        let dynamic = is_dynamic(&urls[new.link_index as usize]);
        let count = counts.entry(new.site).or_default();
        *(if dynamic { &mut count.1 } else { &mut count.0 }) += 1;
        PageRecord::new(new.site, 0, if dynamic { PageFlags::DYNAMIC } else { PageFlags::default() })
    })?;
    let mut policy = PagePolicy::default();
    policy.limits.clone_from(limits);
    let mut pages: Vec<PageId> = resolved.pages;
    pages.sort_unstable();
    pages.dedup();
    collection.page_state.update(&pages, |_, record| {
        record.flags = record.flags.with(PageFlags::SEED);
        // A seed that the settings exclude is judged again when it is selected.
        if record.stage == PageStage::Rejected
            && record.reason.is_some_and(|reason| !reason.settings().is_empty())
        {
            (record.stage, record.reason) = (stage_before_queueing(record), None);
        }
        policy.relax_depth(record, 0);
    })?;
    let sites: Vec<SiteId> = counts.keys().copied().collect();
    let counts: Vec<(u32, u32)> = counts.into_values().collect();
    collection.site_state.update(&sites, |index, record| {
        let (new_static, new_dynamic) = counts[index];
        record.pages_known += new_static + new_dynamic;
        record.pages_static += new_static;
        record.pages_dynamic += new_dynamic;
    })?;
    collection.commit(now_ms as i64)?;
    Ok(resolved.new_pages.len() as u64)
}
