//! Link log: the links of every parsed page, by page ids; the input of the link graph.
//!
//! The links of a page are logged together, as of one parse. When the page is parsed again, its new links replace the
//! old ones, also if there are none. Each commit writes one immutable file with its pages in ascending order,
//! `links/FIRST-LAST.links`. [`choose_merge`] decides when files are merged; the name of a merged file gives the
//! generations that it covers. A name is therefore never reused, and of two files with links of the same page the one of
//! later generations is valid. [`block`] defines the format.
//!
//! Anchor texts are not stored here, but in the table `links`.

mod block;
mod file;
mod link;

use std::path::{Path, PathBuf};

use model::PageId;

use crate::error::{Error, Result, corrupt};
use crate::failpoint::failpoint;
use crate::file::merge_policy::choose_merge;
use crate::manifest::{FileEntry, Manifest};
use file::{LinkFileReader, LinkFileWriter};
pub use link::Link;
pub(crate) use link::MAX_LINKS_PER_PAGE;

/// Size from which files are not merged any more: reading several large files is as fast as reading one.
const MAX_MERGE_BYTES: u64 = 512 << 20;

/// Link log, open for writing.
pub struct LinkLog {
    dir: PathBuf,
    files: Vec<LinkFile>,
    /// Pages since the last commit, with their ranges of `links`.
    pages: Vec<(PageId, std::ops::Range<usize>)>,
    links: Vec<Link>,
}

/// File of the log and the generations it covers.
#[derive(Debug, Clone)]
struct LinkFile {
    first: u64,
    last: u64,
    entry: FileEntry,
}

impl LinkLog {
    /// Opens the log at a commit; an empty manifest begins a collection.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<LinkLog> {
        let files = link_files(dir, manifest)?;
        Ok(LinkLog { dir: dir.to_owned(), files, pages: Vec::new(), links: Vec::new() })
    }

    /// Logs the current links of a page, in the order of the page.
    pub fn append(&mut self, source: PageId, links: impl IntoIterator<Item = Link>) -> Result<()> {
        let start = self.links.len();
        self.links.extend(links.into_iter().take(MAX_LINKS_PER_PAGE + 1));
        if self.links.len() - start > MAX_LINKS_PER_PAGE {
            self.links.truncate(start);
            return Err(Error::LimitExceeded { limit: "more than 2^20 links on a page" });
        }
        self.pages.push((source, start..self.links.len()));
        Ok(())
    }

    /// Number of links in memory, not yet committed.
    pub fn pending(&self) -> usize {
        self.links.len()
    }

    /// Commits all links; returns all files of the log at this commit.
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
            let merged = merge(&self.dir, &self.files[range.clone()])?;
            self.files.splice(range, [merged]);
            failpoint("merge of links: ends");
        }
        Ok(self.files.iter().map(|file| file.entry.clone()).collect())
    }

    fn write_pending(&mut self, name: &str) -> Result<FileEntry> {
        // Of a page that was parsed twice since the last commit, the links of the later parse come last.
        self.pages.sort_unstable_by_key(|(source, links)| (*source, links.start, links.end));
        let mut writer = LinkFileWriter::create(&self.dir, name)?;
        for (index, (source, links)) in self.pages.iter().enumerate() {
            if self.pages.get(index + 1).is_none_or(|(next, _)| next != source) {
                writer.push(*source, &self.links[links.clone()])?;
            }
        }
        writer.finish()
    }

    fn choose_merge(&self) -> Option<std::ops::Range<usize>> {
        // Only files after the last large one: a merged file must cover consecutive generations.
        let long = self.files.iter().rposition(|file| file.entry.length() >= MAX_MERGE_BYTES);
        let start = long.map_or(0, |index| index + 1);
        let sizes: Vec<u64> = self.files[start..].iter().map(|file| file.entry.length()).collect();
        choose_merge(&sizes).map(|range| start + range.start..start + range.end)
    }
}

/// Merges files of consecutive generations.
fn merge(dir: &Path, files: &[LinkFile]) -> Result<LinkFile> {
    let (first, last) =
        (files.first().map_or(0, |file| file.first), files.last().map_or(0, |file| file.last));
    let mut writer = LinkFileWriter::create(dir, &file_name(first, last))?;
    for_each(dir, files, |source, links| writer.push(source, links))?;
    Ok(LinkFile { first, last, entry: writer.finish()? })
}

/// Calls `visit` with every page in ascending order and its newest links; files are in order of age.
fn for_each(
    dir: &Path,
    files: &[LinkFile],
    mut visit: impl FnMut(PageId, &[Link]) -> Result<()>,
) -> Result<()> {
    let mut streams = Vec::with_capacity(files.len());
    for file in files {
        streams.push(LinkFileReader::open(dir, &file.entry)?);
    }
    while let Some(source) = streams.iter().filter_map(LinkFileReader::source).min() {
        let newest = streams.iter().rev().find(|stream| stream.source() == Some(source));
        newest.map_or(Ok(()), |stream| visit(source, stream.links()))?;
        for stream in streams.iter_mut().filter(|stream| stream.source() == Some(source)) {
            stream.advance()?;
        }
    }
    Ok(())
}

/// Link log at one commit.
#[derive(Debug)]
pub struct LinkLogReader {
    dir: PathBuf,
    files: Vec<LinkFile>,
}

impl LinkLogReader {
    /// Opens the log at a commit.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<LinkLogReader> {
        Ok(LinkLogReader { dir: dir.to_owned(), files: link_files(dir, manifest)? })
    }

    /// Calls `visit` with every parsed page, in ascending order, and its links as of the last parse, in the order of the
    /// page.
    pub fn for_each(&self, visit: impl FnMut(PageId, &[Link]) -> Result<()>) -> Result<()> {
        for_each(&self.dir, &self.files, visit)
    }

    /// Calls `visit` with the pages that were parsed after the commit of `generation`, and possibly some others.
    pub fn for_each_since(
        &self,
        generation: u64,
        visit: impl FnMut(PageId, &[Link]) -> Result<()>,
    ) -> Result<()> {
        let first = self.files.iter().position(|file| file.last > generation).unwrap_or(self.files.len());
        for_each(&self.dir, &self.files[first..], visit)
    }

    /// Reads every file. Calls `on_corrupt` for a corrupt file and continues with the next one. A link to a page id of
    /// `pages` or above is corrupt too.
    pub(crate) fn check(&self, pages: u32, mut on_corrupt: impl FnMut(Error) -> Result<()>) -> Result<()> {
        self.files.iter().try_for_each(|file| check_file(&self.dir, file, pages).or_else(&mut on_corrupt))
    }
}

fn check_file(dir: &Path, file: &LinkFile, pages: u32) -> Result<()> {
    let mut stream = LinkFileReader::open(dir, &file.entry)?;
    while let Some(source) = stream.source() {
        let largest = stream.links().iter().map(|link| link.target).max().unwrap_or(source).max(source);
        if largest.0 >= pages {
            let cause = format!("link to page {} of {pages}", largest.0);
            return Err(corrupt(&dir.join(&file.entry.name), format!("for page {}", source.0), cause));
        }
        stream.advance()?;
    }
    Ok(())
}

fn file_name(first: u64, last: u64) -> String {
    format!("links/{first:010}-{last:010}.links")
}

/// Files of a manifest in order of age.
fn link_files(dir: &Path, manifest: &Manifest) -> Result<Vec<LinkFile>> {
    let mut files = Vec::new();
    for entry in manifest.files_in("links") {
        let generations = entry.name.strip_prefix("links/").and_then(|name| name.strip_suffix(".links"));
        let (first, last) = generations
            .and_then(|name| name.split_once('-'))
            .and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)))
            .ok_or_else(|| corrupt(&dir.join(&entry.name), "", "invalid name of a link file"))?;
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

    fn read(dir: &Path, manifest: &Manifest) -> Vec<Parse> {
        let mut pages = Vec::new();
        let reader = LinkLogReader::open(dir, manifest).unwrap();
        let visit = |source: PageId, links: &[Link]| {
            pages.push((source.0, links.to_vec()));
            Ok(())
        };
        reader.for_each(visit).unwrap();
        pages
    }

    fn dir() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("links")).unwrap();
        dir
    }

    fn commit(log: &mut LinkLog, generation: u64) -> Manifest {
        let files = log.commit(generation).unwrap();
        Manifest { generation, files, ..Manifest::empty() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_commit_has_the_newest_links_of_each_page(commits in prop::collection::vec(parses(), 1..30)) {
            let dir = dir();
            let mut log = LinkLog::open(dir.path(), &Manifest::empty()).unwrap();
            let mut truth: BTreeMap<u32, Vec<Link>> = BTreeMap::new();
            let mut snapshots = Vec::new();
            for (generation, parses) in (1..).zip(&commits) {
                for (source, links) in parses {
                    log.append(PageId(*source), links.iter().copied()).unwrap();
                    truth.insert(*source, links.clone());
                }
                let manifest = commit(&mut log, generation);
                // Changes between a commit and a crash are lost.
                log.append(PageId(0), []).unwrap();
                log = LinkLog::open(dir.path(), &manifest).unwrap();
                snapshots.push((manifest, truth.clone()));
            }
            for (manifest, truth) in snapshots {
                prop_assert!(read(dir.path(), &manifest).into_iter().eq(truth));
            }
        }

        #[test]
        fn arbitrary_bytes_decode_to_a_block_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
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
        let dir = dir();
        let mut log = LinkLog::open(dir.path(), &Manifest::empty()).unwrap();
        let mut manifest = Manifest::empty();
        for generation in 1..=300u32 {
            let link = Link { target: PageId(generation), kind: 1, context: 0, anchor_chars: 9, position: 3 };
            log.append(PageId(1_000 - generation), [link; 5]).unwrap();
            manifest = commit(&mut log, u64::from(generation));
        }
        assert!(manifest.files.len() < 16, "{} files", manifest.files.len());
        let pages = read(dir.path(), &manifest);
        assert_eq!(pages.len(), 300);
        assert!(pages.iter().all(|(source, links)| links.len() == 5 && links[0].target.0 == 1_000 - source));
    }

    #[test]
    fn pages_of_several_blocks_are_read_in_order() {
        let dir = dir();
        let mut log = LinkLog::open(dir.path(), &Manifest::empty()).unwrap();
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
        let pages = read(dir.path(), &commit(&mut log, 1));
        assert!(pages.into_iter().eq((0..5_000).map(|source| (source, links(source).collect()))));
    }

    #[test]
    fn a_flipped_byte_is_detected_with_its_file() {
        let dir = dir();
        let mut log = LinkLog::open(dir.path(), &Manifest::empty()).unwrap();
        let link = Link { target: PageId(7), kind: 1, context: 2, anchor_chars: 3, position: 4 };
        log.append(PageId(5), [link; 3]).unwrap();
        let manifest = commit(&mut log, 1);
        let path = dir.path().join("links/0000000001-0000000001.links");
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 2;
            fs::write(&path, flipped).unwrap();
            let reader = LinkLogReader::open(dir.path(), &manifest).unwrap();
            let error = reader.for_each(|_, _| Ok(())).unwrap_err();
            assert!(error.to_string().contains("0000000001.links is corrupt"), "byte {at}: {error}");
        }
    }

    #[test]
    fn a_page_with_too_many_links_is_rejected_and_the_log_stays_usable() {
        let dir = dir();
        let mut log = LinkLog::open(dir.path(), &Manifest::empty()).unwrap();
        let link = Link { target: PageId(7), kind: 1, context: 2, anchor_chars: 3, position: 4 };
        assert!(log.append(PageId(1), std::iter::repeat(link)).is_err());
        log.append(PageId(2), std::iter::repeat_n(link, MAX_LINKS_PER_PAGE)).unwrap();
        let pages = read(dir.path(), &commit(&mut log, 1));
        assert_eq!((pages.len(), pages[0].1.len()), (1, MAX_LINKS_PER_PAGE));
    }
}
