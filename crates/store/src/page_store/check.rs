//! Is everything there, and as it was written? Reads all pages of a commit back.
//!
//! Every byte of every file is covered by a checksum of the manifest; what lies under a wrong one is then looked at
//! record by record, so that the answer is not only *damaged* but *where, and which pages*. The index is compared with
//! the records: each line of it must be what its record says.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::PageLocation;
use super::reader::{PageReader, WarcFile};
use crate::cdxj::{CdxjLine, REVISIT, merge};
use crate::error::{Context, Error, Result};
use crate::warc::{Digest, DigestVerdict, Members, WarcKind, WarcRecord, index_line};

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageDamage {
    /// In which file.
    pub path: PathBuf,
    /// Where, if it is known.
    pub offset: Option<u64>,
    /// The evidence.
    pub what: String,
    /// The page that cannot be read, if it is one.
    pub url: Option<String>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageCheck {
    /// Records read.
    pub records: u64,
    /// All that is wrong; empty if nothing is.
    pub damages: Vec<PageDamage>,
}

impl PageReader {
    /// Reads everything back. An error means that reading was impossible; damage is no error here.
    pub fn check(&self) -> Result<PageCheck> {
        let mut check = PageCheck::default();
        let mut from_records: BTreeMap<u32, u64> = BTreeMap::new();
        for (id, file) in &self.files {
            let sum = from_records.entry(*id).or_default();
            check_extents(file, &mut check)?;
            check_records(*id, file, &mut check, |line| *sum = sum.wrapping_add(fingerprint(line)))?;
        }
        self.check_index(from_records, &mut check)?;
        Ok(check)
    }

    /// Compares the index with the records by sums, which need no memory, and names the pages of broken records.
    fn check_index(&self, mut from_records: BTreeMap<u32, u64>, check: &mut PageCheck) -> Result<()> {
        let mut broken: HashMap<(PathBuf, u64), usize> = HashMap::new();
        for (number, damage) in check.damages.iter().enumerate() {
            broken.extend(damage.offset.map(|offset| ((damage.path.clone(), offset), number)));
        }
        let pages = |line: &CdxjLine| self.files.get(&line.location.file).map(|file| file.path.clone());
        let damages = &mut check.damages;
        let outcome = merge(&self.index, |file, text| {
            let line = file.decode(text)?;
            let sum = from_records.entry(line.location.file).or_default();
            *sum = sum.wrapping_sub(fingerprint(&line));
            if let Some(number) = pages(&line).and_then(|path| broken.get(&(path, line.location.offset))) {
                damages[*number].url = Some(line.url);
            }
            Ok(())
        });
        match outcome {
            Err(Error::Damaged { path, at, what }) => {
                damages.push(PageDamage { path, offset: None, what: format!("{at}: {what}"), url: None });
                return Ok(());
            }
            outcome => outcome?,
        }
        for (id, _) in from_records.into_iter().filter(|(_, sum)| *sum != 0) {
            let path =
                self.files.get(&id).map_or_else(|| super::location::file_name(id).into(), |f| f.path.clone());
            let known = damages.iter().any(|damage| damage.path == path);
            if !known {
                let what = "its records are not those that the index has of it".to_owned();
                damages.push(PageDamage { path, offset: None, what, url: None });
            }
        }
        Ok(())
    }
}

/// Compares a file with the checksums of the manifest.
fn check_extents(file: &WarcFile, check: &mut PageCheck) -> Result<()> {
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
            let what = format!(
                "bytes {start} to {end} have checksum {:016x}, expected {:016x}",
                hasher.digest(),
                extent.checksum
            );
            check.damages.push(PageDamage { path: file.path.clone(), offset: None, what, url: None });
        }
    }
    Ok(())
}

/// Reads every record; goes on behind a broken one.
fn check_records(
    id: u32,
    file: &WarcFile,
    check: &mut PageCheck,
    mut each_line: impl FnMut(&CdxjLine),
) -> Result<()> {
    let mut members = Members::new(&file.file, &file.path, 0, file.entry.length());
    loop {
        match members.next() {
            None => return Ok(()),
            Some(Err(Error::Damaged { what, .. })) => {
                check.damages.push(damage(&file.path, members.last_offset(), what));
                members.skip_to_next()?;
            }
            Some(Err(error)) => return Err(error),
            Some(Ok(member)) => {
                check.records += 1;
                let location = PageLocation { file: id, offset: member.offset, length: member.length as u32 };
                match checked(member.bytes) {
                    Ok(record) => {
                        if let Some(line) = line_of(&record, location) {
                            each_line(&line);
                        }
                    }
                    Err(what) => check.damages.push(damage(&file.path, member.offset, what)),
                }
            }
        }
    }
}

fn damage(path: &Path, offset: u64, what: String) -> PageDamage {
    PageDamage { path: path.to_owned(), offset: Some(offset), what, url: None }
}

fn checked(bytes: Vec<u8>) -> std::result::Result<WarcRecord, String> {
    let record = WarcRecord::parse(bytes)?;
    match record.verify() {
        DigestVerdict::Wrong { what } => Err(what),
        DigestVerdict::Right | DigestVerdict::Unchecked => Ok(record),
    }
}

/// What the index should say about a record.
fn line_of(record: &WarcRecord, location: PageLocation) -> Option<CdxjLine> {
    let kind = record.header.kind();
    if !matches!(kind, WarcKind::Response | WarcKind::Revisit) {
        return None;
    }
    let digest = record.header.get("WARC-Payload-Digest").and_then(Digest::parse)?;
    let url = record.header.url().unwrap_or_default().to_owned();
    let mut line = index_line(url, record.header.date_ms().unwrap_or_default(), record.head(), &digest);
    line.location = location;
    if kind == WarcKind::Revisit {
        line.mime = REVISIT.to_owned();
    }
    Some(line)
}

/// Of everything but the original's place, which the record does not know.
fn fingerprint(line: &CdxjLine) -> u64 {
    let CdxjLine { key, timestamp, url, mime, status, digest, location, original: _ } = line;
    let PageLocation { file, offset, length } = location;
    xxh3_64(format!("{key} {timestamp} {url} {mime} {status} {digest} {file} {offset} {length}").as_bytes())
}
