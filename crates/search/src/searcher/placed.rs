//! Which pages have words in places that belong together? Words in a row, in any of their forms, and rows near each other.
//!
//! tantivy's own phrases know one form of each word. A page is looked at only if it has all words; then the places where
//! each row begins are those that its words have in common, and rows follow each other, in any order, if no more than so
//! many words lie from the end of the one to the start of the other. How often that is so counts as how often a word does.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{Bm25Weight, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

use super::deadline::Deadline;

/// A word of a row.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// How many words after the start of the row.
    pub(super) offset: u32,
    /// Its forms, at least one.
    pub(super) terms: Vec<Term>,
}

/// Rows of words near each other, in one field.
#[derive(Debug, Clone)]
pub(super) struct PlacedQuery {
    field: Field,
    rows: Vec<Vec<Slot>>,
    /// How near each row is to the one before.
    within: Vec<u16>,
    deadline: Deadline,
}

/// After so many pages somebody looks at the clock.
const LOOK_EVERY: u32 = 64;

/// A word of a row, and the languages that leave it out.
#[derive(Debug, Clone)]
pub(super) struct PlacedWord {
    pub(super) slot: Slot,
    pub(super) left_out_by: Vec<String>,
}

/// The ways in which pages have some rows: with all words, and, in languages that leave some out, with the others. Of a way
/// that not all pages may take, the language is told.
pub(super) fn placements(
    field: Field,
    rows: &[Vec<PlacedWord>],
    within: &[u16],
    deadline: &Deadline,
) -> Vec<(PlacedQuery, Option<String>)> {
    let mut languages: Vec<&String> = rows.iter().flatten().flat_map(|word| &word.left_out_by).collect();
    languages.sort_unstable();
    languages.dedup();
    let query = |(rows, within)| PlacedQuery { field, rows, within, deadline: deadline.clone() };
    let all = with_words(rows, within, |_| true).map(|kept| (query(kept), None));
    let without = |language: &String| {
        let kept = with_words(rows, within, |word| !word.left_out_by.contains(language))?;
        Some((query(kept), Some(language.clone())))
    };
    all.into_iter().chain(languages.into_iter().filter_map(without)).collect()
}

/// The rows with the words that are kept; none if there are none, or no page has one of them. Distances to a row that is
/// empty are added up.
fn with_words(
    rows: &[Vec<PlacedWord>],
    within: &[u16],
    keep: impl Fn(&PlacedWord) -> bool,
) -> Option<(Vec<Vec<Slot>>, Vec<u16>)> {
    let mut kept_rows: Vec<Vec<Slot>> = Vec::new();
    let mut kept_within: Vec<u16> = Vec::new();
    let mut distance = 0_u16;
    for (number, row) in rows.iter().enumerate() {
        if number > 0 {
            distance = distance.saturating_add(within[number - 1]);
        }
        let row: Vec<Slot> = row.iter().filter(|word| keep(word)).map(|word| word.slot.clone()).collect();
        if row.is_empty() {
            continue;
        }
        if row.iter().any(|slot| slot.terms.is_empty()) {
            return None;
        }
        if !kept_rows.is_empty() {
            kept_within.push(distance);
        }
        distance = 0;
        kept_rows.push(row);
    }
    (!kept_rows.is_empty()).then_some((kept_rows, kept_within))
}

impl Query for PlacedQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let similarity = match scoring {
            EnableScoring::Enabled { statistics_provider, .. } => {
                let words = self.rows.iter().flatten().filter_map(|slot| slot.terms.first().cloned());
                Some(Bm25Weight::for_terms(statistics_provider, &words.collect::<Vec<Term>>())?)
            }
            EnableScoring::Disabled { .. } => None,
        };
        Ok(Box::new(PlacedWeight { query: self.clone(), similarity }))
    }
}

struct PlacedWeight {
    query: PlacedQuery,
    similarity: Option<Bm25Weight>,
}

impl PlacedWeight {
    fn placed(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Option<PlacedScorer>> {
        let index = reader.inverted_index(self.query.field)?;
        let mut rows = Vec::with_capacity(self.query.rows.len());
        for row in &self.query.rows {
            let mut words = Vec::with_capacity(row.len());
            for slot in row {
                let mut forms = Vec::with_capacity(slot.terms.len());
                for term in &slot.terms {
                    forms.extend(index.read_postings(term, IndexRecordOption::WithFreqsAndPositions)?);
                }
                if forms.is_empty() {
                    return Ok(None);
                }
                words.push(Word { offset: slot.offset, forms });
            }
            rows.push(Row::new(words));
        }
        let lengths = match (&self.similarity, reader.fieldnorms_readers().get_field(self.query.field)?) {
            (Some(_), Some(lengths)) => lengths,
            _ => FieldNormReader::constant(reader.max_doc(), 1),
        };
        let similarity = self.similarity.as_ref().map(|similarity| similarity.boost_by(boost));
        let within = self.query.within.clone();
        let deadline = self.query.deadline.clone();
        let mut scorer = PlacedScorer {
            rows,
            within,
            lengths,
            similarity,
            doc: 0,
            times: 0,
            reached: Vec::new(),
            deadline,
        };
        scorer.find(0);
        Ok(Some(scorer))
    }
}

impl Weight for PlacedWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(match self.placed(reader, boost)? {
            Some(scorer) => Box::new(scorer),
            None => Box::new(EmptyScorer),
        })
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let scorer = self.placed(reader, 1.0)?.filter(|scorer| scorer.doc() <= doc);
        match scorer.map(|mut scorer| (scorer.seek(doc), scorer)) {
            Some((found, mut scorer)) if found == doc => {
                Ok(Explanation::new("words in place", scorer.score()))
            }
            _ => Err(TantivyError::InvalidArgument(format!("document {doc} does not match"))),
        }
    }
}

/// Goes through the pages of a segment that have the rows.
struct PlacedScorer {
    rows: Vec<Row>,
    within: Vec<u16>,
    lengths: FieldNormReader,
    similarity: Option<Bm25Weight>,
    doc: DocId,
    /// How often this page has them.
    times: u32,
    reached: Vec<u32>,
    deadline: Deadline,
}

struct Row {
    words: Vec<Word>,
    /// Words from its first to its last.
    length: u32,
    /// Where it begins in the page.
    starts: Vec<u32>,
    places: Vec<u32>,
}

struct Word {
    offset: u32,
    forms: Vec<SegmentPostings>,
}

impl PlacedScorer {
    /// Goes to the first page from this one on that has the rows.
    fn find(&mut self, from: DocId) -> DocId {
        let mut candidate = from;
        let mut looked_at = 0_u32;
        self.doc = loop {
            looked_at += 1;
            if looked_at.is_multiple_of(LOOK_EVERY) && self.deadline.is_over() {
                break TERMINATED;
            }
            candidate = match self.with_all_words(candidate) {
                TERMINATED => break TERMINATED,
                doc => doc,
            };
            self.times = self.count(candidate);
            if self.times > 0 {
                break candidate;
            }
            candidate += 1;
        };
        self.doc
    }

    /// The first page from this one on that has all words, wherever.
    fn with_all_words(&mut self, from: DocId) -> DocId {
        let mut candidate = from;
        'again: while candidate < TERMINATED {
            for word in self.rows.iter_mut().flat_map(|row| &mut row.words) {
                let doc = word.seek(candidate);
                if doc > candidate {
                    candidate = doc;
                    continue 'again;
                }
            }
            return candidate;
        }
        TERMINATED
    }

    fn count(&mut self, doc: DocId) -> u32 {
        for row in &mut self.rows {
            row.find_starts(doc);
            if row.starts.is_empty() {
                return 0;
            }
        }
        let mut rows = self.rows.iter();
        let Some(mut last) = rows.next() else { return 0 };
        self.reached.clone_from(&last.starts);
        for (row, within) in rows.zip(&self.within) {
            let within = u32::from(*within);
            let mut starts = row.starts.clone();
            starts.retain(|start| {
                let earliest = start.saturating_sub(within + last.length);
                let first = self.reached.partition_point(|before| *before < earliest);
                self.reached[first..]
                    .iter()
                    .take_while(|before| **before <= start + row.length + within)
                    .any(|before| before + last.length < *start || start + row.length < *before)
            });
            self.reached = starts;
            last = row;
        }
        self.reached.len() as u32
    }
}

impl Row {
    fn new(words: Vec<Word>) -> Row {
        let first = words.first().map_or(0, |word| word.offset);
        let length = words.last().map_or(0, |word| word.offset) - first;
        Row { words, length, starts: Vec::new(), places: Vec::new() }
    }

    /// Finds the places in a page where all words stand as they should.
    fn find_starts(&mut self, doc: DocId) {
        let Row { words, starts, places, .. } = self;
        let first = words.first().map_or(0, |word| word.offset);
        starts.clear();
        for (number, word) in words.iter_mut().enumerate() {
            word.find_places(doc, places);
            let after = word.offset - first;
            if number == 0 {
                starts.extend_from_slice(places);
            } else {
                starts.retain(|start| places.binary_search(&(start + after)).is_ok());
            }
            if starts.is_empty() {
                return;
            }
        }
    }
}

impl Word {
    /// The first page from this one on with any of its forms.
    fn seek(&mut self, from: DocId) -> DocId {
        let mut nearest = TERMINATED;
        for form in &mut self.forms {
            let doc = if form.doc() < from { form.seek(from) } else { form.doc() };
            nearest = nearest.min(doc);
        }
        nearest
    }

    /// Where it stands in the page, in order.
    fn find_places(&mut self, doc: DocId, places: &mut Vec<u32>) {
        places.clear();
        for form in self.forms.iter_mut().filter(|form| form.doc() == doc) {
            form.append_positions_with_offset(0, places);
        }
        if self.forms.len() > 1 {
            places.sort_unstable();
            places.dedup();
        }
    }
}

impl DocSet for PlacedScorer {
    fn advance(&mut self) -> DocId {
        match self.doc {
            TERMINATED => TERMINATED,
            doc => self.find(doc + 1),
        }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc >= target { self.doc } else { self.find(target) }
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    /// As many as have the rarest word.
    fn size_hint(&self) -> u32 {
        let pages = |word: &Word| word.forms.iter().map(SegmentPostings::doc_freq).sum();
        self.rows.iter().flat_map(|row| &row.words).map(pages).min().unwrap_or(0)
    }

    /// Places have to be read.
    fn cost(&self) -> u64 {
        u64::from(self.size_hint()) * 10
    }
}

impl Scorer for PlacedScorer {
    fn score(&mut self) -> Score {
        let length = self.lengths.fieldnorm_id(self.doc);
        self.similarity.as_ref().map_or(1.0, |similarity| similarity.score(length, self.times))
    }
}
