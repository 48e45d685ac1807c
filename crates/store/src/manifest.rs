//! Manifest of a commit: every file of the collection with its length and checksums.
//!
//! A file that the manifest does not list does not belong to the collection. The format is JSON, readable by humans,
//! followed by a line with a checksum, so that a torn or edited manifest is rejected.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result, corrupt};
use crate::layout;

/// Format version that this program reads and writes.
pub const FORMAT_VERSION: u32 = 5;

/// Manifest of one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version of the collection.
    pub version: u32,
    /// Number of the commit: one more than that of the previous one.
    pub generation: u64,
    /// Time of the commit in Unix milliseconds.
    pub committed_ms: i64,
    /// All files of the collection.
    pub files: Vec<FileEntry>,
    /// State of the application at this commit; opaque to the store.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub application_state: serde_json::Value,
}

/// File of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path relative to the directory of the collection, with forward slashes.
    pub name: String,
    /// Extents in order: one for an immutable file, several for an append-only file.
    pub extents: Vec<Extent>,
}

/// Part of a file with its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Length in bytes.
    pub length: u64,
    /// XXH3 checksum, 64 bits.
    #[serde(with = "hex")]
    pub checksum: u64,
}

impl FileEntry {
    /// Entry of an empty append-only file.
    pub fn growing(name: &str) -> FileEntry {
        FileEntry { name: name.to_owned(), extents: Vec::new() }
    }

    /// Entry of an immutable file.
    pub fn complete(name: &str, length: u64, checksum: u64) -> FileEntry {
        FileEntry { name: name.to_owned(), extents: vec![Extent { length, checksum }] }
    }

    /// Length of the file at this commit; an append-only file may have grown since.
    pub fn length(&self) -> u64 {
        self.extents.iter().map(|extent| extent.length).sum()
    }
}

impl Manifest {
    /// Manifest of an empty collection.
    pub fn empty() -> Manifest {
        Manifest {
            version: FORMAT_VERSION,
            generation: 0,
            committed_ms: 0,
            files: Vec::new(),
            application_state: serde_json::Value::Null,
        }
    }

    /// Files below a directory of the collection, such as `urls`, in the order of the manifest.
    pub fn files_in<'m>(&'m self, dir: &'m str) -> impl Iterator<Item = &'m FileEntry> {
        self.files
            .iter()
            .filter(move |file| file.name.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/')))
    }

    /// Encodes the manifest as it is written to disk.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| corrupt(Path::new("MANIFEST"), "", error.to_string()))?;
        text.push(b'\n');
        let checksum = checksum_line(&text);
        text.extend_from_slice(checksum.as_bytes());
        Ok(text)
    }

    /// Decodes a manifest.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Manifest> {
        let text = std::str::from_utf8(bytes).map_err(|error| corrupt(path, "", error.to_string()))?;
        let (body, tail) = text
            .rfind(CHECKSUM_PREFIX)
            .map(|at| text.split_at(at))
            .ok_or_else(|| corrupt(path, "at its end", "the manifest has no checksum"))?;
        let expected = checksum_line(body.as_bytes());
        // The version is checked first: another format may have another checksum.
        let version: Version =
            serde_json::from_str(body).map_err(|error| corrupt(path, "", error.to_string()))?;
        if version.version != FORMAT_VERSION {
            let (found, known) = (version.version, FORMAT_VERSION);
            return Err(Error::UnknownVersion { path: path.to_owned(), found, known });
        }
        if tail != expected {
            let cause = format!("checksum {}, expected {}", expected.trim(), tail.trim());
            return Err(corrupt(path, "at its end", cause));
        }
        let manifest: Manifest =
            serde_json::from_str(body).map_err(|error| corrupt(path, "", error.to_string()))?;
        check_entries(&manifest.files).map_err(|cause| corrupt(path, "", cause))?;
        Ok(manifest)
    }
}

/// Checks the names and lengths: a manifest may come from a stranger.
fn check_entries(files: &[FileEntry]) -> std::result::Result<(), String> {
    let mut names = HashSet::new();
    for FileEntry { name, extents } in files {
        if !layout::is_component_path(name) {
            return Err(format!("`{}` is not a file name of a collection", name.escape_debug()));
        }
        if !names.insert(name) {
            return Err(format!("{name} is listed twice"));
        }
        if extents.iter().try_fold(0u64, |sum, extent| sum.checked_add(extent.length)).is_none() {
            return Err(format!("the extents of {name} exceed the maximum length of a file"));
        }
    }
    Ok(())
}

const CHECKSUM_PREFIX: &str = "xxh3 ";

/// Line with the checksum of the text before it, at the end of a manifest.
pub(crate) fn checksum_line(text: &[u8]) -> String {
    format!("{CHECKSUM_PREFIX}{:016x}\n", xxh3_64(text))
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Serialization of checksums in hexadecimal.
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
    fn an_encoded_manifest_is_decoded() {
        let manifest = manifest();
        let bytes = manifest.encode().unwrap();
        assert_eq!(Manifest::decode(&bytes, Path::new("M")).unwrap(), manifest);
        assert_eq!(manifest.files[0].length(), 12);
        assert_eq!(manifest.files_in("urls").count(), 1);
    }

    #[test]
    fn any_flipped_byte_is_detected() {
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
    fn names_and_lengths_that_no_writer_produces_are_rejected() {
        let decode = |files: Vec<FileEntry>| {
            let bytes = Manifest { files, ..Manifest::empty() }.encode().unwrap();
            Manifest::decode(&bytes, Path::new("M"))
        };
        for name in ["../../.ssh/id_rsa", "/etc/passwd", "pages/../../x", "pages", "weir.toml", "pages/a\nb"]
        {
            let error = decode(vec![FileEntry::complete(name, 1, 1)]).unwrap_err().to_string();
            assert!(error.contains("is not a file name of a collection"), "{error}");
        }
        let file = FileEntry::complete("pages/a", 1, 1);
        assert!(decode(vec![file.clone(), file]).unwrap_err().to_string().contains("listed twice"));
        let mut long = FileEntry::complete("pages/a", u64::MAX, 1);
        long.extents.push(Extent { length: 1, checksum: 0 });
        assert!(decode(vec![long]).unwrap_err().to_string().contains("maximum length"));
    }

    #[test]
    fn another_version_is_rejected_with_a_hint() {
        let text = String::from_utf8(manifest().encode().unwrap()).unwrap();
        let current = format!("\"version\": {FORMAT_VERSION}");
        let newer = text.replace(&current, "\"version\": 99");
        let error = Manifest::decode(newer.as_bytes(), Path::new("M")).unwrap_err();
        assert!(
            error.to_string().ends_with(&format!(
                "format version 99, this program supports {FORMAT_VERSION}; use a newer weir"
            )),
            "{error}"
        );
        let older = text.replace(&current, "\"version\": 1");
        let error = Manifest::decode(older.as_bytes(), Path::new("M")).unwrap_err();
        assert!(error.to_string().ends_with("use the older weir"), "{error}");
    }
}
