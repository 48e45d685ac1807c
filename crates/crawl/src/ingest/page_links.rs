//! Outlinks of a stored page.

use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::gathered_page::{GatheredLink, GatheredLinks, GatheredPage, LinkTarget};
use model::{CanonicalUrl, PageId, Reason, UrlRules};

/// Stored page and its outlinks.
#[derive(Debug)]
pub(crate) struct PageLinks {
    pub(crate) id: PageId,
    pub(crate) url: CanonicalUrl,
    pub(crate) fetched_ms: i64,
    pub(crate) outcome: FetchOutcome,
    /// Whether the page was never fetched before.
    pub(crate) is_first: bool,
    /// Cash that is distributed among its link targets.
    pub(crate) cash: f32,
    pub(crate) links: GatheredLinks,
}

impl PageLinks {
    pub(crate) fn from_page(page: GatheredPage, id: PageId, first: bool, cash: f32) -> PageLinks {
        let GatheredPage { url, fetched_ms, outcome, links, .. } = page;
        PageLinks { id, url, fetched_ms, outcome, is_first: first, cash, links }
    }

    /// Removes the followed links that `admits` refuses: they are recorded as out of scope.
    pub(crate) fn restrict(&mut self, rules: &UrlRules, admits: impl Fn(&str) -> bool) {
        let old = &self.links;
        if (0..old.followed.len()).all(|index| admits(old.followed.url(index))) {
            return;
        }
        let mut new = GatheredLinks::default();
        (new.internal, new.external, new.embedded) = (old.internal, old.external, old.embedded);
        for link in &old.all {
            let text = old.url(link.target);
            let target = match link.target {
                LinkTarget::Followed(index) => match rules.canonical(text).ok().filter(|_| admits(text)) {
                    Some(url) => {
                        let index = index as usize;
                        let dynamic = old.dynamic.get(index).copied().unwrap_or_default();
                        new.follow(&url, dynamic, old.relevance(index))
                    }
                    None => {
                        let text = new.store_text(text, usize::MAX);
                        LinkTarget::Unfollowed(text, Some(Reason::OutOfScope))
                    }
                },
                LinkTarget::Unfollowed(_, reason) => {
                    LinkTarget::Unfollowed(new.store_text(text, usize::MAX), reason)
                }
            };
            let rel = new.store_text(old.text(link.rel), usize::MAX);
            let anchor = new.store_text(old.text(link.anchor), usize::MAX);
            new.all.push(GatheredLink { target, rel, anchor, ..*link });
        }
        self.links = new;
    }
}
