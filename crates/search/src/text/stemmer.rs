//! Stemmer: maps words to index terms by the rules of a language; stop words have no term.
//!
//! Accents are removed after stemming, since the stemming rules depend on them. Most words of a text are repeated, so the results are
//! kept in a direct-mapped cache.

use std::cell::Cell;
use std::sync::Arc;

use tantivy::tokenizer::{
    AsciiFoldingFilter, RawTokenizer, Stemmer as SnowballStemmer, StopWordFilter, TextAnalyzer, TokenStream,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::text::language::Language;
use crate::text::word_counts::WordCounts;

/// Minimum length of a stem. A shorter one would be that of unrelated words: `ru` is the stem of `run` in one language and a word in others.
const MIN_STEM_CHARS: usize = 3;
/// Size of the cache for indexing.
const CACHE_SLOTS: usize = 1 << 14;
/// Size of the cache for queries and snippets.
const QUERY_CACHE_SLOTS: usize = 1 << 9;

/// Stemmer with its cache; one per thread.
pub(crate) struct Stemmer {
    /// Allocated with the first word: tantivy creates a tokenizer per field, and some fields have no words.
    slots: Vec<CacheSlot>,
    analyzers: Vec<Option<TextAnalyzer>>,
    counter: Option<WordCounter>,
}

/// Cached term of a word.
#[derive(Debug, Clone, Default)]
struct CacheSlot {
    language: Language,
    word: String,
    /// Empty for a stop word.
    term: String,
    /// Occurrences since the slot was filled.
    count: u32,
}

/// Buffer of word counts before they are added to the shared ones.
struct WordCounter {
    counts: Arc<WordCounts>,
    pending: Vec<(String, u32)>,
}

/// Size of the buffer.
const PENDING_COUNTS: usize = 1_024;

thread_local! {
    /// Stemmer for queries and snippets. Creating the rules of a language takes longer than running a query.
    static THREAD_STEMMER: Cell<Option<Stemmer>> = const { Cell::new(None) };
}

impl Stemmer {
    /// Calls a function with the stemmer of this thread for queries and snippets.
    pub(crate) fn with_thread_local<T>(f: impl FnOnce(&mut Stemmer) -> T) -> T {
        let mut stemmer = THREAD_STEMMER.take().unwrap_or_else(Stemmer::for_queries);
        let result = f(&mut stemmer);
        THREAD_STEMMER.set(Some(stemmer));
        result
    }

    pub(crate) fn new() -> Stemmer {
        Stemmer { slots: Vec::new(), analyzers: vec![None; Language::COUNT], counter: None }
    }

    /// Stemmer with a small cache.
    fn for_queries() -> Stemmer {
        let slots = vec![CacheSlot::default(); QUERY_CACHE_SLOTS];
        Stemmer { slots, analyzers: vec![None; Language::COUNT], counter: None }
    }

    /// Stemmer that also counts the words as written. A word that occurs only once while it is in the cache is not counted: it may be a
    /// misspelling.
    pub(crate) fn with_counts(counts: Arc<WordCounts>) -> Stemmer {
        let counter = Some(WordCounter { counts, pending: Vec::new() });
        Stemmer { slots: Vec::new(), analyzers: vec![None; Language::COUNT], counter }
    }

    /// Returns the term of a word in lower case; `None` for a stop word.
    pub(crate) fn term(&mut self, language: Language, word: &str) -> Option<&str> {
        if self.slots.is_empty() {
            self.slots.resize(CACHE_SLOTS, CacheSlot::default());
        }
        let hash = xxh3_64_with_seed(word.as_bytes(), language.number().into());
        let slots = self.slots.len();
        let slot = &mut self.slots[hash as usize % slots];
        if slot.language != language || slot.word != word {
            if let Some(counter) = &mut self.counter {
                counter.record(slot);
            }
            let number = usize::from(language.number());
            slot.fill(language, word, self.analyzers[number].get_or_insert_with(|| analyzer(language)));
            if slot.has_short_stem() {
                let unstemmed = self.analyzers[0].get_or_insert_with(|| analyzer(Language::NONE));
                slot.set_term(unstemmed);
            }
        }
        slot.count = slot.count.saturating_add(1);
        (!slot.term.is_empty()).then_some(slot.term.as_str())
    }
}

impl CacheSlot {
    fn fill(&mut self, language: Language, word: &str, analyzer: &mut TextAnalyzer) {
        self.language = language;
        self.count = 0;
        self.word.clear();
        self.word.push_str(word);
        self.set_term(analyzer);
    }

    fn set_term(&mut self, analyzer: &mut TextAnalyzer) {
        self.term.clear();
        let mut stream = analyzer.token_stream(&self.word);
        if let Some(token) = stream.next() {
            self.term.extend(token.text.chars().map(strip_accent));
        }
    }

    fn has_short_stem(&self) -> bool {
        let chars = self.term.chars().count();
        chars > 0 && chars < MIN_STEM_CHARS && chars < self.word.chars().count()
    }
}

impl WordCounter {
    fn record(&mut self, slot: &CacheSlot) {
        if slot.count > 1 && WordCounts::is_suggestible(&slot.word) {
            self.pending.push((slot.word.clone(), slot.count));
        }
        if self.pending.len() >= PENDING_COUNTS {
            self.counts.add(&mut self.pending);
        }
    }
}

/// Adds the counts of the words that are still in the cache.
impl Drop for Stemmer {
    fn drop(&mut self) {
        if let Some(counter) = &mut self.counter {
            self.slots.iter().for_each(|slot| counter.record(slot));
            counter.counts.add(&mut counter.pending);
        }
    }
}

fn analyzer(language: Language) -> TextAnalyzer {
    let mut builder = TextAnalyzer::builder(RawTokenizer::default()).dynamic();
    if let Some(algorithm) = language.algorithm() {
        if let Some(stop_words) = StopWordFilter::new(algorithm) {
            builder = builder.filter_dynamic(stop_words);
        }
        builder = builder.filter_dynamic(SnowballStemmer::new(algorithm));
    }
    builder.filter_dynamic(AsciiFoldingFilter).build()
}

/// Removes Greek and Cyrillic accents, which ASCII folding does not change.
fn strip_accent(c: char) -> char {
    match c {
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' | 'ϊ' | 'ΐ' => 'ι',
        'ό' => 'ο',
        'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'ώ' => 'ω',
        'ς' => 'σ',
        'ё' => 'е',
        'ѐ' => 'е',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_stems_of_their_language_without_accents() {
        let mut stemmer = Stemmer::new();
        let mut term =
            |code: &str, word: &str| stemmer.term(Language::from_code(code), word).map(str::to_owned);
        assert_eq!(term("en", "weirs").as_deref(), Some("weir"));
        assert_eq!(term("en", "the"), None);
        assert_eq!(term("de", "the").as_deref(), Some("the"));
        assert_eq!(term("de", "häuser").as_deref(), Some("haus"));
        assert_eq!(term("xx", "häuser").as_deref(), Some("hauser"));
        assert_eq!(term("ru", "ёлка"), term("ru", "елка"));
        assert_eq!(term("en", "weirs").as_deref(), Some("weir"), "cached");
    }

    #[test]
    fn no_stem_is_shorter_than_three_letters() {
        let mut stemmer = Stemmer::new();
        for number in 0..Language::COUNT as u8 {
            for word in ["run", "rus", "oses", "ita", "\u{440}\u{443}\u{43d}"] {
                if let Some(term) = stemmer.term(Language::from_number(number), word) {
                    assert!(term.chars().count() >= 3, "{number} {word} {term}");
                }
            }
        }
    }
}
