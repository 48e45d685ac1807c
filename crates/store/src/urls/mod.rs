//! URL table: maps each known URL to a permanent page id and back, and each site name to a site id.
//!
//! A batch of links is resolved together: hashed with the secret key of the collection, sorted, and merged with a few
//! sorted runs of (hash, page). It costs one pass over the runs instead of a lookup per link (as in Mercator and IRLbot).
//! The runs of commits are merged in the background. The URL texts are in compressed blocks by page id, the names of the
//! sites in memory.
//!
//! Two URLs with the same 64-bit hash are resolved to one page. Among 10^9 pages 0.03 such pairs are expected; comparing
//! all texts would cost more than everything else. The key is random, so that a collision cannot be constructed.
//!
//! ```text
//! urls/head-GENERATION   key, counts, and the texts of the last, incomplete block; new in every commit
//! urls/sites             names of sites by id; append-only
//! urls/text              site and path of the pages by id, 256 per block; append-only
//! urls/text-index        lengths of these blocks; append-only
//! urls/run-GENERATION-N  hash and page, sorted by hash; N = 0 of the commit's own pages, 1 merged
//! ```

mod batch;
mod cache;
mod check;
mod compress;
mod header;
mod mem_table;
mod merge;
mod reader;
mod resolve;
mod run;
mod site_names;
mod text_block;
mod url_texts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{PageId, SiteId, UrlBatch};

pub use self::batch::{NewPage, ResolvedBatch};
use self::cache::UrlCache;
use self::header::{DIR, RUN_PREFIX, SITES};
use self::mem_table::MemTable;
use self::merge::{Merge, MergeDecision, TOO_MANY_RUNS, plan};
pub use self::reader::UrlReader;
use self::run::{Run, RunWriter};
use self::url_texts::UrlTextsWriter;
use crate::disk;
use crate::error::{Context, Error, Result};
use crate::failpoint::failpoint;
use crate::file::append_file::AppendFile;
use crate::manifest::{FileEntry, Manifest};
use crate::parallel;

/// Default number of cached pages, 12 bytes each.
pub(crate) const DEFAULT_CACHE_ENTRIES: usize = 1 << 22;

/// URL table, open for writing.
///
/// After an error it must be dropped and opened again at the last commit.
pub struct UrlTable {
    dir: PathBuf,
    known: UrlReader,
    cache: UrlCache,
    url_texts: UrlTextsWriter,
    site_names: AppendFile,
    /// Number of sites in the file.
    written_sites: usize,
    /// Header file of the last commit; `None` before the first.
    header: Option<FileEntry>,
    merge: Option<Merge>,
}

impl UrlTable {
    /// Opens the table at a commit.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<UrlTable> {
        UrlTable::with_cache(dir, manifest, DEFAULT_CACHE_ENTRIES)
    }

    /// Opens the table with a cache of `cache_entries`.
    pub fn with_cache(dir: &Path, manifest: &Manifest, cache_entries: usize) -> Result<UrlTable> {
        let urls_dir = dir.join(DIR);
        disk::create_dir_all(&urls_dir).context("create", &urls_dir)?;
        merge::clean_up(dir)?;
        let head = manifest.files_in(DIR).find(|file| file.name.starts_with(header::PREFIX)).cloned();
        let known = match head {
            Some(_) => UrlReader::open(dir, manifest)?,
            None => UrlReader::empty(dir, disk::random(dir)),
        };
        let entry = |name: &str| {
            let found = manifest.files_in(DIR).find(|file| file.name == name);
            found.cloned().unwrap_or_else(|| FileEntry::growing(name))
        };
        Ok(UrlTable {
            dir: dir.to_owned(),
            cache: UrlCache::new(cache_entries),
            url_texts: UrlTextsWriter::open(dir, entry(url_texts::TEXT), entry(url_texts::INDEX))?,
            site_names: AppendFile::open(dir, entry(SITES))?,
            written_sites: known.sites() as usize,
            header: head,
            known,
            merge: None,
        })
    }

    /// Current table, including uncommitted pages.
    pub fn reader(&self) -> &UrlReader {
        &self.known
    }

    /// Resolves a batch of URLs to page ids. Unknown pages get new ids, in the order of the batch.
    pub fn resolve(&mut self, batch: &UrlBatch) -> Result<ResolvedBatch> {
        self.resolve_by(batch, |_, _| true)
    }

    /// Resolves a batch, but adds an unknown page only if `admit` accepts its site (`None` if the site is unknown too).
    pub fn resolve_admitted(
        &mut self,
        batch: &UrlBatch,
        mut admit: impl FnMut(Option<SiteId>) -> bool,
    ) -> Result<ResolvedBatch<Option<PageId>>> {
        let admit = |known: &UrlReader, link| admit(known.sites.find(batch.split(link as usize).0));
        let ResolvedBatch { pages, first_new_page, new_pages } = self.resolve_by(batch, admit)?;
        let admitted = |page: PageId| (page.0 != resolve::UNKNOWN).then_some(page);
        Ok(ResolvedBatch { pages: pages.into_iter().map(admitted).collect(), first_new_page, new_pages })
    }

    /// Resolves a batch; `admit` is called with the first link to each unknown page. Pages that are not admitted are
    /// [`resolve::UNKNOWN`].
    fn resolve_by(
        &mut self,
        batch: &UrlBatch,
        mut admit: impl FnMut(&UrlReader, u32) -> bool,
    ) -> Result<ResolvedBatch> {
        if u32::try_from(batch.len()).is_err() {
            return Err(Error::LimitExceeded { limit: "more than 2^32 links in a batch" });
        }
        let resolved = resolve::look_up_batch(batch, &mut self.cache, &self.known)?;
        let first_new = self.known.pages();
        if resolved.new_pages() > resolve::MAX_PAGES - first_new as usize {
            return Err(Error::LimitExceeded { limit: "maximum number of pages reached (almost 2^32)" });
        }
        let (pages, first_links, entries) =
            resolved.assign_ids(first_new, &mut self.cache, |link| admit(&self.known, link));
        let new = self.assign_sites(batch, &first_links)?;
        self.known.mem_table.add(entries);
        self.url_texts.append(&mut self.known.texts, batch, &new)?;
        Ok(ResolvedBatch { pages, first_new_page: PageId(first_new), new_pages: new })
    }

    /// Commits the table; returns all its files.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        self.install_merge(generation)?;
        let mut files = self.write(generation)?;
        self.start_merge()?;
        files.extend(self.known.runs.iter().map(|run| run.file_entry().clone()));
        Ok(files)
    }

    /// Finds the sites of the new pages; unknown sites get new ids.
    fn assign_sites(&mut self, batch: &UrlBatch, links: &[u32]) -> Result<Vec<NewPage>> {
        let name = |link: u32| batch.split(link as usize).0;
        let sites = &mut self.known.sites;
        let known = parallel::map(links.chunks(LINKS_PER_TASK).collect(), |links: &[u32]| {
            links.iter().map(|&link| sites.find(name(link))).collect::<Vec<_>>()
        });
        let site = |(&link, known): (&u32, Option<SiteId>)| match known {
            Some(site) => Ok(NewPage { link_index: link, site }),
            None => sites.id(name(link)).map(|(site, _)| NewPage { link_index: link, site }),
        };
        links.iter().zip(known.into_iter().flatten()).map(site).collect()
    }

    /// Writes everything since the last commit; returns all files but the runs.
    fn write(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        let run = format!("{RUN_PREFIX}{generation:010}-0");
        let UrlTable { dir, known, url_texts: texts, site_names: sites, .. } = self;
        known.sites.write(self.written_sites, sites)?;
        // Both are written at the same time, to keep the disk busy.
        let (run, others) = parallel::join(
            || write_run(dir, &run, &known.mem_table),
            || texts.commit().and_then(|[text, index]| Ok([text, index, sites.commit()?])),
        );
        let mut files = others?.to_vec();
        self.written_sites = known.sites.len();
        if let Some(run) = run? {
            known.runs.push(Arc::new(run));
            known.mem_table.clear();
            self.header = None;
        }
        failpoint("urls: run and text written");
        let header = match self.header.take() {
            Some(header) => header,
            None => known.header().write(dir, generation)?,
        };
        failpoint("urls: header written");
        files.push(header.clone());
        self.header = Some(header);
        Ok(files)
    }

    /// Replaces merged runs by the result of a finished merge; waits for it if there are too many runs.
    fn install_merge(&mut self, generation: u64) -> Result<()> {
        let too_many = self.known.runs.len() >= TOO_MANY_RUNS;
        if let Some(merge) = self.merge.take_if(|merge| merge.is_finished() || too_many) {
            merge.finish(&self.dir, &format!("{RUN_PREFIX}{generation:010}-1"), &mut self.known.runs)?;
            failpoint("urls: merged run in place");
        }
        Ok(())
    }

    fn start_merge(&mut self) -> Result<()> {
        let runs = &mut self.known.runs;
        runs.sort_by_key(|run| run.entries());
        let sizes: Vec<u64> = runs.iter().map(|run| run.entries()).collect();
        if self.merge.is_none()
            && let MergeDecision::MergeSmallest(count) = plan(&sizes)
        {
            self.merge = Some(Merge::start(&self.dir, runs[..count].to_vec())?);
        }
        Ok(())
    }
}

/// Number of links per task of a site lookup.
const LINKS_PER_TASK: usize = 1 << 14;

/// Writes the recent entries as a run, if there are any.
fn write_run(dir: &Path, name: &str, mem_table: &MemTable) -> Result<Option<Run>> {
    if mem_table.is_empty() {
        return Ok(None);
    }
    let mut writer = RunWriter::create(dir, name)?;
    mem_table.sorted().into_iter().try_for_each(|entry| writer.push(entry))?;
    Run::open(dir, &writer.finish()?).map(Some)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::sync::LazyLock;
    use std::{fs, thread};

    use model::{CanonicalUrl, UrlRules};
    use proptest::prelude::*;

    use super::*;

    static RULES: LazyLock<UrlRules> = LazyLock::new(UrlRules::default);

    fn url(text: &str) -> CanonicalUrl {
        RULES.canonical(text).unwrap()
    }

    fn batch<T: AsRef<str>>(urls: impl IntoIterator<Item = T>) -> UrlBatch {
        let mut batch = UrlBatch::new();
        urls.into_iter().for_each(|text| batch.push(&url(text.as_ref())));
        batch
    }

    /// URL table with all its commits.
    struct Collection {
        dir: tempfile::TempDir,
        table: UrlTable,
        manifests: Vec<Manifest>,
    }

    impl Collection {
        fn new() -> Collection {
            let dir = tempfile::tempdir().unwrap();
            let table = UrlTable::with_cache(dir.path(), &Manifest::empty(), 0).unwrap();
            Collection { dir, table, manifests: vec![Manifest::empty()] }
        }

        fn resolve(&mut self, urls: &[&str]) -> ResolvedBatch {
            self.table.resolve(&batch(urls)).unwrap()
        }

        fn commit(&mut self) -> &Manifest {
            let generation = self.manifests.len() as u64;
            let files = self.table.commit(generation).unwrap();
            self.manifests.push(Manifest { generation, files, ..Manifest::empty() });
            self.delete_unreferenced();
            &self.manifests[generation as usize]
        }

        /// Opens the table again at its last commit.
        fn reopen(&mut self) {
            let manifest = self.manifests.last().unwrap();
            self.table = UrlTable::with_cache(self.dir.path(), manifest, 0).unwrap();
            self.delete_unreferenced();
        }

        fn reader(&self, generation: usize) -> UrlReader {
            UrlReader::open(self.dir.path(), &self.manifests[generation]).unwrap()
        }

        fn wait_for_merge(&self) {
            while self.table.merge.as_ref().is_some_and(|merge| !merge.is_finished()) {
                thread::yield_now();
            }
        }

        /// Deletes unreferenced files, as opening a collection does.
        fn delete_unreferenced(&self) {
            let named: HashSet<PathBuf> = self
                .manifests
                .iter()
                .flat_map(|manifest| &manifest.files)
                .map(|file| self.dir.path().join(&file.name))
                .collect();
            if self.manifests.len() > 1 {
                for file in fs::read_dir(self.dir.path().join(DIR)).unwrap() {
                    let path = file.unwrap().path();
                    if !named.contains(&path) {
                        fs::remove_file(path).unwrap();
                    }
                }
            }
        }
    }

    /// Asserts that a reader has these URLs in the order of their ids.
    fn assert_urls(reader: &UrlReader, urls: &[String]) {
        assert_eq!(reader.pages() as usize, urls.len());
        let mut scanned = 0;
        reader
            .scan(PageId(0), |page, site, path| {
                assert_eq!(page.index(), scanned);
                assert_eq!([reader.site_name(site).unwrap(), path].concat(), urls[scanned]);
                scanned += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(scanned, urls.len());
        let pages: Vec<PageId> = (0..=urls.len() as u32).map(PageId).collect();
        let read = reader.urls(&pages).unwrap();
        assert!(read.iter().map(Option::as_ref).eq(urls.iter().map(Some).chain([None])));
        let mut sites = HashSet::new();
        for (page, text) in pages.iter().zip(urls) {
            let text = url(text);
            assert_eq!(reader.find(&text).unwrap(), Some(*page));
            let site = reader.site_of(*page).unwrap().unwrap();
            assert_eq!(reader.find_site(text.site()), Some(site));
            sites.insert(site);
        }
        assert_eq!(reader.sites() as usize, sites.len());
        assert_eq!(reader.find(&url("http://unknown.example/")).unwrap(), None);
        assert_eq!(reader.find_site("http://unknown.example"), None);
        assert_eq!(reader.url(PageId(u32::MAX)).unwrap(), None);
    }

    #[derive(Debug, Clone)]
    enum UrlTableOp {
        Resolve(Vec<u32>),
        Commit,
        WaitForMerge,
        Reopen,
        Look(usize),
    }

    fn operation() -> impl Strategy<Value = UrlTableOp> {
        prop_oneof![
            4 => prop::collection::vec(0..2000_u32, 0..150).prop_map(UrlTableOp::Resolve),
            4 => Just(UrlTableOp::Commit),
            1 => Just(UrlTableOp::WaitForMerge),
            1 => Just(UrlTableOp::Reopen),
            1 => any::<usize>().prop_map(UrlTableOp::Look),
        ]
    }

    fn numbered(number: u32) -> String {
        format!("https://site-{}.example/{}/page?id={number}", number % 23, number % 7)
    }

    #[test]
    fn a_page_that_is_not_admitted_gets_no_id() {
        let mut collection = Collection::new();
        collection.resolve(&["http://a.example/1"]);
        let urls = ["http://a.example/2", "http://b.example/", "http://a.example/2", "http://a.example/1"];
        let full = collection.table.reader().find_site("http://a.example");
        let resolved = collection.table.resolve_admitted(&batch(urls), |site| site != full).unwrap();
        assert_eq!(resolved.pages, [None, Some(PageId(1)), None, Some(PageId(0))]);
        assert_eq!(resolved.first_new_page, PageId(1));
        assert_eq!(collection.table.reader().find(&url("http://a.example/2")).unwrap(), None);
        collection.commit();
        assert_eq!(collection.resolve(&["http://a.example/2"]).pages, [PageId(2)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
        #[test]
        fn the_table_behaves_like_a_map(steps in prop::collection::vec(operation(), 1..60)) {
            let mut collection = Collection::new();
            let mut truth: Vec<String> = Vec::new();
            let mut ids: HashMap<String, u32> = HashMap::new();
            let mut committed = vec![0];
            for step in steps {
                match step {
                    UrlTableOp::Resolve(numbers) => {
                        let first_new = truth.len() as u32;
                        let urls: Vec<String> = numbers.into_iter().map(numbered).collect();
                        let resolved = collection.table.resolve(&batch(&urls)).unwrap();
                        prop_assert_eq!(resolved.first_new_page, PageId(first_new));
                        for (link, text) in urls.iter().enumerate() {
                            let page = *ids.entry(text.clone()).or_insert_with(|| {
                                let new = resolved.new_pages[truth.len() - first_new as usize];
                                assert_eq!(new.link_index as usize, link);
                                assert!(text.starts_with(collection.table.reader().site_name(new.site).unwrap()));
                                truth.push(text.clone());
                                truth.len() as u32 - 1
                            });
                            prop_assert_eq!(resolved.pages[link], PageId(page));
                            prop_assert_eq!(resolved.is_new(link), page >= first_new);
                        }
                        prop_assert_eq!(resolved.new_pages.len(), truth.len() - first_new as usize);
                    }
                    UrlTableOp::Commit => {
                        collection.commit();
                        committed.push(truth.len());
                    }
                    UrlTableOp::WaitForMerge => collection.wait_for_merge(),
                    UrlTableOp::Reopen => {
                        collection.reopen();
                        truth.truncate(*committed.last().unwrap());
                        ids.retain(|_, page| (*page as usize) < truth.len());
                    }
                    UrlTableOp::Look(generation) => {
                        // The committed URLs are a prefix of the expected ones.
                        let generation = generation % committed.len();
                        assert_urls(&collection.reader(generation), &truth[..committed[generation]]);
                    }
                }
            }
            assert_urls(collection.table.reader(), &truth);
        }
    }

    #[test]
    fn new_pages_get_ids_in_the_order_of_the_batch() {
        let mut collection = Collection::new();
        let first = collection.resolve(&["http://a.example/", "http://b.example/x", "http://a.example/"]);
        assert_eq!(first.pages, [PageId(0), PageId(1), PageId(0)]);
        assert_eq!(
            first.new_pages,
            [NewPage { link_index: 0, site: SiteId(0) }, NewPage { link_index: 1, site: SiteId(1) }]
        );
        let second = collection.resolve(&["http://c.example/", "http://b.example/x", "http://a.example/2"]);
        assert_eq!(second.pages, [PageId(2), PageId(1), PageId(3)]);
        assert_eq!((second.is_new(0), second.is_new(1), second.is_new(2)), (true, false, true));
        assert_eq!(second.new_pages[1].site, SiteId(0));
    }

    #[test]
    fn an_empty_batch_adds_nothing() {
        let mut collection = Collection::new();
        let resolved = collection.resolve(&[]);
        assert!(resolved.pages.is_empty() && resolved.new_pages.is_empty());
        let empty = collection.commit().files.clone();
        assert_eq!(collection.commit().files, empty, "a commit of nothing writes nothing");
        collection.reopen();
        assert_urls(collection.table.reader(), &[]);
        assert_urls(&collection.reader(0), &[]);
        collection.resolve(&["http://a.example/"]);
        let some = collection.commit().files.clone();
        collection.resolve(&["http://a.example/"]);
        assert_eq!(collection.commit().files, some);
    }

    #[test]
    fn uncommitted_ids_are_reused() {
        let mut collection = Collection::new();
        collection.resolve(&["http://a.example/1"]);
        collection.commit();
        collection.resolve(&["http://lost.example/", "http://a.example/lost"]);
        collection.reopen();
        let again = collection.resolve(&["http://new.example/", "http://a.example/1"]);
        assert_eq!(again.pages, [PageId(1), PageId(0)]);
        assert_eq!(again.new_pages[0].site, SiteId(1));
        assert_eq!(collection.table.reader().find(&url("http://lost.example/")).unwrap(), None);
    }

    /// Enough links for all parts and all cores.
    #[test]
    fn one_site_with_many_pages_and_many_sites_with_one() {
        let many = 140_000;
        let pages = (0..many).map(|n| format!("http://one.example/directory/{}", n % 100_000));
        let sites = (0..many).map(|n| format!("http://{}.example/", n % 100_000));
        let urls: Vec<String> = pages.zip(sites).flat_map(|(page, site)| [page, site]).collect();
        let mut collection = Collection::new();
        let resolved = collection.table.resolve(&batch(&urls)).unwrap();
        for link in 0..urls.len() as u32 {
            assert_eq!(resolved.pages[link as usize], PageId(link % 200_000));
        }
        collection.commit();
        collection.reopen();
        let again = collection.table.resolve(&batch(urls.iter().rev())).unwrap();
        assert!(again.new_pages.is_empty());
        assert!(again.pages.iter().rev().eq(&resolved.pages));
        let reader = collection.reader(1);
        assert_eq!((reader.pages(), reader.sites()), (200_000, 100_001));
        for page in (0..200_000).step_by(997) {
            assert_eq!(reader.find(&url(&urls[page])).unwrap(), Some(PageId(page as u32)));
        }
    }

    #[test]
    fn very_long_urls_are_read_back() {
        let long: Vec<String> =
            (0..600).map(|n| format!("http://a.example/{}?{n}", "long/".repeat(n))).collect();
        let kept: Vec<String> = long.into_iter().filter(|text| RULES.canonical(text).is_ok()).collect();
        let mut collection = Collection::new();
        for urls in kept.chunks(100) {
            collection.table.resolve(&batch(urls)).unwrap();
            collection.commit();
        }
        collection.reopen();
        assert_urls(collection.table.reader(), &kept);
    }

    #[test]
    fn a_flipped_byte_in_any_file_is_detected_with_its_file() {
        let mut collection = Collection::new();
        for commit in 0..6 {
            let urls: Vec<String> = (0..400).map(|n| numbered(commit * 300 + n)).collect();
            collection.table.resolve(&batch(urls)).unwrap();
            collection.commit();
            collection.wait_for_merge();
        }
        let manifest = collection.manifests.last().unwrap();
        let mut urls = Vec::new();
        let reader = collection.reader(6);
        reader
            .scan(PageId(0), |page, _, _| {
                urls.push(url(&reader.url(page)?.unwrap()));
                Ok(())
            })
            .unwrap();
        let dir = collection.dir.path();
        let read_all = || -> Result<()> {
            let reader = UrlReader::open(dir, manifest)?;
            reader.scan(PageId(0), |_, _, _| Ok(()))?;
            urls.iter().step_by(20).try_for_each(|url| reader.find(url).map(drop))
        };
        read_all().unwrap();
        assert!(manifest.files.len() >= 6);
        for file in &manifest.files {
            let path = dir.join(&file.name);
            let bytes = fs::read(&path).unwrap();
            for at in (0..bytes.len()).step_by(bytes.len() / 10 + 1).chain([bytes.len() - 1]) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 0x20;
                fs::write(&path, flipped).unwrap();
                let error = read_all().unwrap_err().to_string();
                assert!(error.contains(&file.name) && error.contains("corrupt"), "byte {at}: {error}");
            }
            fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
            assert!(read_all().unwrap_err().to_string().contains(&file.name));
            fs::write(&path, bytes).unwrap();
        }
        read_all().unwrap();
    }

    #[test]
    fn runs_stay_few_and_old_commits_stay_readable() {
        let mut collection = Collection::new();
        let urls: Vec<String> = (0..300).map(numbered).collect();
        for urls in urls.chunks(5) {
            collection.table.resolve(&batch(urls)).unwrap();
            let runs =
                collection.commit().files.iter().filter(|file| file.name.starts_with(RUN_PREFIX)).count();
            assert!(runs <= TOO_MANY_RUNS + 1, "{runs} runs");
        }
        collection.wait_for_merge();
        assert!(collection.manifests.iter().any(|m| m.files.iter().any(|file| file.name.ends_with("-1"))));
        for generation in [1, 3, 17, 60] {
            assert_urls(&collection.reader(generation), &urls[..generation * 5]);
        }
    }
}
