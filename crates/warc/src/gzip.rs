//! Gzip members of a WARC file: decompression of one, and iteration over all with recovery after corruption.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use libdeflater::Decompressor;

use crate::encoder::MAX_BLOCK_BYTES;
use crate::error::{Result, corrupt, io_error};
use crate::header::MAX_HEADER_BYTES;

/// Maximum size of a record with its header.
pub(crate) const MAX_RECORD_BYTES: usize = MAX_BLOCK_BYTES + MAX_HEADER_BYTES;

/// Maximum compression ratio of deflate. Bounds the allocation for a member whose trailer is corrupt.
const MAX_RATIO: usize = 1_032;

/// Decompresses the member `bytes`. The file and the offset are for the error message.
pub fn gunzip(bytes: &[u8], path: &Path, offset: u64) -> Result<Vec<u8>> {
    let broken = |cause: &str| corrupt(path, offset, cause);
    let (_, length) = bytes.split_last_chunk::<4>().ok_or_else(|| broken("truncated gzip member"))?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_RECORD_BYTES.min(bytes.len() * MAX_RATIO) {
        return Err(broken("the size in the trailer of a gzip member is impossible"));
    }
    let mut out = vec![0; length];
    match Decompressor::new().gzip_decompress(bytes, &mut out) {
        Ok(found) if found == length => Ok(out),
        Ok(_) => Err(broken("a gzip member is shorter than its trailer says")),
        Err(_) => Err(broken("a gzip member cannot be decompressed, or its checksum does not match")),
    }
}

/// Iterator over the members of a section of a file.
pub struct GzipMembers<'f, F = File> {
    path: PathBuf,
    source: BufReader<FileSection<'f, F>>,
    end: u64,
    /// Start of the last member.
    last: u64,
    /// Whether the last member was corrupt.
    is_corrupt: bool,
}

/// Gzip member with its content.
pub struct GzipMember {
    /// Start in the file.
    pub offset: u64,
    /// Compressed size.
    pub length: u64,
    /// Decompressed content.
    pub bytes: Vec<u8>,
}

impl<'f, F: FileExt> GzipMembers<'f, F> {
    /// Iterates over the members from byte `start` to `end`; a member begins at `start`.
    pub fn new(file: &'f F, path: &Path, start: u64, end: u64) -> GzipMembers<'f, F> {
        let source = BufReader::with_capacity(READ_BYTES, FileSection { file, position: start, end });
        GzipMembers { path: path.to_owned(), source, end, last: start, is_corrupt: false }
    }

    /// Start of the next member.
    pub fn offset(&self) -> u64 {
        self.source.get_ref().position - self.source.buffer().len() as u64
    }

    /// Start of the last member, valid or corrupt.
    pub fn last_offset(&self) -> u64 {
        self.last
    }

    /// Moves, after an error, to the next byte that can be the start of a member, or to the end.
    pub fn skip_to_next(&mut self) -> Result<()> {
        self.is_corrupt = false;
        self.move_to(self.last + 1);
        let mut seen = 0u32;
        loop {
            let at = self.offset();
            let Some(&byte) =
                self.source.fill_buf().map_err(|error| io_error("read", &self.path, error))?.first()
            else {
                return Ok(());
            };
            seen = (seen << 8 | u32::from(byte)) & 0x00ff_ffff;
            if seen == GZIP_MAGIC && at >= 2 {
                self.move_to(at - 2);
                return Ok(());
            }
            self.source.consume(1);
        }
    }

    fn move_to(&mut self, position: u64) {
        let section = FileSection { file: self.source.get_ref().file, position, end: self.end };
        self.source = BufReader::with_capacity(READ_BYTES, section);
    }

    fn read_member(&mut self) -> Result<GzipMember> {
        let offset = self.offset();
        self.last = offset;
        let mut bytes = Vec::new();
        let mut decoder = GzDecoder::new(&mut self.source).take(MAX_RECORD_BYTES as u64 + 1);
        let outcome = decoder.read_to_end(&mut bytes);
        match outcome {
            Err(error) if is_corruption(&error) => {
                Err(corrupt(&self.path, offset, format!("invalid gzip member: {error}")))
            }
            Err(error) => Err(io_error("read", &self.path, error)),
            Ok(length) if length > MAX_RECORD_BYTES => {
                Err(corrupt(&self.path, offset, "a gzip member exceeds the maximum size of a record"))
            }
            Ok(_) => Ok(GzipMember { offset, length: self.offset() - offset, bytes }),
        }
    }
}

impl<F: FileExt> Iterator for GzipMembers<'_, F> {
    type Item = Result<GzipMember>;

    /// Returns `None` after an error, until [`GzipMembers::skip_to_next`] is called.
    fn next(&mut self) -> Option<Result<GzipMember>> {
        if self.is_corrupt || self.offset() >= self.end {
            return None;
        }
        let member = self.read_member();
        self.is_corrupt = member.is_err();
        Some(member)
    }
}

const READ_BYTES: usize = 256 << 10;

/// First three bytes of every member: the magic number of gzip, and the compression method deflate.
const GZIP_MAGIC: u32 = 0x001f_8b08;

fn is_corruption(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

/// Section of a file as a stream. Uses positioned reads, so that several readers can share the file.
struct FileSection<'f, F> {
    file: &'f F,
    position: u64,
    end: u64,
}

impl<F: FileExt> Read for FileSection<'_, F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let limit = out.len().min(self.end.saturating_sub(self.position) as usize);
        let read = self.file.read_at(&mut out[..limit], self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}
