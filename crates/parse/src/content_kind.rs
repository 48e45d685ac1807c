//! Kind of a response body: HTML, text, feed or other, by Content-Type and by its first bytes.
//!
//! The header decides; if it is missing or says no more than "XML", the first bytes do.

/// Kind of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContentKind {
    /// HTML or XHTML.
    #[default]
    Html,
    /// Plain text.
    Text,
    /// List of links: RSS, Atom, RDF or a sitemap.
    Feed,
    /// Content that is not parsed.
    Other,
}

impl ContentKind {
    /// Name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ContentKind::Html => "html",
            ContentKind::Text => "text",
            ContentKind::Feed => "feed",
            ContentKind::Other => "other",
        }
    }

    /// Determines the kind by the `Content-Type` header and by the first bytes.
    pub fn detect(content_type: Option<&str>, bytes: &[u8]) -> ContentKind {
        let mime_type = content_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
        match mime_type.to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => ContentKind::Html,
            "text/plain" | "text/markdown" => ContentKind::Text,
            "application/rss+xml"
            | "application/atom+xml"
            | "application/rdf+xml"
            | "application/gzip"
            | "application/x-gzip" => ContentKind::Feed,
            "" | "text/xml" | "application/xml" | "unknown/unknown" | "application/unknown" | "*/*" => {
                sniff(bytes)
            }
            _ => ContentKind::Other,
        }
    }
}

/// Number of bytes that are sniffed, as in the MIME Sniffing standard.
const SNIFFED_BYTES: usize = 1_445;

fn sniff(bytes: &[u8]) -> ContentKind {
    let start = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    if start.starts_with(b"\x1f\x8b") {
        // Only sitemaps are published as gzip files; the sitemap parser rejects all other content.
        return ContentKind::Feed;
    }
    let is_utf16 = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    let has = |word: &[u8]| start.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    let body = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let feeds: [&[u8]; 5] = [b"<rss", b"<feed", b"<urlset", b"<sitemapindex", b"<rdf:rdf"];
    if body.first() == Some(&b'<') && !has(b"<html") && feeds.into_iter().any(has) {
        ContentKind::Feed
    } else if is_utf16 || body.first() == Some(&b'<') {
        ContentKind::Html
    } else if start.iter().any(|&byte| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f)) {
        // Control characters mark a binary file, unless it starts with a tag.
        ContentKind::Other
    } else if has(b"</") || has(b"<!") {
        ContentKind::Html
    } else {
        ContentKind::Text
    }
}
