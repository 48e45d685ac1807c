//! Report about a URL: its stage with the reason, its records, and the decisions of settings and robots.txt.

mod budget;
mod info;
mod priority;
mod stage;

use crawl::{CrawlState, TemplateBudget};
use harvest::item::robots_policy::RobotsPolicy;
use harvest::item::robots_response::RobotsResponse;
use harvest::settings::crawl_settings::CrawlSettings;
use model::{CanonicalUrl, PageId, Reason, SiteId, UrlClass, UrlError};
use store::{
    Cancellation, FetchHistoryEntry, Inlink, PageFlags, PageRecord, PageStage, ScanRow, SiteRecord, Snapshot,
    fetch_history, inlinks,
};

pub use self::budget::BudgetInfo;
pub use self::info::{FetchInfo, InlinkInfo, PageInfo, RobotsInfo, SiteInfo, UrlReport};
pub use self::priority::{PriorityInfo, TermInfo};

use self::stage::{known, notes, unknown};
use crate::error::Error;
use crate::site_suggestions::{invalid_url_error, suggest_sites};
use crate::sites::count_sites_at_address;

/// Maximum number of fetches in a report.
const MAX_FETCHES: usize = 100;
/// Maximum number of inlinks in a report.
const MAX_INLINKS: usize = 10;

/// Explains the stage of a URL, by a commit and the settings of its crawl; `now_ms` is in Unix milliseconds.
pub fn explain_url(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    input: &str,
    now_ms: u64,
    cancellation: &Cancellation,
) -> Result<UrlReport, Error> {
    let url = match settings.gathering.rules.canonical(input).or_else(|error| {
        // `host:8090/x` looks like a URL with the scheme `host`.
        known_site_url(snapshot, settings, input).ok_or(error)
    }) {
        Ok(url) => url,
        Err(error @ UrlError::Scheme(_)) if has_port(input) => {
            return Err(invalid_url_error(snapshot, input, error));
        }
        // Links with other schemes occur in pages, so that users may look them up; anything else is a typing error.
        Err(error @ UrlError::Scheme(_)) => {
            return Ok(empty_report(input, format!("invalid URL: {error}")));
        }
        Err(error) => return Err(invalid_url_error(snapshot, input, error)),
    };
    let page_id = snapshot.urls.find(&url)?;
    let record = page_id.map(|page| snapshot.page_state.get(page)).transpose()?.flatten();
    let site_id = snapshot.urls.find_site(url.site());
    let site = site_id.map(|site| snapshot.site_state.get(site)).transpose()?.flatten().zip(site_id);
    // Stop reading as soon as all known inlinks are found.
    let limit = record.as_ref().map_or(MAX_INLINKS, |record| (record.inlinks as usize).clamp(1, MAX_INLINKS));
    let links = inlinks(snapshot.dir(), &snapshot.manifest, page_id, url.as_str(), limit, cancellation)?;
    let robots =
        site.map(|(site, id)| robots_info(snapshot, settings, &url, id, &site)).transpose()?.flatten();
    let checked = check_settings(settings, &url);
    let (stage, reason, summary) = match &record {
        Some(record) => known(record, site.as_ref().map(|(site, _)| site), robots.as_ref()),
        None => {
            unknown(&checked, &links, robots.as_ref(), site.is_some_and(|(site, _)| site.alias_of.is_some()))
        }
    };
    let summary = match suggest_sites(snapshot, url.site()).filter(|_| site.is_none()) {
        Some(known) => format!("{summary}; {known}"),
        None => summary,
    };
    let mut report = UrlReport { url: url.as_str().to_owned(), ..empty_report(input, summary) };
    report.page_id = page_id.map(|page| page.0);
    (report.stage, report.reason) = (stage, reason.map(Reason::as_str));
    report.url_class = Some(url.class(&settings.gathering.scope.extensions).as_str());
    let site_record = site.as_ref().map(|(site, _)| site);
    report.notes = notes(record.as_ref(), &checked, robots.as_ref(), site_record, now_ms);
    if let Some(page) = page_id {
        let expected = record.as_ref().map_or(usize::MAX, |record| usize::from(record.fetch_count));
        let (dir, manifest) = (snapshot.dir(), &snapshot.manifest);
        let fetches = fetch_history(dir, manifest, page, MAX_FETCHES, expected, cancellation)?;
        report.fetches = fetches.into_iter().map(fetch_info).collect();
    }
    if let (Some(page), Some(record)) = (page_id, &record) {
        report.priority = PriorityInfo::load(snapshot, settings, page, record, site_record, now_ms)?;
        report.page = Some(page_info(snapshot, settings, page, record)?);
    }
    if let Some((site, id)) = site {
        let sites_at_ip = count_sites_at_address(snapshot, site.address)?;
        report.site = Some(site_info(snapshot, settings, &url, id, &site, sites_at_ip, now_ms));
        let budget = BudgetInfo::load(snapshot, settings, &url, id, now_ms)?;
        let stage = record.as_ref().map(|record| record.stage);
        if matches!(stage, Some(PageStage::Discovered | PageStage::Failed)) {
            report.notes.extend(budget.notes(stage == Some(PageStage::Discovered)));
        }
        report.budget = Some(budget);
    }
    if let Some(site) = site_id.filter(|_| reason == Some(Reason::TemplateBudget)) {
        report.notes.extend(template_note(snapshot, settings, site, &url)?);
    }
    report.robots = robots;
    report.inlinks_sample = inlink_infos(snapshot, links)?;
    Ok(report)
}

/// Use of the page budget that holds a page back.
fn template_note(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    site: SiteId,
    url: &CanonicalUrl,
) -> Result<Option<String>, Error> {
    let state = CrawlState::from_manifest(&snapshot.manifest)?;
    let budget = state.exhausted_template(&settings.limits.templates, site, url);
    Ok(budget.map(|TemplateBudget { group, pages, max_pages }| {
        let group =
            ["URLs of this form", "URLs of this path", "URLs of this directory", "URLs of this site"][group];
        format!("{group} that are linked only from each other: {pages} of {max_pages} pages")
    }))
}

/// URL for an input without a scheme, if the site is known with one.
fn known_site_url(snapshot: &Snapshot, settings: &CrawlSettings, input: &str) -> Option<CanonicalUrl> {
    let with_scheme = |scheme: &str| settings.gathering.rules.canonical(&format!("{scheme}://{input}")).ok();
    let urls = ["https", "http"].into_iter().filter_map(with_scheme);
    urls.filter(|_| !input.contains("://")).find(|url| snapshot.urls.find_site(url.site()).is_some())
}

/// Whether an input without a scheme begins with a host and a port.
fn has_port(input: &str) -> bool {
    let authority = input.split(['/', '?', '#']).next().unwrap_or_default();
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

fn empty_report(input: &str, summary: String) -> UrlReport {
    UrlReport {
        url: input.to_owned(),
        page_id: None,
        stage: "invalid-url",
        reason: None,
        summary,
        fetches: Vec::new(),
        url_class: None,
        page: None,
        site: None,
        robots: None,
        priority: None,
        budget: None,
        notes: Vec::new(),
        inlinks_sample: Vec::new(),
    }
}

/// Checks a URL against the current settings.
fn check_settings(settings: &CrawlSettings, url: &CanonicalUrl) -> Result<UrlClass, Reason> {
    if settings.override_for(url).is_some_and(|site| site.skip) {
        return Err(Reason::SiteSkipped);
    }
    settings.gathering.scope.check(url)
}

fn robots_info(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    url: &CanonicalUrl,
    id: SiteId,
    site: &SiteRecord,
) -> Result<Option<RobotsInfo>, Error> {
    if site.robots_fetched_s == 0 {
        return Ok(None);
    }
    let text = snapshot.site_state.robots_text(id)?.unwrap_or_default();
    let response = RobotsResponse { fetched_s: site.robots_fetched_s, status: site.robots_status, text };
    let robots_agent = settings.override_for(url).and_then(|site| site.robots_agent.as_deref());
    let mut info = RobotsInfo {
        fetched_ms: u64::from(response.fetched_s) * 1_000,
        status: response.status,
        allowed: false,
        rule: None,
        line: None,
    };
    if let RobotsPolicy::Rules(robots) =
        RobotsPolicy::from_response(&response, robots_agent.unwrap_or(&settings.robots.agent))
    {
        let decision = robots.decide(url.path_and_query());
        info.allowed = decision.allowed;
        info.rule = decision.rule.map(|rule| rule.text.clone());
        info.line = decision.rule.map(|rule| rule.line);
    }
    Ok(Some(info))
}

fn page_info(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    page: PageId,
    record: &PageRecord,
) -> Result<PageInfo, Error> {
    let ms = |seconds: u32| (seconds != 0).then(|| u64::from(seconds) * 1_000);
    Ok(PageInfo {
        is_seed: record.flags.has(PageFlags::SEED),
        depth: record.depth,
        redirect_depth: record.flags.redirects(),
        inlinks: record.inlinks,
        fetch_count: record.fetch_count,
        change_count: record.change_count,
        first_fetch_ms: ms(record.first_visit_s),
        last_fetch_ms: ms(record.last_visit_s),
        next_fetch_after_ms: ms(crawl::page_due_s(&settings.revisits, &ScanRow::from_record(page, record))),
        status: record.status,
        duplicate_of: record.duplicate_of.map(|page| url_of(snapshot, page)).transpose()?,
    })
}

fn site_info(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    url: &CanonicalUrl,
    id: SiteId,
    site: &SiteRecord,
    sites_at_ip: u64,
    now_ms: u64,
) -> SiteInfo {
    let site_override = settings.override_for(url);
    let delay_override_ms = site_override.and_then(|site| site.delay_ms);
    let name = |site: SiteId| snapshot.urls.site_name(site).unwrap_or_default().to_owned();
    let ms =
        |seconds: Option<u32>| seconds.filter(|time_s| *time_s != 0).map(|time_s| u64::from(time_s) * 1_000);
    SiteInfo {
        site: url.site().to_owned(),
        site_id: id.0,
        alias_of: site.alias_of.map(name),
        ip_address: site.address.map(|address| address.to_string()),
        pages_known: site.pages_known,
        pages_fetched: site.pages_fetched,
        pages_queued: site.pages_queued,
        max_pages: site_override
            .and_then(|site| site.max_pages)
            .map_or(settings.limits.pages_per_site, u64::from),
        consecutive_failures: site.consecutive_errors,
        delay_ms: crawl::site_delay_ms(settings, site, delay_override_ms),
        sites_at_ip,
        back_off_until_ms: Some(site.back_off_until_ms).filter(|until_ms| *until_ms > now_ms),
        next_robots_poll_ms: ms(crawl::robots_due_s(settings, site)),
        sitemaps_read_ms: ms(Some(site.sitemaps_read_s)),
        next_sitemap_poll_ms: ms(crawl::sitemaps_due_s(settings, site)),
        sitemap_refusals: site.sitemap_refusals,
    }
}

fn fetch_info(visit: FetchHistoryEntry) -> FetchInfo {
    FetchInfo {
        fetched_ms: visit.fetched_ms,
        status: visit.status,
        outcome: visit.outcome,
        reason: visit.reason,
        redirect_url: visit.redirect,
        mime_type: visit.mime_type,
        body_bytes: visit.body_bytes,
        duration_ms: visit.duration_ms,
        ip_address: visit.ip_address,
        changed: visit.changed,
        warc_filename: visit.warc_file,
        warc_record_offset: visit.warc_offset,
    }
}

/// One link per page.
fn inlink_infos(snapshot: &Snapshot, links: Vec<Inlink>) -> Result<Vec<InlinkInfo>, Error> {
    let info = |link: Inlink| {
        let Inlink { source, element: kind, anchor, reason, .. } = link;
        Ok(InlinkInfo { url: url_of(snapshot, source)?, kind, anchor, reason })
    };
    links.into_iter().map(info).collect()
}

fn url_of(snapshot: &Snapshot, page: PageId) -> store::Result<String> {
    Ok(snapshot.urls.url(page)?.unwrap_or_default())
}
