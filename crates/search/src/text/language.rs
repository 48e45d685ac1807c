//! Languages with a stemmer.

use tantivy::tokenizer::Language as Algorithm;

/// Language with a stemmer, or [`Language::NONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) struct Language(u8);

/// ISO 639-1 codes. The index in this list is used only between document builder and tokenizer; it is not stored.
const STEMMED_LANGUAGES: [(&str, Algorithm); 18] = [
    ("ar", Algorithm::Arabic),
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("el", Algorithm::Greek),
    ("en", Algorithm::English),
    ("es", Algorithm::Spanish),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("hu", Algorithm::Hungarian),
    ("it", Algorithm::Italian),
    ("nb", Algorithm::Norwegian),
    ("nl", Algorithm::Dutch),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish),
    ("ta", Algorithm::Tamil),
    ("tr", Algorithm::Turkish),
];

impl Language {
    /// No stemming.
    pub(crate) const NONE: Language = Language(0);
    /// Number of languages, including [`Language::NONE`].
    pub(crate) const COUNT: usize = STEMMED_LANGUAGES.len() + 1;

    /// Returns the language of a code; [`Language::NONE`] without a stemmer.
    pub(crate) fn from_code(code: &str) -> Language {
        let index = STEMMED_LANGUAGES.iter().position(|(known, _)| *known == code);
        Language(index.map_or(0, |index| index as u8 + 1))
    }

    /// Returns the language of a number; [`Language::NONE`] for an invalid one.
    pub(crate) fn from_number(number: u8) -> Language {
        if usize::from(number) < Language::COUNT { Language(number) } else { Language::NONE }
    }

    /// Number of the language; 0 for [`Language::NONE`].
    pub(crate) fn number(self) -> u8 {
        self.0
    }

    /// Stemming algorithm.
    pub(crate) fn algorithm(self) -> Option<Algorithm> {
        Some(STEMMED_LANGUAGES[usize::from(self.0.checked_sub(1)?)].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codes_are_consistent() {
        for (code, algorithm) in STEMMED_LANGUAGES {
            let language = Language::from_code(code);
            assert_eq!(language.algorithm(), Some(algorithm));
            assert_eq!(Language::from_number(language.number()), language);
        }
        assert_eq!(Language::from_code("zh"), Language::NONE);
        assert_eq!(Language::from_number(200), Language::NONE);
    }
}
