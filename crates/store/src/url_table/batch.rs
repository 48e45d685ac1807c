//! Which links are asked about together, and what is the answer?

use model::{CanonicalUrl, PageId, SiteId};

/// Links that wait to be resolved, in compact form: one text, and where each link ends in it.
#[derive(Debug, Default, Clone)]
pub struct UrlBatch {
    text: String,
    links: Vec<Link>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    start: u64,
    /// How much of it is the site.
    site_bytes: u16,
}

impl UrlBatch {
    /// No links yet.
    pub fn new() -> UrlBatch {
        UrlBatch::default()
    }

    /// Adds a link; the same one may be added more than once.
    pub fn push(&mut self, url: &CanonicalUrl) {
        // No canonical URL is longer than a u16 can count.
        self.links.push(Link { start: self.text.len() as u64, site_bytes: url.site().len() as u16 });
        self.text.push_str(url.as_str());
    }

    /// Adds all links of another batch, behind those of this one.
    pub fn extend(&mut self, other: &UrlBatch) {
        let start = self.text.len() as u64;
        self.links.extend(other.links.iter().map(|link| Link { start: start + link.start, ..*link }));
        self.text.push_str(&other.text);
    }

    /// How many links there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Forgets the links and keeps the memory for the next ones.
    pub fn clear(&mut self) {
        self.text.clear();
        self.links.clear();
    }

    /// The text of a link, by its place in the batch.
    pub fn url(&self, link: usize) -> &str {
        let end = self.links.get(link + 1).map_or(self.text.len(), |next| next.start as usize);
        &self.text[self.links[link].start as usize..end]
    }

    /// The site of a link, and its path with the query.
    pub(super) fn split(&self, link: usize) -> (&str, &str) {
        self.url(link).split_at(self.links[link].site_bytes as usize)
    }
}

/// Which page each link of a batch leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// In the order of the batch; [`Resolved::REFUSED`] for those that were not to be known.
    pub pages: Vec<PageId>,
    /// Pages from this one on were not known before.
    pub first_new: PageId,
    /// The new pages, in the order of their ids, from `first_new` on: that of their first links in the batch.
    pub new: Vec<NewPage>,
}

/// A page that nobody had linked to before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewPage {
    /// The place in the batch of the first link to it.
    pub link: u32,
    /// Its site.
    pub site: SiteId,
}

impl Resolved {
    /// Stands for a page that was not known and got no number.
    pub const REFUSED: PageId = PageId(u32::MAX);

    /// Whether the page of a link, by its place in the batch, was not known before the batch.
    pub fn is_new(&self, link: usize) -> bool {
        self.pages[link] >= self.first_new && self.pages[link] != Resolved::REFUSED
    }
}
