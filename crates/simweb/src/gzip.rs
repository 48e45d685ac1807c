//! How are bytes compressed? As gzip, for bodies and sitemaps alike.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Compressed at the fastest level, as servers do on the fly.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
    // Writing to memory cannot fail; if it did, an empty body would say so.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}
