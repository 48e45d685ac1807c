//! Query for phrases of stemmed words, and for phrases near each other.
//!
//! Phrase queries of tantivy support only one term per position; here each position has the stems of all languages. Candidates are pages
//! with all words; the start positions of a phrase are the intersection of the shifted positions of its words. Two phrases match, in any
//! order, if the distance from the end of one to the start of the other is within the limit. The number of matches is the term frequency
//! in BM25.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SeekDangerResult, SegmentReader, TERMINATED, TantivyError, Term};

use crate::searcher::deadline::Deadline;
use crate::searcher::scoring::bm25::Bm25;

/// Position of a phrase with its terms.
#[derive(Debug, Clone)]
pub(crate) struct TermPosition {
    /// Offset from the start of the phrase, in words.
    pub(crate) offset: u32,
    /// Alternative terms, at least one.
    pub(crate) terms: Vec<Term>,
}

/// Phrases near each other, in one field.
#[derive(Debug, Clone)]
pub(crate) struct ProximityQuery {
    field: Field,
    /// Influence of the length of the field in BM25.
    b: Score,
    phrases: Vec<Vec<TermPosition>>,
    /// Maximum distance of each phrase from the previous one.
    max_distances: Vec<u16>,
    deadline: Deadline,
}

/// Number of candidates between two checks of the deadline.
const DEADLINE_CHECK_INTERVAL: u32 = 64;

/// Word of a phrase, with the languages in which it is a stop word.
#[derive(Debug, Clone)]
pub(crate) struct PhraseWord {
    pub(crate) position: TermPosition,
    pub(crate) stop_word_in: Vec<String>,
}

/// Returns the queries for some phrases: one with all words, and for each language with some of them as stop words one without these,
/// restricted to that language.
pub(crate) fn query_variants(
    (field, b): (Field, Score),
    phrases: &[Vec<PhraseWord>],
    max_distances: &[u16],
    deadline: &Deadline,
) -> Vec<(ProximityQuery, Option<String>)> {
    let mut languages: Vec<&String> = phrases.iter().flatten().flat_map(|word| &word.stop_word_in).collect();
    languages.sort_unstable();
    languages.dedup();
    let query = |(phrases, max_distances)| ProximityQuery {
        field,
        b,
        phrases,
        max_distances,
        deadline: deadline.clone(),
    };
    let all = retain_words(phrases, max_distances, |_| true).map(|kept| (query(kept), None));
    let without = |language: &String| {
        let kept = retain_words(phrases, max_distances, |word| !word.stop_word_in.contains(language))?;
        Some((query(kept), Some(language.clone())))
    };
    all.into_iter().chain(languages.into_iter().filter_map(without)).collect()
}

/// Reduces the phrases to the words that are kept; `None` if no word is left, or if a word has no term in the index. The distances around
/// a dropped phrase are added.
fn retain_words(
    phrases: &[Vec<PhraseWord>],
    max_distances: &[u16],
    keep: impl Fn(&PhraseWord) -> bool,
) -> Option<(Vec<Vec<TermPosition>>, Vec<u16>)> {
    let mut kept_phrases: Vec<Vec<TermPosition>> = Vec::new();
    let mut kept_distances: Vec<u16> = Vec::new();
    let mut distance = 0_u16;
    for (number, phrase) in phrases.iter().enumerate() {
        if number > 0 {
            distance = distance.saturating_add(max_distances[number - 1]);
        }
        let phrase: Vec<TermPosition> =
            phrase.iter().filter(|word| keep(word)).map(|word| word.position.clone()).collect();
        if phrase.is_empty() {
            continue;
        }
        if phrase.iter().any(|position| position.terms.is_empty()) {
            return None;
        }
        if !kept_phrases.is_empty() {
            kept_distances.push(distance);
        }
        distance = 0;
        kept_phrases.push(phrase);
    }
    (!kept_phrases.is_empty()).then_some((kept_phrases, kept_distances))
}

impl Query for ProximityQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let similarity = match scoring {
            EnableScoring::Enabled { statistics_provider, .. } => {
                // One term per position is enough: all stems of a word have the same document frequency (`bm25_statistics.rs`).
                let words = self.phrases.iter().flatten().filter_map(|position| position.terms.first());
                let words: Vec<&Term> = words.collect();
                Some(Bm25::for_terms(statistics_provider, self.field, self.b, &words)?)
            }
            EnableScoring::Disabled { .. } => None,
        };
        Ok(Box::new(ProximityWeight { query: self.clone(), similarity }))
    }
}

struct ProximityWeight {
    query: ProximityQuery,
    similarity: Option<Bm25>,
}

impl ProximityWeight {
    /// Opens the scorer of a segment before its first match.
    fn open(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Option<ProximityScorer>> {
        let index = reader.inverted_index(self.query.field)?;
        let mut phrases = Vec::with_capacity(self.query.phrases.len());
        for phrase in &self.query.phrases {
            let mut words = Vec::with_capacity(phrase.len());
            for position in phrase {
                let mut postings = Vec::with_capacity(position.terms.len());
                for term in &position.terms {
                    postings.extend(index.read_postings(term, IndexRecordOption::WithFreqsAndPositions)?);
                }
                if postings.is_empty() {
                    return Ok(None);
                }
                words.push(WordPostings { offset: position.offset, postings });
            }
            phrases.push(PhraseMatcher::new(words));
        }
        let fieldnorms = match (&self.similarity, reader.fieldnorms_readers().get_field(self.query.field)?) {
            (Some(_), Some(fieldnorms)) => fieldnorms,
            _ => FieldNormReader::constant(reader.max_doc(), 1),
        };
        let similarity = self.similarity.as_ref().map(|similarity| similarity.boosted(boost));
        let max_distances = self.query.max_distances.clone();
        let deadline = self.query.deadline.clone();
        Ok(Some(ProximityScorer {
            phrases,
            max_distances,
            fieldnorms,
            similarity,
            doc: 0,
            frequency: 0,
            matched_starts: Vec::new(),
            deadline,
        }))
    }

    fn open_at_first_match(
        &self,
        reader: &SegmentReader,
        boost: Score,
    ) -> tantivy::Result<Option<ProximityScorer>> {
        let mut scorer = self.open(reader, boost)?;
        if let Some(scorer) = &mut scorer {
            scorer.seek_match(0);
        }
        Ok(scorer)
    }
}

impl Weight for ProximityWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(match self.open_at_first_match(reader, boost)? {
            Some(scorer) => Box::new(scorer),
            None => Box::new(EmptyScorer),
        })
    }

    /// Checks only the target: the first match may be far away, and positions are read for every page on the way.
    fn scorer_danger(
        &self,
        reader: &SegmentReader,
        target: DocId,
        boost: Score,
    ) -> tantivy::Result<(SeekDangerResult, Box<dyn Scorer>)> {
        Ok(match self.open(reader, boost)? {
            Some(mut scorer) => (scorer.seek_danger(target), Box::new(scorer)),
            None => (SeekDangerResult::SeekLowerBound(TERMINATED), Box::new(EmptyScorer)),
        })
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let scorer = self.open_at_first_match(reader, 1.0)?.filter(|scorer| scorer.doc() <= doc);
        match scorer.map(|mut scorer| (scorer.seek(doc), scorer)) {
            Some((found, mut scorer)) if found == doc => Ok(Explanation::new("phrase", scorer.score())),
            _ => Err(TantivyError::InvalidArgument(format!("document {doc} does not match"))),
        }
    }
}

/// Scorer of a segment: iterates over the matching pages.
struct ProximityScorer {
    phrases: Vec<PhraseMatcher>,
    max_distances: Vec<u16>,
    fieldnorms: FieldNormReader,
    similarity: Option<Bm25>,
    doc: DocId,
    /// Number of matches in the current page.
    frequency: u32,
    matched_starts: Vec<u32>,
    deadline: Deadline,
}

struct PhraseMatcher {
    words: Vec<WordPostings>,
    /// Length in words, minus one.
    length: u32,
    /// Start positions in the current page.
    starts: Vec<u32>,
    positions: Vec<u32>,
}

struct WordPostings {
    offset: u32,
    postings: Vec<SegmentPostings>,
}

impl ProximityScorer {
    /// Advances to the first match at or after a page.
    fn seek_match(&mut self, from: DocId) -> DocId {
        let mut candidate = from;
        let mut scanned = 0_u32;
        self.doc = loop {
            scanned += 1;
            if scanned.is_multiple_of(DEADLINE_CHECK_INTERVAL) && self.deadline.is_expired() {
                break TERMINATED;
            }
            candidate = match self.seek_all_words(candidate) {
                TERMINATED => break TERMINATED,
                doc => doc,
            };
            self.frequency = self.count_matches(candidate);
            if self.frequency > 0 {
                break candidate;
            }
            candidate += 1;
        };
        self.doc
    }

    /// Finds the first page at or after another that has all words, at any positions.
    fn seek_all_words(&mut self, from: DocId) -> DocId {
        let mut candidate = from;
        'again: while candidate < TERMINATED {
            for word in self.phrases.iter_mut().flat_map(|phrase| &mut phrase.words) {
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

    fn count_matches(&mut self, doc: DocId) -> u32 {
        for phrase in &mut self.phrases {
            phrase.find_starts(doc);
            if phrase.starts.is_empty() {
                return 0;
            }
        }
        let mut phrases = self.phrases.iter();
        let Some(mut last) = phrases.next() else { return 0 };
        self.matched_starts.clone_from(&last.starts);
        for (phrase, max_distances) in phrases.zip(&self.max_distances) {
            let max_distances = u32::from(*max_distances);
            let mut starts = phrase.starts.clone();
            starts.retain(|start| {
                // In any order, but without overlap: one phrase ends before the other starts.
                let earliest = start.saturating_sub(max_distances + last.length);
                let first = self.matched_starts.partition_point(|before| *before < earliest);
                self.matched_starts[first..]
                    .iter()
                    .take_while(|before| **before <= start + phrase.length + max_distances)
                    .any(|before| before + last.length < *start || start + phrase.length < *before)
            });
            self.matched_starts = starts;
            last = phrase;
        }
        self.matched_starts.len() as u32
    }
}

impl PhraseMatcher {
    fn new(words: Vec<WordPostings>) -> PhraseMatcher {
        let first = words.first().map_or(0, |word| word.offset);
        let length = words.last().map_or(0, |word| word.offset) - first;
        PhraseMatcher { words, length, starts: Vec::new(), positions: Vec::new() }
    }

    /// Finds the start positions of the phrase in a page.
    fn find_starts(&mut self, doc: DocId) {
        let PhraseMatcher { words, starts, positions, .. } = self;
        let first = words.first().map_or(0, |word| word.offset);
        starts.clear();
        for (number, word) in words.iter_mut().enumerate() {
            word.read_positions(doc, positions);
            let after = word.offset - first;
            if number == 0 {
                starts.extend_from_slice(positions);
            } else {
                starts.retain(|start| positions.binary_search(&(start + after)).is_ok());
            }
            if starts.is_empty() {
                return;
            }
        }
    }
}

impl WordPostings {
    /// Finds the first page at or after another with any of the terms.
    fn seek(&mut self, from: DocId) -> DocId {
        let mut nearest = TERMINATED;
        for posting in &mut self.postings {
            let doc = if posting.doc() < from { posting.seek(from) } else { posting.doc() };
            nearest = nearest.min(doc);
        }
        nearest
    }

    /// Reads the positions of the word in a page, sorted.
    fn read_positions(&mut self, doc: DocId, positions: &mut Vec<u32>) {
        positions.clear();
        for posting in self.postings.iter_mut().filter(|posting| posting.doc() == doc) {
            posting.append_positions_with_offset(0, positions);
        }
        if self.postings.len() > 1 {
            positions.sort_unstable();
            positions.dedup();
        }
    }
}

impl DocSet for ProximityScorer {
    fn advance(&mut self) -> DocId {
        match self.doc {
            TERMINATED => TERMINATED,
            doc => self.seek_match(doc + 1),
        }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc >= target { self.doc } else { self.seek_match(target) }
    }

    fn seek_danger(&mut self, target: DocId) -> SeekDangerResult {
        let candidate = if self.deadline.is_expired() { TERMINATED } else { self.seek_all_words(target) };
        self.doc = candidate;
        if candidate != target || candidate == TERMINATED {
            return SeekDangerResult::SeekLowerBound(candidate);
        }
        self.frequency = self.count_matches(candidate);
        match self.frequency {
            0 => SeekDangerResult::SeekLowerBound(candidate + 1),
            _ => SeekDangerResult::Found,
        }
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    /// Document frequency of the rarest word.
    fn size_hint(&self) -> u32 {
        let pages = |word: &WordPostings| word.postings.iter().map(SegmentPostings::doc_freq).sum();
        self.phrases.iter().flat_map(|phrase| &phrase.words).map(pages).min().unwrap_or(0)
    }

    /// Reading positions is more expensive than reading documents.
    fn cost(&self) -> u64 {
        u64::from(self.size_hint()) * 10
    }
}

impl Scorer for ProximityScorer {
    fn score(&mut self) -> Score {
        let length = self.fieldnorms.fieldnorm_id(self.doc);
        self.similarity.as_ref().map_or(1.0, |similarity| similarity.score(length, self.frequency))
    }
}
