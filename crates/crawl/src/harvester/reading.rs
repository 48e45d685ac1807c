//! What happens to a page that has come? It waits until requests have been sent, then it is read, or handed on as it is.

use fetch::Answer;
use model::{CanonicalUrl, PageId, Reason, SiteId};

use super::{Harvester, Piece};
use crate::fetched::Fetched;

/// A page that has come.
pub(super) struct Unread {
    site: SiteId,
    page: PageId,
    fetched: Fetched,
}

/// So many pages wait to be read before nothing more is asked for: enough that no server waits for us, and little memory.
pub(super) const MOST_UNREAD: usize = 32;

impl Harvester<'_> {
    pub(super) fn page_came(
        &mut self,
        site: SiteId,
        page: PageId,
        url: CanonicalUrl,
        answer: Answer,
        unconditional: bool,
    ) {
        let mut fetched = Fetched::new(url, answer, self.running.clock.now_ms());
        if fetched.status == 304 && unconditional {
            fetched.failure = fetched.failure.or(Some(Reason::NotModifiedUnasked));
        }
        let good = (200..400).contains(&fetched.status) && fetched.failure.is_none();
        self.running.counters.count_visit(fetched.outcome(), good, fetched.body.len() as u64);
        if let Some(run) = self.sites.get_mut(&site) {
            run.unread += 1;
        }
        self.unread.push_back(Unread { site, page, fetched });
    }

    /// Reads a page, or hands it on as it is.
    pub(super) fn read(&mut self, Unread { site, page, fetched }: Unread) -> std::io::Result<()> {
        let bytes = fetched.body.len() + fetched.head.len();
        let piece = match &mut self.gatherer {
            Some(gatherer) => Piece::Gathered(Box::new(gatherer.read(&fetched))),
            None => Piece::Fetched(page, Box::new(fetched)),
        };
        self.journal.count();
        self.outbox.push(piece, bytes);
        if let Some(run) = self.sites.get_mut(&site) {
            run.unread -= 1;
        }
        self.close_if_done(site)
    }
}
