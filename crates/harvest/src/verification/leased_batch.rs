//! Batch that was leased, with the state of its pages and sites.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::ops::Range;

use model::{AddressGroup, PageId, Reason, SiteId};
use parse::MAX_ROBOTS_BYTES;

use crate::item::batch::Batch;
use crate::item::harvest_event::{HarvestEvent, SiteResult, UrlList, UrlListKind};
use crate::item::harvest_item::HarvestItem;
use crate::item::robots_response::RobotsResponse;
use crate::settings::crawl_settings::CrawlSettings;
use crate::verification::rejections::Rejections;
use crate::verification::time_bounds::TimeBounds;

/// Maximum length of the name of a site: scheme, host name of 253 bytes, and port.
const MAX_SITE_NAME_BYTES: usize = 300;

/// Batch that was leased to a worker. Each page is delivered once.
#[derive(Debug)]
pub struct LeasedBatch {
    /// Id.
    pub id: u64,
    leased_ms: u64,
    pages: Vec<LeasedPage>,
    index_by_id: HashMap<PageId, u32>,
    sites: HashMap<SiteId, LeasedSite>,
    /// Sites, and hosts that their robots.txt files redirect to.
    names: HashSet<String>,
    accepts_other_hosts: bool,
}

#[derive(Debug)]
struct LeasedPage {
    page: PageId,
    site: SiteId,
    url: String,
    state: LeasedPageState,
}

/// State of a leased page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeasedPageState {
    /// Without a result.
    Open,
    /// A result was received.
    Delivered,
    /// The site was finished, or the result dropped: the page was returned on behalf of the worker.
    Returned,
}

#[derive(Debug)]
struct LeasedSite {
    name: String,
    address: Option<AddressGroup>,
    earliest_request_ms: u64,
    is_done: bool,
    sitemap_urls: usize,
    /// Indexes of its pages.
    pages: Range<u32>,
}

/// Items of a worker that passed the verification, and those that did not.
#[derive(Debug, Default)]
pub struct VerifiedItems {
    /// Items.
    pub items: Vec<HarvestItem>,
    /// Dropped items.
    pub rejections: Rejections,
}

/// Settings and clocks by which a batch is verified.
#[derive(Clone, Copy)]
pub struct VerificationContext<'c> {
    /// Settings of the crawl.
    pub settings: &'c CrawlSettings,
    /// Current time, in Unix milliseconds.
    pub now_ms: u64,
    /// Converts a time of the worker's clock to this one, both in Unix milliseconds.
    pub to_local_ms: &'c dyn Fn(u64) -> u64,
}

/// Page of a batch that a worker may deliver now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenPage<'b> {
    pub(crate) url: &'b str,
    /// Addresses at which it was to be fetched; `None` if the site had none.
    pub(crate) address: Option<AddressGroup>,
}

impl LeasedBatch {
    /// Describes a batch that was leased at `leased_ms`, in Unix milliseconds, and of which nothing was delivered.
    pub fn new(batch: Batch, leased_ms: u64) -> LeasedBatch {
        let mut leased = LeasedBatch {
            id: batch.id,
            leased_ms,
            pages: Vec::with_capacity(batch.pages()),
            index_by_id: HashMap::with_capacity(batch.pages()),
            sites: HashMap::with_capacity(batch.sites.len()),
            names: HashSet::new(),
            accepts_other_hosts: false,
        };
        for site in batch.sites {
            let start = leased.pages.len() as u32;
            for page in site.pages {
                leased.index_by_id.insert(page.page, leased.pages.len() as u32);
                let state = LeasedPageState::Open;
                leased.pages.push(LeasedPage { page: page.page, site: site.site, url: page.url, state });
            }
            leased.names.extend(site.robots_redirects.into_iter().map(|redirect| redirect.name));
            leased.names.insert(site.name.clone());
            let described = LeasedSite {
                name: site.name,
                address: site.address.map(AddressGroup::from),
                earliest_request_ms: site.earliest_request_ms,
                is_done: false,
                sitemap_urls: 0,
                pages: start..leased.pages.len() as u32,
            };
            leased.sites.insert(site.site, described);
        }
        leased
    }

    /// Accepts cooldowns of hosts outside of the batch: a harvester of several batches reports them with any of these.
    pub fn accepting_other_hosts(self) -> LeasedBatch {
        LeasedBatch { accepts_other_hosts: true, ..self }
    }

    /// Marks the pages as delivered that are not open, and the sites as finished that are done, after a restart.
    pub fn restore(
        &mut self,
        mut is_open: impl FnMut(PageId) -> bool,
        mut is_done: impl FnMut(SiteId) -> bool,
    ) {
        for page in &mut self.pages {
            if !is_open(page.page) {
                page.state = LeasedPageState::Delivered;
            }
        }
        for (site, leased) in &mut self.sites {
            leased.is_done = is_done(*site);
        }
    }

    /// Bounds on the times of this batch.
    pub fn time_bounds(&self, context: &VerificationContext<'_>) -> TimeBounds {
        TimeBounds::new(context.settings, self.leased_ms, context.now_ms)
    }

    /// Page with this index, if it is open.
    pub(crate) fn open_page(&self, index: u32) -> Result<OpenPage<'_>, &'static str> {
        let page = self.pages.get(index as usize).ok_or("the batch has no page with this index")?;
        if page.state != LeasedPageState::Open {
            return Err("the page was delivered before");
        }
        let address = self.sites.get(&page.site).and_then(|site| site.address);
        Ok(OpenPage { url: &page.url, address })
    }

    /// Index of a page with this URL, if it is open.
    pub fn find_open(&self, page: PageId, url: &str) -> Option<u32> {
        let index = *self.index_by_id.get(&page)?;
        self.open_page(index).ok().filter(|page| page.url == url).map(|_| index)
    }

    /// Records that a page was delivered.
    pub fn deliver(&mut self, index: u32) {
        if let Some(page) = self.pages.get_mut(index as usize) {
            page.state = LeasedPageState::Delivered;
        }
    }

    /// Returns a page on behalf of the worker, so that it can be selected again; `None` if it has a result.
    pub fn return_page(&mut self, index: u32) -> Option<HarvestItem> {
        let page = self.pages.get_mut(index as usize).filter(|page| page.state == LeasedPageState::Open)?;
        page.state = LeasedPageState::Returned;
        Some(HarvestItem::Event(HarvestEvent::PageReturned { page: page.page, reason: None }))
    }

    /// Returns all open pages.
    pub fn return_all(&mut self) -> Vec<HarvestItem> {
        (0..self.pages.len() as u32).filter_map(|index| self.return_page(index)).collect()
    }

    /// Verifies an event. Its times are those of the worker's clock and are converted.
    pub fn accept_event(
        &mut self,
        mut event: HarvestEvent,
        context: &VerificationContext<'_>,
        out: &mut VerifiedItems,
    ) {
        event.convert_times(context.to_local_ms);
        let name = event_name(&event);
        match self.verify_event(event, context, &mut out.rejections) {
            Ok(Some(event)) => {
                let finished = match &event {
                    HarvestEvent::SiteDone(result) => Some(result.site),
                    _ => None,
                };
                out.items.push(HarvestItem::Event(event));
                // A page without a result would stay queued.
                let pages =
                    finished.and_then(|site| self.sites.get(&site)).map_or(0..0, |site| site.pages.clone());
                for index in pages {
                    out.items.extend(self.return_page(index));
                }
            }
            Ok(None) => {}
            Err(cause) => out.rejections.add(name, cause),
        }
    }

    /// Verifies an event; `None` if it has no effect.
    fn verify_event(
        &mut self,
        event: HarvestEvent,
        context: &VerificationContext<'_>,
        rejections: &mut Rejections,
    ) -> Result<Option<HarvestEvent>, &'static str> {
        let bounds = self.time_bounds(context);
        match event {
            HarvestEvent::PageSkipped { page, reason } => {
                if !matches!(reason, Reason::RobotsDisallowed | Reason::RejectedByPattern) {
                    return Err("a worker does not skip pages for this reason");
                }
                Ok(self.take_page(page)?.then_some(event))
            }
            HarvestEvent::PageReturned { page, reason } => {
                if reason.is_some_and(|reason| !is_reason_of_return(reason)) {
                    return Err("a worker does not return pages for this reason");
                }
                Ok(self.take_page(page)?.then_some(event))
            }
            HarvestEvent::RobotsFetched { site, response } => {
                self.site(site)?;
                let response = verify_robots(response, &bounds)?;
                Ok(Some(HarvestEvent::RobotsFetched { site, response }))
            }
            HarvestEvent::RobotsRedirect { site, ref name } => {
                self.site(site)?;
                verify_site_name(name, context.settings)?;
                Ok(Some(event))
            }
            HarvestEvent::SiteBackedOff { site, until_ms, .. } => {
                self.site(site)?;
                bounds.allows_wait(until_ms).then_some(Some(event)).ok_or(TOO_LONG_WAIT)
            }
            HarvestEvent::HostContacted { ref name, address, ended_ms, until_ms } => {
                if !self.names.contains(name) {
                    if !self.accepts_other_hosts {
                        return Err("the batch does not have this host");
                    }
                    verify_site_name(name, context.settings)?;
                }
                verify_address(address, context.settings)?;
                if !bounds.contains(ended_ms) {
                    return Err(IMPOSSIBLE_TIME);
                }
                bounds.allows_wait(until_ms).then_some(Some(event)).ok_or(TOO_LONG_WAIT)
            }
            HarvestEvent::UrlsListed(mut list) => {
                self.verify_list(&mut list, context, &bounds, rejections)?;
                Ok((!list.urls.is_empty()).then_some(HarvestEvent::UrlsListed(list)))
            }
            HarvestEvent::SiteDone(result) => {
                self.verify_site_result(&result, context, &bounds)?;
                if let Some(site) = self.sites.get_mut(&result.site) {
                    site.is_done = true;
                }
                Ok(Some(HarvestEvent::SiteDone(result)))
            }
        }
    }

    fn site(&self, site: SiteId) -> Result<&LeasedSite, &'static str> {
        self.sites.get(&site).ok_or("the batch does not have this site")
    }

    /// Delivers a page without content; false if it was returned before on behalf of the worker.
    fn take_page(&mut self, page: PageId) -> Result<bool, &'static str> {
        let index = self.index_by_id.get(&page).ok_or("the batch does not have this page")?;
        let page = &mut self.pages[*index as usize];
        match page.state {
            LeasedPageState::Open => {
                page.state = LeasedPageState::Delivered;
                Ok(true)
            }
            LeasedPageState::Returned => Ok(false),
            LeasedPageState::Delivered => Err("the page was delivered before"),
        }
    }

    fn verify_site_result(
        &self,
        result: &SiteResult,
        context: &VerificationContext<'_>,
        bounds: &TimeBounds,
    ) -> Result<(), &'static str> {
        let site = self.site(result.site)?;
        if site.is_done {
            return Err("the site was finished before");
        }
        verify_address(result.address, context.settings)?;
        // A site that was not contacted keeps the time that was leased.
        let is_leased = result.next_request_ms <= (context.to_local_ms)(site.earliest_request_ms);
        let waits = is_leased || bounds.allows_wait(result.next_request_ms);
        if !waits
            || !bounds.allows_wait(result.back_off_until_ms)
            || !bounds.allows_delay(result.throttle_delay_ms)
        {
            return Err(TOO_LONG_WAIT);
        }
        let is_past = bounds.is_past(result.resolved_s) && bounds.is_past(result.sitemaps_read_s);
        if !is_past || !bounds.allows_expiry(result.address_expires_s) {
            return Err(IMPOSSIBLE_TIME);
        }
        Ok(())
    }

    /// Verifies a list of URLs, and removes those that are out of scope or beyond the limit. Of a feed, only URLs of its own
    /// site count. The seeder verifies that a sitemap may list URLs of other sites.
    fn verify_list(
        &mut self,
        list: &mut UrlList,
        context: &VerificationContext<'_>,
        bounds: &TimeBounds,
        rejections: &mut Rejections,
    ) -> Result<(), &'static str> {
        let gathering = &context.settings.gathering;
        let leased = self.sites.get_mut(&list.site).ok_or("the batch does not have this site")?;
        let canonical = |text: &str| gathering.rules.canonical(text).ok().filter(|url| url.as_str() == text);
        if canonical(&list.file).is_none_or(|file| file.site() != leased.name) {
            return Err("the sitemap is not a file of the site");
        }
        let before = list.urls.len();
        let accepts_site = |name: &str| list.kind == UrlListKind::Sitemap || name == leased.name;
        list.urls.retain(|entry| {
            canonical(&entry.url)
                .is_some_and(|url| accepts_site(url.site()) && gathering.scope.check(&url).is_ok())
                && bounds.is_past(entry.modified_s)
        });
        let max_urls = context.settings.sitemaps.max_urls as usize;
        list.urls.truncate(max_urls.saturating_sub(leased.sitemap_urls));
        leased.sitemap_urls += list.urls.len();
        if list.urls.len() < before {
            let cause =
                "URLs that are not canonical, out of scope, with impossible dates or beyond the maximum";
            rejections.add(format_args!("{} URLs of a sitemap", before - list.urls.len()), cause);
        }
        Ok(())
    }
}

/// Causes of rejections.
pub(crate) const IMPOSSIBLE_TIME: &str = "a time is far from the present";
const TOO_LONG_WAIT: &str = "a delay is longer than any that the settings allow";

/// Whether a page is returned for this reason: its site or the robots.txt failed, or requests to the site had no response.
fn is_reason_of_return(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::RobotsUnreachable | Reason::SiteFailing | Reason::SchemeNotAllowed | Reason::PortBlocked
    ) || (Reason::DnsNotFound..=Reason::ProxyFailed).contains(&reason)
}

/// Verifies that the crawl may contact an address.
pub fn verify_address(address: Option<IpAddr>, settings: &CrawlSettings) -> Result<(), &'static str> {
    match address {
        Some(address) if !settings.fetch.network_filter.permits(address) => {
            Err("the settings do not permit the IP address")
        }
        _ => Ok(()),
    }
}

fn verify_robots(mut response: RobotsResponse, bounds: &TimeBounds) -> Result<RobotsResponse, &'static str> {
    if response.status != 0 && !(100..1_000).contains(&response.status) {
        return Err("the status of robots.txt is invalid");
    }
    if response.text.len() > MAX_ROBOTS_BYTES {
        return Err("robots.txt is longer than the maximum");
    }
    if !(200..300).contains(&response.status) {
        // Only a successful response has rules.
        response.text.clear();
    }
    bounds.contains(u64::from(response.fetched_s) * 1_000).then_some(response).ok_or(IMPOSSIBLE_TIME)
}

/// Verifies that a text is the name of a site: scheme, host and port, in canonical form.
fn verify_site_name(name: &str, settings: &CrawlSettings) -> Result<(), &'static str> {
    let is_short = name.len() <= MAX_SITE_NAME_BYTES;
    let url = is_short.then(|| settings.gathering.rules.canonical(&format!("{name}/")).ok()).flatten();
    let is_name = url.is_some_and(|url| url.site() == name && url.path_and_query() == "/");
    is_name.then_some(()).ok_or("the name of the host is invalid")
}

/// Kind and subject of an event, for messages.
fn event_name(event: &HarvestEvent) -> String {
    match event {
        HarvestEvent::PageSkipped { page, .. } => format!("skipped page {}", page.0),
        HarvestEvent::PageReturned { page, .. } => format!("returned page {}", page.0),
        HarvestEvent::RobotsFetched { site, .. } => format!("robots.txt of site {}", site.0),
        HarvestEvent::RobotsRedirect { site, .. } => format!("robots.txt redirect of site {}", site.0),
        HarvestEvent::SiteBackedOff { site, .. } => format!("back-off of site {}", site.0),
        HarvestEvent::HostContacted { .. } => "contacted host".to_owned(),
        HarvestEvent::UrlsListed(list) => format!("sitemap of site {}", list.site.0),
        HarvestEvent::SiteDone(result) => format!("result of site {}", result.site.0),
    }
}
