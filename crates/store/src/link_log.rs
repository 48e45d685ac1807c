//! Which page links to which? Every link of every page that was parsed, by page ids, ready for whoever builds the graph.
//!
//! A page's links are logged together, as of one parse; when the page is parsed again, its new links replace the old
//! ones, even if they are none. Each commit writes one immutable file with the pages of that commit in ascending order,
//! `links/FIRST-LAST.links`; [`crate::tiers`] decides when files are merged into one, whose name tells the generations it
//! covers. So a name is never used for anything else, and of two files with links of one page, that of the later
//! generations is right. [`block`] has the format.
//!
//! Anchor texts are not kept here: they are in the tables.

mod block;
mod file;

use std::path::{Path, PathBuf};

use model::PageId;

use crate::error::{Error, Result, damaged};
use crate::failpoint::failpoint;
use crate::manifest::{FileEntry, Manifest};
use crate::tiers::choose_merge;
use file::{LinkFileWriter, PageStream};

/// No page has more links; parsers stop long before.
pub(crate) const PAGE_LIMIT_LINKS: usize = 1 << 20;

/// Longer files are not merged any more: whoever reads everything reads several as well as one.
const MERGE_LIMIT_BYTES: u64 = 512 << 20;

/// A link from some page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// Where it leads.
    pub target: PageId,
    /// What it is (anchor, image, frame, redirect ...), as a code of the parser.
    pub kind: u8,
    /// In which elements it stands (title, heading, emphasis ...), as bits of the parser.
    pub context: u16,
    /// Length of its text in characters; 65,535 stands for that many or more.
    pub anchor_chars: u16,
    /// Where in the page it stands: 0 at the beginning, 65,535 at the end.
    pub position: u16,
}

/// The log, for the one who writes it.
pub struct LinkLog {
    folder: PathBuf,
    files: Vec<LinkFile>,
    /// The pages since the last commit, with their parts of `links`.
    pages: Vec<(PageId, std::ops::Range<usize>)>,
    links: Vec<Link>,
}

/// A file and the generations it covers.
#[derive(Debug, Clone)]
struct LinkFile {
    first: u64,
    last: u64,
    entry: FileEntry,
}

impl LinkLog {
    /// Opens the log at the commit of a manifest; an empty one begins a collection.
    pub fn open(folder: &Path, manifest: &Manifest) -> Result<LinkLog> {
        let files = link_files(folder, manifest)?;
        Ok(LinkLog { folder: folder.to_owned(), files, pages: Vec::new(), links: Vec::new() })
    }

    /// Logs the links of a page as they are now, in the order in which they stand in it.
    pub fn append(&mut self, source: PageId, links: impl IntoIterator<Item = Link>) -> Result<()> {
        let start = self.links.len();
        self.links.extend(links.into_iter().take(PAGE_LIMIT_LINKS + 1));
        if self.links.len() - start > PAGE_LIMIT_LINKS {
            self.links.truncate(start);
            return Err(Error::Full { what: "a page has more than 2^20 links" });
        }
        self.pages.push((source, start..self.links.len()));
        Ok(())
    }

    /// How many links wait in memory for a commit.
    pub fn pending(&self) -> usize {
        self.links.len()
    }

    /// Makes all links last; tells all files of the log at this commit.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        if !self.pages.is_empty() {
            let entry = self.write_pending(&file_name(generation, generation))?;
            self.files.push(LinkFile { first: generation, last: generation, entry });
            self.pages.clear();
            self.links.clear();
            failpoint("links: file written");
        }
        while let Some(range) = self.choose_merge() {
            failpoint("merge of links: begins");
            let merged = merge(&self.folder, &self.files[range.clone()])?;
            self.files.splice(range, [merged]);
            failpoint("merge of links: ends");
        }
        Ok(self.files.iter().map(|file| file.entry.clone()).collect())
    }

    fn write_pending(&mut self, name: &str) -> Result<FileEntry> {
        // Of a page that was parsed twice, the later links start later.
        self.pages.sort_unstable_by_key(|(source, links)| (*source, links.start, links.end));
        let mut writer = LinkFileWriter::create(&self.folder, name)?;
        for (index, (source, links)) in self.pages.iter().enumerate() {
            if self.pages.get(index + 1).is_none_or(|(next, _)| next != source) {
                writer.push(*source, &self.links[links.clone()])?;
            }
        }
        writer.finish()
    }

    fn choose_merge(&self) -> Option<std::ops::Range<usize>> {
        let long = self.files.iter().rposition(|file| file.entry.length() >= MERGE_LIMIT_BYTES);
        let start = long.map_or(0, |index| index + 1);
        let sizes: Vec<u64> = self.files[start..].iter().map(|file| file.entry.length()).collect();
        choose_merge(&sizes).map(|range| start + range.start..start + range.end)
    }
}

/// Writes the links of several files, whose generations follow one another, as one.
fn merge(folder: &Path, files: &[LinkFile]) -> Result<LinkFile> {
    let (first, last) =
        (files.first().map_or(0, |file| file.first), files.last().map_or(0, |file| file.last));
    let mut writer = LinkFileWriter::create(folder, &file_name(first, last))?;
    for_each(folder, files, |source, links| writer.push(source, links))?;
    Ok(LinkFile { first, last, entry: writer.finish()? })
}

/// Calls `each` with every page in ascending order and its newest links; files are in order of age.
fn for_each(
    folder: &Path,
    files: &[LinkFile],
    mut each: impl FnMut(PageId, &[Link]) -> Result<()>,
) -> Result<()> {
    let mut streams = Vec::with_capacity(files.len());
    for file in files {
        streams.push(PageStream::open(folder, &file.entry)?);
    }
    while let Some(source) = streams.iter().filter_map(PageStream::source).min() {
        let newest = streams.iter().rev().find(|stream| stream.source() == Some(source));
        newest.map_or(Ok(()), |stream| each(source, stream.links()))?;
        for stream in streams.iter_mut().filter(|stream| stream.source() == Some(source)) {
            stream.advance()?;
        }
    }
    Ok(())
}

/// The log at one commit.
#[derive(Debug)]
pub struct LinkLogReader {
    folder: PathBuf,
    files: Vec<LinkFile>,
}

impl LinkLogReader {
    /// Opens the log at the commit of a manifest.
    pub fn open(folder: &Path, manifest: &Manifest) -> Result<LinkLogReader> {
        Ok(LinkLogReader { folder: folder.to_owned(), files: link_files(folder, manifest)? })
    }

    /// Calls `each` with every page that was parsed, in ascending order, and its links as of its last parse, in the order
    /// in which they stand in it.
    pub fn for_each(&self, each: impl FnMut(PageId, &[Link]) -> Result<()>) -> Result<()> {
        for_each(&self.folder, &self.files, each)
    }

    /// The same for pages that were parsed after the commit of that generation; some that were not may be among them.
    pub fn for_each_since(
        &self,
        generation: u64,
        each: impl FnMut(PageId, &[Link]) -> Result<()>,
    ) -> Result<()> {
        let first = self.files.iter().position(|file| file.last > generation).unwrap_or(self.files.len());
        for_each(&self.folder, &self.files[first..], each)
    }

    /// Reads every file. Calls `each` with the damage of a file, and goes on with the next one; that a link leads to none
    /// of so many pages is damage, too.
    pub(crate) fn check(&self, pages: u32, mut each: impl FnMut(Error) -> Result<()>) -> Result<()> {
        self.files.iter().try_for_each(|file| check_file(&self.folder, file, pages).or_else(&mut each))
    }
}

fn check_file(folder: &Path, file: &LinkFile, pages: u32) -> Result<()> {
    let mut stream = PageStream::open(folder, &file.entry)?;
    while let Some(source) = stream.source() {
        let largest = stream.links().iter().map(|link| link.target).max().unwrap_or(source).max(source);
        if largest.0 >= pages {
            let what = format!("it names page {}, and there are {pages}", largest.0);
            return Err(damaged(&folder.join(&file.entry.name), format!("for page {}", source.0), what));
        }
        stream.advance()?;
    }
    Ok(())
}

fn file_name(first: u64, last: u64) -> String {
    format!("links/{first:010}-{last:010}.links")
}

/// The files of a manifest in order of age.
fn link_files(folder: &Path, manifest: &Manifest) -> Result<Vec<LinkFile>> {
    let mut files = Vec::new();
    for entry in manifest.files_in("links") {
        let generations = entry.name.strip_prefix("links/").and_then(|name| name.strip_suffix(".links"));
        let (first, last) = generations
            .and_then(|name| name.split_once('-'))
            .and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)))
            .ok_or_else(|| damaged(&folder.join(&entry.name), "in its name", "it is no file of links"))?;
        files.push(LinkFile { first, last, entry: entry.clone() });
    }
    files.sort_unstable_by_key(|file| file.first);
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::fs;

    fn link() -> impl Strategy<Value = Link> {
        let number = prop_oneof![any::<u16>(), 0u16..100];
        let target = prop_oneof![any::<u32>(), 0u32..1000];
        (target, any::<u8>(), number.clone(), number.clone(), number).prop_map(
            |(target, kind, context, anchor_chars, position)| Link {
                target: PageId(target),
                kind,
                context,
                anchor_chars,
                position,
            },
        )
    }

    type Parse = (u32, Vec<Link>);

    fn parses() -> impl Strategy<Value = Vec<Parse>> {
        let source = prop_oneof![0u32..60, any::<u32>()];
        prop::collection::vec((source, prop::collection::vec(link(), 0..6)), 0..20)
    }

    fn read(folder: &Path, manifest: &Manifest) -> Vec<Parse> {
        let mut pages = Vec::new();
        let reader = LinkLogReader::open(folder, manifest).unwrap();
        let each = |source: PageId, links: &[Link]| {
            pages.push((source.0, links.to_vec()));
            Ok(())
        };
        reader.for_each(each).unwrap();
        pages
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("links")).unwrap();
        folder
    }

    fn commit(log: &mut LinkLog, generation: u64) -> Manifest {
        let files = log.commit(generation).unwrap();
        Manifest { generation, files, ..Manifest::empty() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_commit_has_the_newest_links_of_each_page(commits in prop::collection::vec(parses(), 1..30)) {
            let folder = folder();
            let mut log = LinkLog::open(folder.path(), &Manifest::empty()).unwrap();
            let mut truth: BTreeMap<u32, Vec<Link>> = BTreeMap::new();
            let mut snapshots = Vec::new();
            for (generation, parses) in (1..).zip(&commits) {
                for (source, links) in parses {
                    log.append(PageId(*source), links.iter().copied()).unwrap();
                    truth.insert(*source, links.clone());
                }
                let manifest = commit(&mut log, generation);
                // What comes after a commit and before a crash is lost.
                log.append(PageId(0), []).unwrap();
                log = LinkLog::open(folder.path(), &manifest).unwrap();
                snapshots.push((manifest, truth.clone()));
            }
            for (manifest, truth) in snapshots {
                prop_assert!(read(folder.path(), &manifest).into_iter().eq(truth));
            }
        }

        #[test]
        fn any_bytes_are_a_block_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut payload = vec![1];
            payload.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            payload.extend_from_slice(&zstd::bulk::compress(&bytes, 1).unwrap());
            let mut block = block::Block::default();
            if block.decode(&payload).is_ok() {
                let mut again = block::Block::default();
                again.decode(&block.encode().unwrap()).unwrap();
                prop_assert_eq!(again.source(0), block.source(0));
                prop_assert_eq!(again.links(0), block.links(0));
            }
        }
    }

    #[test]
    fn many_commits_make_few_files() {
        let folder = folder();
        let mut log = LinkLog::open(folder.path(), &Manifest::empty()).unwrap();
        let mut manifest = Manifest::empty();
        for generation in 1..=300u32 {
            let link = Link { target: PageId(generation), kind: 1, context: 0, anchor_chars: 9, position: 3 };
            log.append(PageId(1_000 - generation), [link; 5]).unwrap();
            manifest = commit(&mut log, u64::from(generation));
        }
        assert!(manifest.files.len() < 16, "{} files", manifest.files.len());
        let pages = read(folder.path(), &manifest);
        assert_eq!(pages.len(), 300);
        assert!(pages.iter().all(|(source, links)| links.len() == 5 && links[0].target.0 == 1_000 - source));
    }

    #[test]
    fn blocks_follow_one_another() {
        let folder = folder();
        let mut log = LinkLog::open(folder.path(), &Manifest::empty()).unwrap();
        let links = |source: u32| {
            (0..source % 100).map(move |number| Link {
                target: PageId(source ^ number << 3),
                kind: number as u8,
                context: 0,
                anchor_chars: 12,
                position: number as u16 * 600,
            })
        };
        (0..5_000).for_each(|source| log.append(PageId(source), links(source)).unwrap());
        assert_eq!(log.pending(), 5_000 / 100 * 4_950);
        let pages = read(folder.path(), &commit(&mut log, 1));
        assert!(pages.into_iter().eq((0..5_000).map(|source| (source, links(source).collect()))));
    }

    #[test]
    fn a_flipped_byte_is_found_and_its_file_named() {
        let folder = folder();
        let mut log = LinkLog::open(folder.path(), &Manifest::empty()).unwrap();
        let link = Link { target: PageId(7), kind: 1, context: 2, anchor_chars: 3, position: 4 };
        log.append(PageId(5), [link; 3]).unwrap();
        let manifest = commit(&mut log, 1);
        let path = folder.path().join("links/0000000001-0000000001.links");
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 2;
            fs::write(&path, flipped).unwrap();
            let reader = LinkLogReader::open(folder.path(), &manifest).unwrap();
            let error = reader.for_each(|_, _| Ok(())).unwrap_err();
            assert!(error.to_string().contains("0000000001.links is damaged"), "byte {at}: {error}");
        }
    }

    #[test]
    fn a_page_with_too_many_links_is_refused_and_the_log_goes_on() {
        let folder = folder();
        let mut log = LinkLog::open(folder.path(), &Manifest::empty()).unwrap();
        let link = Link { target: PageId(7), kind: 1, context: 2, anchor_chars: 3, position: 4 };
        assert!(log.append(PageId(1), std::iter::repeat(link)).is_err());
        log.append(PageId(2), std::iter::repeat_n(link, PAGE_LIMIT_LINKS)).unwrap();
        let pages = read(folder.path(), &commit(&mut log, 1));
        assert_eq!((pages.len(), pages[0].1.len()), (1, PAGE_LIMIT_LINKS));
    }
}
