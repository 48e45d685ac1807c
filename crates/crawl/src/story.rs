//! What does the collection know about a URL, and what do the rules say?

mod budget;
mod state;
mod worth;

use model::{CanonicalUrl, PageId, Reason, Rejected, SiteId, UrlClass};
use serde::Serialize;
use store::{
    InLink, PageFlags, PageRecord, ScanRow, SiteRecord, Snapshot, Stage, Visit, links_to, visits_of,
};

pub use self::budget::BudgetStory;
pub use self::worth::{Worth, WorthTerm};

use self::state::{known, notes, unknown};
use crate::batch::RobotsCopy;
use crate::crawl_settings::CrawlSettings;
use crate::error::Error;
use crate::known_sites::{mistyped_url, suggest_sites};
use crate::robots_answer::Robots;
use crate::site_list::sites_at;

/// Visits that are told.
const MOST_VISITS: usize = 100;
/// Links that are told.
const MOST_LINKS: usize = 10;

/// Everything about a URL. Scripts rely on the names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Story {
    /// In its canonical form, or as it was given if it has none.
    pub url: String,
    /// Its number.
    pub page_id: Option<u32>,
    /// `new`, `queued`, `fetched`, `failed`, `rejected`; `unknown` for a URL that is no page of the collection, and `no-url`
    /// for a text that cannot be fetched at all.
    pub state: &'static str,
    /// Why it was not fetched, in one word.
    pub reason: Option<&'static str>,
    /// The state in a sentence.
    pub because: String,
    /// Oldest first.
    pub history: Vec<VisitStory>,
    /// `static`, `dynamic`, or what else it looks like.
    pub class: Option<&'static str>,
    /// Of its record; nothing if it is no page of the collection.
    pub page: Option<PageStory>,
    /// Of its site; nothing if that is not known.
    pub site: Option<SiteStory>,
    /// What robots.txt says of it.
    pub robots: Option<RobotsStory>,
    /// What a visit is worth, as the manager would say now.
    pub worth: Option<Worth>,
    /// How much may still be fetched where it belongs.
    pub budget: Option<BudgetStory>,
    /// What else stands in its way now.
    pub notes: Vec<String>,
    /// Some pages that link to it.
    pub linked_from: Vec<LinkStory>,
}

/// Of its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageStory {
    /// Whether the user has named it.
    pub seed: bool,
    /// Links away from where its site was entered.
    pub depth: u8,
    /// Redirects that led to it.
    pub redirects: u8,
    /// Pages that link to it.
    pub in_links: u32,
    /// How often it was visited.
    pub visits: u16,
    /// How often it was found changed.
    pub changes: u16,
    /// When it was visited first.
    pub first_visit_ms: Option<u64>,
    /// When it was visited last.
    pub last_visit_ms: Option<u64>,
    /// From when on it may be visited.
    pub not_before_ms: Option<u64>,
    /// The status of the last answer; 0 without one.
    pub status: u16,
    /// The page whose content it has.
    pub duplicate_of: Option<String>,
}

/// Of its site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteStory {
    /// Scheme, host and port.
    pub site: String,
    /// Its number.
    pub site_id: u32,
    /// The site that it is another name of.
    pub alias_of: Option<String>,
    /// Where it was found.
    pub address: Option<String>,
    /// Pages whose URL is known.
    pub pages_known: u32,
    /// Pages whose last visit brought content.
    pub pages_fetched: u32,
    /// Pages in a batch.
    pub pages_queued: u32,
    /// How many pages it may have.
    pub most_pages: u64,
    /// Requests in a row that failed.
    pub errors_in_a_row: u16,
    /// Time between two requests.
    pub wait_ms: u64,
    /// Until when it is left alone after failures.
    pub back_off_until_ms: Option<u64>,
    /// Sites that share its address, itself included: they are asked in turn.
    pub sites_at_address: u64,
}

/// What its robots.txt says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsStory {
    /// When it was asked for.
    pub fetched_ms: u64,
    /// The status of the answer; 0 without one.
    pub status: u16,
    /// Whether the page may be asked for.
    pub allowed: bool,
    /// The rule that decides.
    pub rule: Option<String>,
    /// Its line.
    pub line: Option<u32>,
}

/// One visit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VisitStory {
    /// When.
    pub time_ms: i64,
    /// The status of the answer; 0 without one.
    pub status: i16,
    /// What it brought.
    pub outcome: String,
    /// Why not more.
    pub reason: Option<String>,
    /// Where it led.
    pub redirect: Option<String>,
    /// What the content is, by the server's word.
    pub mime_type: Option<String>,
    /// As transferred.
    pub bytes: i64,
    /// From the request to the last byte.
    pub duration_ms: Option<i32>,
    /// Where it was found.
    pub address: Option<String>,
    /// Whether the content was another than before.
    pub changed: Option<bool>,
    /// The file that has it.
    pub warc_filename: Option<String>,
    /// Where in the file.
    pub warc_record_offset: Option<i64>,
}

/// One link to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkStory {
    /// The page that links.
    pub url: String,
    /// The element.
    pub kind: String,
    /// The text of the link.
    pub anchor: Option<String>,
    /// Why it was not followed.
    pub reason: Option<String>,
}

/// The story of a URL, by a collection and the settings of its crawl, as of this time in Unix milliseconds.
pub fn story(snapshot: &Snapshot, rules: &CrawlSettings, input: &str, now_ms: u64) -> Result<Story, Error> {
    let url = match rules.gather.rules.canonical(input) {
        Ok(url) => url,
        // Links to such things are met, and may be asked for; anything else was mistyped.
        Err(rejected @ Rejected::Scheme(_)) => {
            return Ok(no_url(input, format!("it cannot be fetched: {rejected}")));
        }
        Err(rejected) => return Err(mistyped_url(snapshot, input, rejected)),
    };
    let page_id = snapshot.urls.find(&url)?;
    let record = page_id.map(|page| snapshot.pages.get(page)).transpose()?.flatten();
    let site_id = snapshot.urls.find_site(url.site());
    let site = site_id.map(|site| snapshot.sites.get(site)).transpose()?.flatten().zip(site_id);
    // As many pages as are known to link to it, or some.
    let most = record.as_ref().map_or(MOST_LINKS, |record| (record.in_links as usize).clamp(1, MOST_LINKS));
    let links = links_to(snapshot.folder(), &snapshot.manifest, page_id, url.as_str(), most)?;
    let robots = site.map(|(site, id)| robots(snapshot, rules, &url, id, &site)).transpose()?.flatten();
    let judged = judge(rules, &url);
    let (state, reason, because) = match &record {
        Some(record) => known(record, site.as_ref().map(|(site, _)| site)),
        None => {
            unknown(&judged, &links, robots.as_ref(), site.is_some_and(|(site, _)| site.alias_of.is_some()))
        }
    };
    let because = match suggest_sites(snapshot, url.site()).filter(|_| site.is_none()) {
        Some(known) => format!("{because}; {known}"),
        None => because,
    };
    let mut story = Story { url: url.as_str().to_owned(), ..no_url(input, because) };
    story.page_id = page_id.map(|page| page.0);
    (story.state, story.reason) = (state, reason.map(Reason::as_str));
    story.class = Some(url.class(&rules.gather.scope.extensions).as_str());
    let site_record = site.as_ref().map(|(site, _)| site);
    story.notes = notes(record.as_ref(), &judged, robots.as_ref(), site_record, now_ms);
    if let Some(page) = page_id {
        let all = record.as_ref().map_or(usize::MAX, |record| usize::from(record.visits));
        let visits = visits_of(snapshot.folder(), &snapshot.manifest, page, MOST_VISITS, all)?;
        story.history = visits.into_iter().map(visit_story).collect();
    }
    if let (Some(page), Some(record)) = (page_id, &record) {
        story.worth = Worth::of(snapshot, rules, page, record, site_record, now_ms)?;
        story.page = Some(page_story(snapshot, rules, page, record)?);
    }
    if let Some((site, id)) = site {
        let neighbours = sites_at(snapshot, site.address)?;
        story.site = Some(site_story(snapshot, rules, &url, id, &site, neighbours, now_ms));
        let budget = BudgetStory::of(snapshot, rules, &url, id, now_ms)?;
        let stage = record.as_ref().map(|record| record.stage);
        if matches!(stage, Some(Stage::New | Stage::Failed)) {
            story.notes.extend(budget.notes(stage == Some(Stage::New)));
        }
        story.budget = Some(budget);
    }
    story.robots = robots;
    story.linked_from = link_stories(snapshot, links)?;
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
        budget: None,
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

fn robots(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    url: &CanonicalUrl,
    id: SiteId,
    site: &SiteRecord,
) -> Result<Option<RobotsStory>, Error> {
    if site.robots_fetched_s == 0 {
        return Ok(None);
    }
    let text = snapshot.sites.robots_text(id)?.unwrap_or_default();
    let copy = RobotsCopy { fetched_s: site.robots_fetched_s, status: site.robots_status, text };
    let own = rules.site(url).and_then(|site| site.robots_agent.as_deref());
    let mut answer = RobotsStory {
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

fn page_story(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    page: PageId,
    record: &PageRecord,
) -> Result<PageStory, Error> {
    let ms = |seconds: u32| (seconds != 0).then(|| u64::from(seconds) * 1_000);
    Ok(PageStory {
        seed: record.flags.has(PageFlags::SEED),
        depth: record.depth,
        redirects: record.flags.redirects(),
        in_links: record.in_links,
        visits: record.visits,
        changes: record.changes,
        first_visit_ms: ms(record.first_visit_s),
        last_visit_ms: ms(record.last_visit_s),
        not_before_ms: ms(rules.revisits.due_s(&ScanRow::of(page, record))),
        status: record.status,
        duplicate_of: record.duplicate_of.map(|page| url_of(snapshot, page)).transpose()?,
    })
}

fn site_story(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    url: &CanonicalUrl,
    id: SiteId,
    site: &SiteRecord,
    neighbours: u64,
    now_ms: u64,
) -> SiteStory {
    let own = rules.site(url);
    let own_wait_ms = own.and_then(|own| own.wait_ms);
    let name = |site: SiteId| snapshot.urls.site_name(site).unwrap_or_default().to_owned();
    SiteStory {
        site: url.site().to_owned(),
        site_id: id.0,
        alias_of: site.alias_of.map(name),
        address: site.address.map(|address| address.to_string()),
        pages_known: site.pages_known,
        pages_fetched: site.pages_fetched,
        pages_queued: site.pages_queued,
        most_pages: own.and_then(|own| own.pages).map_or(rules.limits.pages_per_site, u64::from),
        errors_in_a_row: site.errors_in_a_row,
        wait_ms: rules.wait_ms(site, own_wait_ms),
        sites_at_address: neighbours,
        back_off_until_ms: Some(site.back_off_until_ms).filter(|until_ms| *until_ms > now_ms),
    }
}

fn visit_story(visit: Visit) -> VisitStory {
    VisitStory {
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
fn link_stories(snapshot: &Snapshot, links: Vec<InLink>) -> Result<Vec<LinkStory>, Error> {
    let answer = |link: InLink| {
        let InLink { source, kind, anchor, reason, .. } = link;
        Ok(LinkStory { url: url_of(snapshot, source)?, kind, anchor, reason })
    };
    links.into_iter().map(answer).collect()
}

fn url_of(snapshot: &Snapshot, page: PageId) -> store::Result<String> {
    Ok(snapshot.urls.url(page)?.unwrap_or_default())
}
