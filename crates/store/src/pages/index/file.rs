//! Sorted CDXJ file with checksums: chunks of lines, whose offsets and checksums are in a second file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::entry::IndexEntry;
use crate::disk::File;
use crate::error::{Context, Result, corrupt};
use crate::file::blocks::{BlockReader, BlockWriter};
use crate::file::immutable_file::ImmutableFileWriter;
use crate::manifest::FileEntry;

/// Size at which a chunk ends, after a complete line.
const CHUNK_BYTES: usize = 16 << 10;

/// Size of a record of the second file: offset, length and checksum of a chunk.
const RECORD_BYTES: usize = 8 + 4 + 8;

/// Names of the two files of a part of the index.
pub(crate) fn names(stem: &str) -> [String; 2] {
    [format!("{stem}.cdxj"), format!("{stem}.checksums")]
}

/// Writer of sorted lines.
pub(crate) struct CdxjWriter {
    text: ImmutableFileWriter,
    chunk: Vec<u8>,
    length: u64,
    checksums: BlockWriter,
}

impl CdxjWriter {
    /// Creates the two files; `stem` is relative to the directory of the collection.
    pub(crate) fn create(dir: &Path, stem: &str) -> Result<CdxjWriter> {
        let [name, checksums] = names(stem);
        let checksums = BlockWriter::create(dir, &checksums, RECORD_BYTES)?;
        Ok(CdxjWriter {
            text: ImmutableFileWriter::create(dir, &name)?,
            chunk: Vec::new(),
            length: 0,
            checksums,
        })
    }

    pub(crate) fn push(&mut self, line: &str) -> Result<()> {
        self.chunk.extend_from_slice(line.as_bytes());
        self.chunk.push(b'\n');
        if self.chunk.len() >= CHUNK_BYTES { self.end_chunk() } else { Ok(()) }
    }

    /// Syncs both files; returns the entries for the manifest.
    pub(crate) fn finish(mut self) -> Result<[FileEntry; 2]> {
        if !self.chunk.is_empty() {
            self.end_chunk()?;
        }
        Ok([self.text.finish()?, self.checksums.finish()?])
    }

    fn end_chunk(&mut self) -> Result<()> {
        let mut record = [0; RECORD_BYTES];
        record[..8].copy_from_slice(&self.length.to_le_bytes());
        record[8..12].copy_from_slice(&(self.chunk.len() as u32).to_le_bytes());
        record[12..].copy_from_slice(&xxh3_64_with_seed(&self.chunk, self.length).to_le_bytes());
        self.checksums.push(&record)?;
        self.length += self.chunk.len() as u64;
        self.text.push(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }
}

/// Reader of the two files of a part.
#[derive(Debug)]
pub(crate) struct CdxjFileReader {
    path: PathBuf,
    file: File,
    length: u64,
    checksums: BlockReader,
}

impl CdxjFileReader {
    pub(crate) fn open(dir: &Path, [text, checksums]: &[FileEntry; 2]) -> Result<CdxjFileReader> {
        let path = dir.join(&text.name);
        let file = File::open(&path).context("open", &path)?;
        let checksums = BlockReader::open(dir, checksums, RECORD_BYTES)?;
        Ok(CdxjFileReader { path, file, length: text.length(), checksums })
    }

    /// Appends the entries of a key to `found`, in order of time.
    pub(crate) fn find(&self, key: &str, found: &mut Vec<IndexEntry>) -> Result<()> {
        let prefix = format!("{key} ");
        // Binary search: the last chunk that begins before the key may have its first line.
        let (mut low, mut high) = (0, self.checksums.records());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.chunk(middle)?.as_str() < prefix.as_str() { low = middle + 1 } else { high = middle }
        }
        for index in low.saturating_sub(1)..self.checksums.records() {
            let chunk = self.chunk(index)?;
            for line in chunk.lines() {
                if line.starts_with(&prefix) {
                    found.push(self.decode(line)?);
                } else if line > prefix.as_str() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Iterates over all lines, in order.
    pub(crate) fn lines(&self) -> Lines<'_> {
        Lines { file: self, index: 0, chunk: String::new(), at: 0 }
    }

    pub(crate) fn decode(&self, line: &str) -> Result<IndexEntry> {
        IndexEntry::decode(line).map_err(|cause| corrupt(&self.path, format!("in the line `{line}`"), cause))
    }

    /// Reads and verifies a chunk.
    fn chunk(&self, index: u64) -> Result<String> {
        let per_block = self.checksums.records_per_block() as u64;
        let mut checksums = Vec::new();
        self.checksums.read_blocks(index / per_block, 1, &mut checksums)?;
        let at = (index % per_block) as usize * RECORD_BYTES;
        let record: [u8; RECORD_BYTES] =
            checksums.get(at..at + RECORD_BYTES).unwrap_or_default().try_into().unwrap_or_default();
        let [offset, length, stored] = [&record[..8], &record[8..12], &record[12..]]
            .map(|part| part.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)));
        let broken = |cause: String| corrupt(&self.path, format!("at byte {offset}"), cause);
        if offset + length > self.length {
            return Err(broken("truncated file".to_owned()));
        }
        let mut chunk = vec![0; length as usize];
        self.file.read_exact_at(&mut chunk, offset).context("read", &self.path)?;
        let found = xxh3_64_with_seed(&chunk, offset);
        // Fuzz targets change the content without its checksum.
        if found != stored && !cfg!(fuzzing) {
            return Err(broken(format!("checksum {found:016x}, expected {stored:016x}")));
        }
        String::from_utf8(chunk).map_err(|error| broken(error.to_string()))
    }
}

/// Lines of a file, see [`CdxjFileReader::lines`].
pub(crate) struct Lines<'f> {
    file: &'f CdxjFileReader,
    index: u64,
    chunk: String,
    at: usize,
}

impl Lines<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<String>> {
        if self.at == self.chunk.len() {
            if self.index == self.file.checksums.records() {
                return Ok(None);
            }
            self.chunk = self.file.chunk(self.index)?;
            self.index += 1;
            self.at = 0;
        }
        let rest = &self.chunk[self.at..];
        let line = rest.split('\n').next().unwrap_or_default();
        self.at = (self.at + line.len() + 1).min(self.chunk.len());
        Ok(Some(line.to_owned()))
    }
}

/// Calls `visit` with the lines of all files together, in order.
pub(crate) fn merge(
    files: &[CdxjFileReader],
    mut visit: impl FnMut(&CdxjFileReader, &str) -> Result<()>,
) -> Result<()> {
    let mut sources: Vec<Lines<'_>> = files.iter().map(CdxjFileReader::lines).collect();
    let mut heads = BinaryHeap::with_capacity(files.len());
    for (index, source) in sources.iter_mut().enumerate() {
        heads.extend(source.next()?.map(|line| Reverse((line, index))));
    }
    while let Some(Reverse((line, index))) = heads.pop() {
        visit(&files[index], &line)?;
        heads.extend(sources[index].next()?.map(|line| Reverse((line, index))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use warc::CdxjEntry;

    use super::*;
    use crate::pages::RecordLocation;

    fn line(key: &str, at: u64) -> IndexEntry {
        let location = RecordLocation { file: 0, offset: at, length: 9 };
        let cdxj =
            CdxjEntry { key: key.to_owned(), timestamp: "20261115000000".to_owned(), ..CdxjEntry::default() };
        IndexEntry { cdxj, location, original_location: None }
    }

    fn written(dir: &Path, stem: &str, lines: &[IndexEntry]) -> [FileEntry; 2] {
        let mut texts: Vec<String> = lines.iter().map(|line| line.encode().unwrap()).collect();
        texts.sort();
        let mut writer = CdxjWriter::create(dir, stem).unwrap();
        for text in &texts {
            writer.push(text).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn exactly_the_entries_of_a_key_are_found() {
        let dir = tempfile::tempdir().unwrap();
        for count in [0, 1, 7, 2_000] {
            let lines: Vec<IndexEntry> = (0..count).map(|n| line(&format!("com,a)/{}", n / 2), n)).collect();
            let file = CdxjFileReader::open(dir.path(), &written(dir.path(), "part", &lines)).unwrap();
            for key in 0..count / 2 {
                let mut found = Vec::new();
                file.find(&format!("com,a)/{key}"), &mut found).unwrap();
                let offsets: Vec<u64> = found.iter().map(|line| line.location.offset).collect();
                assert_eq!(offsets, [2 * key, 2 * key + 1], "{key}");
            }
            for key in ["", "com", "com,a)/!", "com,a)/9999999", "zz"] {
                let mut found = Vec::new();
                file.find(key, &mut found).unwrap();
                assert_eq!(found, [], "{key}");
            }
        }
    }

    #[test]
    fn files_are_merged_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let parts: Vec<Vec<IndexEntry>> = (0..3u64)
            .map(|part| (0..500).map(|n| line(&format!("com,a)/{}", n * 3 + part), n)).collect())
            .collect();
        let files: Vec<CdxjFileReader> = parts
            .iter()
            .enumerate()
            .map(|(n, lines)| {
                CdxjFileReader::open(dir.path(), &written(dir.path(), &n.to_string(), lines)).unwrap()
            })
            .collect();
        let mut merged = Vec::new();
        merge(&files, |_, line| {
            merged.push(line.to_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(merged.len(), 1_500);
        assert!(merged.is_sorted());
    }

    #[test]
    fn any_flipped_byte_is_detected_on_reading() {
        let dir = tempfile::tempdir().unwrap();
        let lines: Vec<IndexEntry> = (0..300).map(|n| line(&format!("com,a)/{n}"), n)).collect();
        let entries = written(dir.path(), "part", &lines);
        for name in names("part") {
            let path = dir.path().join(name);
            let bytes = std::fs::read(&path).unwrap();
            for at in (0..bytes.len()).step_by(11) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 0x20;
                std::fs::write(&path, flipped).unwrap();
                let file = CdxjFileReader::open(dir.path(), &entries).unwrap();
                let error = merge(&[file], |_, _| Ok(())).unwrap_err();
                assert!(error.to_string().contains("is corrupt at byte"), "{error}");
            }
            std::fs::write(&path, bytes).unwrap();
        }
    }
}
