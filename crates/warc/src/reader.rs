//! Reader of WARC and ARC files of any writer: plain, gzip (one member per record, or one for all), or zstd (with its dictionary
//! in the first frame).
//!
//! The reader tolerates common deviations (line ends, missing blank lines, any version). After a malformed record it continues
//! at the next line that begins a record; it stops at an error that makes the remaining records unreadable. All allocations are
//! bounded.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::arc;
use crate::encoder::MAX_BLOCK_BYTES;
use crate::error::{Error, io_error};
use crate::header::{MAX_HEADER_BYTES, WarcHeader};
use crate::record::WarcRecord;

/// Iterator over the records of a file. An error is a record that is skipped, or the end.
pub struct WarcReader {
    path: PathBuf,
    format: Format,
    source: BufReader<Box<dyn Read + Send>>,
    /// Position in the decompressed stream.
    offset: u64,
    /// Number of records begun.
    record_count: u64,
    /// Size above which records are skipped instead of being an error.
    max_read_bytes: Option<u64>,
    skipped: u64,
    /// First line of the next header, if it was read while the reader looked for it.
    first_line: Vec<u8>,
    state: State,
}

/// Format of a file.
enum Format {
    Warc,
    /// With this number of fields in a header line.
    Arc(usize),
}

/// State between two records.
#[derive(PartialEq, Eq)]
enum State {
    AtRecord,
    /// After a malformed record.
    Lost,
    Ended,
}

/// Failure to read a record.
struct ReadFailure {
    cause: String,
    /// Whether the rest of the file can be read.
    is_readable: bool,
}

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> ReadFailure {
        let cause = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the file ends within compressed data".to_owned(),
            _ => error.to_string(),
        };
        ReadFailure { cause, is_readable: false }
    }
}

fn malformed(cause: impl Into<String>) -> ReadFailure {
    ReadFailure { cause: cause.into(), is_readable: true }
}

impl WarcReader {
    /// Opens a file. The compression is detected from its first bytes, not from its name.
    pub fn open(path: &Path) -> Result<WarcReader, Error> {
        let failed = |error| io_error("read", path, error);
        let file = File::open(path).map_err(failed)?;
        WarcReader::from_reader(path, Box::new(file))
    }

    /// Reads from any source; `path` is for messages.
    pub(crate) fn from_reader(path: &Path, source: Box<dyn Read + Send>) -> Result<WarcReader, Error> {
        let failed = |error| io_error("read", path, error);
        let mut file = BufReader::with_capacity(BUFFER_BYTES, source);
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
        let format = match start {
            start if start.trim_ascii_start().starts_with(b"WARC/") => Format::Warc,
            start if start.starts_with(b"filedesc://") => Format::Arc(arc::MIN_FIELDS),
            _ => return Err(Error::NotWarc { path: path.to_owned() }),
        };
        Ok(WarcReader {
            path: path.to_owned(),
            format,
            source,
            offset: 0,
            record_count: 0,
            max_read_bytes: None,
            skipped: 0,
            first_line: Vec::new(),
            state: State::AtRecord,
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

    fn read(&mut self) -> Result<Option<WarcRecord>, ReadFailure> {
        loop {
            if self.first_line.is_empty() && !self.skip_blank_lines()? {
                return Ok(None);
            }
            self.record_count += 1;
            let header = match self.format {
                Format::Warc => self.read_header()?,
                Format::Arc(fields) => self.read_arc_line(fields)?,
            };
            let length =
                header.content_length().ok_or_else(|| malformed("the record has no Content-Length"))?;
            if self.max_read_bytes.is_some_and(|max_bytes| length > max_bytes) {
                let read = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
                self.check_length(read, length)?;
                self.skipped += 1;
                continue;
            }
            if length > MAX_BLOCK_BYTES as u64 {
                return Err(malformed(format!(
                    "the record has {length} bytes; the maximum is {MAX_BLOCK_BYTES}"
                )));
            }
            let block = self.read_block(length as usize)?;
            self.check_length(block.len() as u64, length)?;
            return Ok(Some(self.record(header, block)));
        }
    }

    fn record(&mut self, mut header: WarcHeader, block: Vec<u8>) -> WarcRecord {
        if let Format::Arc(fields) = &mut self.format {
            if self.record_count == 1 {
                *fields = arc::count_fields(&block);
            }
            let warc_type = arc::warc_type(header.url().unwrap_or_default(), &block);
            header.push("WARC-Type", warc_type);
        }
        let range = 0..block.len();
        WarcRecord::new(header, block, range)
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

    fn check_length(&mut self, read: u64, length: u64) -> Result<(), ReadFailure> {
        self.offset += read;
        if read < length {
            let cause = format!("the file ends after {read} of {length} bytes of a record");
            return Err(ReadFailure { cause, is_readable: false });
        }
        Ok(())
    }

    fn read_header(&mut self) -> Result<WarcHeader, ReadFailure> {
        let mut bytes = std::mem::take(&mut self.first_line);
        loop {
            let line_start = bytes.len();
            let room = (MAX_HEADER_BYTES + 1).saturating_sub(line_start) as u64;
            let read = self.source.by_ref().take(room).read_until(b'\n', &mut bytes)?;
            self.offset += read as u64;
            let line = &bytes[line_start..];
            let complete = line == b"\r\n" || line == b"\n";
            let wrong_start = line_start == 0 && !line.starts_with(b"WARC/");
            // The parser reports what is wrong with a header that is cut off or too long.
            if complete || wrong_start || !line.ends_with(b"\n") || bytes.len() > MAX_HEADER_BYTES {
                return WarcHeader::parse(&bytes).map(|(header, _)| header).map_err(malformed);
            }
        }
    }

    fn read_arc_line(&mut self, fields: usize) -> Result<WarcHeader, ReadFailure> {
        let mut line = std::mem::take(&mut self.first_line);
        if line.is_empty() {
            let read = self.source.by_ref().take(MAX_HEADER_BYTES as u64).read_until(b'\n', &mut line)?;
            self.offset += read as u64;
        }
        arc::parse_line(&String::from_utf8_lossy(&line), fields).map_err(malformed)
    }

    /// Finds the next line that begins a record; returns false at the end.
    fn find_record(&mut self) -> Result<bool, ReadFailure> {
        let mut is_line_start = true;
        loop {
            let mut line = Vec::new();
            let read = self.source.by_ref().take(MAX_HEADER_BYTES as u64).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(false);
            }
            let is_header = match self.format {
                Format::Warc => line.starts_with(b"WARC/1.") || line.starts_with(b"WARC/0."),
                Format::Arc(fields) => arc::is_header_line(&line, fields),
            };
            self.offset += read as u64;
            if is_line_start && is_header {
                self.first_line = line;
                return Ok(true);
            }
            is_line_start = line.ends_with(b"\n");
        }
    }

    /// Skips blank lines between records; returns whether data follows.
    fn skip_blank_lines(&mut self) -> Result<bool, ReadFailure> {
        loop {
            let buffer = self.source.fill_buf()?;
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
        let (path, offset, before) = (self.path.clone(), self.offset, self.record_count);
        let outcome = match self.state {
            State::AtRecord => self.read(),
            State::Lost => self.find_record().and_then(|found| if found { self.read() } else { Ok(None) }),
            State::Ended => return None,
        };
        let outcome = outcome.transpose();
        self.state = match &outcome {
            Some(Ok(_)) => State::AtRecord,
            Some(Err(failure)) if failure.is_readable => State::Lost,
            _ => State::Ended,
        };
        let record = self.record_count.max(before + 1);
        outcome.map(|outcome| {
            outcome.map_err(|ReadFailure { cause, is_readable }| Error::Malformed {
                path,
                record,
                offset,
                cause,
                is_last: !is_readable,
            })
        })
    }
}

const BUFFER_BYTES: usize = 256 << 10;

/// Maximum size of a zstd dictionary.
const MAX_DICTIONARY_BYTES: u64 = 16 << 20;

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
