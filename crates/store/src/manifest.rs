//! What belongs to the collection? The manifest names every file with its length and checksums; a file that it does
//! not name is not there.
//!
//! It is JSON, so that people can read it, and one line of checksum below, so that a torn or edited one is refused.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result, damaged};

/// The newest format this program writes and reads.
pub const FORMAT_VERSION: u32 = 2;

/// The state of a collection at one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of the whole collection.
    pub version: u32,
    /// One more than that of the commit before.
    pub generation: u64,
    /// When it was committed, in Unix milliseconds.
    pub committed_ms: i64,
    /// Every file, by name.
    pub files: Vec<FileEntry>,
    /// Numbers that whoever writes wants to find again exactly as they were at this commit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, u64>,
}

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Relative to the collection's folder, with forward slashes.
    pub name: String,
    /// Its parts in order: one of a file that is written at once, several of one that grows.
    pub extents: Vec<Extent>,
}

/// A part of a file, with its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// In bytes.
    pub length: u64,
    /// XXH3, 64 bits.
    #[serde(with = "hex")]
    pub checksum: u64,
}

impl FileEntry {
    /// A file that begins to grow.
    pub fn growing(name: &str) -> FileEntry {
        FileEntry { name: name.to_owned(), extents: Vec::new() }
    }

    /// A file that is complete.
    pub fn complete(name: &str, length: u64, checksum: u64) -> FileEntry {
        FileEntry { name: name.to_owned(), extents: vec![Extent { length, checksum }] }
    }

    /// How long the file is at this commit; it may have grown since.
    pub fn length(&self) -> u64 {
        self.extents.iter().map(|extent| extent.length).sum()
    }
}

impl Manifest {
    /// The state of a collection that holds nothing yet.
    pub fn empty() -> Manifest {
        Manifest {
            version: FORMAT_VERSION,
            generation: 0,
            committed_ms: 0,
            files: Vec::new(),
            notes: BTreeMap::new(),
        }
    }

    /// The files below a folder of the collection, such as `urls`, in the manifest's order.
    pub fn files_in<'m>(&'m self, folder: &'m str) -> impl Iterator<Item = &'m FileEntry> {
        self.files
            .iter()
            .filter(move |file| file.name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    }

    /// As it stands in its file.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| damaged(Path::new("MANIFEST"), "in memory", error.to_string()))?;
        text.push(b'\n');
        let checksum = xxh3_64(&text);
        text.extend_from_slice(format!("{CHECKSUM_PREFIX}{checksum:016x}\n").as_bytes());
        Ok(text)
    }

    /// Reads what [`Manifest::encode`] wrote.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Manifest> {
        let text = std::str::from_utf8(bytes).map_err(|error| damaged(path, "", error.to_string()))?;
        let (body, tail) = text
            .rfind(CHECKSUM_PREFIX)
            .map(|at| text.split_at(at))
            .ok_or_else(|| damaged(path, "at its end", "it has no checksum"))?;
        let expected = format!("{CHECKSUM_PREFIX}{:016x}\n", xxh3_64(body.as_bytes()));
        // The version comes first: a newer format may have another checksum.
        let version: Version =
            serde_json::from_str(body).map_err(|error| damaged(path, "", error.to_string()))?;
        if version.version != FORMAT_VERSION {
            let (found, known) = (version.version, FORMAT_VERSION);
            return Err(Error::UnknownVersion { path: path.to_owned(), found, known });
        }
        if tail != expected {
            let what = format!("it says {}, but is {}", tail.trim(), expected.trim());
            return Err(damaged(path, "at its end", what));
        }
        serde_json::from_str(body).map_err(|error| damaged(path, "", error.to_string()))
    }
}

const CHECKSUM_PREFIX: &str = "xxh3 ";

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Checksums as people write them.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(checksum: &u64, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&format!("{checksum:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
        let text = String::deserialize(input)?;
        u64::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let mut growing = FileEntry::growing("pages/1.warc.gz");
        growing.extents.push(Extent { length: 7, checksum: u64::MAX });
        growing.extents.push(Extent { length: 5, checksum: 0 });
        let files = vec![growing, FileEntry::complete("urls/run-1", 12, 3)];
        Manifest { generation: 3, files, ..Manifest::empty() }
    }

    #[test]
    fn what_is_written_is_read() {
        let manifest = manifest();
        let bytes = manifest.encode().unwrap();
        assert_eq!(Manifest::decode(&bytes, Path::new("M")).unwrap(), manifest);
        assert_eq!(manifest.files[0].length(), 12);
        assert_eq!(manifest.files_in("urls").count(), 1);
    }

    #[test]
    fn any_flipped_byte_is_found() {
        let bytes = manifest().encode().unwrap();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(Manifest::decode(&flipped, Path::new("M")).is_err(), "byte {at}");
        }
        for end in 0..bytes.len() {
            assert!(Manifest::decode(&bytes[..end], Path::new("M")).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let text = String::from_utf8(manifest().encode().unwrap()).unwrap();
        let newer = text.replace("\"version\": 2", "\"version\": 99");
        let error = Manifest::decode(newer.as_bytes(), Path::new("M")).unwrap_err();
        assert!(
            error.to_string().ends_with("format version 99, and this program knows 2; use a newer weir"),
            "{error}"
        );
        let older = text.replace("\"version\": 2", "\"version\": 1");
        let error = Manifest::decode(older.as_bytes(), Path::new("M")).unwrap_err();
        assert!(error.to_string().ends_with("use the older weir"), "{error}");
    }
}
