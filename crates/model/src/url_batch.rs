//! Batch of URLs in compact form, to be resolved to page ids together.

use crate::CanonicalUrl;

/// Batch of canonical URLs in one buffer, with the start of each.
#[derive(Debug, Default, Clone)]
pub struct UrlBatch {
    text: String,
    links: Vec<UrlSpan>,
}

#[derive(Debug, Clone, Copy)]
struct UrlSpan {
    start: u64,
    /// Length of the site: scheme, host and port.
    site_bytes: u16,
}

impl UrlBatch {
    /// Returns an empty batch.
    pub fn new() -> UrlBatch {
        UrlBatch::default()
    }

    /// Appends a URL; duplicates are kept.
    pub fn push(&mut self, url: &CanonicalUrl) {
        // No canonical URL is longer than a u16 can count.
        self.links.push(UrlSpan { start: self.text.len() as u64, site_bytes: url.site().len() as u16 });
        self.text.push_str(url.as_str());
    }

    /// Appends all URLs of another batch.
    pub fn extend(&mut self, other: &UrlBatch) {
        let start = self.text.len() as u64;
        self.links.extend(other.links.iter().map(|link| UrlSpan { start: start + link.start, ..*link }));
        self.text.push_str(&other.text);
    }

    /// Number of URLs.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Removes all URLs and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.links.clear();
    }

    /// URL at an index.
    pub fn url(&self, link: usize) -> &str {
        let end = self.links.get(link + 1).map_or(self.text.len(), |next| next.start as usize);
        &self.text[self.links[link].start as usize..end]
    }

    /// Site of a URL, and its path with the query.
    pub fn split(&self, link: usize) -> (&str, &str) {
        self.url(link).split_at(self.links[link].site_bytes as usize)
    }
}
