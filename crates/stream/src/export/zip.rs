//! How do files become one? A ZIP file whose entries are stored as they are, so that a reader can jump into them.
//!
//! Sizes and places are written in 64 bits throughout (ZIP64), so that no archive is too large.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use libdeflater::Crc;
use sha2::{Digest, Sha256};

/// ZIP64 came with version 4.5.
const VERSION: u16 = 45;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// 1980-01-01, the first day that ZIP knows: the same archive has the same bytes.
const FIRST_DAY: u16 = 0x21;
const IN_EXTRA: u32 = u32::MAX;

/// A ZIP file under construction.
pub(super) struct ZipWriter {
    out: BufWriter<File>,
    entries: Vec<Entry>,
    at: u64,
}

/// What was stored.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// SHA-256 in hexadecimal.
    pub(super) sha256: String,
    crc: u32,
    offset: u64,
}

impl ZipWriter {
    pub(super) fn create(path: &Path) -> io::Result<ZipWriter> {
        Ok(ZipWriter { out: BufWriter::new(File::create_new(path)?), entries: Vec::new(), at: 0 })
    }

    /// Stores everything that comes under a name.
    pub(super) fn add(&mut self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        let mut entry =
            Entry { name: name.to_owned(), bytes: 0, sha256: String::new(), crc: 0, offset: self.at };
        let header = entry.local_header();
        self.out.write_all(&header)?;
        let (mut crc, mut sha256) = (Crc::new(), Sha256::new());
        let mut piece = vec![0; 128 << 10];
        loop {
            let length = content.read(&mut piece)?;
            if length == 0 {
                break;
            }
            crc.update(&piece[..length]);
            sha256.update(&piece[..length]);
            self.out.write_all(&piece[..length])?;
            entry.bytes += length as u64;
        }
        entry.crc = crc.sum();
        entry.sha256 = sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        // Now that checksum and length are known.
        self.out.seek(SeekFrom::Start(entry.offset))?;
        self.out.write_all(&entry.local_header())?;
        self.at += header.len() as u64 + entry.bytes;
        self.out.seek(SeekFrom::Start(self.at))?;
        self.entries.push(entry);
        Ok(())
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Writes the directory; tells how long the file is.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        let directory: Vec<u8> = self.entries.iter().flat_map(Entry::directory_line).collect();
        let (entries, length) = (self.entries.len() as u64, directory.len() as u64);
        let mut end = directory;
        put32(&mut end, 0x0606_4b50);
        put64(&mut end, 44);
        [VERSION, VERSION].iter().for_each(|version| put16(&mut end, *version));
        [0, 0].iter().for_each(|disk| put32(&mut end, *disk));
        [entries, entries, length, self.at].iter().for_each(|number| put64(&mut end, *number));
        put32(&mut end, 0x0706_4b50);
        put32(&mut end, 0);
        put64(&mut end, self.at + length);
        put32(&mut end, 1);
        put32(&mut end, 0x0605_4b50);
        [0, 0, u16::MAX, u16::MAX].iter().for_each(|number| put16(&mut end, *number));
        [IN_EXTRA, IN_EXTRA].iter().for_each(|number| put32(&mut end, *number));
        put16(&mut end, 0);
        self.out.write_all(&end)?;
        self.out.flush()?;
        Ok(self.at + end.len() as u64)
    }
}

impl Entry {
    fn local_header(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put32(&mut out, 0x0403_4b50);
        [VERSION, FLAGS, 0, 0, FIRST_DAY].iter().for_each(|number| put16(&mut out, *number));
        [self.crc, IN_EXTRA, IN_EXTRA].iter().for_each(|number| put32(&mut out, *number));
        [self.name.len() as u16, 20].iter().for_each(|number| put16(&mut out, *number));
        out.extend_from_slice(self.name.as_bytes());
        [1, 16].iter().for_each(|number| put16(&mut out, *number));
        [self.bytes, self.bytes].iter().for_each(|number| put64(&mut out, *number));
        out
    }

    fn directory_line(&self) -> Vec<u8> {
        const UNIX: u16 = 3 << 8;
        const READABLE: u32 = 0o100_644 << 16;
        let mut out = Vec::new();
        put32(&mut out, 0x0201_4b50);
        [UNIX | VERSION, VERSION, FLAGS, 0, 0, FIRST_DAY].iter().for_each(|number| put16(&mut out, *number));
        [self.crc, IN_EXTRA, IN_EXTRA].iter().for_each(|number| put32(&mut out, *number));
        [self.name.len() as u16, 28, 0, 0, 0].iter().for_each(|number| put16(&mut out, *number));
        [READABLE, IN_EXTRA].iter().for_each(|number| put32(&mut out, *number));
        out.extend_from_slice(self.name.as_bytes());
        [1, 24].iter().for_each(|number| put16(&mut out, *number));
        [self.bytes, self.bytes, self.offset].iter().for_each(|number| put64(&mut out, *number));
        out
    }
}

fn put16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}
