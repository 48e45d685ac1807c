//! Names of items and fields in the formats of sitemaps and feeds.

use super::MAX_SITEMAP_URL_BYTES;
use super::SitemapEntry;
use super::SitemapKind;
use super::is_absolute;
use crate::parse_date;

/// A relevant child element of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Url,
    /// An id that is often a URL; used if the URL is missing.
    Id,
    Modified,
}

impl SitemapKind {
    /// Returns the format by the local name of the root element.
    pub(super) fn from_root(name: &str) -> SitemapKind {
        match name {
            "urlset" => SitemapKind::UrlSet,
            "sitemapindex" => SitemapKind::Index,
            "rss" => SitemapKind::Rss,
            "feed" => SitemapKind::Atom,
            "RDF" => SitemapKind::Rdf,
            _ => SitemapKind::Unknown,
        }
    }

    /// Reports whether an element of this name is an item. RDF items are recognised by their attributes instead.
    pub(super) fn is_item(self, name: &str) -> bool {
        match self {
            SitemapKind::UrlSet => name == "url",
            SitemapKind::Index => name == "sitemap",
            SitemapKind::Rss => name == "item",
            SitemapKind::Atom => name == "entry",
            SitemapKind::Rdf | SitemapKind::Text | SitemapKind::Unknown => false,
        }
    }

    /// Returns the meaning of a child element by its local name.
    pub(super) fn field(self, name: &str) -> Option<Field> {
        let is_url = match self {
            // A link in a sitemap refers to a translation, which has its own item.
            SitemapKind::UrlSet | SitemapKind::Index => name == "loc",
            SitemapKind::Rdf => matches!(name, "loc" | "link" | "url"),
            _ => name == "link",
        };
        match name {
            _ if is_url => Some(Field::Url),
            "guid" | "id" => Some(Field::Id),
            _ if is_date(name) => Some(Field::Modified),
            _ => None,
        }
    }
}

/// Reports whether this is the name of a modification date.
pub(super) fn is_date(name: &str) -> bool {
    const NAMES: [&str; 9] =
        ["lastmod", "lastmodified", "modified", "updated", "pubdate", "published", "date", "issued", "mtime"];
    if name.len() > 16 {
        return false;
    }
    let bare = name.replace(['-', '_'], "");
    NAMES.iter().any(|known| bare.eq_ignore_ascii_case(known))
}

/// State while an item is parsed.
#[derive(Debug)]
pub(super) struct Item {
    /// Nesting depth of its element.
    pub(super) depth: usize,
    url: Option<String>,
    /// Resource that an RDF item describes. In RSS 1.0 it can be any identifier, so that a link takes precedence.
    pub(super) about: Option<String>,
    id: Option<String>,
    modified: Option<i64>,
    /// Whether it describes the feed itself.
    pub(super) describes_feed: bool,
}

impl Item {
    pub(super) fn new(depth: usize) -> Item {
        Item { depth, url: None, about: None, id: None, modified: None, describes_feed: false }
    }

    /// Reports whether it has a link, or describes a resource.
    pub(super) fn has_url(&self) -> bool {
        self.url.is_some() || self.about.is_some()
    }

    /// Sets a field. Of several URLs the first counts, of several dates the latest.
    pub(super) fn set(&mut self, field: Field, text: &str) {
        let text = text.trim();
        match field {
            _ if text.is_empty() || text.len() > MAX_SITEMAP_URL_BYTES => {}
            Field::Url if self.url.is_none() => self.url = Some(text.to_owned()),
            Field::Id if self.id.is_none() && is_absolute(text) => self.id = Some(text.to_owned()),
            Field::Url | Field::Id => {}
            Field::Modified => self.modified = self.modified.max(parse_date(text)),
        }
    }

    /// Returns the entry of the item if it has a URL.
    pub(super) fn entry(&self, kind: SitemapKind) -> Option<SitemapEntry<'_>> {
        let modified = self.modified;
        let url = self.url.as_deref().or(self.about.as_deref()).or(self.id.as_deref());
        let url = url.map(str::trim).filter(|url| !url.is_empty() && !self.describes_feed)?;
        Some(match kind {
            SitemapKind::Index => SitemapEntry::Sitemap { url, modified },
            _ => SitemapEntry::Page { url, modified },
        })
    }
}
