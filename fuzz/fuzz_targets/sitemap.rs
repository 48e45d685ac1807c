//! Parses any bytes as a sitemap or feed: entries are within their limits and do not depend on the sizes of reads.
#![no_main]

use std::io::{BufRead, BufReader};

use libfuzzer_sys::fuzz_target;
use parse::{MAX_SITEMAP_URL_BYTES, SitemapEnd, SitemapEntry, SitemapLimits, SitemapSummary, read_sitemap};

type Entries = Vec<(String, Option<i64>)>;

fn read(source: impl BufRead, limits: SitemapLimits) -> (SitemapSummary, Entries) {
    let mut entries = Entries::new();
    let summary = read_sitemap(source, limits, |entry| match entry {
        SitemapEntry::Page { url, modified } | SitemapEntry::Sitemap { url, modified } => {
            assert!(url.len() <= MAX_SITEMAP_URL_BYTES);
            entries.push((url.to_owned(), modified));
        }
    });
    assert_eq!(summary.entries, entries.len() as u64);
    assert!(summary.entries <= limits.entries);
    (summary, entries)
}

fuzz_target!(|bytes: &[u8]| {
    let limits = SitemapLimits { expanded_bytes: 1 << 20, ..SitemapLimits::default() };
    let (summary, entries) = read(bytes, limits);
    // The output of gzip before an error depends on the size of the reads.
    let is_gzip = bytes.starts_with(b"\x1f\x8b");
    if !is_gzip || summary.end == SitemapEnd::Complete {
        assert_eq!(read(BufReader::with_capacity(7, bytes), limits), (summary, entries.clone()));
    }

    let few = SitemapLimits { entries: 2, ..limits };
    assert_eq!(read(bytes, few).1, entries[..entries.len().min(2)]);
});
