//! Gzip compression of bodies and sitemaps.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Compresses at the fastest level, as servers do.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
    // Writing to memory cannot fail.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}
