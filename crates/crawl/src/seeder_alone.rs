//! The seeder as a program of its own: takes links in that the gatherer has found, and pages that the user names.
//!
//! Commits note how many lines of a folder they hold; a seeder that dies goes on from there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use frontier::Limits;
use model::{CanonicalUrl, ExtensionLists, PageId, SiteId, UrlClass};
use store::{Collection, PageFlags, PageRecord, UrlBatch};

use crate::clock::{Clock, seconds};
use crate::closed_folder::FolderError;
use crate::crawl_settings::CrawlSettings;
use crate::error::Error;
use crate::found::{FoundLine, FoundReader};
use crate::places::{self, Place, Taken};
use crate::rows::describe_sites;
use crate::rules::Rules;
use crate::seeder::Seeder;

/// What a seeder did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeedSummary {
    /// Folders of links that were taken in.
    pub folders: u64,
    /// Links in them.
    pub links: u64,
    /// Pages that nobody had heard of.
    pub new_pages: u64,
}

/// Links are taken in when so many pages or links wait.
const CHUNK_PAGES: usize = 4 << 10;
const CHUNK_LINKS: usize = 200_000;
/// Links that wait in memory for a commit.
const COMMIT_LINKS: usize = 1 << 20;

/// Takes all links in that lie in the collection's folder.
pub fn seed(collection: &mut Collection, settings: &Arc<CrawlSettings>) -> Result<SeedSummary, Error> {
    places::forget(collection);
    let clock = Clock::start();
    let mut seeder = Seeder::new(settings, collection)?;
    let mut summary = SeedSummary::default();
    let folder = collection.folder().to_owned();
    let all = Place::Found.list(&folder)?;
    for (place, (number, found)) in all.iter().enumerate() {
        match Taken::of(collection, *number) {
            // Its gatherer has died, and will do it again.
            Taken::Nothing => continue,
            Taken::Pages { lines } => {
                take(collection, &mut seeder, settings, (*number, found, lines), &mut summary)?;
                Taken::All.note(collection, *number);
                if place + 1 == all.len() {
                    describe_sites(collection, clock.now_ms() as i64)?;
                }
                collection.commit(clock.now_ms() as i64)?;
                summary.folders += 1;
            }
            Taken::All => {}
        }
        Place::Found.remove(&folder, *number)?;
    }
    Ok(summary)
}

/// Takes a folder in, from a line on.
fn take(
    collection: &mut Collection,
    seeder: &mut Seeder,
    settings: &CrawlSettings,
    (number, folder, mut taken): (u64, &Path, u64),
    summary: &mut SeedSummary,
) -> Result<(), Error> {
    let failed = |source| FolderError::Io { what: "read", folder: folder.to_owned(), source };
    let mut reader = FoundReader::open(folder, &settings.gather.rules)?;
    for _ in 0..taken {
        reader.next().map_err(failed)?;
    }
    loop {
        let (mut pages, mut links, mut named, mut is_end) = (Vec::new(), 0, None, false);
        while pages.len() < CHUNK_PAGES && links < CHUNK_LINKS && named.is_none() && !is_end {
            match reader.next().map_err(failed)? {
                Some(FoundLine::Page(page)) => {
                    links += page.links.all.len();
                    pages.push(page);
                }
                Some(FoundLine::Named { site, pages }) => named = Some((site, pages)),
                None => is_end = true,
            }
        }
        taken += pages.len() as u64 + u64::from(named.is_some());
        let folded = seeder.take_links(collection, &pages)?;
        summary.links += folded.links;
        summary.new_pages += folded.new_pages;
        if let Some((site, pages)) = named {
            summary.new_pages += seeder.note_found(collection, site, &pages)?;
        }
        if is_end {
            return Ok(());
        }
        Taken::Pages { lines: taken }.note(collection, number);
        if collection.links.pending() >= COMMIT_LINKS || collection.is_full() {
            collection.commit(Clock::start().now_ms() as i64)?;
        }
    }
}

/// Makes pages known that the user names, and commits. Tells how many were not known.
pub fn add_seeds(
    collection: &mut Collection,
    extensions: &ExtensionLists,
    limits: &Limits,
    urls: &[CanonicalUrl],
) -> Result<u64, Error> {
    let now_ms = Clock::start().now_ms();
    let mut batch = UrlBatch::new();
    urls.iter().for_each(|url| batch.push(url));
    let is_dynamic = |url: &CanonicalUrl| url.class(extensions) == UrlClass::Dynamic;
    let mut counts: BTreeMap<SiteId, (u32, u32)> = BTreeMap::new();
    let resolved = collection.resolve(&batch, seconds(now_ms), |new| {
        let dynamic = is_dynamic(&urls[new.link as usize]);
        let count = counts.entry(new.site).or_default();
        *(if dynamic { &mut count.1 } else { &mut count.0 }) += 1;
        PageRecord::new(new.site, 0, if dynamic { PageFlags::DYNAMIC } else { PageFlags::default() })
    })?;
    let mut rules = Rules::default();
    rules.limits.clone_from(limits);
    let mut pages: Vec<PageId> = resolved.pages;
    pages.sort_unstable();
    pages.dedup();
    collection.pages.update(&pages, |_, record| {
        record.flags = record.flags.with(PageFlags::SEED);
        rules.come_nearer(record, 0);
    })?;
    let sites: Vec<SiteId> = counts.keys().copied().collect();
    let counts: Vec<(u32, u32)> = counts.into_values().collect();
    collection.sites.update(&sites, |index, record| {
        let (new_static, new_dynamic) = counts[index];
        record.pages_known += new_static + new_dynamic;
        record.pages_static += new_static;
        record.pages_dynamic += new_dynamic;
    })?;
    collection.commit(now_ms as i64)?;
    Ok(resolved.new.len() as u64)
}
