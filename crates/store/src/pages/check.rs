//! Integrity check of the page store: reads all records of a commit and compares the index with them.
//!
//! Every byte of every file is covered by a checksum of the manifest. Records are also checked one by one, so that a
//! corruption is located and the affected pages are known. Each index entry must match its record.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::location::{RecordLocation, file_name};
use super::reader::{PageStoreReader, WarcFile};
use crate::error::{Context, Error, Result};
use crate::pages::index::{IndexEntry, merge};
use warc::{
    CdxjEntry, DigestCheck, GzipMembers, MIME_REVISIT, Sha1Digest, WarcRecord, WarcType, cdxj_entry_for,
};

/// Corrupt part of the page store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCorruption {
    /// File.
    pub path: PathBuf,
    /// Offset in the file, if known.
    pub offset: Option<u64>,
    /// Evidence.
    pub cause: String,
    /// URL of the page that cannot be read, if it is one.
    pub url: Option<String>,
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageStoreCheck {
    /// Number of records read.
    pub records: u64,
    /// All corruptions.
    pub corruptions: Vec<PageCorruption>,
}

impl PageStoreReader {
    /// Checks everything, and calls `on_record` with the location of each response and revisit record, in order. Corruption is
    /// part of the result; an error means that reading was not possible.
    pub fn check(&self, mut on_record: impl FnMut(RecordLocation) -> Result<()>) -> Result<PageStoreCheck> {
        let mut check = PageStoreCheck::default();
        let mut from_records: BTreeMap<u32, u64> = BTreeMap::new();
        for (id, file) in &self.files {
            let sum = from_records.entry(*id).or_default();
            check_extents(file, &mut check)?;
            check_records(*id, file, &mut check, |entry| {
                *sum = sum.wrapping_add(fingerprint(entry));
                on_record(entry.location)
            })?;
        }
        self.check_index(from_records, &mut check)?;
        Ok(check)
    }

    /// Compares the index with the records by sums of fingerprints, which need no memory per record, and adds the URLs of
    /// corrupt records.
    fn check_index(&self, mut from_records: BTreeMap<u32, u64>, check: &mut PageStoreCheck) -> Result<()> {
        let mut broken: HashMap<(PathBuf, u64), usize> = HashMap::new();
        for (index, corruption) in check.corruptions.iter().enumerate() {
            broken.extend(corruption.offset.map(|offset| ((corruption.path.clone(), offset), index)));
        }
        let pages = |entry: &IndexEntry| self.files.get(&entry.location.file).map(|file| file.path.clone());
        let corruptions = &mut check.corruptions;
        let outcome = merge(&self.index, |file, text| {
            let entry = file.decode(text)?;
            let sum = from_records.entry(entry.location.file).or_default();
            *sum = sum.wrapping_sub(fingerprint(&entry));
            if let Some(index) = pages(&entry).and_then(|path| broken.get(&(path, entry.location.offset))) {
                corruptions[*index].url = Some(entry.cdxj.url);
            }
            Ok(())
        });
        match outcome {
            Err(Error::Corrupt { path, location, cause }) => {
                corruptions.push(PageCorruption {
                    path,
                    offset: None,
                    cause: format!("{location}: {cause}"),
                    url: None,
                });
                return Ok(());
            }
            outcome => outcome?,
        }
        for (id, _) in from_records.into_iter().filter(|(_, sum)| *sum != 0) {
            let path = self.files.get(&id).map_or_else(|| file_name(id).into(), |f| f.path.clone());
            let known = corruptions.iter().any(|corruption| corruption.path == path);
            if !known {
                let cause = "the records do not match the index".to_owned();
                corruptions.push(PageCorruption { path, offset: None, cause, url: None });
            }
        }
        Ok(())
    }
}

/// Compares a file with the checksums of the manifest.
fn check_extents(file: &WarcFile, check: &mut PageStoreCheck) -> Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    for extent in &file.entry.extents {
        let (start, end) = (at, at + extent.length);
        let mut hasher = Xxh3::new();
        while at < end {
            let part = buffer.len().min((end - at) as usize);
            file.file.read_exact_at(&mut buffer[..part], at).context("read", &file.path)?;
            hasher.update(&buffer[..part]);
            at += part as u64;
        }
        if hasher.digest() != extent.checksum {
            let cause = format!(
                "bytes {start} to {end} have checksum {:016x}, expected {:016x}",
                hasher.digest(),
                extent.checksum
            );
            check.corruptions.push(PageCorruption {
                path: file.path.clone(),
                offset: None,
                cause,
                url: None,
            });
        }
    }
    Ok(())
}

/// Reads every record; continues after a corrupt one.
fn check_records(
    id: u32,
    file: &WarcFile,
    check: &mut PageStoreCheck,
    mut on_entry: impl FnMut(&IndexEntry) -> Result<()>,
) -> Result<()> {
    let mut members = GzipMembers::new(&file.file, &file.path, 0, file.entry.length());
    loop {
        match members.next() {
            None => return Ok(()),
            Some(Err(warc::Error::Corrupt { cause, .. })) => {
                check.corruptions.push(corrupt_at(&file.path, members.last_offset(), cause));
                members.skip_to_next()?;
            }
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(member)) => {
                check.records += 1;
                let location =
                    RecordLocation { file: id, offset: member.offset, length: member.length as u32 };
                match checked(member.bytes) {
                    Ok(record) => {
                        if let Some(entry) = entry_of(&record, location) {
                            on_entry(&entry)?;
                        }
                    }
                    Err(cause) => check.corruptions.push(corrupt_at(&file.path, member.offset, cause)),
                }
            }
        }
    }
}

fn corrupt_at(path: &Path, offset: u64, cause: String) -> PageCorruption {
    PageCorruption { path: path.to_owned(), offset: Some(offset), cause, url: None }
}

fn checked(bytes: Vec<u8>) -> std::result::Result<WarcRecord, String> {
    let record = WarcRecord::parse(bytes)?;
    match record.verify() {
        DigestCheck::Mismatch { cause } => Err(cause),
        DigestCheck::Valid | DigestCheck::Unchecked => Ok(record),
    }
}

/// Expected index entry of a record.
fn entry_of(record: &WarcRecord, location: RecordLocation) -> Option<IndexEntry> {
    let warc_type = record.header.warc_type();
    if !matches!(warc_type, WarcType::Response | WarcType::Revisit) {
        return None;
    }
    let digest = record.header.get("WARC-Payload-Digest").and_then(Sha1Digest::parse)?;
    let url = record.header.url().unwrap_or_default().to_owned();
    let mut cdxj = cdxj_entry_for(url, record.header.date_ms().unwrap_or_default(), record.head(), &digest);
    if warc_type == WarcType::Revisit {
        cdxj.mime = MIME_REVISIT.to_owned();
    }
    Some(IndexEntry { cdxj, location, original_location: None })
}

/// Fingerprint of an entry without the location of the original, which the record does not have.
fn fingerprint(entry: &IndexEntry) -> u64 {
    let CdxjEntry { key, timestamp, url, mime, status, digest } = &entry.cdxj;
    let RecordLocation { file, offset, length } = entry.location;
    xxh3_64(format!("{key} {timestamp} {url} {mime} {status} {digest} {file} {offset} {length}").as_bytes())
}
