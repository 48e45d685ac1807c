//! Index terms of the words of a query: one per language of the indexed pages, produced like those of pages.

use std::ops::Range;

use crate::text::language::Language;
use crate::text::segmenter::{Segmenter, TokenKind};
use crate::text::stemmer::Stemmer;

/// Index terms of a word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TermVariants {
    /// Distinct terms; a page that contains the word has one of them.
    pub(crate) terms: Vec<String>,
    /// Whether it is a stop word of one of the languages. Pages in that language are indexed without it, so it cannot be required.
    pub(crate) is_stop_word: bool,
    /// Whether it is a single character of a script without spaces. The index has bigrams, so it matches those that contain it.
    pub(crate) is_unigram: bool,
}

/// Word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryWord {
    /// Lower case.
    pub(crate) text: String,
    /// Position in the text, for phrases.
    pub(crate) position: u32,
    /// Byte range in the text.
    pub(crate) range: Range<usize>,
    pub(crate) kind: TokenKind,
}

/// Splits the text of a query into words, like the text of pages. `foo-bar` is two words; a run of Han characters is several.
pub(crate) fn split_query(text: &str) -> Vec<QueryWord> {
    let mut segmenter = Segmenter::new(text);
    let mut words = Vec::new();
    while let Some(token) = segmenter.next() {
        words.push(QueryWord {
            text: token.text.to_owned(),
            position: token.position,
            range: token.start..token.end,
            kind: token.kind,
        });
    }
    words
}

/// Returns the terms of a word in some languages, given by code, and without a language.
pub(crate) fn term_variants(word: &QueryWord, languages: &[&str]) -> TermVariants {
    Stemmer::with_thread_local(|stemmer| variants_with(stemmer, word, languages))
}

fn variants_with(stemmer: &mut Stemmer, word: &QueryWord, languages: &[&str]) -> TermVariants {
    let mut variants =
        TermVariants { is_unigram: word.kind == TokenKind::Unigram, ..TermVariants::default() };
    if word.kind != TokenKind::Word {
        variants.terms.push(word.text.clone());
        return variants;
    }
    // A query may omit accents. The stem of the word without them may differ from that of the word as written.
    let plain = stemmer.term(Language::NONE, &word.text).unwrap_or(&word.text).to_owned();
    let languages = languages.iter().map(|code| Language::from_code(code)).chain([Language::NONE]);
    for language in languages {
        for word in [&word.text, &plain] {
            match stemmer.term(language, word) {
                Some(term) if !variants.terms.iter().any(|known| known == term) => {
                    variants.terms.push(term.to_owned());
                }
                Some(_) => {}
                None => variants.is_stop_word = true,
            }
        }
    }
    variants
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::tokenizer::for_each_term;

    fn variants_of(text: &str, languages: &[&str]) -> TermVariants {
        let words = split_query(text);
        assert_eq!(words.len(), 1, "{words:?}");
        term_variants(&words[0], languages)
    }

    #[test]
    fn a_word_has_a_stem_in_every_language() {
        assert_eq!(variants_of("Häuser", &["de", "en"]).terms, ["haus", "hauser"]);
        let the = variants_of("the", &["en"]);
        assert!(the.is_stop_word && the.terms == ["the"]);
        assert!(!variants_of("weir", &["en", "de"]).is_stop_word);
        assert!(variants_of("水", &["zh"]).is_unigram);
    }

    proptest! {
        #[test]
        fn every_word_of_a_page_is_found_by_a_query(
            text in "(\\PC{0,8}|[a-zäöüßéèñ]{1,12}| |(the|und|les|вода|реки|東京都|ไทย)){0,30}",
            code in "(en|de|fr|ru|tr|el|zh|xx)",
        ) {
            let mut terms = std::collections::HashMap::new();
            let mut last = None;
            for_each_term(Some(&code), &text, |term, position, range| {
                assert!(last < Some(position) && text.get(range).is_some());
                last = Some(position);
                terms.insert(position as u32, term.to_owned());
            });
            for word in split_query(&text) {
                let variants = term_variants(&word, &[&code]);
                match terms.remove(&word.position) {
                    Some(term) => prop_assert!(variants.terms.contains(&term), "{term} of {word:?}"),
                    None => prop_assert!(variants.is_stop_word, "{word:?}"),
                }
            }
            prop_assert!(terms.is_empty());
        }
    }
}
