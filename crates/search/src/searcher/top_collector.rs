//! Collector of the top matches; also counts all matches and their facets.

use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::query::Weight;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader, TERMINATED, TantivyError};

use super::candidate::Candidate;
use super::compile::filter::{DocPredicate, PageFilter};
use super::deadline::Deadline;
use super::facets::{FacetCounts, SegmentFacets};
use super::fast_fields::FastFields;
use super::rank_cache::RankSnapshot;
use super::{SearchOptions, Sort};
use crate::index::text_index::TextIndex;

/// Result of the collector.
pub(super) struct CollectedPages {
    pub(super) total: u64,
    /// Sorted.
    pub(super) top: Vec<Candidate>,
    pub(super) facets: FacetCounts,
}

/// Collector of the top matches.
pub(super) struct TopPages<'s> {
    limit: usize,
    sort: Sort,
    facets: bool,
    filters: &'s [PageFilter],
    index: &'s TextIndex,
    ranks: &'s Arc<RankSnapshot>,
    deadline: &'s Deadline,
}

/// Number of matches between two checks of the deadline.
const DEADLINE_CHECK_INTERVAL: u32 = 1_024;

impl<'s> TopPages<'s> {
    pub(super) fn new(
        limit: usize,
        options: &SearchOptions,
        filters: &'s [PageFilter],
        index: &'s TextIndex,
        ranks: &'s Arc<RankSnapshot>,
        deadline: &'s Deadline,
    ) -> Self {
        let (limit, sort, facets) = (limit.max(1), options.sort, options.facets);
        TopPages { limit, sort, facets, filters, index, ranks, deadline }
    }
}

/// Collector of one segment.
pub(super) struct SegmentTopPages {
    fast_fields: FastFields,
    filters: Vec<DocPredicate>,
    ranks: Arc<RankSnapshot>,
    sort: Sort,
    segment: SegmentOrdinal,
    total: u64,
    top: TopBuffer,
    facets: Option<SegmentFacets>,
}

impl Collector for TopPages<'_> {
    type Fruit = CollectedPages;
    type Child = SegmentTopPages;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<SegmentTopPages> {
        let open = || {
            FastFields::open(reader, self.index)
                .map_err(|error| TantivyError::InternalError(error.to_string()))
        };
        Ok(SegmentTopPages {
            facets: self.facets.then(open).transpose()?.map(SegmentFacets::new),
            fast_fields: open()?,
            filters: self.filters.iter().map(|filter| filter.open(reader)).collect::<tantivy::Result<_>>()?,
            ranks: Arc::clone(self.ranks),
            sort: self.sort,
            segment,
            total: 0,
            top: TopBuffer::new(self.limit),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    /// Like the default implementation, with checks of the deadline.
    fn collect_segment(
        &self,
        weight: &dyn Weight,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<<SegmentTopPages as SegmentCollector>::Fruit> {
        let mut top = self.for_segment(segment, reader)?;
        if self.deadline.is_expired() {
            return Ok(top.harvest());
        }
        let mut matches = weight.scorer(reader, 1.0)?;
        let alive = reader.alive_bitset();
        let mut scanned = 0_u32;
        let mut doc = matches.doc();
        while doc != TERMINATED {
            if alive.is_none_or(|alive| alive.is_alive(doc)) {
                top.collect(doc, matches.score());
            }
            doc = matches.advance();
            scanned = scanned.wrapping_add(1);
            if scanned.is_multiple_of(DEADLINE_CHECK_INTERVAL) && self.deadline.is_expired() {
                break;
            }
        }
        Ok(top.harvest())
    }

    fn merge_fruits(
        &self,
        segments: Vec<tantivy::Result<(u64, Vec<Candidate>, FacetCounts)>>,
    ) -> tantivy::Result<CollectedPages> {
        let mut found = CollectedPages { total: 0, top: Vec::new(), facets: FacetCounts::default() };
        for segment in segments {
            let (total, top, facets) = segment?;
            found.total += total;
            found.top.extend(top);
            found.facets.merge(facets);
        }
        found.top.sort_unstable_by(Candidate::order);
        found.top.truncate(self.limit);
        Ok(found)
    }
}

impl SegmentCollector for SegmentTopPages {
    type Fruit = tantivy::Result<(u64, Vec<Candidate>, FacetCounts)>;

    fn collect(&mut self, doc: DocId, score: Score) {
        if !self.filters.iter().all(|fits| fits(doc)) {
            return;
        }
        self.total += 1;
        if let Some(facets) = &mut self.facets {
            facets.count(doc);
        }
        // Skip the lookup of the PageRank if even the maximum could not lift the match into the top.
        let max_score = f64::from(score + self.ranks.max_link_score());
        if self.sort == Sort::Relevance
            && self.top.threshold.is_some_and(|threshold| max_score < threshold.key)
        {
            return;
        }
        let page = self.fast_fields.page.get_val(doc) as u32;
        let score = score + self.ranks.link_score(page);
        let key = match self.sort {
            Sort::Relevance => f64::from(score),
            Sort::Date => self.fast_fields.date_s(doc).map_or(f64::MIN, |date_s| date_s as f64),
            Sort::Rank => self.ranks.pagerank(page).map_or(0.0, f64::from),
        };
        self.top.push(Candidate { key, score, page, segment: self.segment, doc, is_rescored: false });
    }

    fn harvest(self) -> Self::Fruit {
        let facets = self.facets.map(SegmentFacets::counts).transpose();
        let facets = facets.map_err(|error| TantivyError::InternalError(error.to_string()))?;
        Ok((self.total, self.top.into_top(), facets.unwrap_or_default()))
    }
}

/// Buffer of the top candidates: collects up to twice the limit, then drops the lower half.
struct TopBuffer {
    limit: usize,
    candidates: Vec<Candidate>,
    /// Candidates below this one are not among the top.
    threshold: Option<Candidate>,
}

impl TopBuffer {
    fn new(limit: usize) -> TopBuffer {
        TopBuffer { limit, candidates: Vec::with_capacity(limit.min(1_000) * 2), threshold: None }
    }

    fn push(&mut self, candidate: Candidate) {
        if self.threshold.is_some_and(|threshold| Candidate::order(&candidate, &threshold).is_gt()) {
            return;
        }
        self.candidates.push(candidate);
        if self.candidates.len() == self.limit * 2 {
            self.truncate();
        }
    }

    fn truncate(&mut self) {
        if self.candidates.len() > self.limit {
            let (_, last, _) = self.candidates.select_nth_unstable_by(self.limit - 1, Candidate::order);
            self.threshold = Some(*last);
            self.candidates.truncate(self.limit);
        }
    }

    fn into_top(mut self) -> Vec<Candidate> {
        self.truncate();
        self.candidates
    }
}
