//! What does a stored page look like, at a commit, by its place or by its URL and a time?

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::location::file_name;
use super::{PageLocation, parse_record, warc_files};
use crate::cdxj::{CdxjFile, CdxjLine, cdx_key, parts_of};
use crate::error::{Context, Result, damaged};
use crate::growing::open_committed;
use crate::manifest::{FileEntry, Manifest};
use crate::warc::{
    DigestVerdict, Members, Truncated, WarcKind, WarcRecord, gunzip, header_value, parse_date, status,
    timestamp,
};

/// Reads the pages of one commit; what a writer does meanwhile is not seen. Every file is open from the start, so that
/// it can be read even if it is deleted.
#[derive(Debug)]
pub struct PageReader {
    folder: PathBuf,
    pub(super) files: BTreeMap<u32, WarcFile>,
    pub(super) index: Vec<CdxjFile>,
}

/// A file with pages, up to a commit.
#[derive(Debug)]
pub(super) struct WarcFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) entry: FileEntry,
}

impl WarcFile {
    /// Replaces the content of `out` by the compressed bytes of a record.
    pub(super) fn read_raw(&self, location: &PageLocation, out: &mut Vec<u8>) -> Result<()> {
        out.resize(location.length as usize, 0);
        self.file.read_exact_at(out, location.offset).context("read", &self.path)
    }
}

/// How much is checked. The gzip checksum always is, and the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// No more than that.
    Checksum,
    /// The SHA-1 digests too.
    Digests,
}

/// A page as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPage {
    record: WarcRecord,
    /// If the record itself has no body.
    original: Option<WarcRecord>,
}

/// A version of a page, as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageVersion {
    /// When it was fetched, in Unix milliseconds, to the second.
    pub fetched_at_ms: i64,
    /// Where its record is.
    pub location: PageLocation,
    /// The HTTP status; none if there was none.
    pub status: Option<u16>,
    /// SHA-1 of the body, in base 32.
    pub digest: String,
    /// Whether the body is that of another record.
    pub revisit: bool,
}

impl PageReader {
    /// Opens the pages of a commit.
    pub fn open(folder: &Path, manifest: &Manifest) -> Result<PageReader> {
        let mut files = BTreeMap::new();
        for (id, entry) in warc_files(manifest) {
            let (path, file) = open_committed(folder, &entry)?;
            files.insert(id, WarcFile { path, file, entry });
        }
        let parts = parts_of(folder, manifest)?;
        let index = parts.iter().map(|part| CdxjFile::open(folder, part)).collect::<Result<Vec<_>>>()?;
        Ok(PageReader { folder: folder.to_owned(), files, index })
    }

    /// The page at a place, by one read; by a few more if its body is that of another record.
    pub fn read(&self, location: &PageLocation, verify: Verify) -> Result<StoredPage> {
        let record = self.read_record(location, verify)?;
        self.complete(record, location, verify)
    }

    /// The page of a record that was read: with the record that has its body, if it has none itself.
    fn complete(&self, record: WarcRecord, location: &PageLocation, verify: Verify) -> Result<StoredPage> {
        let original = match record.header.kind() {
            WarcKind::Revisit => Some(self.read_original(&record, location, verify)?),
            _ => None,
        };
        Ok(StoredPage { record, original })
    }

    /// The page whose record's gzip member is this.
    pub(crate) fn page_of_member(&self, member: &[u8], location: &PageLocation) -> Result<StoredPage> {
        let path = &self.file(location)?.path;
        let record = parse_record(gunzip(member, path, location.offset)?, path, location.offset)?;
        self.complete(record, location, Verify::Checksum)
    }

    /// Replaces the content of `out` by a piece of a file that a commit has as a whole.
    pub(crate) fn read_piece(&self, from: &PageLocation, length: usize, out: &mut Vec<u8>) -> Result<()> {
        let file = self.file(from)?;
        if from.offset.saturating_add(length as u64) > file.entry.length() {
            return Err(damaged(&file.path, at(from), "the record lies beyond the end of the file"));
        }
        out.resize(length, 0);
        file.file.read_exact_at(out, from.offset).context("read", &file.path)
    }

    /// The record at a place, without its original.
    pub fn read_record(&self, location: &PageLocation, verify: Verify) -> Result<WarcRecord> {
        let file = self.file(location)?;
        if location.offset + u64::from(location.length) > file.entry.length() {
            return Err(damaged(&file.path, at(location), "the record lies beyond the end of the file"));
        }
        let record = read_record(&file.file, &file.path, location)?;
        match verify {
            Verify::Digests => check_digests(&record, &file.path, location).map(|()| record),
            Verify::Checksum => Ok(record),
        }
    }

    /// The stored versions of a URL, oldest first.
    pub fn versions(&self, url: &str) -> Result<Vec<PageVersion>> {
        let lines = self.lines_of(url)?;
        Ok(lines.iter().map(PageVersion::of).collect())
    }

    /// The version of a URL that is nearest to a time.
    pub fn nearest(&self, url: &str, unix_ms: i64) -> Result<Option<PageVersion>> {
        let versions = self.versions(url)?;
        Ok(versions.into_iter().min_by_key(|version| version.fetched_at_ms.abs_diff(unix_ms)))
    }

    /// All records in crawl order, with their places.
    pub fn records(&self) -> impl Iterator<Item = Result<(PageLocation, WarcRecord)>> + '_ {
        self.files.iter().flat_map(|(id, file)| {
            Members::new(&file.file, &file.path, 0, file.entry.length()).map(|member| {
                let member = member?;
                let location =
                    PageLocation { file: *id, offset: member.offset, length: member.length as u32 };
                Ok((location, parse_record(member.bytes, &file.path, member.offset)?))
            })
        })
    }

    fn lines_of(&self, url: &str) -> Result<Vec<CdxjLine>> {
        lines_of(&self.index, url)
    }

    fn read_original(
        &self,
        revisit: &WarcRecord,
        at_place: &PageLocation,
        verify: Verify,
    ) -> Result<WarcRecord> {
        let path = &self.file(at_place)?.path;
        let location = original_of(&self.index, revisit)?;
        let missing = || damaged(path, at(at_place), "the record whose body it has is not there");
        let original = self.read_record(&location.ok_or_else(missing)?, verify)?;
        let same = |name| original.header.get(name) == revisit.header.get(name);
        if original.header.kind() == WarcKind::Revisit || !same("WARC-Payload-Digest") {
            return Err(missing());
        }
        Ok(original)
    }

    pub(super) fn file(&self, location: &PageLocation) -> Result<&WarcFile> {
        self.files.get(&location.file).ok_or_else(|| {
            let path = self.folder.join("pages").join(file_name(location.file));
            damaged(&path, at(location), "the commit has no such file")
        })
    }
}

impl StoredPage {
    /// The record, with all its fields.
    pub fn record(&self) -> &WarcRecord {
        &self.record
    }

    /// What was asked for.
    pub fn url(&self) -> &str {
        self.record.header.url().unwrap_or_default()
    }

    /// When, in Unix milliseconds.
    pub fn fetched_at_ms(&self) -> i64 {
        self.record.header.date_ms().unwrap_or_default()
    }

    /// Status line and header lines, with the empty line; those of the original where a server only said that nothing has
    /// changed.
    pub fn head(&self) -> &[u8] {
        match (self.record.head(), &self.original) {
            (b"", Some(original)) => original.head(),
            (head, _) => head,
        }
    }

    /// The HTTP status; none if there was none.
    pub fn status(&self) -> Option<u16> {
        status(self.head()).and_then(|status| status.parse().ok())
    }

    /// The value of a header line, if there is one of this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        header_value(self.head(), name)
    }

    /// The type that the server declared, without its parameters; nothing if it declared none.
    pub fn mime_type(&self) -> &str {
        let value = self.header("Content-Type").and_then(|value| std::str::from_utf8(value).ok());
        value.and_then(|value| value.split([';', ',']).next()).unwrap_or_default().trim()
    }

    /// The body without chunks; its content encoding remains.
    pub fn body(&self) -> Cow<'_, [u8]> {
        self.original.as_ref().unwrap_or(&self.record).body()
    }

    /// Why the body is not complete, where it is not.
    pub fn truncated(&self) -> Option<Truncated> {
        self.record.truncated()
    }
}

impl PageVersion {
    fn of(line: &CdxjLine) -> PageVersion {
        PageVersion {
            fetched_at_ms: parse_date(&line.timestamp).unwrap_or_default(),
            location: line.location,
            status: line.status.parse().ok(),
            digest: line.digest.clone(),
            revisit: line.is_revisit(),
        }
    }
}

/// The record at a place of a file, by one read.
pub(super) fn read_record(file: &File, path: &Path, location: &PageLocation) -> Result<WarcRecord> {
    let mut member = vec![0; location.length as usize];
    file.read_exact_at(&mut member, location.offset).context("read", path)?;
    parse_record(gunzip(&member, path, location.offset)?, path, location.offset)
}

/// Where the record is that a revisit record refers to: that of the same payload, stored under the URL and at the time
/// that it names.
pub(super) fn original_of(index: &[CdxjFile], revisit: &WarcRecord) -> Result<Option<PageLocation>> {
    let field = |name| revisit.header.get(name).unwrap_or_default();
    let digest = field("WARC-Payload-Digest").trim_start_matches("sha1:");
    let date = parse_date(field("WARC-Refers-To-Date")).map(timestamp);
    let lines = lines_of(index, field("WARC-Refers-To-Target-URI"))?;
    let mut same = lines.into_iter().filter(|line| !line.is_revisit() && line.digest == digest);
    Ok(same.find(|line| Some(&line.timestamp) == date.as_ref()).map(|line| line.location))
}

/// The lines of a URL, oldest first.
fn lines_of(index: &[CdxjFile], url: &str) -> Result<Vec<CdxjLine>> {
    let key = cdx_key(url);
    let mut lines = Vec::new();
    for file in index {
        file.find(&key, &mut lines)?;
    }
    lines.retain(|line| line.url == url);
    lines.sort_by(|a, b| (&a.timestamp, a.location).cmp(&(&b.timestamp, b.location)));
    Ok(lines)
}

pub(super) fn check_digests(record: &WarcRecord, path: &Path, location: &PageLocation) -> Result<()> {
    match record.verify() {
        DigestVerdict::Wrong { what } => Err(damaged(path, at(location), what)),
        DigestVerdict::Right | DigestVerdict::Unchecked => Ok(()),
    }
}

fn at(location: &PageLocation) -> String {
    format!("at byte {}", location.offset)
}
