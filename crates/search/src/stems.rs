//! Which term stands for a word in the index? Its stem by the rules of a language, without accents; none for a stop word.
//!
//! Words are stemmed as they are written and lose their accents afterwards, since rules look at accents. Most words of a text
//! have been met before, so what became of them is remembered: a place for each hash, taken over by whoever comes later.

use std::cell::Cell;
use std::sync::Arc;

use tantivy::tokenizer::{
    AsciiFoldingFilter, RawTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::language::Language;
use crate::word_counts::WordCounts;

/// Words that are remembered.
const PLACES: usize = 1 << 14;
/// Words of queries and snippets that are remembered.
const FEW_PLACES: usize = 1 << 9;

/// Makes terms of words; one per thread.
pub(crate) struct Stems {
    /// None until the first word comes: most fields have few.
    places: Vec<Place>,
    analyzers: Vec<Option<TextAnalyzer>>,
    counter: Option<Counter>,
}

/// What became of a word.
#[derive(Debug, Clone, Default)]
struct Place {
    language: Language,
    word: String,
    /// Empty for a stop word.
    term: String,
    /// How often it was met.
    count: u32,
}

/// Where words are counted, and counts on their way there.
struct Counter {
    counts: Arc<WordCounts>,
    pending: Vec<(String, u32)>,
}

/// Counts that are brought together.
const PENDING_COUNTS: usize = 1_024;

thread_local! {
    /// What queries and snippets of this thread have met: rules of a language take longer to make ready than a query takes.
    static REMEMBERED: Cell<Option<Stems>> = const { Cell::new(None) };
}

impl Stems {
    /// Calls with what this thread remembers of words of queries and snippets.
    pub(crate) fn remembered<T>(call: impl FnOnce(&mut Stems) -> T) -> T {
        let mut stems = REMEMBERED.take().unwrap_or_else(Stems::of_few);
        let answer = call(&mut stems);
        REMEMBERED.set(Some(stems));
        answer
    }

    /// Knows nothing yet.
    pub(crate) fn new() -> Stems {
        Stems { places: Vec::new(), analyzers: vec![None; Language::COUNT], counter: None }
    }

    /// Knows nothing yet, and remembers few words: for queries and snippets.
    fn of_few() -> Stems {
        let places = vec![Place::default(); FEW_PLACES];
        Stems { places, analyzers: vec![None; Language::COUNT], counter: None }
    }

    /// Counts words as they are written, too. Those met once only while they were remembered do not count: they may be
    /// mistakes.
    pub(crate) fn counting(counts: Arc<WordCounts>) -> Stems {
        let counter = Some(Counter { counts, pending: Vec::new() });
        Stems { places: Vec::new(), analyzers: vec![None; Language::COUNT], counter }
    }

    /// The term of a word in lower case; none for a stop word.
    pub(crate) fn term(&mut self, language: Language, word: &str) -> Option<&str> {
        if self.places.is_empty() {
            self.places.resize(PLACES, Place::default());
        }
        let hash = xxh3_64_with_seed(word.as_bytes(), language.number().into());
        let places = self.places.len();
        let place = &mut self.places[hash as usize % places];
        if place.language != language || place.word != word {
            if let Some(counter) = &mut self.counter {
                counter.take(place);
            }
            let number = usize::from(language.number());
            place.fill(language, word, self.analyzers[number].get_or_insert_with(|| analyzer(language)));
        }
        place.count = place.count.saturating_add(1);
        (!place.term.is_empty()).then_some(place.term.as_str())
    }
}

impl Place {
    fn fill(&mut self, language: Language, word: &str, analyzer: &mut TextAnalyzer) {
        self.language = language;
        self.count = 0;
        self.word.clear();
        self.word.push_str(word);
        self.term.clear();
        let mut stream = analyzer.token_stream(word);
        if let Some(token) = stream.next() {
            self.term.extend(token.text.chars().map(without_accent));
        }
    }
}

impl Counter {
    fn take(&mut self, place: &Place) {
        if place.count > 1 && WordCounts::is_wanted(&place.word) {
            self.pending.push((place.word.clone(), place.count));
        }
        if self.pending.len() >= PENDING_COUNTS {
            self.counts.add(&mut self.pending);
        }
    }
}

/// What is still remembered counts, too.
impl Drop for Stems {
    fn drop(&mut self) {
        if let Some(counter) = &mut self.counter {
            self.places.iter().for_each(|place| counter.take(place));
            counter.counts.add(&mut counter.pending);
        }
    }
}

fn analyzer(language: Language) -> TextAnalyzer {
    let mut builder = TextAnalyzer::builder(RawTokenizer::default()).dynamic();
    if let Some(rules) = language.rules() {
        if let Some(stop_words) = StopWordFilter::new(rules) {
            builder = builder.filter_dynamic(stop_words);
        }
        builder = builder.filter_dynamic(Stemmer::new(rules));
    }
    builder.filter_dynamic(AsciiFoldingFilter).build()
}

/// What folding to ASCII leaves: accents of Greek and Cyrillic.
fn without_accent(c: char) -> char {
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
        let mut stems = Stems::new();
        let mut term = |code: &str, word: &str| stems.term(Language::of_code(code), word).map(str::to_owned);
        assert_eq!(term("en", "weirs").as_deref(), Some("weir"));
        assert_eq!(term("en", "the"), None);
        assert_eq!(term("de", "the").as_deref(), Some("the"));
        assert_eq!(term("de", "häuser").as_deref(), Some("haus"));
        assert_eq!(term("xx", "häuser").as_deref(), Some("hauser"));
        assert_eq!(term("ru", "ёлка"), term("ru", "елка"));
        assert_eq!(term("en", "weirs").as_deref(), Some("weir"), "remembered");
    }
}
