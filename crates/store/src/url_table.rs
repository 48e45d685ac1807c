//! Which number has a URL? Every page and every site that was ever heard of gets one, and keeps it.
//!
//! A batch of links is resolved at once: hashed with the collection's secret key, sorted, and merged with a few sorted
//! runs of (hash, page), so that it costs a pass over the runs and no search for each link (the way of Mercator and
//! IRLbot). The runs of commits are merged in the background. The text of the URLs lies in compressed blocks by page
//! id, the names of the sites in memory.
//!
//! Two URLs with the same 64 bits of hash would be taken for one page when a batch is resolved: among 10^9 pages 0.03
//! such pairs are expected, and to compare all texts would cost more than all the rest. The key is random, so that
//! nobody can make such a pair on purpose.
//!
//! ```text
//! urls/head-GENERATION   key, counts, and the text of the last pages, fewer than a block; new in every commit
//! urls/sites             names of sites by id; grows
//! urls/text              site and path of the pages by id, 256 in a block; grows
//! urls/text-index        the lengths of those blocks; grows
//! urls/run-GENERATION-N  hash and page, sorted by hash; N = 0 of the commit's own pages, 1 merged
//! ```

mod batch;
mod cache;
mod check;
mod compressed;
mod head;
mod merge;
mod reader;
mod recent;
mod resolve;
mod run;
mod sites;
mod text_block;
mod texts;

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use model::{PageId, SiteId};

pub use self::batch::{NewPage, Resolved, UrlBatch};
use self::cache::Cache;
use self::merge::{Merge, Plan, TOO_MANY_RUNS, plan};
pub use self::reader::UrlReader;
use self::recent::Recent;
use self::run::{Run, RunWriter};
use self::texts::TextWriter;
use crate::error::{Context, Error, Result};
use crate::failpoint::failpoint;
use crate::growing::GrowingFile;
use crate::manifest::{FileEntry, Manifest};
use crate::parallel;

const FOLDER: &str = "urls";
const SITES: &str = "urls/sites";
const RUN_PREFIX: &str = "urls/run-";

/// How many pages the cache remembers, at 12 bytes each.
pub(crate) const DEFAULT_CACHE_ENTRIES: usize = 1 << 22;

/// The URLs of a collection, for the one who writes.
///
/// After an error it is dropped and opened again at the last commit.
pub struct UrlTable {
    folder: PathBuf,
    known: UrlReader,
    cache: Cache,
    texts: TextWriter,
    sites: GrowingFile,
    /// How many sites the file has.
    written_sites: usize,
    /// Of the last commit; none before the first.
    head: Option<FileEntry>,
    merge: Option<Merge>,
}

impl UrlTable {
    /// Opens the URLs of the collection in this folder at the commit of this manifest.
    pub fn open(folder: &Path, manifest: &Manifest) -> Result<UrlTable> {
        UrlTable::with_cache(folder, manifest, DEFAULT_CACHE_ENTRIES)
    }

    /// Opens it with a cache of another size.
    pub fn with_cache(folder: &Path, manifest: &Manifest, cache_entries: usize) -> Result<UrlTable> {
        let subfolder = folder.join(FOLDER);
        fs::create_dir_all(&subfolder).context("create", &subfolder)?;
        merge::clean_up(folder)?;
        let head = manifest.files_in(FOLDER).find(|file| file.name.starts_with(head::PREFIX)).cloned();
        let known = match head {
            Some(_) => UrlReader::open(folder, manifest)?,
            // The standard library's seed comes from the system.
            None => UrlReader::empty(folder, RandomState::new().hash_one(FOLDER)),
        };
        let entry = |name: &str| {
            let found = manifest.files_in(FOLDER).find(|file| file.name == name);
            found.cloned().unwrap_or_else(|| FileEntry::growing(name))
        };
        Ok(UrlTable {
            folder: folder.to_owned(),
            cache: Cache::new(cache_entries),
            texts: TextWriter::open(folder, entry(texts::TEXT), entry(texts::INDEX))?,
            sites: GrowingFile::open(folder, entry(SITES))?,
            written_sites: known.sites() as usize,
            head,
            known,
            merge: None,
        })
    }

    /// What is known now, committed or not.
    pub fn known(&self) -> &UrlReader {
        &self.known
    }

    /// The pages of a batch of links; those that nobody knew get numbers, in the order of the batch.
    pub fn resolve(&mut self, batch: &UrlBatch) -> Result<Resolved> {
        self.resolve_by(batch, |_, _| true)
    }

    /// The same, but pages that nobody knew are refused if they are not wanted: `admit` is asked with their site, which
    /// may be as new as the page.
    pub fn resolve_where(
        &mut self,
        batch: &UrlBatch,
        mut admit: impl FnMut(Option<SiteId>) -> bool,
    ) -> Result<Resolved> {
        self.resolve_by(batch, |known, link| admit(known.sites.find(batch.split(link as usize).0)))
    }

    /// `admit` is asked with the first link to a page that nobody knew.
    fn resolve_by(
        &mut self,
        batch: &UrlBatch,
        mut admit: impl FnMut(&UrlReader, u32) -> bool,
    ) -> Result<Resolved> {
        if u32::try_from(batch.len()).is_err() {
            return Err(Error::Full { what: "a batch has more than 2^32 links" });
        }
        let answers = resolve::ask(batch, &mut self.cache, &self.known)?;
        let first_new = self.known.pages();
        if answers.new_pages() > resolve::MAX_PAGES - first_new as usize {
            return Err(Error::Full { what: "there are almost 2^32 pages" });
        }
        let (pages, first_links, entries) =
            answers.number(first_new, &mut self.cache, |link| admit(&self.known, link));
        let new = self.assign_sites(batch, &first_links)?;
        self.known.recent.add(entries);
        self.texts.append(&mut self.known.texts, batch, &new)?;
        Ok(Resolved { pages, first_new: PageId(first_new), new })
    }

    /// Makes everything so far last; returns all files that it consists of.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        self.take_merged(generation)?;
        let mut files = self.write(generation)?;
        self.start_merge()?;
        files.extend(self.known.runs.iter().map(|run| run.file_entry().clone()));
        Ok(files)
    }

    /// The sites of the new pages, which are links of the batch; new sites get numbers.
    fn assign_sites(&mut self, batch: &UrlBatch, links: &[u32]) -> Result<Vec<NewPage>> {
        let name = |link: u32| batch.split(link as usize).0;
        let sites = &mut self.known.sites;
        let known = parallel::map(links.chunks(LINKS_PER_TASK).collect(), |links: &[u32]| {
            links.iter().map(|&link| sites.find(name(link))).collect::<Vec<_>>()
        });
        let site = |(&link, known): (&u32, Option<SiteId>)| match known {
            Some(site) => Ok(NewPage { link, site }),
            None => sites.id(name(link)).map(|(site, _)| NewPage { link, site }),
        };
        links.iter().zip(known.into_iter().flatten()).map(site).collect()
    }

    /// Writes what is new since the last commit; returns all files but the runs.
    fn write(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        let run = format!("{RUN_PREFIX}{generation:010}-0");
        let UrlTable { folder, known, texts, sites, .. } = self;
        known.sites.write(self.written_sites, sites)?;
        // The disk works for both at once.
        let (run, others) = thread::scope(|scope| {
            let run = scope.spawn(|| write_run(folder, &run, &known.recent));
            let others = texts.commit().and_then(|[text, index]| Ok([text, index, sites.commit()?]));
            (run.join().unwrap_or_else(|panic| resume_unwind(panic)), others)
        });
        let mut files = others?.to_vec();
        self.written_sites = known.sites.len();
        if let Some(run) = run? {
            known.runs.push(Arc::new(run));
            known.recent.clear();
            self.head = None;
        }
        failpoint("urls: run and text written");
        let head = match self.head.take() {
            Some(head) => head,
            None => known.head().write(folder, generation)?,
        };
        failpoint("urls: head written");
        files.push(head.clone());
        self.head = Some(head);
        Ok(files)
    }

    /// Puts the result of a merge that has ended in the place of what was merged.
    fn take_merged(&mut self, generation: u64) -> Result<()> {
        let too_many = self.known.runs.len() >= TOO_MANY_RUNS;
        if let Some(merge) = self.merge.take_if(|merge| merge.is_finished() || too_many) {
            merge.finish(&self.folder, &format!("{RUN_PREFIX}{generation:010}-1"), &mut self.known.runs)?;
            failpoint("urls: merged run in place");
        }
        Ok(())
    }

    fn start_merge(&mut self) -> Result<()> {
        let runs = &mut self.known.runs;
        runs.sort_by_key(|run| run.entries());
        let sizes: Vec<u64> = runs.iter().map(|run| run.entries()).collect();
        if self.merge.is_none()
            && let Plan::MergeSmallest(count) = plan(&sizes)
        {
            self.merge = Some(Merge::start(&self.folder, runs[..count].to_vec())?);
        }
        Ok(())
    }
}

/// So many sites are looked for as one task.
const LINKS_PER_TASK: usize = 1 << 14;

/// Makes a run of the recent entries, if there are any.
fn write_run(folder: &Path, name: &str, recent: &Recent) -> Result<Option<Run>> {
    if recent.is_empty() {
        return Ok(None);
    }
    let mut writer = RunWriter::create(folder, name)?;
    recent.sorted().into_iter().try_for_each(|entry| writer.push(entry))?;
    Run::open(folder, &writer.finish()?).map(Some)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::sync::LazyLock;

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

    /// A collection of nothing but URLs, and everything that was ever committed to it.
    struct Collection {
        folder: tempfile::TempDir,
        table: UrlTable,
        manifests: Vec<Manifest>,
    }

    impl Collection {
        fn new() -> Collection {
            let folder = tempfile::tempdir().unwrap();
            let table = UrlTable::with_cache(folder.path(), &Manifest::empty(), 0).unwrap();
            Collection { folder, table, manifests: vec![Manifest::empty()] }
        }

        fn resolve(&mut self, urls: &[&str]) -> Resolved {
            self.table.resolve(&batch(urls)).unwrap()
        }

        fn commit(&mut self) -> &Manifest {
            let generation = self.manifests.len() as u64;
            let files = self.table.commit(generation).unwrap();
            self.manifests.push(Manifest { generation, files, ..Manifest::empty() });
            self.sweep();
            &self.manifests[generation as usize]
        }

        /// Forgets what was not committed.
        fn reopen(&mut self) {
            let manifest = self.manifests.last().unwrap();
            self.table = UrlTable::with_cache(self.folder.path(), manifest, 0).unwrap();
            self.sweep();
        }

        fn reader(&self, generation: usize) -> UrlReader {
            UrlReader::open(self.folder.path(), &self.manifests[generation]).unwrap()
        }

        fn wait_for_merge(&self) {
            while self.table.merge.as_ref().is_some_and(|merge| !merge.is_finished()) {
                thread::yield_now();
            }
        }

        /// Removes what no manifest names, as the collection does.
        fn sweep(&self) {
            let named: HashSet<PathBuf> = self
                .manifests
                .iter()
                .flat_map(|manifest| &manifest.files)
                .map(|file| self.folder.path().join(&file.name))
                .collect();
            if self.manifests.len() > 1 {
                for file in fs::read_dir(self.folder.path().join(FOLDER)).unwrap() {
                    let path = file.unwrap().path();
                    if !named.contains(&path) {
                        fs::remove_file(path).unwrap();
                    }
                }
            }
        }
    }

    /// What a reader must know: the URLs in the order of their ids.
    fn assert_knows(reader: &UrlReader, urls: &[String]) {
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
        assert_eq!(reader.find(&url("http://nobody.example/")).unwrap(), None);
        assert_eq!(reader.find_site("http://nobody.example"), None);
        assert_eq!(reader.url(PageId(u32::MAX)).unwrap(), None);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Resolve(Vec<u32>),
        Commit,
        WaitForMerge,
        Reopen,
        Look(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => prop::collection::vec(0..2000_u32, 0..150).prop_map(Step::Resolve),
            4 => Just(Step::Commit),
            1 => Just(Step::WaitForMerge),
            1 => Just(Step::Reopen),
            1 => any::<usize>().prop_map(Step::Look),
        ]
    }

    fn numbered(number: u32) -> String {
        format!("https://site-{}.example/{}/page?id={number}", number % 23, number % 7)
    }

    #[test]
    fn what_is_refused_gets_no_number_and_is_not_known() {
        let mut collection = Collection::new();
        collection.resolve(&["http://a.example/1"]);
        let urls = ["http://a.example/2", "http://b.example/", "http://a.example/2", "http://a.example/1"];
        let full = collection.table.known().find_site("http://a.example");
        let resolved = collection.table.resolve_where(&batch(urls), |site| site != full).unwrap();
        assert_eq!(resolved.pages, [Resolved::REFUSED, PageId(1), Resolved::REFUSED, PageId(0)]);
        assert!(!resolved.is_new(0) && resolved.is_new(1));
        assert_eq!(collection.table.known().find(&url("http://a.example/2")).unwrap(), None);
        collection.commit();
        assert_eq!(collection.resolve(&["http://a.example/2"]).pages, [PageId(2)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
        #[test]
        fn it_behaves_like_a_map(steps in prop::collection::vec(step(), 1..60)) {
            let mut collection = Collection::new();
            let mut truth: Vec<String> = Vec::new();
            let mut ids: HashMap<String, u32> = HashMap::new();
            let mut committed = vec![0];
            for step in steps {
                match step {
                    Step::Resolve(numbers) => {
                        let first_new = truth.len() as u32;
                        let urls: Vec<String> = numbers.into_iter().map(numbered).collect();
                        let resolved = collection.table.resolve(&batch(&urls)).unwrap();
                        prop_assert_eq!(resolved.first_new, PageId(first_new));
                        for (link, text) in urls.iter().enumerate() {
                            let page = *ids.entry(text.clone()).or_insert_with(|| {
                                let new = resolved.new[truth.len() - first_new as usize];
                                assert_eq!(new.link as usize, link);
                                assert!(text.starts_with(collection.table.known().site_name(new.site).unwrap()));
                                truth.push(text.clone());
                                truth.len() as u32 - 1
                            });
                            prop_assert_eq!(resolved.pages[link], PageId(page));
                            prop_assert_eq!(resolved.is_new(link), page >= first_new);
                        }
                        prop_assert_eq!(resolved.new.len(), truth.len() - first_new as usize);
                    }
                    Step::Commit => {
                        collection.commit();
                        committed.push(truth.len());
                    }
                    Step::WaitForMerge => collection.wait_for_merge(),
                    Step::Reopen => {
                        collection.reopen();
                        truth.truncate(*committed.last().unwrap());
                        ids.retain(|_, page| (*page as usize) < truth.len());
                    }
                    Step::Look(generation) => {
                        // The truth only grows past a commit: what was committed is a prefix.
                        let generation = generation % committed.len();
                        assert_knows(&collection.reader(generation), &truth[..committed[generation]]);
                    }
                }
            }
            assert_knows(collection.table.known(), &truth);
        }
    }

    #[test]
    fn new_pages_are_numbered_in_the_order_of_the_batch() {
        let mut collection = Collection::new();
        let first = collection.resolve(&["http://a.example/", "http://b.example/x", "http://a.example/"]);
        assert_eq!(first.pages, [PageId(0), PageId(1), PageId(0)]);
        assert_eq!(first.new, [NewPage { link: 0, site: SiteId(0) }, NewPage { link: 1, site: SiteId(1) }]);
        let second = collection.resolve(&["http://c.example/", "http://b.example/x", "http://a.example/2"]);
        assert_eq!(second.pages, [PageId(2), PageId(1), PageId(3)]);
        assert_eq!((second.is_new(0), second.is_new(1), second.is_new(2)), (true, false, true));
        assert_eq!(second.new[1].site, SiteId(0));
    }

    #[test]
    fn nothing_is_asked_and_nothing_is_new() {
        let mut collection = Collection::new();
        let resolved = collection.resolve(&[]);
        assert!(resolved.pages.is_empty() && resolved.new.is_empty());
        let empty = collection.commit().files.clone();
        assert_eq!(collection.commit().files, empty, "a commit of nothing writes nothing");
        collection.reopen();
        assert_knows(collection.table.known(), &[]);
        assert_knows(&collection.reader(0), &[]);
        collection.resolve(&["http://a.example/"]);
        let some = collection.commit().files.clone();
        collection.resolve(&["http://a.example/"]);
        assert_eq!(collection.commit().files, some);
    }

    #[test]
    fn ids_that_were_not_committed_are_given_again() {
        let mut collection = Collection::new();
        collection.resolve(&["http://a.example/1"]);
        collection.commit();
        collection.resolve(&["http://lost.example/", "http://a.example/lost"]);
        collection.reopen();
        let again = collection.resolve(&["http://new.example/", "http://a.example/1"]);
        assert_eq!(again.pages, [PageId(1), PageId(0)]);
        assert_eq!(again.new[0].site, SiteId(1));
        assert_eq!(collection.table.known().find(&url("http://lost.example/")).unwrap(), None);
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
        assert!(again.new.is_empty());
        assert!(again.pages.iter().rev().eq(&resolved.pages));
        let reader = collection.reader(1);
        assert_eq!((reader.pages(), reader.sites()), (200_000, 100_001));
        for page in (0..200_000).step_by(997) {
            assert_eq!(reader.find(&url(&urls[page])).unwrap(), Some(PageId(page as u32)));
        }
    }

    #[test]
    fn very_long_urls_come_back() {
        let long: Vec<String> =
            (0..600).map(|n| format!("http://a.example/{}?{n}", "long/".repeat(n))).collect();
        let kept: Vec<String> = long.into_iter().filter(|text| RULES.canonical(text).is_ok()).collect();
        let mut collection = Collection::new();
        for urls in kept.chunks(100) {
            collection.table.resolve(&batch(urls)).unwrap();
            collection.commit();
        }
        collection.reopen();
        assert_knows(collection.table.known(), &kept);
    }

    #[test]
    fn a_flipped_byte_in_any_file_is_found_and_the_file_named() {
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
        let folder = collection.folder.path();
        let read_all = || -> Result<()> {
            let reader = UrlReader::open(folder, manifest)?;
            reader.scan(PageId(0), |_, _, _| Ok(()))?;
            urls.iter().step_by(20).try_for_each(|url| reader.find(url).map(drop))
        };
        read_all().unwrap();
        assert!(manifest.files.len() >= 6);
        for file in &manifest.files {
            let path = folder.join(&file.name);
            let bytes = fs::read(&path).unwrap();
            for at in (0..bytes.len()).step_by(bytes.len() / 10 + 1).chain([bytes.len() - 1]) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 0x20;
                fs::write(&path, flipped).unwrap();
                let error = read_all().unwrap_err().to_string();
                assert!(error.contains(&file.name) && error.contains("damaged"), "byte {at}: {error}");
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
            assert_knows(&collection.reader(generation), &urls[..generation * 5]);
        }
    }
}
