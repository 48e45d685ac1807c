//! Frames of variable size in an append-only file: length, checksum, payload.
//!
//! A frame is identified by its offset and verified on every read. The checksum is seeded with the offset, so that a
//! misplaced frame is detected too.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::disk::File;
use crate::error::{Context, Result, corrupt};
use crate::file::append_file::{AppendFile, open_committed};
use crate::manifest::FileEntry;

const HEADER_BYTES: usize = 12;

/// Maximum size of a frame; a larger length is corrupt.
pub(crate) const MAX_FRAME_BYTES: usize = 64 << 20;

/// Appends a frame; returns its offset.
pub(crate) fn append_frame(file: &mut AppendFile, payload: &[u8]) -> Result<u64> {
    debug_assert!(payload.len() <= MAX_FRAME_BYTES);
    let offset = file.length();
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[4..].copy_from_slice(&xxh3_64_with_seed(payload, offset).to_le_bytes());
    file.append(&header)?;
    file.append(payload)?;
    Ok(offset)
}

/// Reader of the frames of a file, up to its length at a commit.
#[derive(Debug)]
pub(crate) struct FrameReader {
    path: PathBuf,
    file: File,
    length: u64,
}

impl FrameReader {
    /// Opens a file of a manifest; frames appended later are not visible.
    pub(crate) fn open(dir: &Path, entry: &FileEntry) -> Result<FrameReader> {
        let (path, file) = open_committed(dir, entry)?;
        Ok(FrameReader { path, file, length: entry.length() })
    }

    /// End of the last frame.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Replaces the content of `out` by the payload of the frame at `offset`; returns the offset of the next one.
    pub(crate) fn read(&self, offset: u64, out: &mut Vec<u8>) -> Result<u64> {
        let at = || format!("at byte {offset}");
        let mut header = [0; HEADER_BYTES];
        if offset + HEADER_BYTES as u64 > self.length {
            return Err(corrupt(&self.path, at(), "truncated frame"));
        }
        self.file.read_exact_at(&mut header, offset).context("read", &self.path)?;
        let (length, checksum) = header.split_at(4);
        let length = u32::from_le_bytes(length.try_into().unwrap_or_default()) as usize;
        let stored = u64::from_le_bytes(checksum.try_into().unwrap_or_default());
        let end = offset + (HEADER_BYTES + length) as u64;
        if length > MAX_FRAME_BYTES || end > self.length {
            return Err(corrupt(&self.path, at(), format!("truncated frame of {length} bytes")));
        }
        out.resize(length, 0);
        self.file.read_exact_at(out, offset + HEADER_BYTES as u64).context("read", &self.path)?;
        let found = xxh3_64_with_seed(out, offset);
        // Fuzz targets change the content without its checksum.
        if found != stored && !cfg!(fuzzing) {
            return Err(corrupt(&self.path, at(), format!("checksum {found:016x}, expected {stored:016x}")));
        }
        Ok(end)
    }

    /// Calls `visit` with the offset and payload of every frame, in order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let mut payload = Vec::new();
        let mut offset = 0;
        while offset < self.length {
            let next = self.read(offset, &mut payload)?;
            visit(offset, &payload)?;
            offset = next;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_frames_are_read_and_uncommitted_ones_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = AppendFile::create(dir.path(), "frames").unwrap();
        let first = append_frame(&mut file, b"one").unwrap();
        let second = append_frame(&mut file, &[2; 100_000]).unwrap();
        let entry = file.commit().unwrap();
        append_frame(&mut file, b"lost").unwrap();
        file.write_pending().unwrap();
        drop(file);

        let reader = FrameReader::open(dir.path(), &entry).unwrap();
        let mut seen = Vec::new();
        let read = reader.for_each(|offset, payload| {
            seen.push((offset, payload.len()));
            Ok(())
        });
        read.unwrap();
        assert_eq!(seen, [(first, 3), (second, 100_000)]);

        let mut file = AppendFile::open(dir.path(), entry.clone()).unwrap();
        assert_eq!(file.length(), entry.length(), "what was not committed is cut off");
        let third = append_frame(&mut file, b"three").unwrap();
        let entry = file.commit().unwrap();
        let mut payload = Vec::new();
        let reader = FrameReader::open(dir.path(), &entry).unwrap();
        reader.read(third, &mut payload).unwrap();
        assert_eq!(payload, b"three");
    }

    #[test]
    fn any_flipped_byte_is_found_when_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = AppendFile::create(dir.path(), "frames").unwrap();
        for number in 0..20u8 {
            append_frame(&mut file, &vec![number; 10 + number as usize]).unwrap();
        }
        let entry = file.commit().unwrap();
        let path = dir.path().join("frames");
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            std::fs::write(&path, flipped).unwrap();
            let reader = FrameReader::open(dir.path(), &entry).unwrap();
            let error = reader.for_each(|_, _| Ok(())).unwrap_err();
            assert!(error.to_string().contains("frames is corrupt at byte"), "byte {at}: {error}");
        }
    }
}
