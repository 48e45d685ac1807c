//! What the kinds of sitemaps and feeds call their parts.

use super::{SITEMAP_LIMIT_URL_BYTES, SitemapEntry, SitemapKind, is_absolute};
use crate::parse_date;

/// A child of an item that means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Url,
    /// An identity that is often an address: it stands in for a missing one.
    Id,
    Modified,
}

impl SitemapKind {
    /// The kind of a document by the local name of its root.
    pub(super) fn of_root(name: &str) -> SitemapKind {
        match name {
            "urlset" => SitemapKind::UrlSet,
            "sitemapindex" => SitemapKind::Index,
            "rss" => SitemapKind::Rss,
            "feed" => SitemapKind::Atom,
            "RDF" => SitemapKind::Rdf,
            _ => SitemapKind::Unknown,
        }
    }

    /// Whether an element of this name is an item. In RDF every resource is, whatever its name.
    pub(super) fn is_item(self, name: &str) -> bool {
        match self {
            SitemapKind::UrlSet => name == "url",
            SitemapKind::Index => name == "sitemap",
            SitemapKind::Rss => name == "item",
            SitemapKind::Atom => name == "entry",
            SitemapKind::Rdf | SitemapKind::Text | SitemapKind::Unknown => false,
        }
    }

    /// What a child of an item means by its local name.
    pub(super) fn field(self, name: &str) -> Option<Field> {
        let is_url = match self {
            // A link in a sitemap names a translation, which has its own item.
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

/// Whether something of this name tells when a page changed.
pub(super) fn is_date(name: &str) -> bool {
    const NAMES: [&str; 9] =
        ["lastmod", "lastmodified", "modified", "updated", "pubdate", "published", "date", "issued", "mtime"];
    if name.len() > 16 {
        return false;
    }
    let bare = name.replace(['-', '_'], "");
    NAMES.iter().any(|known| bare.eq_ignore_ascii_case(known))
}

/// An item that is being read.
#[derive(Debug)]
pub(super) struct Item {
    /// How deep its element lies.
    pub(super) depth: usize,
    pub(super) url: Option<String>,
    id: Option<String>,
    modified: Option<i64>,
    /// Whether it describes the feed itself.
    pub(super) about_feed: bool,
}

impl Item {
    pub(super) fn new(depth: usize) -> Item {
        Item { depth, url: None, id: None, modified: None, about_feed: false }
    }

    /// Takes what a field says. Of several addresses the first counts, of several dates the latest.
    pub(super) fn set(&mut self, field: Field, text: &str) {
        let text = text.trim();
        match field {
            _ if text.is_empty() || text.len() > SITEMAP_LIMIT_URL_BYTES => {}
            Field::Url if self.url.is_none() => self.url = Some(text.to_owned()),
            Field::Id if self.id.is_none() && is_absolute(text) => self.id = Some(text.to_owned()),
            Field::Url | Field::Id => {}
            Field::Modified => self.modified = self.modified.max(parse_date(text)),
        }
    }

    /// The entry that the item comes to, if it has an address.
    pub(super) fn entry(&self, kind: SitemapKind) -> Option<SitemapEntry<'_>> {
        let modified = self.modified;
        let url = self.url.as_deref().or(self.id.as_deref()).filter(|_| !self.about_feed)?;
        Some(match kind {
            SitemapKind::Index => SitemapEntry::Sitemap { url, modified },
            _ => SitemapEntry::Page { url, modified },
        })
    }
}
