//! Files of JSON lines with a checksum (XXH3) over all lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

/// Maximum length of a line: a site with all its pages, or a page with all its links.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// Writer of JSON lines.
pub struct ChecksummedJsonlWriter {
    out: BufWriter<File>,
    hash: Xxh3,
    lines: u64,
    line: Vec<u8>,
}

impl ChecksummedJsonlWriter {
    /// Writes to a new file.
    pub fn new(file: File) -> ChecksummedJsonlWriter {
        ChecksummedJsonlWriter { out: BufWriter::new(file), hash: Xxh3::new(), lines: 0, line: Vec::new() }
    }

    /// Appends a value.
    pub fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)?;
        self.line.push(b'\n');
        self.hash.update(&self.line);
        self.lines += 1;
        self.out.write_all(&self.line)
    }

    /// Syncs the file; returns the number of lines and their XXH3.
    pub fn finish(mut self) -> io::Result<(u64, u64)> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        Ok((self.lines, self.hash.digest()))
    }
}

/// Reader of JSON lines. It does not verify the checksum: see [`verify`].
pub struct ChecksummedJsonlReader {
    lines: BufReader<File>,
    line: Vec<u8>,
}

impl ChecksummedJsonlReader {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<ChecksummedJsonlReader> {
        Ok(ChecksummedJsonlReader { lines: BufReader::new(File::open(path)?), line: Vec::new() })
    }

    /// Reads the next value; `None` at the end.
    pub fn read_next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        if !self.read_line()? {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&self.line)?))
    }

    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        Ok((&mut self.lines).take(MAX_LINE_BYTES).read_until(b'\n', &mut self.line)? > 0)
    }
}

/// Reads a whole file and compares its checksum.
pub fn verify(path: &Path, xxh3: u64) -> io::Result<()> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?, Xxh3::new(), vec![0; 1 << 18]);
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hash.update(&buffer[..length]);
    }
    if hash.digest() == xxh3 {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} is corrupt (checksum mismatch)")))
}
