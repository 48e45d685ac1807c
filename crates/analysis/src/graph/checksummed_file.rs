//! Files of plain numbers: little-endian values without a header, and the XXH3 checksum of all of them at the end.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Context, Result, corrupt};

const BUFFER_BYTES: usize = 1 << 18;

/// Writer of a checksummed file.
pub(crate) struct ChecksummedWriter {
    path: PathBuf,
    file: BufWriter<File>,
    hasher: Box<Xxh3>,
}

impl ChecksummedWriter {
    pub(crate) fn create(path: &Path) -> Result<ChecksummedWriter> {
        let file = File::create(path).context("create", path)?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(ChecksummedWriter { path: path.to_owned(), file, hasher: Box::default() })
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes).context("write", &self.path)
    }

    pub(crate) fn push_u32s(&mut self, numbers: &[u32]) -> Result<()> {
        let mut bytes = Vec::with_capacity(4096 * 4);
        for chunk in numbers.chunks(4096) {
            bytes.clear();
            chunk.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            self.push(&bytes)?;
        }
        Ok(())
    }

    /// Writes the checksum and syncs the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        let checksum = self.hasher.digest();
        self.file.write_all(&checksum.to_le_bytes()).context("write", &self.path)?;
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_data()).context("sync", &self.path)
    }
}

/// Sequential reader of a checksummed file.
pub(crate) struct ChecksummedReader {
    path: PathBuf,
    file: BufReader<File>,
    hasher: Box<Xxh3>,
    /// Bytes that are not read yet, without the checksum.
    remaining: u64,
}

impl ChecksummedReader {
    pub(crate) fn open(path: &Path) -> Result<ChecksummedReader> {
        let file = File::open(path).context("open", path)?;
        let length = file.metadata().context("read", path)?.len();
        let remaining = length.checked_sub(8).ok_or_else(|| corrupt(path, "no checksum"))?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(ChecksummedReader { path: path.to_owned(), file, hasher: Box::default(), remaining })
    }

    /// Fills `out`. After the last byte, verifies the checksum.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<()> {
        self.remaining = match self.remaining.checked_sub(out.len() as u64) {
            Some(remaining) => remaining,
            None => return Err(corrupt(&self.path, "truncated")),
        };
        self.file.read_exact(out).context("read", &self.path)?;
        self.hasher.update(out);
        if self.remaining > 0 {
            return Ok(());
        }
        let mut stored = [0; 8];
        self.file.read_exact(&mut stored).context("read", &self.path)?;
        let (actual, expected) = (self.hasher.digest(), u64::from_le_bytes(stored));
        if actual == expected {
            return Ok(());
        }
        Err(corrupt(&self.path, format!("checksum {actual:016x}, expected {expected:016x}")))
    }

    /// Reads the rest of the file.
    pub(crate) fn read_all(mut self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.remaining as usize];
        self.read(&mut bytes)?;
        Ok(bytes)
    }
}

pub(crate) fn write_u32s(path: &Path, numbers: &[u32]) -> Result<()> {
    let mut writer = ChecksummedWriter::create(path)?;
    writer.push_u32s(numbers)?;
    writer.finish()
}

pub(crate) fn read_u32s(path: &Path) -> Result<Vec<u32>> {
    let mut reader = ChecksummedReader::open(path)?;
    let mut numbers = Vec::with_capacity((reader.remaining / 4) as usize);
    let mut bytes = vec![0; BUFFER_BYTES];
    loop {
        let length = reader.remaining.min(BUFFER_BYTES as u64) as usize;
        reader.read(&mut bytes[..length])?;
        numbers.extend(bytes[..length].as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)));
        if reader.remaining == 0 {
            return Ok(numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_numbers_are_read_back_and_corruption_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("numbers");
        for count in [0u32, 1, 70_000] {
            let numbers: Vec<u32> = (0..count).map(|number| number.wrapping_mul(77_777)).collect();
            write_u32s(&path, &numbers).unwrap();
            assert_eq!(read_u32s(&path).unwrap(), numbers);
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 8;
            std::fs::write(&path, bytes).unwrap();
            assert!(read_u32s(&path).is_err());
        }
    }
}
