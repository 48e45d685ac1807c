//! Entry points of the fuzz targets.

use std::path::Path;

use crate::error::Result;
use crate::manifest::Manifest;
use crate::pages::index::IndexEntry;

/// Decodes a manifest, with its checksum.
pub fn decode_manifest(bytes: &[u8]) -> Result<Manifest> {
    Manifest::decode(bytes, Path::new("MANIFEST"))
}

/// Encodes a manifest, with its checksum.
pub fn encode_manifest(manifest: &Manifest) -> Result<Vec<u8>> {
    manifest.encode()
}

/// Decodes a line of the CDXJ index and encodes it again.
pub fn reencode_index_line(line: &str) -> Option<String> {
    IndexEntry::decode(line).ok()?.encode().ok()
}
