//! What is in a WARC file that somebody else has written? Plain, gzip (a member per record, or one for all), or zstd
//! (with its dictionary in the first frame); ARC, the format before WARC, is recognised and refused.
//!
//! Reading is tolerant of what is common and harmless (line ends, missing blank lines, any version), and stops at the
//! first thing that makes the rest unreadable, saying what and where. Everything read has a limit.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::header::{MAX_HEADER_BYTES, WarcHeader};
use super::record::WarcRecord;
use super::writer::MAX_BLOCK_BYTES;

/// A WARC file that cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WarcError {
    /// The operating system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is no WARC file: {what}", path.display())]
    NotWarc {
        /// Which file.
        path: PathBuf,
        /// What it looks like.
        what: &'static str,
    },
    /// A record cannot be read, and so neither can those behind it.
    #[error("{} cannot be read from record {number} on, at byte {offset} when decompressed: {what}", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Which record, from 1.
        number: u64,
        /// Where it starts, in the decompressed stream.
        offset: u64,
        /// Why.
        what: String,
    },
}

/// The records of a file, one after the other; ends after an error.
pub struct WarcReader {
    path: PathBuf,
    source: BufReader<Box<dyn Read + Send>>,
    /// In the decompressed stream.
    offset: u64,
    /// Records begun.
    number: u64,
    ended: bool,
}

impl WarcReader {
    /// Opens a file; its first bytes tell the form, whatever its name says.
    pub fn open(path: &Path) -> Result<WarcReader, WarcError> {
        let failed = |source| WarcError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        let start = file.fill_buf().map_err(failed)?;
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
            let what = if arc { "it is in the older ARC format" } else { "it does not begin with `WARC/`" };
            return Err(WarcError::NotWarc { path: path.to_owned(), what });
        }
        Ok(WarcReader { path: path.to_owned(), source, offset: 0, number: 0, ended: false })
    }

    fn read(&mut self) -> Result<Option<WarcRecord>, String> {
        if !self.skip_blank_lines()? {
            return Ok(None);
        }
        self.number += 1;
        let header = self.read_header()?;
        let length = header.content_length().ok_or("the record has no Content-Length")?;
        if length > MAX_BLOCK_BYTES as u64 {
            return Err(format!("the record has {length} bytes, and {MAX_BLOCK_BYTES} is the limit"));
        }
        let mut block = Vec::new();
        // Grows with what really comes, not with what the header claims.
        let found =
            self.source.by_ref().take(length).read_to_end(&mut block).map_err(|error| broken(&error))?;
        self.offset += found as u64;
        if (found as u64) < length {
            return Err(format!("the file ends {found} bytes into a record of {length}"));
        }
        Ok(Some(WarcRecord::new(header, block, 0..found)))
    }

    fn read_header(&mut self) -> Result<WarcHeader, String> {
        let mut bytes = Vec::new();
        loop {
            let line_start = bytes.len();
            let room = (MAX_HEADER_BYTES + 1 - line_start) as u64;
            self.source.by_ref().take(room).read_until(b'\n', &mut bytes).map_err(|error| broken(&error))?;
            let line = &bytes[line_start..];
            let complete = line == b"\r\n" || line == b"\n";
            let first_is_wrong = line_start == 0 && !line.starts_with(b"WARC/");
            if complete || first_is_wrong || !line.ends_with(b"\n") || bytes.len() > MAX_HEADER_BYTES {
                self.offset += bytes.len() as u64;
                return WarcHeader::parse(&bytes).map(|(header, _)| header);
            }
        }
    }

    /// Whether there is something behind the blank lines.
    fn skip_blank_lines(&mut self) -> Result<bool, String> {
        loop {
            let buffer = self.source.fill_buf().map_err(|error| broken(&error))?;
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
    type Item = Result<WarcRecord, WarcError>;

    fn next(&mut self) -> Option<Result<WarcRecord, WarcError>> {
        if self.ended {
            return None;
        }
        let (path, offset, before) = (&self.path, self.offset, self.number);
        let path = path.clone();
        let outcome = self.read().transpose();
        self.ended = !matches!(outcome, Some(Ok(_)));
        let number = self.number.max(before + 1);
        outcome.map(|record| record.map_err(|what| WarcError::Broken { path, number, offset, what }))
    }
}

const BUFFER_BYTES: usize = 256 << 10;

/// No dictionary is longer.
const MAX_DICTIONARY_BYTES: u64 = 16 << 20;

fn broken(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file ends in the middle of a compressed part".to_owned(),
        _ => error.to_string(),
    }
}

/// Reads the skippable frame in front, which holds the dictionary, itself compressed or not (the `.warc.zst` proposal
/// of Archive Team).
fn read_dictionary(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut header = [0; 8];
    source.read_exact(&mut header)?;
    let [.., a, b, c, d] = header;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if length > MAX_DICTIONARY_BYTES {
        return Err(io::Error::other("its dictionary is too long"));
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
