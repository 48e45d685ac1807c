//! WACZ packages: ZIP files with WARC files below `archive/`.
//!
//! Only the list of entries is read at first; each WARC file is then read in place. Entries are stored or deflated.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;

use crate::error::{Error, io_error};
use crate::reader::WarcReader;

/// Maximum size of the end record with its comment.
const MAX_END_BYTES: u64 = (1 << 16) + 22 + 20;
/// Maximum size of the list of entries.
const MAX_DIRECTORY_BYTES: u64 = 64 << 20;

const END_RECORD: [u8; 4] = *b"PK\x05\x06";
const ZIP64_LOCATOR: [u8; 4] = *b"PK\x06\x07";
const DIRECTORY_ENTRY: [u8; 4] = *b"PK\x01\x02";
/// Signature of the first entry: the start of a ZIP file.
const LOCAL_HEADER: [u8; 4] = *b"PK\x03\x04";

/// WARC file in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagedWarc {
    package: PathBuf,
    /// Name in the package: `archive/data.warc.gz`.
    pub name: String,
    is_deflated: bool,
    header_offset: u64,
    stored_bytes: u64,
}

impl PackagedWarc {
    /// Opens the WARC file.
    pub fn open(&self) -> Result<WarcReader, Error> {
        let path = self.package.join(&self.name);
        let failed = |error| io_error("read", &path, error);
        let mut file = File::open(&self.package).map_err(failed)?;
        file.seek(SeekFrom::Start(self.header_offset)).map_err(failed)?;
        let mut header = [0; 30];
        file.read_exact(&mut header).map_err(failed)?;
        if header[..4] != LOCAL_HEADER {
            return Err(failed(io::Error::other("the ZIP entry has no header")));
        }
        let before = u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));
        let start = self.header_offset.saturating_add(30 + before);
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let content = file.take(self.stored_bytes);
        match self.is_deflated {
            true => WarcReader::from_reader(&path, Box::new(DeflateDecoder::new(content))),
            false => WarcReader::from_reader(&path, Box::new(content)),
        }
    }
}

/// Lists the WARC files of a package; `None` if the file is not a ZIP file.
pub fn list_package(path: &Path) -> Result<Option<Vec<PackagedWarc>>, Error> {
    let failed = |error| io_error("read", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut start = Vec::new();
    file.by_ref().take(4).read_to_end(&mut start).map_err(failed)?;
    if start != LOCAL_HEADER {
        return Ok(None);
    }
    let directory = read_directory(&mut file).map_err(failed)?;
    Ok(Some(entries(path, &directory)))
}

/// Reads the list of entries.
fn read_directory(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail_start = length.saturating_sub(MAX_END_BYTES);
    let tail = read_range(file, tail_start, length - tail_start)?;
    let at = tail.windows(4).rposition(|part| part == END_RECORD).filter(|at| tail.len() - at >= 22);
    let at = at.ok_or_else(|| io::Error::other("the ZIP file has no list of its entries"))?;
    let (mut size, mut offset) = (u64::from(u32_at(&tail, at + 12)), u64::from(u32_at(&tail, at + 16)));
    if let Some(locator) = at.checked_sub(20).filter(|locator| tail[*locator..].starts_with(&ZIP64_LOCATOR)) {
        let record = read_range(file, u64_at(&tail, locator + 8), 56)?;
        (size, offset) = (u64_at(&record, 40), u64_at(&record, 48));
    }
    if size > MAX_DIRECTORY_BYTES {
        return Err(io::Error::other(format!(
            "the ZIP file has a list of {size} bytes; the maximum is {MAX_DIRECTORY_BYTES}"
        )));
    }
    read_range(file, offset, size)
}

fn read_range(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

/// WARC files in a list of entries; a damaged rest is ignored.
fn entries(package: &Path, directory: &[u8]) -> Vec<PackagedWarc> {
    let mut found = Vec::new();
    let mut rest = directory;
    while rest.len() >= 46 && rest[..4] == DIRECTORY_ENTRY {
        let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(rest, at)));
        let Some(text) = rest.get(46..46 + name + extra + comment) else { break };
        let (method, mut stored, mut offset) =
            (u16_at(rest, 10), u64::from(u32_at(rest, 20)), u64::from(u32_at(rest, 42)));
        // Sizes are in the order: original, stored, offset; only those that do not fit into 32 bits are there.
        let mut large = zip64_field(&text[name..name + extra]);
        let original = u32_at(rest, 24);
        for (is_large, value) in [
            (original == u32::MAX, &mut 0),
            (stored == u64::from(u32::MAX), &mut stored),
            (offset == u64::from(u32::MAX), &mut offset),
        ] {
            if is_large && large.len() >= 8 {
                *value = u64_at(large, 0);
                large = &large[8..];
            }
        }
        let name = String::from_utf8_lossy(&text[..name]).into_owned();
        let is_warc =
            [".warc", ".warc.gz", ".arc", ".arc.gz", ".warc.zst"].iter().any(|end| name.ends_with(end));
        if name.starts_with("archive/") && is_warc && matches!(method, 0 | 8) {
            let package = package.to_owned();
            found.push(PackagedWarc {
                package,
                name,
                is_deflated: method == 8,
                header_offset: offset,
                stored_bytes: stored,
            });
        }
        rest = &rest[46 + text.len()..];
    }
    found
}

/// Content of the ZIP64 field in the extra fields of an entry; empty if there is none.
fn zip64_field(mut extra: &[u8]) -> &[u8] {
    while extra.len() >= 4 {
        let (id, length) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let Some(content) = extra.get(4..4 + length) else { break };
        if id == 1 {
            return content;
        }
        extra = &extra[4 + length..];
    }
    &[]
}

/// Little-endian number; 0 beyond the end.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..).unwrap_or_default().iter().take(8).enumerate();
    part.fold(0, |number, (index, byte)| number | u64::from(*byte) << (8 * index))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u64_at(bytes, at) as u32
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u64_at(bytes, at) as u16
}
