//! What does the collection know about a URL, and what do the rules say?

use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use crawl::{CrawlSettings, Robots, RobotsCopy};
use model::{CanonicalUrl, PageId, Reason, Rejected, SiteId, UrlClass};
use serde::Serialize;
use store::{InLink, PageFlags, PageRecord, SiteRecord, Snapshot, Stage, Visit, links_to, visits_of};

use super::worth::WorthAnswer;
use crate::known_sites;
use crate::settings::Settings;

/// Visits that are told.
const MOST_VISITS: usize = 100;
/// Links that are told.
const MOST_LINKS: usize = 10;

/// Everything about a URL. Scripts rely on the names.
#[derive(Serialize)]
pub(super) struct Story {
    /// In its canonical form, or as it was given if it has none.
    pub(super) url: String,
    pub(super) page_id: Option<u32>,
    /// `new`, `queued`, `fetched`, `failed`, `rejected`; `unknown` for a URL that is no page of the collection, and `no-url`
    /// for a text that cannot be fetched at all.
    pub(super) state: &'static str,
    /// Why it was not fetched, in one word.
    pub(super) reason: Option<&'static str>,
    /// The state in a sentence.
    pub(super) because: String,
    /// Oldest first.
    pub(super) history: Vec<VisitAnswer>,
    pub(super) class: Option<&'static str>,
    pub(super) page: Option<PageAnswer>,
    pub(super) site: Option<SiteAnswer>,
    pub(super) robots: Option<RobotsAnswer>,
    /// What a visit is worth, as the manager would say now.
    pub(super) worth: Option<WorthAnswer>,
    /// What else stands in its way now.
    pub(super) notes: Vec<String>,
    /// Some pages that link to it.
    pub(super) linked_from: Vec<LinkAnswer>,
}

/// Of its record.
#[derive(Serialize)]
pub(super) struct PageAnswer {
    pub(super) seed: bool,
    pub(super) depth: u8,
    pub(super) redirects: u8,
    pub(super) in_links: u32,
    pub(super) visits: u16,
    pub(super) changes: u16,
    pub(super) first_visit_ms: Option<u64>,
    pub(super) last_visit_ms: Option<u64>,
    pub(super) not_before_ms: Option<u64>,
    pub(super) status: u16,
    pub(super) duplicate_of: Option<String>,
}

/// Of its site.
#[derive(Serialize)]
pub(super) struct SiteAnswer {
    pub(super) site: String,
    pub(super) site_id: u32,
    pub(super) alias_of: Option<String>,
    pub(super) address: Option<String>,
    pub(super) pages_known: u32,
    pub(super) pages_fetched: u32,
    pub(super) pages_queued: u32,
    pub(super) most_pages: u64,
    pub(super) errors_in_a_row: u16,
    pub(super) wait_ms: u64,
    pub(super) back_off_until_ms: Option<u64>,
    /// Sites that share its address, itself included: they are asked in turn.
    pub(super) sites_at_address: u64,
}

/// What its robots.txt says.
#[derive(Serialize)]
pub(super) struct RobotsAnswer {
    pub(super) fetched_ms: u64,
    pub(super) status: u16,
    pub(super) allowed: bool,
    pub(super) rule: Option<String>,
    pub(super) line: Option<u32>,
}

/// One visit.
#[derive(Serialize)]
pub(super) struct VisitAnswer {
    pub(super) time_ms: i64,
    pub(super) status: i16,
    pub(super) outcome: String,
    pub(super) reason: Option<String>,
    pub(super) redirect: Option<String>,
    pub(super) mime_type: Option<String>,
    pub(super) bytes: i64,
    pub(super) duration_ms: Option<i32>,
    pub(super) address: Option<String>,
    pub(super) changed: Option<bool>,
    pub(super) warc_filename: Option<String>,
    pub(super) warc_record_offset: Option<i64>,
}

/// One link to it.
#[derive(Serialize)]
pub(super) struct LinkAnswer {
    pub(super) url: String,
    pub(super) kind: String,
    pub(super) anchor: Option<String>,
    pub(super) reason: Option<String>,
}

pub(super) fn story(snapshot: &Snapshot, settings: &Settings, input: &str) -> anyhow::Result<Story> {
    let url = match settings.url_rules().canonical(input) {
        Ok(url) => url,
        // Links to such things are met, and may be asked for; anything else was mistyped.
        Err(rejected @ Rejected::Scheme(_)) => {
            return Ok(no_url(input, format!("it cannot be fetched: {rejected}")));
        }
        Err(rejected) => return Err(known_sites::mistyped(snapshot, input, &rejected).into()),
    };
    let rules = settings.crawl_settings(snapshot.folder())?;
    let page_id = snapshot.urls.find(&url)?;
    let record = page_id.map(|page| snapshot.pages.get(page)).transpose()?.flatten();
    let site_id = snapshot.urls.find_site(url.site());
    let site = site_id.map(|site| snapshot.sites.get(site)).transpose()?.flatten().zip(site_id);
    // As many pages as are known to link to it, or some.
    let most = record.as_ref().map_or(MOST_LINKS, |record| (record.in_links as usize).clamp(1, MOST_LINKS));
    let links = links_to(snapshot.folder(), &snapshot.manifest, page_id, url.as_str(), most)?;
    let robots = site.map(|(site, id)| robots(snapshot, &rules, &url, id, &site)).transpose()?.flatten();
    let judged = judge(&rules, &url);
    let (state, reason, because) = match &record {
        Some(record) => known(record, site.as_ref().map(|(site, _)| site)),
        None => {
            unknown(&judged, &links, robots.as_ref(), site.is_some_and(|(site, _)| site.alias_of.is_some()))
        }
    };
    let because = match known_sites::suggestion(snapshot, url.site()).filter(|_| site.is_none()) {
        Some(known) => format!("{because}; {known}"),
        None => because,
    };
    let mut story = Story { url: url.as_str().to_owned(), ..no_url(input, because) };
    story.page_id = page_id.map(|page| page.0);
    (story.state, story.reason) = (state, reason.map(Reason::as_str));
    story.class = Some(url.class(&rules.gather.scope.extensions).as_str());
    story.notes = notes(record.as_ref(), &judged, robots.as_ref(), site.as_ref().map(|(site, _)| site));
    if let Some(page) = page_id {
        let all = record.as_ref().map_or(usize::MAX, |record| usize::from(record.visits));
        let visits = visits_of(snapshot.folder(), &snapshot.manifest, page, MOST_VISITS, all)?;
        story.history = visits.into_iter().map(visit_answer).collect();
    }
    if let (Some(page), Some(record)) = (page_id, &record) {
        story.worth = WorthAnswer::of(snapshot, &rules, page, record, site.as_ref().map(|(site, _)| site))?;
    }
    story.page = record.map(|record| page_answer(snapshot, &record)).transpose()?;
    if let Some((site, id)) = site {
        let neighbours = sites_at(snapshot, site.address)?;
        story.site = Some(site_answer(snapshot, &rules, &url, id, &site, neighbours));
    }
    story.robots = robots;
    story.linked_from = link_answers(snapshot, links)?;
    Ok(story)
}

fn no_url(input: &str, because: String) -> Story {
    Story {
        url: input.to_owned(),
        page_id: None,
        state: "no-url",
        reason: None,
        because,
        history: Vec::new(),
        class: None,
        page: None,
        site: None,
        robots: None,
        worth: None,
        notes: Vec::new(),
        linked_from: Vec::new(),
    }
}

/// What the settings say about a URL.
fn judge(rules: &CrawlSettings, url: &CanonicalUrl) -> Result<UrlClass, Reason> {
    if rules.site(url).is_some_and(|site| site.skip) {
        return Err(Reason::SkippedSite);
    }
    rules.gather.scope.judge(url)
}

type State = (&'static str, Option<Reason>, String);

fn known(record: &PageRecord, site: Option<&SiteRecord>) -> State {
    let waits = matches!(record.stage, Stage::New | Stage::Queued);
    let alias = site.filter(|site| waits && site.alias_of.is_some()).map(|_| Reason::Alias);
    let reason = alias.or(Reason::from_code(record.reason));
    let why = reason.map_or_else(|| "no reason was recorded".to_owned(), |reason| reason.to_string());
    match record.stage {
        Stage::New if reason.is_some() => ("new", reason, format!("it waits: {why}")),
        Stage::New => ("new", reason, "it is known, and waits to be chosen".to_owned()),
        Stage::Queued => ("queued", reason, "it is in a batch that is being fetched".to_owned()),
        Stage::Fetched => ("fetched", reason, "it was fetched".to_owned()),
        Stage::Failed => ("failed", reason, format!("the last visit brought nothing: {why}")),
        Stage::Rejected => ("rejected", reason, format!("it is not fetched: {why}")),
    }
}

fn unknown(
    judged: &Result<UrlClass, Reason>,
    links: &[InLink],
    robots: Option<&RobotsAnswer>,
    is_alias: bool,
) -> State {
    let state =
        |reason: Reason| ("unknown", Some(reason), format!("it is no page of this collection: {reason}"));
    if let Err(reason) = judged {
        return state(*reason);
    }
    // A link that was seen and not followed has the reason with it.
    let refused = links.iter().filter_map(|link| link.reason.as_deref());
    let refused = refused.filter_map(|name| Reason::all().find(|reason| reason.as_str() == name)).next();
    if let Some(reason) = refused.or(is_alias.then_some(Reason::Alias)) {
        return state(reason);
    }
    if robots.is_some_and(|robots| !robots.allowed) {
        return state(Reason::RobotsForbid);
    }
    let because =
        "it is no page of this collection: nothing is against it, but no page that was read links to it";
    ("unknown", None, because.to_owned())
}

/// What stands in the way of a page that has not failed or been rejected for good.
fn notes(
    record: Option<&PageRecord>,
    judged: &Result<UrlClass, Reason>,
    robots: Option<&RobotsAnswer>,
    site: Option<&SiteRecord>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(record) = record else { return notes };
    let now_ms = now_ms();
    if let Err(reason) = judged
        && record.stage != Stage::Rejected
    {
        notes.push(format!("by the settings as they are now it would be left out: {reason}"));
    }
    if matches!(record.stage, Stage::Fetched | Stage::Rejected) {
        return notes;
    }
    if let Some(robots) = robots.filter(|robots| !robots.allowed) {
        // What is forbidden without a rule is so because there are none to be had.
        let reason = if robots.rule.is_some() { Reason::RobotsForbid } else { Reason::RobotsUnreachable };
        notes.push(reason.to_string());
    }
    if u64::from(record.not_before_s) * 1_000 > now_ms {
        let when = crate::words::time(i64::from(record.not_before_s) * 1_000);
        notes.push(format!("it is not tried before {when}"));
    }
    if let Some(until_ms) = site.map(|site| site.back_off_until_ms).filter(|until_ms| *until_ms > now_ms) {
        notes.push(format!(
            "its site failed, and is left alone until {}",
            crate::words::time(until_ms as i64)
        ));
    }
    notes
}

fn robots(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    url: &CanonicalUrl,
    id: SiteId,
    site: &SiteRecord,
) -> anyhow::Result<Option<RobotsAnswer>> {
    if site.robots_fetched_s == 0 {
        return Ok(None);
    }
    let text = snapshot.sites.robots_text(id)?.unwrap_or_default();
    let copy = RobotsCopy { fetched_s: site.robots_fetched_s, status: site.robots_status, text };
    let own = rules.site(url).and_then(|site| site.robots_agent.as_deref());
    let mut answer = RobotsAnswer {
        fetched_ms: u64::from(copy.fetched_s) * 1_000,
        status: copy.status,
        allowed: false,
        rule: None,
        line: None,
    };
    if let Robots::Rules(robots) = Robots::of(&copy, own.unwrap_or(&rules.robots_agent)) {
        let decision = robots.decide(url.path_and_query());
        answer.allowed = decision.allowed;
        answer.rule = decision.rule.map(|rule| rule.text.clone());
        answer.line = decision.rule.map(|rule| rule.line);
    }
    Ok(Some(answer))
}

fn page_answer(snapshot: &Snapshot, record: &PageRecord) -> anyhow::Result<PageAnswer> {
    let ms = |seconds: u32| (seconds != 0).then(|| u64::from(seconds) * 1_000);
    Ok(PageAnswer {
        seed: record.flags.has(PageFlags::SEED),
        depth: record.depth,
        redirects: record.flags.redirects(),
        in_links: record.in_links,
        visits: record.visits,
        changes: record.changes,
        first_visit_ms: ms(record.first_visit_s),
        last_visit_ms: ms(record.last_visit_s),
        not_before_ms: ms(record.not_before_s),
        status: record.status,
        duplicate_of: record.duplicate_of.map(|page| url_of(snapshot, page)).transpose()?,
    })
}

fn site_answer(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    url: &CanonicalUrl,
    id: SiteId,
    site: &SiteRecord,
    neighbours: u64,
) -> SiteAnswer {
    let own = rules.site(url);
    let own_wait_ms = own.and_then(|own| own.wait_ms);
    let name = |site: SiteId| snapshot.urls.site_name(site).unwrap_or_default().to_owned();
    SiteAnswer {
        site: url.site().to_owned(),
        site_id: id.0,
        alias_of: site.alias_of.map(name),
        address: site.address.map(|address| address.to_string()),
        pages_known: site.pages_known,
        pages_fetched: site.pages_fetched,
        pages_queued: site.pages_queued,
        most_pages: own.and_then(|own| own.pages).map_or(rules.limits.pages_per_site, u64::from),
        errors_in_a_row: site.errors_in_a_row,
        wait_ms: rules
            .waits
            .site_wait_ms(site.pages_known, u64::from(site.crawl_delay_ms), own_wait_ms)
            .max(u64::from(site.asked_wait_ms)),
        sites_at_address: neighbours,
        back_off_until_ms: Some(site.back_off_until_ms).filter(|until_ms| *until_ms > now_ms()),
    }
}

/// How many sites have this address.
fn sites_at(snapshot: &Snapshot, address: Option<IpAddr>) -> store::Result<u64> {
    let Some(address) = address else { return Ok(0) };
    let parts = snapshot.sites.scan(|sites: &mut u64, _, record| {
        *sites += u64::from(record.address == Some(address));
    })?;
    Ok(parts.into_iter().sum())
}

fn visit_answer(visit: Visit) -> VisitAnswer {
    VisitAnswer {
        time_ms: visit.time_ms,
        status: visit.status,
        outcome: visit.outcome,
        reason: visit.reason,
        redirect: visit.redirect,
        mime_type: visit.mime_type,
        bytes: visit.bytes,
        duration_ms: visit.duration_ms,
        address: visit.address,
        changed: visit.changed,
        warc_filename: visit.warc_file,
        warc_record_offset: visit.warc_offset,
    }
}

/// One link of each page.
fn link_answers(snapshot: &Snapshot, links: Vec<InLink>) -> anyhow::Result<Vec<LinkAnswer>> {
    let answer = |link: InLink| {
        let InLink { source, kind, anchor, reason, .. } = link;
        Ok(LinkAnswer { url: url_of(snapshot, source)?, kind, anchor, reason })
    };
    links.into_iter().map(answer).collect()
}

fn url_of(snapshot: &Snapshot, page: PageId) -> anyhow::Result<String> {
    Ok(snapshot.urls.url(page)?.unwrap_or_default())
}

pub(super) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
