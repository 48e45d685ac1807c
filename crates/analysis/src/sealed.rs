//! How are plain numbers kept? As they are, one behind the other, little-endian, and XXH3 of them all at the end.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Context, Result, damaged};

const BUFFER_BYTES: usize = 1 << 18;

/// Writes such a file.
pub(crate) struct SealedWriter {
    path: PathBuf,
    file: BufWriter<File>,
    hasher: Box<Xxh3>,
}

impl SealedWriter {
    pub(crate) fn create(path: &Path) -> Result<SealedWriter> {
        let file = File::create(path).context("create", path)?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(SealedWriter { path: path.to_owned(), file, hasher: Box::default() })
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes).context("write", &self.path)
    }

    pub(crate) fn push_numbers(&mut self, numbers: &[u32]) -> Result<()> {
        let mut bytes = Vec::with_capacity(4096 * 4);
        for some in numbers.chunks(4096) {
            bytes.clear();
            some.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
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

/// Reads such a file front to back.
pub(crate) struct SealedReader {
    path: PathBuf,
    file: BufReader<File>,
    hasher: Box<Xxh3>,
    /// Without the checksum, and not read yet.
    left: u64,
}

impl SealedReader {
    pub(crate) fn open(path: &Path) -> Result<SealedReader> {
        let file = File::open(path).context("open", path)?;
        let length = file.metadata().context("read", path)?.len();
        let left = length.checked_sub(8).ok_or_else(|| damaged(path, "it has no checksum"))?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(SealedReader { path: path.to_owned(), file, hasher: Box::default(), left })
    }

    /// Fills `out`; the checksum is compared behind the last byte.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<()> {
        self.left = match self.left.checked_sub(out.len() as u64) {
            Some(left) => left,
            None => return Err(damaged(&self.path, "it is too short")),
        };
        self.file.read_exact(out).context("read", &self.path)?;
        self.hasher.update(out);
        if self.left > 0 {
            return Ok(());
        }
        let mut stored = [0; 8];
        self.file.read_exact(&mut stored).context("read", &self.path)?;
        let (found, expected) = (self.hasher.digest(), u64::from_le_bytes(stored));
        if found == expected {
            return Ok(());
        }
        Err(damaged(&self.path, format!("checksum {found:016x}, expected {expected:016x}")))
    }

    /// The rest of it.
    pub(crate) fn read_all(mut self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.left as usize];
        self.read(&mut bytes)?;
        Ok(bytes)
    }
}

pub(crate) fn write_numbers(path: &Path, numbers: &[u32]) -> Result<()> {
    let mut writer = SealedWriter::create(path)?;
    writer.push_numbers(numbers)?;
    writer.finish()
}

pub(crate) fn read_numbers(path: &Path) -> Result<Vec<u32>> {
    let mut reader = SealedReader::open(path)?;
    let mut numbers = Vec::with_capacity((reader.left / 4) as usize);
    let mut bytes = vec![0; BUFFER_BYTES];
    loop {
        let now = reader.left.min(BUFFER_BYTES as u64) as usize;
        reader.read(&mut bytes[..now])?;
        numbers.extend(bytes[..now].as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)));
        if reader.left == 0 {
            return Ok(numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_damage_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        for count in [0u32, 1, 70_000] {
            let numbers: Vec<u32> = (0..count).map(|number| number.wrapping_mul(77_777)).collect();
            write_numbers(&path, &numbers).unwrap();
            assert_eq!(read_numbers(&path).unwrap(), numbers);
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 8;
            std::fs::write(&path, bytes).unwrap();
            assert!(read_numbers(&path).is_err());
        }
    }
}
