//! Which term stands for a word in the index? Its stem by the rules of a language, without accents; none for a stop word.
//!
//! Words are stemmed as they are written and lose their accents afterwards, since rules look at accents. Most words of a text
//! have been met before, so what became of them is remembered: a place for each hash, taken over by whoever comes later.

use tantivy::tokenizer::{
    AsciiFoldingFilter, RawTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::language::Language;

/// Words that are remembered.
const PLACES: usize = 1 << 14;

/// Makes terms of words; one per thread.
pub(crate) struct Stems {
    places: Vec<Place>,
    analyzers: Vec<Option<TextAnalyzer>>,
}

/// What became of a word.
#[derive(Debug, Clone, Default)]
struct Place {
    language: Language,
    word: String,
    /// Empty for a stop word.
    term: String,
}

impl Stems {
    /// Knows nothing yet.
    pub(crate) fn new() -> Stems {
        Stems { places: vec![Place::default(); PLACES], analyzers: vec![None; Language::COUNT] }
    }

    /// The term of a word in lower case; none for a stop word.
    pub(crate) fn term(&mut self, language: Language, word: &str) -> Option<&str> {
        let hash = xxh3_64_with_seed(word.as_bytes(), language.number().into());
        let place = &mut self.places[hash as usize % PLACES];
        if place.language != language || place.word != word {
            place.language = language;
            place.word.clear();
            place.word.push_str(word);
            place.term.clear();
            let number = usize::from(language.number());
            let analyzer = self.analyzers[number].get_or_insert_with(|| analyzer(language));
            let mut stream = analyzer.token_stream(word);
            if let Some(token) = stream.next() {
                place.term.extend(token.text.chars().map(without_accent));
            }
        }
        (!place.term.is_empty()).then_some(place.term.as_str())
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
