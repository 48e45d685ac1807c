//! What is the crawl after? The words of a driving query, and how well texts and links meet them.
//!
//! The weights of the words sum to 1. Those of a query weigh the same; an example adds its most frequent words, each with
//! the logarithm of how often it occurs, so that query and examples weigh one half each where there are both.
//!
//! - A text: sum over the words of weight · n / (n + 1.2 · (0.25 + 0.75 · length / 400)), where n is how often the word
//!   occurs and lengths are in words. That is Okapi's BM25 without its weights by rarity, which a crawl cannot know at its
//!   beginning: the first mention counts most, and a long text must say more. Between 0 and 1.
//! - A link: half the relevance of the page it stands in (pages link to their like), and half the weight of the words that
//!   occur in its text or in its URL. The best link to a page counts until its own text is known.
//!
//! Nothing here knows languages: words are runs of letters and digits, in lower case, compared as they are.

use std::collections::HashMap;

use parse::is_frequent_word;

/// A driving query; without words it finds nothing relevant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Focus {
    /// Words and their weights.
    words: HashMap<String, f32>,
}

/// An example gives so many words.
const EXAMPLE_WORDS: usize = 50;
/// Longer words are no words.
const WORD_LIMIT_BYTES: usize = 64;
/// Where the mention of a word is worth half, in a text of usual length.
const HALF_WORTH: f32 = 1.2;
/// How much the length of a text counts, and which length is usual, in words.
const LENGTH_SHARE: f32 = 0.75;
const USUAL_WORDS: f32 = 400.0;
/// What a page passes on to those that it links to.
const INHERITED: f32 = 0.5;

impl Focus {
    /// Of the words of a query, and of the texts of pages that are examples.
    pub fn new(query: &str, examples: &[String]) -> Focus {
        let mut asked = HashMap::new();
        for_each_word(query, |word| {
            asked.insert(word.to_owned(), 1.0);
        });
        let mut shown = HashMap::new();
        for example in examples {
            for (word, count) in frequent_words(example) {
                *shown.entry(word).or_default() += (count as f32).ln_1p();
            }
        }
        let parts = [asked, shown].map(normalized);
        let mut words: HashMap<String, f32> = HashMap::new();
        for (word, weight) in parts.into_iter().flatten() {
            *words.entry(word).or_default() += weight;
        }
        Focus { words: normalized(words) }
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How well a text meets it: from 0 to 1.
    pub fn of_text(&self, title: &str, text: &str) -> f32 {
        if self.is_empty() {
            return 0.0;
        }
        let mut counts: HashMap<&str, u32> = HashMap::new();
        let mut all = 0_u32;
        let mut count = |word: &str| {
            all += 1;
            if let Some((word, _)) = self.words.get_key_value(word) {
                *counts.entry(word).or_default() += 1;
            }
        };
        for_each_word(title, &mut count);
        for_each_word(text, &mut count);
        let half = HALF_WORTH * (1.0 - LENGTH_SHARE + LENGTH_SHARE * all as f32 / USUAL_WORDS);
        let worth = |(word, count): (&str, u32)| self.words[word] * count as f32 / (count as f32 + half);
        counts.into_iter().map(worth).sum()
    }

    /// How well a link promises to meet it, in a page of this relevance: from 0 to 1.
    pub fn of_link(&self, page: f32, anchor: &str, url: &str) -> f32 {
        let mut met: Vec<&str> = Vec::new();
        let mut meet = |word: &str| met.extend(self.words.get_key_value(word).map(|(word, _)| word.as_str()));
        for_each_word(anchor, &mut meet);
        for_each_word(url, &mut meet);
        met.sort_unstable();
        met.dedup();
        let own: f32 = met.iter().map(|word| self.words[*word]).sum();
        INHERITED * page + (1.0 - INHERITED) * own
    }
}

/// A share as states keep it: in 16 bits.
pub(crate) fn in_16_bits(share: f32) -> u16 {
    (share.clamp(0.0, 1.0) * f32::from(u16::MAX)).round() as u16
}

/// The same back.
pub(crate) fn from_16_bits(share: u16) -> f32 {
    f32::from(share) / f32::from(u16::MAX)
}

/// Calls `each` with every word in lower case.
pub(crate) fn for_each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut lower = String::new();
    for word in text.split(|char: char| !char.is_alphanumeric()) {
        if word.is_empty() || word.len() > WORD_LIMIT_BYTES {
            continue;
        }
        if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            each(word);
            continue;
        }
        lower.clear();
        word.chars().flat_map(char::to_lowercase).for_each(|char| lower.push(char));
        each(&lower);
    }
}

/// The most frequent words of an example that say something about its subject, with how often each occurs.
fn frequent_words(text: &str) -> Vec<(String, u32)> {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for_each_word(text, |word| {
        if word.chars().nth(2).is_some() && !is_frequent_word(word) {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(word.to_owned(), 1);
                }
            }
        }
    });
    let mut counts: Vec<(String, u32)> = counts.into_iter().collect();
    counts.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts.truncate(EXAMPLE_WORDS);
    counts
}

fn normalized(mut words: HashMap<String, f32>) -> HashMap<String, f32> {
    let sum: f32 = words.values().sum();
    words.values_mut().for_each(|weight| *weight /= sum);
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_that_says_more_of_it_is_more_relevant() {
        let focus = Focus::new("Marine biology", &[]);
        let of = |text| focus.of_text("", text);
        assert_eq!(of("the history of trains"), 0.0);
        assert!(of("biology of trees") > 0.0);
        assert!(of("biology of the MARINE world") > of("biology of the biology of biology"));
        let long = "trains ".repeat(2_000) + "marine biology";
        assert!(of("marine biology") > of(&long) && of(&long) > 0.0);
        assert!(focus.of_text("Marine biology", "a page") > 0.0);
    }

    #[test]
    fn links_inherit_from_their_page_and_speak_for_themselves() {
        let focus = Focus::new("marine biology", &[]);
        let of = |page, anchor, url| focus.of_link(page, anchor, url);
        assert_eq!(of(0.0, "more", "http://a.test/x"), 0.0);
        assert_eq!(of(1.0, "more", "http://a.test/x"), 0.5);
        assert_eq!(of(0.0, "Marine", "http://a.test/Biology/1"), 0.5);
        assert_eq!(of(0.0, "biology biology", "http://a.test/biology"), 0.25);
        assert_eq!(of(1.0, "marine biology", ""), 1.0);
    }

    #[test]
    fn an_example_gives_the_words_of_its_subject() {
        let example = "The whale and the whale are of the sea, with a whale for the sea.".to_owned();
        let focus = Focus::new("", &[example]);
        assert!(focus.of_text("", "a whale") > focus.of_text("", "a sea"));
        assert_eq!(focus.of_text("", "the and with of"), 0.0);
        assert!(Focus::new(" , ", &[String::new()]).is_empty());
    }

    proptest! {
        #[test]
        fn relevance_is_a_share(query in ".{0,40}", text in ".{0,200}", page in 0f32..=1.0) {
            let focus = Focus::new(&query, std::slice::from_ref(&text));
            for relevance in [focus.of_text(&query, &text), focus.of_link(page, &text, &query)] {
                prop_assert!((0.0..=1.0001).contains(&relevance), "{relevance}");
            }
        }
    }
}
