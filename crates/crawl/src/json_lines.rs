//! How are lists written that must arrive as they left? One object of JSON a line, with a hash over all.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

/// A line is at most a site with all its pages, or a page with all its links; longer ones are not ours.
const LINE_LIMIT_BYTES: u64 = 256 << 20;

/// Writes lines.
pub(crate) struct LineWriter {
    out: BufWriter<File>,
    hash: Xxh3,
    lines: u64,
    line: Vec<u8>,
}

impl LineWriter {
    pub(crate) fn new(file: File) -> LineWriter {
        LineWriter { out: BufWriter::new(file), hash: Xxh3::new(), lines: 0, line: Vec::new() }
    }

    pub(crate) fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)?;
        self.line.push(b'\n');
        self.hash.update(&self.line);
        self.lines += 1;
        self.out.write_all(&self.line)
    }

    /// Syncs the file; tells how many lines it has, and their XXH3.
    pub(crate) fn finish(mut self) -> io::Result<(u64, u64)> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        Ok((self.lines, self.hash.digest()))
    }
}

/// Reads lines.
pub(crate) struct LineReader {
    lines: BufReader<File>,
    line: Vec<u8>,
}

impl LineReader {
    pub(crate) fn open(path: &Path) -> io::Result<LineReader> {
        Ok(LineReader { lines: BufReader::new(File::open(path)?), line: Vec::new() })
    }

    /// The next value, if there is one.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        if !self.read_line()? {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&self.line)?))
    }

    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        Ok((&mut self.lines).take(LINE_LIMIT_BYTES).read_until(b'\n', &mut self.line)? > 0)
    }
}

/// Reads a file to its end and compares it with what was written.
pub(crate) fn verify(path: &Path, xxh3: u64) -> io::Result<()> {
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
    Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} is not what was written")))
}
