//! By which rules do pages enter the collection, and when are they visited again?

use std::collections::HashSet;

use frontier::{ChangePriors, Event, Limits, PageVerdict, Patience};
use model::{Reason, SiteId, UrlClass};
use store::{Collection, Column, PageFlags, PageRecord, PageStateReader, Result, Stage};

use crate::crawl_settings::{CrawlSettings, Revisits};
use crate::gathered::Gathered;
use crate::outcome::Outcome;
use crate::random::random;
use crate::url_promise::UrlPromise;
use crate::visit;

/// The rules of one collection, and what of it is full by them.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) limits: Limits,
    pub(crate) patience: Patience,
    pub(crate) revisits: Revisits,
    /// How promising URLs are.
    pub(crate) promise: UrlPromise,
    /// Whether the links of exact duplicates are followed, too.
    pub(crate) links_of_duplicates: bool,
    /// How often pages change.
    change_priors: ChangePriors,
    full_sites: HashSet<SiteId>,
    /// How many pages of each site are known.
    pages_known: Vec<u32>,
    sites: u32,
    is_full: bool,
}

impl Rules {
    pub(crate) fn new(settings: &CrawlSettings) -> Rules {
        Rules {
            limits: settings.limits.clone(),
            patience: settings.patience.clone(),
            revisits: settings.revisits,
            promise: UrlPromise::new(&settings.url_words),
            links_of_duplicates: settings.links_of_duplicates,
            ..Rules::default()
        }
    }

    /// New patience holds from now on.
    pub(crate) fn follow(&mut self, settings: &CrawlSettings) {
        self.patience = settings.patience.clone();
        self.revisits = settings.revisits;
        self.promise = UrlPromise::new(&settings.url_words);
    }

    /// Looks which sites are full, and how often pages change, at the start.
    pub(crate) fn count(&mut self, collection: &Collection) -> Result<()> {
        let parts = collection.sites.reader().scan(|known: &mut Vec<(SiteId, u32)>, site, record| {
            known.push((site, record.pages_known));
        })?;
        for (site, pages) in parts.into_iter().flatten() {
            self.note_site(site, pages);
        }
        self.note_size(collection);
        self.change_priors = change_priors(collection.pages.reader())?;
        Ok(())
    }

    /// Looks how large the collection has become.
    pub(crate) fn note_size(&mut self, collection: &Collection) {
        let known = collection.urls.known();
        self.sites = known.sites();
        self.is_full = u64::from(known.pages()) >= self.limits.pages;
    }

    /// A site has so many pages now.
    pub(crate) fn note_site(&mut self, site: SiteId, pages_known: u32) {
        if u64::from(pages_known) >= self.limits.pages_per_site {
            self.full_sites.insert(site);
        }
        if self.pages_known.len() <= site.index() {
            self.pages_known.resize(site.index() + 1, 0);
        }
        self.pages_known[site.index()] = pages_known;
    }

    /// How many pages of a site were known when it was last noted.
    pub(crate) fn pages_known(&self, site: SiteId) -> u32 {
        self.pages_known.get(site.index()).copied().unwrap_or(0)
    }

    /// Whether a site, which may be new, may have one more page.
    pub(crate) fn admits(&self, site: Option<SiteId>) -> bool {
        match site {
            Some(site) => !self.is_full && !self.full_sites.contains(&site),
            None => !self.is_full && u64::from(self.sites) < self.limits.sites,
        }
    }

    /// Why a site, which may be new, may not have one more page.
    pub(crate) fn refusal(&self, site: Option<SiteId>) -> Reason {
        if self.is_full || site.is_none() { Reason::CollectionFull } else { Reason::SiteFull }
    }

    /// Whether everything is admitted, so that nobody needs to ask.
    pub(crate) fn admits_all(&self) -> bool {
        !self.is_full && self.full_sites.is_empty() && u64::from(self.sites) < self.limits.sites
    }

    /// The record of a page that is new, so deep and behind so many redirects. With it, `site_pages` of its site are known:
    /// one batch may bring more than the site has room for.
    pub(crate) fn new_page(
        &self,
        site: SiteId,
        site_pages: u32,
        depth: u8,
        redirects: u8,
        dynamic: bool,
    ) -> PageRecord {
        let flags = if dynamic { PageFlags::DYNAMIC } else { PageFlags::default() };
        let mut record = PageRecord::new(site, depth, flags.with_redirects(redirects));
        let refused = if redirects > self.limits.redirects {
            Err(Reason::TooManyRedirects)
        } else if u64::from(site_pages) > self.limits.pages_per_site {
            Err(Reason::SiteFull)
        } else {
            self.judge_depth(&record)
        };
        if let Err(reason) = refused {
            (record.stage, record.reason) = (Stage::Rejected, reason.code());
        }
        record
    }

    /// A shorter way to a page was found; it may be near enough now.
    pub(crate) fn come_nearer(&self, record: &mut PageRecord, depth: u8) {
        if depth < record.depth {
            record.depth = depth;
            let too_deep = record.stage == Stage::Rejected && record.reason == Reason::TooDeep.code();
            if too_deep && self.judge_depth(record).is_ok() {
                (record.stage, record.reason) = (Stage::New, 0);
            }
        }
    }

    fn judge_depth(&self, record: &PageRecord) -> std::result::Result<(), Reason> {
        let dynamic = record.flags.has(PageFlags::DYNAMIC);
        self.limits.judge_depth(if dynamic { UrlClass::Dynamic } else { UrlClass::Static }, record.depth)
    }

    /// Estimates anew how often a page changes, after a visit that could be compared with the one before.
    pub(crate) fn note_change_rate(&mut self, record: &mut PageRecord) {
        let before = record.changes_per_day;
        record.changes_per_day = visit::changes_per_day(record, self.change_priors.of(record.site));
        self.change_priors.replace(record.site, before, record.changes_per_day);
    }

    /// Notes after a visit why it was in vain, if it was, and when the next one may be.
    pub(crate) fn note_visit(&self, record: &mut PageRecord, page: &Gathered, now_s: u32) {
        let event = match page.failure {
            Some(reason) if page.outcome == Outcome::NoAnswer => Event::NoAnswer(reason),
            Some(Reason::NotModifiedUnasked) => Event::ServerError,
            _ => Event::of_status(page.status, None),
        };
        // Failures in a row are not kept; for a page that never brought anything, visits are failures.
        let mut failures = if record.content_hash == 0 { record.visits.saturating_sub(1) } else { 0 };
        if matches!(event, Event::AskedToWait { .. }) {
            // Whoever asked too often is the site's trouble more than the page's.
            failures /= 4;
        }
        let verdict = self.patience.after(event, 0, failures, random());
        let (reason, wait_s) = match verdict.page {
            PageVerdict::Done => (page.failure, self.revisits.ok_s),
            PageVerdict::Retry { delay_ms } => {
                let reason = page.failure.or(failure_of(event));
                (reason, u32::try_from(delay_ms.div_ceil(1_000)).unwrap_or(u32::MAX))
            }
            PageVerdict::GiveUp(reason) if event == Event::NotFound => (Some(reason), self.revisits.not_ok_s),
            PageVerdict::GiveUp(reason) => (Some(reason), self.revisits.error_s),
        };
        record.reason = reason.map_or(0, Reason::code);
        record.not_before_s = now_s.saturating_add(wait_s);
    }
}

fn failure_of(event: Event) -> Option<Reason> {
    match event {
        Event::AskedToWait { .. } => Some(Reason::AskedToWait),
        Event::ServerError => Some(Reason::ServerTrouble),
        _ => None,
    }
}

/// How often pages change, by what is known of all of them.
fn change_priors(pages: &PageStateReader) -> Result<ChangePriors> {
    let columns = [Column::Site, Column::ChangeRate];
    let parts = pages.scan(&columns, |priors: &mut ChangePriors, row| {
        priors.replace(row.site, 0.0, row.changes_per_day);
    })?;
    let mut priors = ChangePriors::default();
    parts.into_iter().for_each(|part| priors.merge(&part));
    Ok(priors)
}
