//! A Web that was crawled before: its pages, links and sites as a snapshot has them, with the change rates that were
//! estimated and the answer times that were measured.
//!
//! What the crawl did not see is not there: pages that were never fetched have no links here.

use std::net::{IpAddr, Ipv6Addr};

use frontier::ChangePriors;
use model::{PageId, SiteId};
use store::{PageFlags, PageRecord, SiteRecord, Snapshot, Stage, for_each_duration};

use crate::error::Error;
use crate::synthetic::answer_ms;
use crate::web::{Web, WebPage, WebSite};

/// Reads a snapshot; what nobody has measured is drawn from `seed`.
pub fn stored_web(snapshot: &Snapshot, seed: u64) -> Result<Web, Error> {
    let records = records(snapshot)?;
    if records.is_empty() {
        return Err(Error::Empty { what: "the collection knows no pages" });
    }
    let mut sites = sites(snapshot, seed)?;
    measure_answers(snapshot, &records, &mut sites)?;
    for (number, record) in records.iter().enumerate() {
        // The front page is where a site is entered: it alone is no link away from there.
        let front = &mut sites[record.site.index()].front_page;
        if record.depth == 0 && record.stage != Stage::Rejected && front.is_none() {
            *front = Some(PageId(number as u32));
        }
    }
    let priors = priors(&records);
    let page = |record: &PageRecord| WebPage {
        site: record.site,
        dynamic: record.flags.has(PageFlags::DYNAMIC),
        dated: record.flags.has(PageFlags::DATED),
        changes_per_day: match record.changes_per_day {
            rate if rate > 0.0 => rate,
            _ => priors.of(record.site),
        },
        has_content: record.stage == Stage::Fetched,
    };
    let pages = records.iter().map(page).collect();
    let mut web = Web::new(pages, sites, seeds(&records));
    push_links(snapshot, &records, &mut web)?;
    Ok(web)
}

/// What is known about each page, by number.
fn records(snapshot: &Snapshot) -> Result<Vec<PageRecord>, Error> {
    let parts = snapshot.pages.scan_records(|all: &mut Vec<(PageId, PageRecord)>, page, record| {
        all.push((page, *record));
    })?;
    let mut all: Vec<(PageId, PageRecord)> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(page, _)| *page);
    Ok(all.into_iter().map(|(_, record)| record).collect())
}

/// All sites; one that was never found has an address of its own.
fn sites(snapshot: &Snapshot, seed: u64) -> Result<Vec<WebSite>, Error> {
    let parts = snapshot.sites.scan(|all: &mut Vec<(SiteId, SiteRecord)>, site, record| {
        all.push((site, *record));
    })?;
    let mut all: Vec<(SiteId, SiteRecord)> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(site, _)| *site);
    let site = |(site, record): (SiteId, SiteRecord)| WebSite {
        address: record.address.unwrap_or(IpAddr::V6(Ipv6Addr::from_bits(u128::from(site.0)))),
        front_page: None,
        answer_ms: answer_ms(seed, site.0),
        crawl_delay_ms: record.crawl_delay_ms,
    };
    Ok(all.into_iter().map(site).collect())
}

/// Sites that answered get the mean time they took.
fn measure_answers(snapshot: &Snapshot, records: &[PageRecord], sites: &mut [WebSite]) -> Result<(), Error> {
    let mut times = vec![(0u64, 0u64); sites.len()];
    for_each_duration(snapshot.folder(), &snapshot.manifest, |page, duration_ms| {
        if let Some(record) = records.get(page.index()) {
            let (sum, count) = &mut times[record.site.index()];
            *sum += u64::from(duration_ms);
            *count += 1;
        }
    })?;
    for (site, (sum, count)) in sites.iter_mut().zip(times) {
        if let Some(mean) = sum.checked_div(count) {
            site.answer_ms = mean.try_into().unwrap_or(u32::MAX);
        }
    }
    Ok(())
}

/// What the crawl believes of pages that it could not compare with themselves yet.
fn priors(records: &[PageRecord]) -> ChangePriors {
    let mut priors = ChangePriors::default();
    records.iter().for_each(|record| priors.replace(record.site, 0.0, record.changes_per_day));
    priors
}

/// Where the crawl began; an import has no seeds, and begins with its first page.
fn seeds(records: &[PageRecord]) -> Vec<PageId> {
    let seeds = (0..).map(PageId).zip(records).filter(|(_, record)| record.flags.has(PageFlags::SEED));
    let seeds: Vec<PageId> = seeds.map(|(page, _)| page).collect();
    if seeds.is_empty() { vec![PageId(0)] } else { seeds }
}

/// The links of all pages; those to pages that must not be fetched lead nowhere.
fn push_links(snapshot: &Snapshot, records: &[PageRecord], web: &mut Web) -> Result<(), Error> {
    let is_open =
        |page: &PageId| records.get(page.index()).is_some_and(|record| record.stage != Stage::Rejected);
    let (mut next, mut targets) = (0, Vec::new());
    snapshot.links.for_each(|source, links| {
        while next < source.0 {
            web.push_links(&mut Vec::new());
            next += 1;
        }
        targets.clear();
        targets.extend(links.iter().map(|link| link.target).filter(is_open));
        web.push_links(&mut targets);
        next += 1;
        Ok(())
    })?;
    (next..records.len() as u32).for_each(|_| web.push_links(&mut Vec::new()));
    Ok(())
}
