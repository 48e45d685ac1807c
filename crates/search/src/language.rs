//! By which rules are the words of a page taken apart? Those of its language, if it is certain and there are rules for it.

use tantivy::tokenizer::Language as Rules;

/// A language with rules for its words, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) struct Language(u8);

/// A guess below this counts for nothing: words of a wrong language would be cut in wrong places.
const ENOUGH_CONFIDENCE: f64 = 0.5;

/// Codes of ISO 639-1. The place in this list is what stands before a text on its way to the index, and no more.
const KNOWN: [(&str, Rules); 18] = [
    ("ar", Rules::Arabic),
    ("da", Rules::Danish),
    ("de", Rules::German),
    ("el", Rules::Greek),
    ("en", Rules::English),
    ("es", Rules::Spanish),
    ("fi", Rules::Finnish),
    ("fr", Rules::French),
    ("hu", Rules::Hungarian),
    ("it", Rules::Italian),
    ("nb", Rules::Norwegian),
    ("nl", Rules::Dutch),
    ("pt", Rules::Portuguese),
    ("ro", Rules::Romanian),
    ("ru", Rules::Russian),
    ("sv", Rules::Swedish),
    ("ta", Rules::Tamil),
    ("tr", Rules::Turkish),
];

impl Language {
    /// No rules: words stay as they are.
    pub(crate) const NONE: Language = Language(0);
    /// How many there are, with none of them.
    pub(crate) const COUNT: usize = KNOWN.len() + 1;

    /// The one of a code; none if it has no rules.
    pub(crate) fn of_code(code: &str) -> Language {
        let place = KNOWN.iter().position(|(known, _)| *known == code);
        Language(place.map_or(0, |place| place as u8 + 1))
    }

    /// The one with this number; none if there is no such number.
    pub(crate) fn from_number(number: u8) -> Language {
        if usize::from(number) < Language::COUNT { Language(number) } else { Language::NONE }
    }

    /// From 0 on, 0 for none.
    pub(crate) fn number(self) -> u8 {
        self.0
    }

    /// Its rules.
    pub(crate) fn rules(self) -> Option<Rules> {
        Some(KNOWN[usize::from(self.0.checked_sub(1)?)].1)
    }
}

/// The code of the language that a text is certainly in, with rules or without.
pub(crate) fn certain_language(text: &str) -> Option<&'static str> {
    parse::detect_language(text)
        .filter(|language| language.confidence >= ENOUGH_CONFIDENCE)
        .map(|language| language.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codes_lead_to_the_same_language() {
        for (code, rules) in KNOWN {
            let language = Language::of_code(code);
            assert_eq!(language.rules(), Some(rules));
            assert_eq!(Language::from_number(language.number()), language);
        }
        assert_eq!(Language::of_code("zh"), Language::NONE);
        assert_eq!(Language::from_number(200), Language::NONE);
    }
}
