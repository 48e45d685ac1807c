//! Language detection: by frequent words if they are unambiguous, otherwise by an n-gram model of 139 languages.
//!
//! Measured on single sentences (`crates/parse/tests/parse/language.rs`): as accurate as py3langid, of which the model is a
//! tenth; whatlang has half of the languages and twice the errors. The result is *unknown* rather than a guess if the text is
//! short, in several languages, or close to two of them.
//!
//! The language that a page declares and its top-level domain decide only between languages that the text leaves open:
//! declarations are often wrong. Other pages of the site are not used, so that a page has the same language wherever and
//! whenever it is parsed.

mod frequent_words;
mod model;

pub use frequent_words::is_frequent_word;

use crate::document::Document;
use frequent_words::language_by_frequent_words;
use model::{NOT_A_LANGUAGE, Scores};

/// Text is sampled at three places, because its start, middle or end may be a table, a program or a quotation.
const SAMPLES: usize = 3;
const SAMPLE_BYTES: usize = 400;

/// Sample size for the search for frequent words in a page with much else.
const WIDE_SAMPLE_BYTES: usize = 4_096;

/// Number of bytes of letters for full confidence. A shorter text is a name or a word that several languages share. Counted
/// in bytes because letters of larger alphabets, which take more bytes, carry more information.
const FULL_CONFIDENCE_BYTES: usize = 20;

/// Confidence from which on a language is known. On single sentences of 72 languages 1 % of the right results and a quarter of
/// the wrong ones are below.
pub const MIN_LANGUAGE_CONFIDENCE: f64 = 0.5;

/// Distance of the scores of the best two languages at which the confidence is [`MIN_LANGUAGE_CONFIDENCE`].
const HALF_CONFIDENCE_MARGIN: f32 = 1.5;

/// Distance from which on a sample is certainly in its language.
const CERTAIN_MARGIN: f32 = 20.0;

/// Confidence of a text with samples in different languages.
const MIXED_CONFIDENCE: f64 = 0.25;

/// Bonus of the score of the declared language, and of that of the top-level domain: no more than one or two n-grams.
const DECLARED_BONUS: f32 = 4.0;
const DOMAIN_BONUS: f32 = 2.0;

/// Languages with a script of their own that are not in the model.
const SCRIPTS: [(char, char, &str); 5] = [
    ('\u{700}', '\u{74f}', "syr"),
    ('\u{780}', '\u{7bf}', "dv"),
    ('\u{13a0}', '\u{13ff}', "chr"),
    ('\u{1400}', '\u{167f}', "iu"),
    ('\u{1900}', '\u{194f}', "lif"),
];

/// Detected language of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Language {
    /// ISO 639-1 code; the code of ISO 639-3 if there is none.
    pub code: &'static str,
    /// Confidence from 0 to 1: distance between the best and the second-best result.
    pub confidence: f64,
}

/// Facts about the language of a page that are known before its text is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct LanguageHints<'a> {
    /// Language that the page declares; empty if it declares none.
    pub declared: &'a str,
    /// Top-level domain of the page.
    pub top_level_domain: Option<&'a str>,
}

impl Document {
    /// Detects the language of the page by its main text; `None` if it is unknown.
    pub fn language(&self, main_text: &str, top_level_domain: Option<&str>) -> Option<Language> {
        let hints = LanguageHints { declared: &self.language_declared, top_level_domain };
        let text = if main_text.is_empty() { &self.text } else { main_text };
        detect_language(text, hints).filter(|language| language.confidence >= MIN_LANGUAGE_CONFIDENCE)
    }
}

/// Detects the language of a text; `None` if it contains no words. A result with a confidence below
/// [`MIN_LANGUAGE_CONFIDENCE`] is a guess.
pub fn detect_language(text: &str, hints: LanguageHints<'_>) -> Option<Language> {
    let samples = samples(text);
    if let Some(code) = by_frequent_words(text, &samples).or_else(|| by_script(samples[0])) {
        return Some(Language { code, confidence: 1.0 });
    }
    let mut total = Scores::new();
    let mut certain: Vec<&str> = Vec::new();
    for sample in &samples {
        let scores = scores(sample);
        certain.extend(scores.best().filter(|best| best.margin >= CERTAIN_MARGIN).map(|best| best.code));
        total.add(&scores);
    }
    let declared = hints.declared.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    total.favour(if declared == "no" { "nb" } else { &declared }, DECLARED_BONUS);
    total.favour(hints.top_level_domain.map_or("", language_of_domain), DOMAIN_BONUS);
    let best = total.best().filter(|best| best.code != NOT_A_LANGUAGE)?;
    let letters: usize = samples[0]
        .chars()
        .filter(|character| character.is_alphabetic())
        .map(char::len_utf8)
        .take(FULL_CONFIDENCE_BYTES)
        .sum();
    let share = (letters as f64 / FULL_CONFIDENCE_BYTES as f64).min(1.0);
    let confidence = f64::from(best.margin / (best.margin + HALF_CONFIDENCE_MARGIN)) * share;
    let is_mixed = certain.iter().any(|code| *code != best.code);
    let confidence = if is_mixed { confidence.min(MIXED_CONFIDENCE) } else { confidence };
    (letters > 0).then_some(Language { code: best.code, confidence })
}

/// Returns the language if frequent words are in one language, and nothing indicates another one.
fn by_frequent_words(text: &str, samples: &[&str]) -> Option<&'static str> {
    let mut found = None;
    for sample in samples {
        match language_by_frequent_words(sample) {
            Some(code) if found.is_some_and(|found| found != code) => return None,
            Some(code) => found = Some(code),
            // Other scripts are in the n-gram model only.
            None if 4 * sample.bytes().filter(|byte| !byte.is_ascii()).count() > sample.len() => return None,
            None => {}
        }
    }
    found.or_else(|| language_by_frequent_words(middle(text, WIDE_SAMPLE_BYTES)))
}

/// Returns the language of the script of most letters.
fn by_script(sample: &str) -> Option<&'static str> {
    let letters = || sample.chars().filter(|character| character.is_alphabetic());
    // Digraphs that Hebrew does not have.
    if sample.contains(|character| ('\u{5f0}'..='\u{5f2}').contains(&character)) {
        return Some("yi");
    }
    let first = letters()
        .find_map(|character| SCRIPTS.iter().find(|(start, end, _)| (*start..=*end).contains(&character)));
    let (start, end, code) = first?;
    let own = letters().filter(|character| (*start..=*end).contains(character)).count();
    (2 * own > letters().count()).then_some(code)
}

fn scores(sample: &str) -> Scores {
    // The model has few n-grams of capital letters.
    if sample.contains(char::is_uppercase) && !sample.contains(char::is_lowercase) {
        Scores::of_text(sample.to_lowercase().as_bytes())
    } else {
        Scores::of_text(sample.as_bytes())
    }
}

/// Returns the main language of a country by its top-level domain; most have the code of the language.
fn language_of_domain(domain: &str) -> &str {
    match domain {
        "at" => "de",
        "br" => "pt",
        "cn" | "tw" => "zh",
        "cz" => "cs",
        "dk" => "da",
        "ee" => "et",
        "gr" => "el",
        "il" => "he",
        "ir" => "fa",
        "jp" => "ja",
        "kr" => "ko",
        "mx" | "ar" | "cl" | "co" | "pe" | "uy" => "es",
        "no" => "nb",
        "rs" => "sr",
        "se" => "sv",
        "si" => "sl",
        "ua" => "uk",
        "vn" => "vi",
        // Codes of languages that are not spoken there, and domains that are used everywhere.
        "ca" | "be" | "io" | "me" | "tv" | "to" | "am" | "fm" | "ai" | "cc" | "la" | "my" | "sa" | "tn"
        | "ne" => "",
        _ => domain,
    }
}

/// Returns three parts of the text; the whole text if it is not much longer.
fn samples(text: &str) -> Vec<&str> {
    if text.len() <= 2 * SAMPLES * SAMPLE_BYTES {
        return vec![middle(text, SAMPLES * SAMPLE_BYTES)];
    }
    let part = text.len() / SAMPLES;
    (0..SAMPLES).map(|number| part_of(text, number * part + part / 2, SAMPLE_BYTES)).collect()
}

/// Returns the middle of the text; its ends are often menus and imprints.
fn middle(text: &str, bytes: usize) -> &str {
    part_of(text, text.len() / 2, bytes)
}

fn part_of(text: &str, center: usize, bytes: usize) -> &str {
    let start = text.floor_char_boundary(center.saturating_sub(bytes / 2));
    &text[start..text.floor_char_boundary(start + bytes)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn detect(text: &str) -> Option<Language> {
        detect_language(text, LanguageHints::default())
    }

    #[test]
    fn the_language_of_a_sentence_is_detected() {
        for (code, text) in [
            ("en", "It was the best of times, it was the worst of times, and few could tell which."),
            ("de", "Das Wasser fließt über das Wehr, und die Mühle dreht sich seit Jahrhunderten."),
            ("ru", "Мой дядя самых честных правил, когда не в шутку занемог, он уважать себя заставил."),
            ("ja", "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"),
            ("zh", "学而时习之，不亦说乎？有朋自远方来，不亦乐乎？"),
        ] {
            let language = detect(text).unwrap();
            assert_eq!(language.code, code);
            assert!(language.confidence > 0.5, "{language:?}");
        }
    }

    #[test]
    fn the_middle_of_a_long_text_decides() {
        let text = [
            "home news about contact ".repeat(50),
            "Das Wasser fließt über das Wehr. ".repeat(90),
            "x".repeat(900),
        ];
        assert_eq!(detect(&text.concat()).unwrap().code, "de");
    }

    #[test]
    fn the_confidence_for_a_single_word_is_low() {
        for text in ["hotel", "Ω", "taxi"] {
            assert!(detect(text).is_none_or(|language| language.confidence < 0.5), "{text}");
        }
    }

    #[test]
    fn a_text_in_two_languages_is_unknown() {
        let german =
            "Das Wasser fließt über das Wehr, und die Mühle dreht sich seit Jahrhunderten. ".repeat(60);
        let japanese = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。".repeat(60);
        for (one, other) in [(&german, &japanese), (&japanese, &german)] {
            let language = detect(&format!("{one}{other}"));
            assert!(
                language.is_none_or(|language| language.confidence < MIN_LANGUAGE_CONFIDENCE),
                "{language:?}"
            );
        }
    }

    #[test]
    fn hints_decide_between_close_languages_only() {
        let hints = |declared, top_level_domain| LanguageHints { declared, top_level_domain };
        let english = "It was the age of wisdom and foolishness, the epoch of belief and incredulity.";
        assert_eq!(detect_language(english, hints("de-DE", Some("de"))).unwrap().code, "en");
        let short = "Hotel Restaurant Central";
        let (fr, ro) = (hints("fr", Some("fr")), hints("ro", Some("ro")));
        let confidence = |hints, code| {
            detect_language(short, hints)
                .filter(|found| found.code == code)
                .map_or(0.0, |found| found.confidence)
        };
        assert!(confidence(fr, "fr") > confidence(ro, "fr"));
        assert!(confidence(ro, "ro") >= confidence(fr, "ro"));
    }

    #[test]
    fn scripts_of_one_language_are_recognised() {
        for (code, text) in [
            ("dv", "އެންމެހައި އިންސާނުން"),
            ("chr", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ"),
            ("iu", "ᐃᓄᒃᑎᑐᑦ ᑎᑎᕋᐅᓯᖅ"),
            ("yi", "יעדער מענטש װערט געבױרן פֿרײַ און גלײַך אין כּבֿוד און רעכט"),
        ] {
            assert_eq!(detect(text).map(|language| language.code), Some(code), "{text}");
        }
    }

    #[test]
    fn a_text_without_letters_has_no_language() {
        for text in ["", "  ", "1234567890 2024-05-17", "+-*/!? ..."] {
            assert_eq!(detect(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_confidence_is_between_0_and_1_for_any_text(text in ".{0,200}", times in 1_usize..60) {
            if let Some(language) = detect(&text.repeat(times)) {
                prop_assert!((0.0..=1.0).contains(&language.confidence));
            }
        }
    }
}
