//! How is a sorted text file searched and trusted? In pieces of some lines each, whose places and checksums are in a
//! second file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::line::CdxjLine;
use crate::blocks::{BlockReader, BlockWriter};
use crate::error::{Context, Result, damaged};
use crate::manifest::FileEntry;
use crate::whole_file::WholeFile;

/// A piece ends with the line that makes it so long, or at the end of the file.
const PIECE_BYTES: usize = 16 << 10;

/// In the second file: offset, length, checksum of a piece.
const SUM_BYTES: usize = 8 + 4 + 8;

/// Names of both files of a part of the index.
pub(crate) fn names(stem: &str) -> [String; 2] {
    [format!("{stem}.cdxj"), format!("{stem}.sums")]
}

/// Writes lines that come in order.
pub(crate) struct CdxjWriter {
    text: WholeFile,
    piece: Vec<u8>,
    length: u64,
    sums: BlockWriter,
}

impl CdxjWriter {
    /// Starts the two files of this stem, relative to the collection's folder.
    pub(crate) fn create(folder: &Path, stem: &str) -> Result<CdxjWriter> {
        let [name, sums] = names(stem);
        let sums = BlockWriter::create(folder, &sums, SUM_BYTES)?;
        Ok(CdxjWriter { text: WholeFile::create(folder, &name)?, piece: Vec::new(), length: 0, sums })
    }

    pub(crate) fn push(&mut self, line: &str) -> Result<()> {
        self.piece.extend_from_slice(line.as_bytes());
        self.piece.push(b'\n');
        if self.piece.len() >= PIECE_BYTES { self.end_piece() } else { Ok(()) }
    }

    /// Syncs both files, and says how the manifest is to name them.
    pub(crate) fn finish(mut self) -> Result<[FileEntry; 2]> {
        if !self.piece.is_empty() {
            self.end_piece()?;
        }
        Ok([self.text.finish()?, self.sums.finish()?])
    }

    fn end_piece(&mut self) -> Result<()> {
        let mut sum = [0; SUM_BYTES];
        sum[..8].copy_from_slice(&self.length.to_le_bytes());
        sum[8..12].copy_from_slice(&(self.piece.len() as u32).to_le_bytes());
        sum[12..].copy_from_slice(&xxh3_64_with_seed(&self.piece, self.length).to_le_bytes());
        self.sums.push(&sum)?;
        self.length += self.piece.len() as u64;
        self.text.push(&self.piece)?;
        self.piece.clear();
        Ok(())
    }
}

/// Reads both files of a part.
#[derive(Debug)]
pub(crate) struct CdxjFile {
    path: PathBuf,
    file: File,
    length: u64,
    sums: BlockReader,
}

impl CdxjFile {
    pub(crate) fn open(folder: &Path, [text, sums]: &[FileEntry; 2]) -> Result<CdxjFile> {
        let path = folder.join(&text.name);
        let file = File::open(&path).context("open", &path)?;
        let sums = BlockReader::open(folder, sums, SUM_BYTES)?;
        Ok(CdxjFile { path, file, length: text.length(), sums })
    }

    /// The lines of this key, in order of time.
    pub(crate) fn find(&self, key: &str, found: &mut Vec<CdxjLine>) -> Result<()> {
        let wanted = format!("{key} ");
        // The last piece that begins before the key may have its first line.
        let (mut low, mut high) = (0, self.sums.records());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.piece(middle)?.as_str() < wanted.as_str() { low = middle + 1 } else { high = middle }
        }
        for number in low.saturating_sub(1)..self.sums.records() {
            let piece = self.piece(number)?;
            for line in piece.lines() {
                if line.starts_with(&wanted) {
                    found.push(self.decode(line)?);
                } else if line > wanted.as_str() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// All lines, in order.
    pub(crate) fn lines(&self) -> Lines<'_> {
        Lines { file: self, number: 0, piece: String::new(), at: 0 }
    }

    pub(crate) fn decode(&self, line: &str) -> Result<CdxjLine> {
        CdxjLine::decode(line).map_err(|what| damaged(&self.path, format!("in the line `{line}`"), what))
    }

    /// A piece whose checksum is right.
    fn piece(&self, number: u64) -> Result<String> {
        let per_block = self.sums.records_per_block() as u64;
        let mut sums = Vec::new();
        self.sums.read_blocks(number / per_block, 1, &mut sums)?;
        let at = (number % per_block) as usize * SUM_BYTES;
        let sum: [u8; SUM_BYTES] =
            sums.get(at..at + SUM_BYTES).unwrap_or_default().try_into().unwrap_or_default();
        let [offset, length, stored] = [&sum[..8], &sum[8..12], &sum[12..]]
            .map(|part| part.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)));
        let broken = |what: String| damaged(&self.path, format!("at byte {offset}"), what);
        if offset + length > self.length {
            return Err(broken("it ends before its last line".to_owned()));
        }
        let mut piece = vec![0; length as usize];
        self.file.read_exact_at(&mut piece, offset).context("read", &self.path)?;
        let found = xxh3_64_with_seed(&piece, offset);
        if found != stored {
            return Err(broken(format!("checksum {found:016x}, expected {stored:016x}")));
        }
        String::from_utf8(piece).map_err(|error| broken(error.to_string()))
    }
}

/// See [`CdxjFile::lines`].
pub(crate) struct Lines<'f> {
    file: &'f CdxjFile,
    number: u64,
    piece: String,
    at: usize,
}

impl Lines<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<String>> {
        if self.at == self.piece.len() {
            if self.number == self.file.sums.records() {
                return Ok(None);
            }
            self.piece = self.file.piece(self.number)?;
            self.number += 1;
            self.at = 0;
        }
        let rest = &self.piece[self.at..];
        let line = rest.split('\n').next().unwrap_or_default();
        self.at = (self.at + line.len() + 1).min(self.piece.len());
        Ok(Some(line.to_owned()))
    }
}

/// Calls `each` with the lines of all files together, in order.
pub(crate) fn merge(files: &[CdxjFile], mut each: impl FnMut(&CdxjFile, &str) -> Result<()>) -> Result<()> {
    let mut sources: Vec<Lines<'_>> = files.iter().map(CdxjFile::lines).collect();
    let mut heads = BinaryHeap::with_capacity(files.len());
    for (number, source) in sources.iter_mut().enumerate() {
        heads.extend(source.next()?.map(|line| Reverse((line, number))));
    }
    while let Some(Reverse((line, number))) = heads.pop() {
        each(&files[number], &line)?;
        heads.extend(sources[number].next()?.map(|line| Reverse((line, number))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_store::PageLocation;

    fn line(key: &str, at: u64) -> CdxjLine {
        let location = PageLocation { file: 0, offset: at, length: 9 };
        CdxjLine {
            key: key.to_owned(),
            timestamp: "20261115000000".to_owned(),
            location,
            ..CdxjLine::default()
        }
    }

    fn written(folder: &Path, stem: &str, lines: &[CdxjLine]) -> [FileEntry; 2] {
        let mut texts: Vec<String> = lines.iter().map(|line| line.encode().unwrap()).collect();
        texts.sort();
        let mut writer = CdxjWriter::create(folder, stem).unwrap();
        for text in &texts {
            writer.push(text).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn each_key_is_found_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 1, 7, 2_000] {
            let lines: Vec<CdxjLine> = (0..count).map(|n| line(&format!("com,a)/{}", n / 2), n)).collect();
            let file = CdxjFile::open(folder.path(), &written(folder.path(), "part", &lines)).unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let parts: Vec<Vec<CdxjLine>> = (0..3u64)
            .map(|part| (0..500).map(|n| line(&format!("com,a)/{}", n * 3 + part), n)).collect())
            .collect();
        let files: Vec<CdxjFile> = parts
            .iter()
            .enumerate()
            .map(|(n, lines)| {
                CdxjFile::open(folder.path(), &written(folder.path(), &n.to_string(), lines)).unwrap()
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
    fn any_flipped_byte_is_found_when_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<CdxjLine> = (0..300).map(|n| line(&format!("com,a)/{n}"), n)).collect();
        let entries = written(folder.path(), "part", &lines);
        for name in names("part") {
            let path = folder.path().join(name);
            let bytes = std::fs::read(&path).unwrap();
            for at in (0..bytes.len()).step_by(11) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 0x20;
                std::fs::write(&path, flipped).unwrap();
                let file = CdxjFile::open(folder.path(), &entries).unwrap();
                let error = merge(&[file], |_, _| Ok(())).unwrap_err();
                assert!(error.to_string().contains("is damaged at byte"), "{error}");
            }
            std::fs::write(&path, bytes).unwrap();
        }
    }
}
