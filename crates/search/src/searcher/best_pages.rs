//! Which of all matches are the best? They are counted, the best are kept, and of the first ones facets are counted.

use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::query::Weight;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader, TERMINATED, TantivyError};

use super::columns::Columns;
use super::deadline::Deadline;
use super::facets::{FacetCounts, SegmentFacets};
use super::predicate::{Filter, Fits};
use super::ranks::Ranks;
use super::{Request, Sort};
use crate::text_index::TextIndex;

/// A page that may be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// By which it is put in order; the largest first.
    key: f64,
    pub(super) score: f32,
    pub(super) page: u32,
    pub(super) segment: SegmentOrdinal,
    pub(super) doc: DocId,
}

/// What was found.
pub(super) struct Found {
    pub(super) total: u64,
    /// In order.
    pub(super) best: Vec<Candidate>,
    pub(super) facets: FacetCounts,
}

/// Keeps the best matches.
pub(super) struct BestPages<'s> {
    wanted: usize,
    sort: Sort,
    facets: bool,
    filters: &'s [Filter],
    index: &'s TextIndex,
    ranks: &'s Arc<Ranks>,
    deadline: &'s Deadline,
}

/// After so many pages somebody looks at the clock.
const LOOK_EVERY: u32 = 1_024;

impl<'s> BestPages<'s> {
    pub(super) fn new(
        wanted: usize,
        request: &Request,
        filters: &'s [Filter],
        index: &'s TextIndex,
        ranks: &'s Arc<Ranks>,
        deadline: &'s Deadline,
    ) -> Self {
        let (wanted, sort, facets) = (wanted.max(1), request.sort, request.facets);
        BestPages { wanted, sort, facets, filters, index, ranks, deadline }
    }
}

/// Those of one segment.
pub(super) struct SegmentBest {
    columns: Columns,
    filters: Vec<Fits>,
    ranks: Arc<Ranks>,
    sort: Sort,
    segment: SegmentOrdinal,
    total: u64,
    best: TopList,
    facets: Option<SegmentFacets>,
}

impl Collector for BestPages<'_> {
    type Fruit = Found;
    type Child = SegmentBest;

    fn for_segment(&self, segment: SegmentOrdinal, reader: &SegmentReader) -> tantivy::Result<SegmentBest> {
        let open = || {
            Columns::open(reader, self.index).map_err(|error| TantivyError::InternalError(error.to_string()))
        };
        Ok(SegmentBest {
            facets: self.facets.then(open).transpose()?.map(SegmentFacets::new),
            columns: open()?,
            filters: self.filters.iter().map(|filter| filter.open(reader)).collect::<tantivy::Result<_>>()?,
            ranks: Arc::clone(self.ranks),
            sort: self.sort,
            segment,
            total: 0,
            best: TopList::new(self.wanted),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    /// As tantivy would, but for the look at the clock.
    fn collect_segment(
        &self,
        weight: &dyn Weight,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<<SegmentBest as SegmentCollector>::Fruit> {
        let mut best = self.for_segment(segment, reader)?;
        if self.deadline.is_over() {
            return Ok(best.harvest());
        }
        let mut matches = weight.scorer(reader, 1.0)?;
        let alive = reader.alive_bitset();
        let mut looked_at = 0_u32;
        let mut doc = matches.doc();
        while doc != TERMINATED {
            if alive.is_none_or(|alive| alive.is_alive(doc)) {
                best.collect(doc, matches.score());
            }
            doc = matches.advance();
            looked_at = looked_at.wrapping_add(1);
            if looked_at.is_multiple_of(LOOK_EVERY) && self.deadline.is_over() {
                break;
            }
        }
        Ok(best.harvest())
    }

    fn merge_fruits(
        &self,
        segments: Vec<tantivy::Result<(u64, Vec<Candidate>, FacetCounts)>>,
    ) -> tantivy::Result<Found> {
        let mut found = Found { total: 0, best: Vec::new(), facets: FacetCounts::default() };
        for segment in segments {
            let (total, best, facets) = segment?;
            found.total += total;
            found.best.extend(best);
            found.facets.add(facets);
        }
        found.best.sort_unstable_by(order);
        found.best.truncate(self.wanted);
        Ok(found)
    }
}

/// The largest key first, then the page that was known first.
fn order(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.key.total_cmp(&a.key).then(a.page.cmp(&b.page))
}

impl SegmentCollector for SegmentBest {
    type Fruit = tantivy::Result<(u64, Vec<Candidate>, FacetCounts)>;

    fn collect(&mut self, doc: DocId, score: Score) {
        if !self.filters.iter().all(|fits| fits(doc)) {
            return;
        }
        self.total += 1;
        if let Some(facets) = &mut self.facets {
            facets.count(doc);
        }
        // Most matches are too far behind for any links to bring them forward.
        let may_be_best = f64::from(score + self.ranks.most_link_score());
        if self.sort == Sort::Relevance && self.best.least.is_some_and(|least| may_be_best < least.key) {
            return;
        }
        let page = self.columns.page.get_val(doc) as u32;
        let score = score + self.ranks.link_score(page);
        let key = match self.sort {
            Sort::Relevance => f64::from(score),
            Sort::Date => self.columns.date_s(doc).map_or(f64::MIN, |date_s| date_s as f64),
            Sort::Rank => self.ranks.pagerank(page).map_or(0.0, f64::from),
        };
        self.best.push(Candidate { key, score, page, segment: self.segment, doc });
    }

    fn harvest(self) -> Self::Fruit {
        let facets = self.facets.map(SegmentFacets::counts).transpose();
        let facets = facets.map_err(|error| TantivyError::InternalError(error.to_string()))?;
        Ok((self.total, self.best.into_best(), facets.unwrap_or_default()))
    }
}

/// The best so far: twice as many as wanted are gathered before the worse half goes.
struct TopList {
    wanted: usize,
    gathered: Vec<Candidate>,
    /// What comes behind this is not among the best.
    least: Option<Candidate>,
}

impl TopList {
    fn new(wanted: usize) -> TopList {
        TopList { wanted, gathered: Vec::with_capacity(wanted.min(1_000) * 2), least: None }
    }

    fn push(&mut self, candidate: Candidate) {
        if self.least.is_some_and(|least| order(&candidate, &least).is_gt()) {
            return;
        }
        self.gathered.push(candidate);
        if self.gathered.len() == self.wanted * 2 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.gathered.len() > self.wanted {
            let (_, last, _) = self.gathered.select_nth_unstable_by(self.wanted - 1, order);
            self.least = Some(*last);
            self.gathered.truncate(self.wanted);
        }
    }

    fn into_best(mut self) -> Vec<Candidate> {
        self.cut();
        self.gathered
    }
}
