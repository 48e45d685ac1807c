//! Read access to the stored pages of a commit, by location or by URL and time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::Truncation;

use super::location::{RecordLocation, file_name, warc_files};
use crate::disk::File;
use crate::error::{Context, Result, corrupt};
use crate::file::append_file::open_committed;
use crate::manifest::{FileEntry, Manifest};
use crate::pages::index::{CdxjFileReader, IndexEntry, merge, parts_of};
use warc::{
    DigestCheck, GzipMembers, WarcRecord, WarcType, cdx_timestamp, cdxj_key, gunzip, header_value,
    parse_date, status,
};

/// Reader of the pages of one commit. All files are opened at the start, so that they can be read even after they are
/// deleted.
#[derive(Debug)]
pub struct PageStoreReader {
    dir: PathBuf,
    pub(super) files: BTreeMap<u32, WarcFile>,
    pub(super) index: Vec<CdxjFileReader>,
}

/// WARC file up to its length at a commit.
#[derive(Debug)]
pub(super) struct WarcFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) entry: FileEntry,
}

impl WarcFile {
    /// Replaces the content of `out` by the gzip member of a record.
    pub(super) fn read_raw(&self, location: &RecordLocation, out: &mut Vec<u8>) -> Result<()> {
        out.resize(location.length as usize, 0);
        self.file.read_exact_at(out, location.offset).context("read", &self.path)
    }
}

/// Level of verification on reading. The gzip checksum and length are always verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyLevel {
    /// Only the gzip checksum.
    Checksum,
    /// Also the SHA-1 digests.
    Digests,
}

/// Stored page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPage {
    record: WarcRecord,
    /// Record with the payload, if the record itself has none.
    original: Option<WarcRecord>,
}

/// Version of a page in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageVersion {
    /// Time of the response in Unix milliseconds, to the second.
    pub fetched_at_ms: i64,
    /// Location of the record.
    pub location: RecordLocation,
    /// HTTP status; `None` if there is none.
    pub status: Option<u16>,
    /// SHA-1 of the body, in base 32.
    pub digest: String,
    /// Whether the payload is in another record.
    pub is_revisit: bool,
}

impl PageStoreReader {
    /// Opens the pages of a commit.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<PageStoreReader> {
        let mut files = BTreeMap::new();
        for (id, entry) in warc_files(manifest) {
            let (path, file) = open_committed(dir, &entry)?;
            files.insert(id, WarcFile { path, file, entry });
        }
        let parts = parts_of(dir, manifest)?;
        let index = parts.iter().map(|part| CdxjFileReader::open(dir, part)).collect::<Result<Vec<_>>>()?;
        Ok(PageStoreReader { dir: dir.to_owned(), files, index })
    }

    /// Reads the page at a location, with one disk read, or a few more if its payload is in another record.
    pub fn read(&self, location: &RecordLocation, verify: VerifyLevel) -> Result<StoredPage> {
        let record = self.read_record(location, verify)?;
        self.complete(record, location, verify)
    }

    /// Completes a page by the record with its payload, if it has none itself.
    fn complete(
        &self,
        record: WarcRecord,
        location: &RecordLocation,
        verify: VerifyLevel,
    ) -> Result<StoredPage> {
        let original = match record.header.warc_type() {
            WarcType::Revisit => Some(self.read_original(&record, location, verify)?),
            _ => None,
        };
        Ok(StoredPage { record, original })
    }

    /// Decodes a page from the gzip member of its record.
    pub(crate) fn page_of_member(&self, member: &[u8], location: &RecordLocation) -> Result<StoredPage> {
        let path = &self.file(location)?.path;
        let record = parse_record(gunzip(member, path, location.offset)?, path, location.offset)?;
        self.complete(record, location, VerifyLevel::Checksum)
    }

    /// Replaces the content of `out` by `length` bytes of a file.
    pub(crate) fn read_chunk(&self, start: &RecordLocation, length: usize, out: &mut Vec<u8>) -> Result<()> {
        let file = self.file(start)?;
        if start.offset.saturating_add(length as u64) > file.entry.length() {
            return Err(corrupt(&file.path, at(start), "the record is beyond the end of the file"));
        }
        out.resize(length, 0);
        file.file.read_exact_at(out, start.offset).context("read", &file.path)
    }

    /// Reads the record at a location, without its original.
    pub fn read_record(&self, location: &RecordLocation, verify: VerifyLevel) -> Result<WarcRecord> {
        let file = self.file(location)?;
        if location.offset + u64::from(location.length) > file.entry.length() {
            return Err(corrupt(&file.path, at(location), "the record is beyond the end of the file"));
        }
        let record = read_record(&file.file, &file.path, location)?;
        match verify {
            VerifyLevel::Digests => check_digests(&record, &file.path, location).map(|()| record),
            VerifyLevel::Checksum => Ok(record),
        }
    }

    /// Lists the stored versions of a URL, oldest first.
    pub fn versions(&self, url: &str) -> Result<Vec<PageVersion>> {
        let entries = self.entries_of(url)?;
        Ok(entries.iter().map(PageVersion::from_entry).collect())
    }

    /// Finds the version of a URL nearest to a time.
    pub fn nearest(&self, url: &str, unix_ms: i64) -> Result<Option<PageVersion>> {
        let versions = self.versions(url)?;
        Ok(versions.into_iter().min_by_key(|version| version.fetched_at_ms.abs_diff(unix_ms)))
    }

    /// Iterates over all records in crawl order, with their locations.
    pub fn records(&self) -> impl Iterator<Item = Result<(RecordLocation, WarcRecord)>> + '_ {
        self.files.iter().flat_map(|(id, file)| {
            GzipMembers::new(&file.file, &file.path, 0, file.entry.length()).map(|member| {
                let member = member?;
                let location =
                    RecordLocation { file: *id, offset: member.offset, length: member.length as u32 };
                Ok((location, parse_record(member.bytes, &file.path, member.offset)?))
            })
        })
    }

    /// Calls `visit` with the payload digest, in base 32, and the location of every record that has a payload.
    pub fn for_each_payload(&self, mut visit: impl FnMut(&str, RecordLocation)) -> Result<()> {
        merge(&self.index, |file, text| {
            let entry = file.decode(text)?;
            if !entry.cdxj.is_revisit() {
                visit(&entry.cdxj.digest, entry.location);
            }
            Ok(())
        })
    }

    fn entries_of(&self, url: &str) -> Result<Vec<IndexEntry>> {
        entries_of(&self.index, url)
    }

    fn read_original(
        &self,
        revisit: &WarcRecord,
        revisit_location: &RecordLocation,
        verify: VerifyLevel,
    ) -> Result<WarcRecord> {
        let path = &self.file(revisit_location)?.path;
        let location = original_of(&self.index, revisit)?;
        let missing = || corrupt(path, at(revisit_location), "the record with its payload is missing");
        let original = self.read_record(&location.ok_or_else(missing)?, verify)?;
        let same = |name| original.header.get(name) == revisit.header.get(name);
        if original.header.warc_type() == WarcType::Revisit || !same("WARC-Payload-Digest") {
            return Err(missing());
        }
        Ok(original)
    }

    /// Whether the WARC file of a location is part of the commit.
    pub(crate) fn has_file(&self, location: &RecordLocation) -> bool {
        self.files.contains_key(&location.file)
    }

    pub(super) fn file(&self, location: &RecordLocation) -> Result<&WarcFile> {
        self.files.get(&location.file).ok_or_else(|| {
            let path = self.dir.join("pages").join(file_name(location.file));
            corrupt(&path, at(location), "the file is not part of the commit")
        })
    }
}

impl StoredPage {
    /// Record with its header.
    pub fn record(&self) -> &WarcRecord {
        &self.record
    }

    /// URL of the page.
    pub fn url(&self) -> &str {
        self.record.header.url().unwrap_or_default()
    }

    /// Time of the response in Unix milliseconds.
    pub fn fetched_at_ms(&self) -> i64 {
        self.record.header.date_ms().unwrap_or_default()
    }

    /// Status line and header fields with the empty line; for a 304 response those of the original.
    pub fn head(&self) -> &[u8] {
        match (self.record.head(), &self.original) {
            (b"", Some(original)) => original.head(),
            (head, _) => head,
        }
    }

    /// HTTP status; `None` if there is none.
    pub fn status(&self) -> Option<u16> {
        status(self.head()).and_then(|status| status.parse().ok())
    }

    /// Value of the first header field of this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        header_value(self.head(), name)
    }

    /// MIME type that the server declared, without parameters; empty if it declared none.
    pub fn mime_type(&self) -> &str {
        let value = self.header("Content-Type").and_then(|value| std::str::from_utf8(value).ok());
        value.and_then(|value| value.split([';', ',']).next()).unwrap_or_default().trim()
    }

    /// Body without transfer coding, with its content encoding.
    pub fn body(&self) -> Cow<'_, [u8]> {
        self.original.as_ref().unwrap_or(&self.record).body()
    }

    /// Reason why the body is incomplete.
    pub fn truncated(&self) -> Option<Truncation> {
        self.record.truncated()
    }
}

impl PageVersion {
    fn from_entry(entry: &IndexEntry) -> PageVersion {
        PageVersion {
            fetched_at_ms: parse_date(&entry.cdxj.timestamp).unwrap_or_default(),
            location: entry.location,
            status: entry.cdxj.status.parse().ok(),
            digest: entry.cdxj.digest.clone(),
            is_revisit: entry.cdxj.is_revisit(),
        }
    }
}

/// Reads the record at a location of a file, with one disk read.
pub(super) fn read_record(file: &File, path: &Path, location: &RecordLocation) -> Result<WarcRecord> {
    let mut member = vec![0; location.length as usize];
    file.read_exact_at(&mut member, location.offset).context("read", path)?;
    parse_record(gunzip(&member, path, location.offset)?, path, location.offset)
}

/// Finds the record that a revisit record refers to, by payload digest, URL and time.
pub(super) fn original_of(index: &[CdxjFileReader], revisit: &WarcRecord) -> Result<Option<RecordLocation>> {
    let field = |name| revisit.header.get(name).unwrap_or_default();
    let digest = field("WARC-Payload-Digest").trim_start_matches("sha1:");
    let date = parse_date(field("WARC-Refers-To-Date")).map(cdx_timestamp);
    let entries = entries_of(index, field("WARC-Refers-To-Target-URI"))?;
    let mut same =
        entries.into_iter().filter(|entry| !entry.cdxj.is_revisit() && entry.cdxj.digest == digest);
    Ok(same.find(|entry| Some(&entry.cdxj.timestamp) == date.as_ref()).map(|entry| entry.location))
}

/// Index entries of a URL, oldest first.
fn entries_of(index: &[CdxjFileReader], url: &str) -> Result<Vec<IndexEntry>> {
    let key = cdxj_key(url);
    let mut entries = Vec::new();
    for file in index {
        file.find(&key, &mut entries)?;
    }
    entries.retain(|entry| entry.cdxj.url == url);
    entries.sort_by(|a, b| (&a.cdxj.timestamp, a.location).cmp(&(&b.cdxj.timestamp, b.location)));
    Ok(entries)
}

pub(super) fn check_digests(record: &WarcRecord, path: &Path, location: &RecordLocation) -> Result<()> {
    match record.verify() {
        DigestCheck::Mismatch { cause } => Err(corrupt(path, at(location), cause)),
        DigestCheck::Valid | DigestCheck::Unchecked => Ok(()),
    }
}

/// Parses a record; the file and the offset are for the error message.
pub(super) fn parse_record(bytes: Vec<u8>, path: &Path, offset: u64) -> Result<WarcRecord> {
    WarcRecord::parse(bytes).map_err(|cause| corrupt(path, format!("at byte {offset}"), cause))
}

fn at(location: &RecordLocation) -> String {
    format!("at byte {}", location.offset)
}
