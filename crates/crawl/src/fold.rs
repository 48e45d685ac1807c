//! How does what was gathered become part of the collection? In batches, in order, by one thread.
//!
//! 1. The pages of the batch are numbered, and their records read.
//! 2. Each page is stored and its record brought up to date; then it is known which ones are exact duplicates.
//! 3. The links of the others are numbered all at once; duplicates lead nowhere, so that a site that shows one page
//!    under endless names gives no more than one page's links.
//! 4. Pages that are linked to, sites, link log and tables learn of it.
//!
//! What counts as news: a page whose bytes are those of its last visit, or of which the server says so, adds a row to the
//! table of fetches and nothing else. A visit older than the last one known (archives may come in any order) is stored and described, but changes
//! neither the page's record nor the graph.

use std::collections::BTreeMap;

use frontier::Purse;
use model::PageId;
use store::{Appended, Collection, PageRecord, Prepared, Result, Stage};

use crate::fetched::Fetched;
use crate::found::Found;
use crate::gathered::Gathered;
use crate::known_visits::KnownVisits;
use crate::news::News;
use crate::originals::Originals;
use crate::outcome::Outcome;
use crate::rows;
use crate::rules::Rules;
use crate::visit::{self, Visit};

/// Takes gathered pages into a collection.
#[derive(Debug)]
pub struct Fold {
    originals: Originals,
    pub(crate) rules: Rules,
    /// Archives may bring visits that are here already; a crawl does not.
    known_visits: Option<KnownVisits>,
}

/// What a batch brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Folded {
    /// Visits of pages.
    pub pages: u64,
    /// Bytes of their bodies, as they were transferred.
    pub bytes: u64,
    /// Visits that are known already, and change nothing.
    pub known: u64,
    /// Links of their documents, as the table of links has them.
    pub links: u64,
    /// Pages that nobody had heard of.
    pub new_pages: u64,
    /// Pages whose body is that of another.
    pub duplicates: u64,
}

/// Pages that are stored, and what is still to be written about them.
struct Stored {
    news: News,
    records: BTreeMap<PageId, PageRecord>,
    found: Vec<Found>,
}

impl Fold {
    /// Remembers the pages of so many bodies in order to name the originals of duplicates; about 60 bytes each.
    pub fn new(duplicate_window: usize) -> Fold {
        Fold::by(duplicate_window, Rules::default())
    }

    /// The same by the rules of a crawl.
    pub(crate) fn by(duplicate_window: usize, rules: Rules) -> Fold {
        Fold { originals: Originals::new(duplicate_window), rules, known_visits: None }
    }

    /// The same for archives, whose visits may be known.
    pub(crate) fn of_archives(duplicate_window: usize) -> Fold {
        Fold { known_visits: Some(KnownVisits::default()), ..Fold::new(duplicate_window) }
    }

    /// Takes a batch in. After an error the collection must be opened again.
    pub fn fold(&mut self, collection: &mut Collection, batch: Vec<Gathered>) -> Result<Folded> {
        if batch.is_empty() {
            return Ok(Folded::default());
        }
        let Stored { mut news, mut records, found } = self.store(collection, batch)?;
        news.take_links(collection, &found, &records, &self.rules)?;
        news.write(collection, &mut records, &mut self.rules)?;
        Ok(news.folded)
    }

    /// The first half of [`Fold::fold`]: pages, their states and what is said about them. Their links are given back.
    pub(crate) fn store_pages(
        &mut self,
        collection: &mut Collection,
        batch: Vec<Gathered>,
    ) -> Result<(Folded, Vec<Found>)> {
        let Stored { mut news, mut records, found } = self.store(collection, batch)?;
        news.write(collection, &mut records, &mut self.rules)?;
        Ok((news.folded, found))
    }

    /// The second half: where stored pages lead.
    pub(crate) fn take_links(&mut self, collection: &mut Collection, found: &[Found]) -> Result<Folded> {
        let ids: Vec<PageId> = found.iter().map(|page| page.id).collect();
        let mut records = read_records(collection, &ids)?;
        let mut news = News::default();
        news.take_links(collection, found, &records, &self.rules)?;
        news.write(collection, &mut records, &mut self.rules)?;
        Ok(news.folded)
    }

    fn store(&mut self, collection: &mut Collection, batch: Vec<Gathered>) -> Result<Stored> {
        let now_s = batch.first().map_or(0, |first| Fetched::seconds(first.fetched_ms));
        let mut news = News::default();
        let ids = news.number_pages(collection, &batch, now_s)?;
        let mut records = read_records(collection, &ids)?;
        let mut found = Vec::with_capacity(batch.len());
        for (page, id) in batch.into_iter().zip(ids) {
            let Some(record) = records.get_mut(&id) else { continue };
            let known = self.known_visits.as_mut().map(|known| known.add(collection, id, record, &page));
            if known.transpose()?.unwrap_or(false) {
                news.folded.known += 1;
                continue;
            }
            found.extend(self.store_page(collection, record, page, id, &mut news)?);
        }
        Ok(Stored { news, records, found })
    }

    /// Stores a page, brings its record up to date, and writes the rows that are about it alone. Gives its links if they
    /// count.
    fn store_page(
        &mut self,
        collection: &mut Collection,
        record: &mut PageRecord,
        mut page: Gathered,
        id: PageId,
        news: &mut News,
    ) -> Result<Option<Found>> {
        news.folded.pages += 1;
        news.folded.bytes += page.content_bytes;
        let visit = Visit::new(record, &page);
        let prepared = page.prepared.take().transpose()?;
        let has_content = page.outcome != Outcome::NotModified;
        let digest = prepared.as_ref().filter(|_| has_content).map(|prepared| prepared.digest().to_owned());
        let appended = store_answer(collection, record, &page, prepared, visit)?;
        let is_news = page.outcome == Outcome::Redirect || visit.same_bytes != Some(true);
        let first_success = page.outcome.is_success() && is_unseen(record);
        let was_queued = record.stage == Stage::Queued;
        visit.note(record, &page, appended);
        if visit.newest {
            self.rules.note_visit(record, &page, Fetched::seconds(page.fetched_ms));
            if visit.changed.is_some() {
                self.rules.note_change_rate(record);
            }
            record.relevance = page.document.as_ref().map_or(record.relevance, |document| document.relevance);
        }
        if page.outcome == Outcome::Ok && visit.newest && is_news {
            visit::note_original(record, self.original(appended, id));
        }
        let cash = if visit.newest { pass_on_cash(record) } else { 0.0 };
        news.count_visit(record.site, &page, first_success, visit, was_queued);
        rows::push_fetch(collection, id, record, &page, visit, digest.as_deref(), appended);
        if is_news {
            rows::push_document(collection, id, record.site, &page);
        }
        let duplicate = page.outcome == Outcome::Ok && record.duplicate_of.is_some();
        news.folded.duplicates += u64::from(duplicate && is_news);
        let follows = !duplicate || self.rules.links_of_duplicates;
        let links_count = visit.newest && is_news && follows && page.outcome.is_success();
        if !links_count {
            news.keep_in_common(cash);
        }
        Ok(links_count.then(|| Found::of(page, id, visit.first, cash)))
    }

    /// The other page that had this body first; a page that is alone with its body is remembered.
    fn original(&mut self, appended: Option<Appended>, id: PageId) -> Option<PageId> {
        let appended = appended?;
        match appended.original {
            Some(original) => self.originals.get(original).filter(|page| *page != id),
            None => {
                self.originals.insert(appended.location, id);
                None
            }
        }
    }
}

/// Keeps what the server sent; a body that is stored already, or that the server says is as before, is referred to.
fn store_answer(
    collection: &mut Collection,
    record: &PageRecord,
    page: &Gathered,
    prepared: Option<Prepared>,
    visit: Visit,
) -> Result<Option<Appended>> {
    let Some(prepared) = prepared else { return Ok(None) };
    if page.outcome != Outcome::NotModified {
        let previous = visit::previous(record, page);
        return collection.bodies.append_prepared(prepared, previous).map(Some);
    }
    // Archives may tell of visits before the version that we have.
    match record.stored.filter(|_| visit.newest && record.content_hash != 0) {
        Some(version) => collection.bodies.append_not_modified(prepared, version),
        None => Ok(None),
    }
}

fn read_records(collection: &Collection, ids: &[PageId]) -> Result<BTreeMap<PageId, PageRecord>> {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let records = collection.pages.reader().get_many(&sorted)?;
    Ok(sorted.into_iter().zip(records).collect())
}

/// A visit takes the cash of a page, for those that it links to.
fn pass_on_cash(record: &mut PageRecord) -> f32 {
    let mut purse = Purse { cash: record.cash, history: record.cash_history };
    let cash = purse.spend();
    (record.cash, record.cash_history) = (purse.cash, purse.history);
    cash
}

/// Whether no visit brought anything so far.
fn is_unseen(record: &PageRecord) -> bool {
    record.stage != Stage::Fetched && record.content_hash == 0
}
