//! Which terms of the index does a word of a query stand for? Its terms in every language that pages are in, made the way those
//! of pages are.

use std::ops::Range;

use crate::cutter::{Cutter, PieceKind};
use crate::language::Language;
use crate::stems::Stems;

/// The terms of a word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Forms {
    /// All different; pages of whatever language have one of them.
    pub(crate) terms: Vec<String>,
    /// It is a stop word of one of the languages: pages in that language do not have it, so that nobody may insist on it.
    pub(crate) is_stop_word: bool,
    /// It is one character of a script without spaces: terms are pairs, so that those which begin or end with it are meant.
    pub(crate) is_single: bool,
}

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryWord {
    /// As it is cut from the text, in lower case.
    pub(crate) text: String,
    /// Which word of the text it is; in a phrase, distances count.
    pub(crate) position: u32,
    /// Where in the text it stands.
    pub(crate) range: Range<usize>,
    pub(crate) kind: PieceKind,
}

/// The words of a query's text, cut the way pages are. `foo-bar` is two words, a run of Han characters many.
pub(crate) fn query_words(text: &str) -> Vec<QueryWord> {
    let mut cutter = Cutter::new(text);
    let mut words = Vec::new();
    while let Some(piece) = cutter.next() {
        words.push(QueryWord {
            text: piece.text.to_owned(),
            position: piece.position,
            range: piece.start..piece.end,
            kind: piece.kind,
        });
    }
    words
}

/// The terms of one word in these languages (codes), and in none of them.
pub(crate) fn forms(word: &QueryWord, languages: &[&str]) -> Forms {
    Stems::remembered(|stems| forms_by(stems, word, languages))
}

fn forms_by(stems: &mut Stems, word: &QueryWord, languages: &[&str]) -> Forms {
    let mut forms = Forms { is_single: word.kind == PieceKind::Single, ..Forms::default() };
    if word.kind != PieceKind::Word {
        forms.terms.push(word.text.clone());
        return forms;
    }
    // Who leaves out accents means the word with them; its stem may differ from that of what is written.
    let plain = stems.term(Language::NONE, &word.text).unwrap_or(&word.text).to_owned();
    let languages = languages.iter().map(|code| Language::of_code(code)).chain([Language::NONE]);
    for language in languages {
        for word in [&word.text, &plain] {
            match stems.term(language, word) {
                Some(term) if !forms.terms.iter().any(|known| known == term) => {
                    forms.terms.push(term.to_owned());
                }
                Some(_) => {}
                None => forms.is_stop_word = true,
            }
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokenizer::for_each_term;

    fn forms_of(text: &str, languages: &[&str]) -> Forms {
        let words = query_words(text);
        assert_eq!(words.len(), 1, "{words:?}");
        forms(&words[0], languages)
    }

    #[test]
    fn a_word_stands_for_its_stem_in_every_language() {
        assert_eq!(forms_of("Häuser", &["de", "en"]).terms, ["haus", "hauser"]);
        let the = forms_of("the", &["en"]);
        assert!(the.is_stop_word && the.terms == ["the"]);
        assert!(!forms_of("weir", &["en", "de"]).is_stop_word);
        assert!(forms_of("水", &["zh"]).is_single);
    }

    proptest! {
        #[test]
        fn a_query_finds_every_word_of_a_page(
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
            for word in query_words(&text) {
                let forms = forms(&word, &[&code]);
                match terms.remove(&word.position) {
                    Some(term) => prop_assert!(forms.terms.contains(&term), "{term} of {word:?}"),
                    None => prop_assert!(forms.is_stop_word, "{word:?}"),
                }
            }
            prop_assert!(terms.is_empty());
        }
    }
}
