//! How much does a collection hold, and what became of the pages that it knows?

use std::collections::BTreeMap;

use model::Reason;
use serde::Serialize;
use store::{Column, Result, Snapshot, Stage};

use crate::places::last_batch;
use crate::robots_kind::RobotsKind;

/// What a commit holds. Scripts rely on the names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Status {
    /// Whose URL is known.
    pub pages_known: u64,
    /// Whose last visit brought content.
    pub pages_fetched: u64,
    /// In a batch that is not finished.
    pub pages_queued: u64,
    /// How many sites are known.
    pub sites: u64,
    /// Of the page files.
    pub bytes: u64,
    /// Rows of the table of links.
    pub links: u64,
    /// Pages whose last visit brought nothing.
    pub errors: u64,
    /// Pages that are not to be visited.
    pub pages_rejected: u64,
    /// Pages that wait to be chosen.
    pub pages_new: u64,
    /// Of the crawl that was just made; 0 if none was.
    pub cycle: u64,
    /// The number of the commit; 0 before the first.
    pub generation: u64,
    /// When it was made.
    pub committed_ms: i64,
    /// Of all files of the commit.
    pub disk_bytes: u64,
    /// How many files it has.
    pub files: u64,
    /// Pages that were rejected or brought nothing, by reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// How many sites are in which state.
    #[serde(rename = "site_states")]
    pub states: SiteStates,
}

/// How many sites are in which state.
#[derive(Debug, PartialEq, Eq, Serialize, Default, Clone, Copy)]
pub struct SiteStates {
    /// With pages in a batch.
    pub queued: u64,
    /// Left alone after failures.
    pub backed_off: u64,
    /// Only another name of a site.
    pub aliases: u64,
    /// With rules in robots.txt, or an empty one.
    pub robots_rules: u64,
    /// Without a robots.txt, which allows everything.
    pub robots_none: u64,
    /// Whose robots.txt cannot be had, which forbids everything.
    pub robots_unreachable: u64,
    /// Whose robots.txt was not asked for.
    pub robots_unknown: u64,
}

impl Status {
    /// Counts what a commit holds; `now_ms` tells which sites are left alone.
    pub fn of(snapshot: &Snapshot, now_ms: u64) -> Result<Status> {
        let manifest = &snapshot.manifest;
        // A number for each stage and reason.
        let counts = snapshot.pages.scan(&[Column::Marks], |counts: &mut Vec<u64>, row| {
            counts.resize(STAGES << 8, 0);
            counts[(row.stage as usize) << 8 | usize::from(row.reason)] += 1;
        })?;
        let of = |place: usize| counts.iter().filter_map(|counts| counts.get(place)).sum::<u64>();
        let at = |stage: Stage| (0..256).map(|reason| of((stage as usize) << 8 | reason)).sum();
        let mut reasons = BTreeMap::new();
        for reason in Reason::all() {
            let place = |stage: Stage| (stage as usize) << 8 | usize::from(reason.code());
            let pages = of(place(Stage::New)) + of(place(Stage::Failed)) + of(place(Stage::Rejected));
            if pages > 0 {
                reasons.insert(reason.as_str(), pages);
            }
        }
        let lengths = |wanted: fn(&str) -> bool| {
            manifest.files.iter().filter(|file| wanted(&file.name)).map(store::FileEntry::length).sum()
        };
        Ok(Status {
            pages_known: u64::from(snapshot.pages.pages()),
            pages_fetched: at(Stage::Fetched),
            pages_queued: at(Stage::Queued),
            sites: u64::from(snapshot.sites.sites()),
            bytes: lengths(|name| name.ends_with(".warc.gz")),
            links: store::count_rows(snapshot.folder(), manifest, "links")?,
            errors: at(Stage::Failed),
            pages_rejected: at(Stage::Rejected),
            pages_new: at(Stage::New),
            cycle: last_batch(&manifest.notes),
            generation: manifest.generation,
            committed_ms: manifest.committed_ms,
            disk_bytes: lengths(|_| true),
            files: manifest.files.len() as u64,
            reasons,
            states: site_states(snapshot, now_ms)?,
        })
    }
}

const STAGES: usize = 5;

fn site_states(snapshot: &Snapshot, now_ms: u64) -> Result<SiteStates> {
    let parts = snapshot.sites.scan(|states: &mut SiteStates, _, site| {
        states.queued += u64::from(site.pages_queued > 0);
        states.backed_off += u64::from(site.back_off_until_ms > now_ms);
        states.aliases += u64::from(site.alias_of.is_some());
        *match RobotsKind::of(site) {
            RobotsKind::Rules => &mut states.robots_rules,
            RobotsKind::None => &mut states.robots_none,
            RobotsKind::Unreachable => &mut states.robots_unreachable,
            RobotsKind::Unknown => &mut states.robots_unknown,
        } += 1;
    })?;
    Ok(parts.into_iter().fold(SiteStates::default(), SiteStates::with))
}

impl SiteStates {
    fn with(self, other: SiteStates) -> SiteStates {
        SiteStates {
            queued: self.queued + other.queued,
            backed_off: self.backed_off + other.backed_off,
            aliases: self.aliases + other.aliases,
            robots_rules: self.robots_rules + other.robots_rules,
            robots_none: self.robots_none + other.robots_none,
            robots_unreachable: self.robots_unreachable + other.robots_unreachable,
            robots_unknown: self.robots_unknown + other.robots_unknown,
        }
    }
}
