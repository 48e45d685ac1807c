//! ZIP writer with uncompressed entries, so that a reader can seek into them.
//!
//! Sizes and offsets are always written as ZIP64, so that no archive is too large.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use libdeflater::Crc;
use sha2::{Digest, Sha256};

/// Version needed to extract: 4.5, for ZIP64.
const VERSION: u16 = 45;
/// General purpose flag: names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// 1980-01-01, the first date of the format: a constant makes the output reproducible.
const DOS_EPOCH_DATE: u16 = 0x21;
/// Value of 32-bit fields whose value is in the ZIP64 extra field.
const ZIP64_PLACEHOLDER: u32 = u32::MAX;

/// ZIP file being written.
pub(super) struct ZipWriter {
    out: BufWriter<File>,
    entries: Vec<ZipEntry>,
    offset: u64,
}

/// Entry of the ZIP file.
pub(super) struct ZipEntry {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// SHA-256 in hexadecimal.
    pub(super) sha256: String,
    crc: u32,
    offset: u64,
}

impl ZipWriter {
    pub(super) fn create(path: &Path) -> io::Result<ZipWriter> {
        Ok(ZipWriter { out: BufWriter::new(File::create_new(path)?), entries: Vec::new(), offset: 0 })
    }

    /// Adds an entry with the content of a reader.
    pub(super) fn add(&mut self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        let mut entry =
            ZipEntry { name: name.to_owned(), bytes: 0, sha256: String::new(), crc: 0, offset: self.offset };
        let header = entry.local_header();
        self.out.write_all(&header)?;
        let (mut crc, mut sha256) = (Crc::new(), Sha256::new());
        let mut buffer = vec![0; 128 << 10];
        loop {
            let length = content.read(&mut buffer)?;
            if length == 0 {
                break;
            }
            crc.update(&buffer[..length]);
            sha256.update(&buffer[..length]);
            self.out.write_all(&buffer[..length])?;
            entry.bytes += length as u64;
        }
        entry.crc = crc.sum();
        entry.sha256 = sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        // Rewrite the header, now that checksum and length are known.
        self.out.seek(SeekFrom::Start(entry.offset))?;
        self.out.write_all(&entry.local_header())?;
        self.offset += header.len() as u64 + entry.bytes;
        self.out.seek(SeekFrom::Start(self.offset))?;
        self.entries.push(entry);
        Ok(())
    }

    pub(super) fn entries(&self) -> &[ZipEntry] {
        &self.entries
    }

    /// Writes the central directory; returns the size of the file.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        let directory: Vec<u8> = self.entries.iter().flat_map(ZipEntry::central_header).collect();
        let (entries, length) = (self.entries.len() as u64, directory.len() as u64);
        let mut end = directory;
        write_u32(&mut end, 0x0606_4b50);
        write_u64(&mut end, 44);
        [VERSION, VERSION].iter().for_each(|version| write_u16(&mut end, *version));
        [0, 0].iter().for_each(|disk| write_u32(&mut end, *disk));
        [entries, entries, length, self.offset].iter().for_each(|number| write_u64(&mut end, *number));
        write_u32(&mut end, 0x0706_4b50);
        write_u32(&mut end, 0);
        write_u64(&mut end, self.offset + length);
        write_u32(&mut end, 1);
        write_u32(&mut end, 0x0605_4b50);
        [0, 0, u16::MAX, u16::MAX].iter().for_each(|number| write_u16(&mut end, *number));
        [ZIP64_PLACEHOLDER, ZIP64_PLACEHOLDER].iter().for_each(|number| write_u32(&mut end, *number));
        write_u16(&mut end, 0);
        self.out.write_all(&end)?;
        self.out.flush()?;
        Ok(self.offset + end.len() as u64)
    }
}

impl ZipEntry {
    fn local_header(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_u32(&mut out, 0x0403_4b50);
        [VERSION, FLAGS, 0, 0, DOS_EPOCH_DATE].iter().for_each(|number| write_u16(&mut out, *number));
        [self.crc, ZIP64_PLACEHOLDER, ZIP64_PLACEHOLDER]
            .iter()
            .for_each(|number| write_u32(&mut out, *number));
        [self.name.len() as u16, 20].iter().for_each(|number| write_u16(&mut out, *number));
        out.extend_from_slice(self.name.as_bytes());
        [1, 16].iter().for_each(|number| write_u16(&mut out, *number));
        [self.bytes, self.bytes].iter().for_each(|number| write_u64(&mut out, *number));
        out
    }

    fn central_header(&self) -> Vec<u8> {
        const UNIX: u16 = 3 << 8;
        const READABLE: u32 = 0o100_644 << 16;
        let mut out = Vec::new();
        write_u32(&mut out, 0x0201_4b50);
        [UNIX | VERSION, VERSION, FLAGS, 0, 0, DOS_EPOCH_DATE]
            .iter()
            .for_each(|number| write_u16(&mut out, *number));
        [self.crc, ZIP64_PLACEHOLDER, ZIP64_PLACEHOLDER]
            .iter()
            .for_each(|number| write_u32(&mut out, *number));
        [self.name.len() as u16, 28, 0, 0, 0].iter().for_each(|number| write_u16(&mut out, *number));
        [READABLE, ZIP64_PLACEHOLDER].iter().for_each(|number| write_u32(&mut out, *number));
        out.extend_from_slice(self.name.as_bytes());
        [1, 24].iter().for_each(|number| write_u16(&mut out, *number));
        [self.bytes, self.bytes, self.offset].iter().for_each(|number| write_u64(&mut out, *number));
        out
    }
}

fn write_u16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn write_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn write_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}
