//! Reader of WARC files of any writer: plain, gzip (one member per record, or one for all), or zstd (with its dictionary
//! in the first frame). ARC, the predecessor of WARC, is detected and rejected.
//!
//! The reader tolerates common deviations (line ends, missing blank lines, any version), and stops at the first error
//! that makes the remaining records unreadable, with its cause and position. All allocations are bounded.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::encoder::MAX_BLOCK_BYTES;
use crate::error::{Error, io_error};
use crate::header::{MAX_HEADER_BYTES, WarcHeader};
use crate::record::WarcRecord;

/// Iterator over the records of a file; ends after an error.
pub struct WarcReader {
    path: PathBuf,
    source: BufReader<Box<dyn Read + Send>>,
    /// Position in the decompressed stream.
    offset: u64,
    /// Number of records begun.
    record_count: u64,
    /// Size above which records are skipped instead of being an error.
    max_read_bytes: Option<u64>,
    skipped: u64,
    ended: bool,
}

impl WarcReader {
    /// Opens a file. The compression is detected from its first bytes, not from its name.
    pub fn open(path: &Path) -> Result<WarcReader, Error> {
        let failed = |error| io_error("read", path, error);
        let file = File::open(path).map_err(failed)?;
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        let start = file.fill_buf().map_err(failed)?;
        // Magic numbers: gzip (RFC 1952), zstd frame, zstd skippable frame with a dictionary (RFC 8878).
        let source: Box<dyn Read + Send> = match start {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(file).map_err(failed)?),
            [first, 0x2a, 0x4d, 0x18, ..] if first >> 4 == 5 => {
                let dictionary = read_dictionary(&mut file).map_err(failed)?;
                Box::new(zstd::Decoder::with_dictionary(file, &dictionary).map_err(failed)?)
            }
            _ => Box::new(file),
        };
        let mut source = BufReader::with_capacity(BUFFER_BYTES, source);
        let start = source.fill_buf().map_err(failed)?;
        if !start.trim_ascii_start().starts_with(b"WARC/") {
            let arc = start.starts_with(b"filedesc://");
            let detected = if arc { "it has the older ARC format" } else { "it does not begin with `WARC/`" };
            return Err(Error::NotWarc { path: path.to_owned(), detected });
        }
        Ok(WarcReader {
            path: path.to_owned(),
            source,
            offset: 0,
            record_count: 0,
            max_read_bytes: None,
            skipped: 0,
            ended: false,
        })
    }

    /// Skips records above a size, which are an error otherwise, without holding them in memory.
    pub fn skip_records_above(self, max_bytes: u64) -> WarcReader {
        WarcReader { max_read_bytes: Some(max_bytes.min(MAX_BLOCK_BYTES as u64)), ..self }
    }

    /// Number of records that were skipped because of their size.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn read(&mut self) -> Result<Option<WarcRecord>, String> {
        loop {
            if !self.skip_blank_lines()? {
                return Ok(None);
            }
            self.record_count += 1;
            let header = self.read_header()?;
            let length = header.content_length().ok_or("the record has no Content-Length")?;
            if self.max_read_bytes.is_some_and(|max_bytes| length > max_bytes) {
                let read = io::copy(&mut self.source.by_ref().take(length), &mut io::sink());
                self.check_length(read.map_err(|error| read_error(&error))?, length)?;
                self.skipped += 1;
                continue;
            }
            if length > MAX_BLOCK_BYTES as u64 {
                return Err(format!("the record has {length} bytes; the maximum is {MAX_BLOCK_BYTES}"));
            }
            let block = self.read_block(length as usize).map_err(|error| read_error(&error))?;
            self.check_length(block.len() as u64, length)?;
            let range = 0..block.len();
            return Ok(Some(WarcRecord::new(header, block, range)));
        }
    }

    /// Reads a block. The buffer grows with the data that arrives, so that a wrong Content-Length allocates nothing, and not
    /// beyond the length.
    fn read_block(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut block = Vec::new();
        while block.len() < length {
            let step = block.len().max(BUFFER_BYTES).min(length - block.len());
            block.reserve_exact(step);
            if self.source.by_ref().take(step as u64).read_to_end(&mut block)? < step {
                break;
            }
        }
        Ok(block)
    }

    fn check_length(&mut self, read: u64, length: u64) -> Result<(), String> {
        self.offset += read;
        if read < length {
            return Err(format!("the file ends after {read} of {length} bytes of a record"));
        }
        Ok(())
    }

    fn read_header(&mut self) -> Result<WarcHeader, String> {
        let mut bytes = Vec::new();
        loop {
            let line_start = bytes.len();
            let room = (MAX_HEADER_BYTES + 1 - line_start) as u64;
            self.source
                .by_ref()
                .take(room)
                .read_until(b'\n', &mut bytes)
                .map_err(|error| read_error(&error))?;
            let line = &bytes[line_start..];
            let complete = line == b"\r\n" || line == b"\n";
            let wrong_start = line_start == 0 && !line.starts_with(b"WARC/");
            // The parser reports what is wrong with a header that is cut off or too long.
            if complete || wrong_start || !line.ends_with(b"\n") || bytes.len() > MAX_HEADER_BYTES {
                self.offset += bytes.len() as u64;
                return WarcHeader::parse(&bytes).map(|(header, _)| header);
            }
        }
    }

    /// Skips blank lines between records; returns whether data follows.
    fn skip_blank_lines(&mut self) -> Result<bool, String> {
        loop {
            let buffer = self.source.fill_buf().map_err(|error| read_error(&error))?;
            let blank = buffer.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let (all, empty) = (blank == buffer.len(), buffer.is_empty());
            self.source.consume(blank);
            self.offset += blank as u64;
            if empty || !all {
                return Ok(!empty);
            }
        }
    }
}

impl Iterator for WarcReader {
    type Item = Result<WarcRecord, Error>;

    fn next(&mut self) -> Option<Result<WarcRecord, Error>> {
        if self.ended {
            return None;
        }
        let (path, offset, before) = (&self.path, self.offset, self.record_count);
        let path = path.clone();
        let outcome = self.read().transpose();
        self.ended = !matches!(outcome, Some(Ok(_)));
        let record = self.record_count.max(before + 1);
        outcome.map(|outcome| outcome.map_err(|cause| Error::Malformed { path, record, offset, cause }))
    }
}

const BUFFER_BYTES: usize = 256 << 10;

/// Maximum size of a zstd dictionary.
const MAX_DICTIONARY_BYTES: u64 = 16 << 20;

fn read_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file ends within compressed data".to_owned(),
        _ => error.to_string(),
    }
}

/// Reads the dictionary from the skippable frame at the start of the file; it may itself be compressed (`.warc.zst`
/// proposal of the Archive Team).
fn read_dictionary(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut header = [0; 8];
    source.read_exact(&mut header)?;
    let [.., a, b, c, d] = header;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if length > MAX_DICTIONARY_BYTES {
        return Err(io::Error::other("the zstd dictionary is too large"));
    }
    let mut frame = Vec::new();
    source.take(length).read_to_end(&mut frame)?;
    if !frame.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Ok(frame);
    }
    let mut dictionary = Vec::new();
    zstd::Decoder::with_buffer(frame.as_slice())?.take(MAX_DICTIONARY_BYTES).read_to_end(&mut dictionary)?;
    Ok(dictionary)
}
