//! Handling of pages that have arrived: they wait until requests are sent, then they are parsed or passed on as they are.

use fetch::{BodyReservation, Response};
use model::{CanonicalUrl, PageId, Reason, SiteId};

use super::{HarvestItem, Harvester};
use crate::harvester::sitemaps::drop_useless_dates;
use crate::item::fetched_page::FetchedPage;
use crate::item::harvest_event::{HarvestEvent, SitemapUrl, UrlList, UrlListKind};

/// Page that has arrived and is not parsed.
pub(super) struct UnparsedPage {
    site: SiteId,
    page: PageId,
    fetched: FetchedPage,
    /// Memory of the body, until it is parsed.
    reservation: BodyReservation,
}

/// No request starts while this many pages wait for the parser: enough to keep connections busy, with little memory.
pub(super) const MAX_UNPARSED: usize = 32;

impl Harvester<'_> {
    pub(super) fn on_page(
        &mut self,
        site: SiteId,
        page: PageId,
        url: CanonicalUrl,
        mut response: Response,
        unconditional: bool,
    ) {
        let reservation = std::mem::take(&mut response.reservation);
        let mut fetched = FetchedPage::new(url, response, self.context.clock.now_ms());
        if fetched.status == 304 && unconditional {
            fetched.failure = fetched.failure.or(Some(Reason::UnexpectedNotModified));
        }
        let success = (200..400).contains(&fetched.status) && fetched.failure.is_none();
        self.context.counters.count_fetch(fetched.outcome(), success, fetched.body.len() as u64);
        if success {
            self.context.stop_at_quota();
        } else {
            self.context.return_page();
        }
        if let Some(active) = self.sites.get_mut(&site) {
            active.unparsed += 1;
        }
        self.unparsed.push_back(UnparsedPage { site, page, fetched, reservation });
    }

    /// Parses a page, or passes it on unparsed if there is no gatherer.
    pub(super) fn parse_page(
        &mut self,
        UnparsedPage { site, page, fetched, reservation }: UnparsedPage,
    ) -> std::io::Result<()> {
        let bytes = fetched.body.len() + fetched.head.len();
        let item = match &mut self.gatherer {
            Some(gatherer) => {
                let mut gathered = gatherer.gather(&fetched);
                let entries = std::mem::take(&mut gathered.feed_entries);
                self.send_feed_entries(site, &gathered.url, entries)?;
                HarvestItem::Gathered(Box::new(gathered))
            }
            None => HarvestItem::Fetched(page, Box::new(fetched)),
        };
        drop(reservation);
        self.journal.next_seq();
        self.outbox.push(item, bytes);
        if let Some(active) = self.sites.get_mut(&site) {
            active.unparsed -= 1;
        }
        self.close_if_done(site)
    }

    /// Sends the pages that a feed lists.
    fn send_feed_entries(
        &mut self,
        site: SiteId,
        feed: &CanonicalUrl,
        mut urls: Vec<SitemapUrl>,
    ) -> std::io::Result<()> {
        urls.truncate(self.settings.sitemaps.max_urls as usize);
        drop_useless_dates(&mut urls, self.context.clock.now_s());
        if urls.is_empty() {
            return Ok(());
        }
        let (file, kind) = (feed.as_str().to_owned(), UrlListKind::Feed);
        self.send(HarvestEvent::UrlsListed(UrlList { site, file, kind, urls }))
    }
}
