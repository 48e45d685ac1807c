//! Where does a gzip member end, and is it whole?

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use libdeflater::Decompressor;

use super::header::MAX_HEADER_BYTES;
use super::writer::MAX_BLOCK_BYTES;
use crate::error::{Context, Result, damaged};

/// A record with its header is not longer.
pub(crate) const MAX_RECORD_BYTES: usize = MAX_BLOCK_BYTES + MAX_HEADER_BYTES;

/// Deflate cannot make more of a byte than this.
const MAX_RATIO: usize = 1_032;

/// Decompresses a member that takes up all of `bytes`; the file and the offset are for the message.
pub(crate) fn gunzip(bytes: &[u8], path: &Path, offset: u64) -> Result<Vec<u8>> {
    let broken = |what: &str| damaged(path, format!("at byte {offset}"), what);
    let (_, length) = bytes.split_last_chunk::<4>().ok_or_else(|| broken("a gzip member is cut off"))?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_RECORD_BYTES.min(bytes.len() * MAX_RATIO) {
        return Err(broken("a gzip member claims more bytes than it can hold"));
    }
    let mut out = vec![0; length];
    match Decompressor::new().gzip_decompress(bytes, &mut out) {
        Ok(found) if found == length => Ok(out),
        Ok(_) => Err(broken("a gzip member is shorter than it says")),
        Err(_) => Err(broken("a gzip member does not decompress to what its checksum says")),
    }
}

/// Walks through the members of a file from front to back, up to a commit's length.
pub(crate) struct Members<'f> {
    path: PathBuf,
    source: BufReader<Part<'f>>,
    end: u64,
    /// Where the member before started.
    last: u64,
    /// Whether that one could not be read.
    broken: bool,
}

/// One gzip member.
pub(crate) struct Member {
    pub(crate) offset: u64,
    /// Compressed.
    pub(crate) length: u64,
    /// Decompressed.
    pub(crate) bytes: Vec<u8>,
}

impl<'f> Members<'f> {
    pub(crate) fn new(file: &'f File, path: &Path, from: u64, end: u64) -> Members<'f> {
        let source = BufReader::with_capacity(READ_BYTES, Part { file, at: from, end });
        Members { path: path.to_owned(), source, end, last: from, broken: false }
    }

    /// Where the next member starts.
    pub(crate) fn offset(&self) -> u64 {
        self.source.get_ref().at - self.source.buffer().len() as u64
    }

    /// Where the member before this place started, whole or broken.
    pub(crate) fn last_offset(&self) -> u64 {
        self.last
    }

    /// After an error: moves to the next place that could be the start of a member, or to the end.
    pub(crate) fn skip_to_next(&mut self) -> Result<()> {
        self.broken = false;
        self.move_to(self.last + 1);
        let mut seen = 0u32;
        loop {
            let at = self.offset();
            let Some(&byte) = self.source.fill_buf().context("read", &self.path)?.first() else {
                return Ok(());
            };
            seen = (seen << 8 | u32::from(byte)) & 0x00ff_ffff;
            if seen == GZIP_START && at >= 2 {
                self.move_to(at - 2);
                return Ok(());
            }
            self.source.consume(1);
        }
    }

    fn move_to(&mut self, at: u64) {
        let part = Part { file: self.source.get_ref().file, at, end: self.end };
        self.source = BufReader::with_capacity(READ_BYTES, part);
    }

    fn read(&mut self) -> Result<Member> {
        let offset = self.offset();
        self.last = offset;
        let mut bytes = Vec::new();
        let mut decoder = GzDecoder::new(&mut self.source).take(MAX_RECORD_BYTES as u64 + 1);
        let outcome = decoder.read_to_end(&mut bytes);
        let at = || format!("at byte {offset}");
        match outcome {
            Err(error) if is_damage(&error) => {
                Err(damaged(&self.path, at(), format!("a gzip member is broken: {error}")))
            }
            Err(error) => Err(error).context("read", &self.path),
            Ok(length) if length > MAX_RECORD_BYTES => {
                Err(damaged(&self.path, at(), "a gzip member holds more than a record can be"))
            }
            Ok(_) => Ok(Member { offset, length: self.offset() - offset, bytes }),
        }
    }
}

impl Iterator for Members<'_> {
    type Item = Result<Member>;

    /// Ends after an error, unless [`Members::skip_to_next`] is called.
    fn next(&mut self) -> Option<Result<Member>> {
        if self.broken || self.offset() >= self.end {
            return None;
        }
        let member = self.read();
        self.broken = member.is_err();
        Some(member)
    }
}

const READ_BYTES: usize = 256 << 10;

/// The first three bytes of every member: the magic number, and deflate.
const GZIP_START: u32 = 0x001f_8b08;

fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

/// A part of a file as a stream, by positioned reads: others may read the same file.
struct Part<'f> {
    file: &'f File,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let wanted = out.len().min(self.end.saturating_sub(self.at) as usize);
        let found = self.file.read_at(&mut out[..wanted], self.at)?;
        self.at += found as u64;
        Ok(found)
    }
}
