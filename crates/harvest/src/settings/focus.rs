//! Topic of a focused crawl: weighted words, and the relevance of texts and links to them.
//!
//! The weights of all words sum to 1. The words of a query have equal weights; an example page adds its most frequent words,
//! weighted by the logarithm of their frequency. Query and examples have one half each if there are both.
//!
//! - Relevance of a text: sum over the words of weight · n / (n + k1 · (1 − b + b · length / 400)), with the frequency n of
//!   the word, the length in words, k1 = 1.2 and b = 0.75. That is Okapi BM25 without inverse document frequencies, which
//!   are unknown at the start of a crawl. Between 0 and 1.
//! - Relevance of a link: half the relevance of its page, because pages link to similar pages, and half the weight of the
//!   words in its anchor text or URL. The best link to a page counts until its own text is known.
//!
//! Words are runs of letters and digits in lower case, compared verbatim; there is no stemming.

use std::collections::HashMap;

use frontier::for_each_word;
use parse::is_frequent_word;

/// Topic of a crawl; without words nothing is relevant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Focus {
    /// Words and their weights.
    words: HashMap<String, f32>,
}

/// Maximum number of words that an example page adds.
const MAX_WORDS_PER_EXAMPLE: usize = 50;
/// BM25 saturation: frequency with half of the maximum score, in a text of average length.
const BM25_K1: f32 = 1.2;
/// BM25 length normalisation, and the average length of a text in words.
const BM25_B: f32 = 0.75;
const AVERAGE_WORDS: f32 = 400.0;
/// Weight of the relevance of the linking page.
const PARENT_WEIGHT: f32 = 0.5;

impl Focus {
    /// Builds the topic from a query and the texts of example pages.
    pub fn new(query: &str, examples: &[String]) -> Focus {
        let mut query_words = HashMap::new();
        for_each_word(query, |word| {
            query_words.insert(word.to_owned(), 1.0);
        });
        let mut example_words = HashMap::new();
        for example in examples {
            for (word, count) in frequent_words(example) {
                *example_words.entry(word).or_default() += (count as f32).ln_1p();
            }
        }
        let parts = [query_words, example_words].map(normalized);
        let mut words: HashMap<String, f32> = HashMap::new();
        for (word, weight) in parts.into_iter().flatten() {
            *words.entry(word).or_default() += weight;
        }
        Focus { words: normalized(words) }
    }

    /// Whether there is no topic.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Relevance of a text, from 0 to 1.
    pub fn score_text(&self, title: &str, text: &str) -> f32 {
        if self.is_empty() {
            return 0.0;
        }
        let mut counts: HashMap<&str, u32> = HashMap::new();
        let mut length = 0_u32;
        let mut count = |word: &str| {
            length += 1;
            if let Some((word, _)) = self.words.get_key_value(word) {
                *counts.entry(word).or_default() += 1;
            }
        };
        for_each_word(title, &mut count);
        for_each_word(text, &mut count);
        let saturation = BM25_K1 * (1.0 - BM25_B + BM25_B * length as f32 / AVERAGE_WORDS);
        let score =
            |(word, count): (&str, u32)| self.words[word] * count as f32 / (count as f32 + saturation);
        counts.into_iter().map(score).sum()
    }

    /// Estimated relevance of the target of a link in a page of relevance `page`, from 0 to 1.
    pub fn score_link(&self, page: f32, anchor: &str, url: &str) -> f32 {
        let mut matched: Vec<&str> = Vec::new();
        let mut match_word =
            |word: &str| matched.extend(self.words.get_key_value(word).map(|(word, _)| word.as_str()));
        for_each_word(anchor, &mut match_word);
        for_each_word(url, &mut match_word);
        matched.sort_unstable();
        matched.dedup();
        let own: f32 = matched.iter().map(|word| self.words[*word]).sum();
        PARENT_WEIGHT * page + (1.0 - PARENT_WEIGHT) * own
    }
}

/// Most frequent words of an example with their frequencies, without stop words.
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
    counts.truncate(MAX_WORDS_PER_EXAMPLE);
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
    fn a_text_with_more_words_of_the_topic_is_more_relevant() {
        let focus = Focus::new("Marine biology", &[]);
        let of = |text| focus.score_text("", text);
        assert_eq!(of("the history of trains"), 0.0);
        assert!(of("biology of trees") > 0.0);
        assert!(of("biology of the MARINE world") > of("biology of the biology of biology"));
        let long = "trains ".repeat(2_000) + "marine biology";
        assert!(of("marine biology") > of(&long) && of(&long) > 0.0);
        assert!(focus.score_text("Marine biology", "a page") > 0.0);
    }

    #[test]
    fn links_combine_the_relevance_of_their_page_and_their_words() {
        let focus = Focus::new("marine biology", &[]);
        let of = |page, anchor, url| focus.score_link(page, anchor, url);
        assert_eq!(of(0.0, "more", "http://a.test/x"), 0.0);
        assert_eq!(of(1.0, "more", "http://a.test/x"), 0.5);
        assert_eq!(of(0.0, "Marine", "http://a.test/Biology/1"), 0.5);
        assert_eq!(of(0.0, "biology biology", "http://a.test/biology"), 0.25);
        assert_eq!(of(1.0, "marine biology", ""), 1.0);
    }

    #[test]
    fn an_example_adds_its_frequent_words() {
        let example = "The whale and the whale are of the sea, with a whale for the sea.".to_owned();
        let focus = Focus::new("", &[example]);
        assert!(focus.score_text("", "a whale") > focus.score_text("", "a sea"));
        assert_eq!(focus.score_text("", "the and with of"), 0.0);
        assert!(Focus::new(" , ", &[String::new()]).is_empty());
    }

    proptest! {
        #[test]
        fn relevance_is_a_share(query in ".{0,40}", text in ".{0,200}", page in 0f32..=1.0) {
            let focus = Focus::new(&query, std::slice::from_ref(&text));
            for relevance in [focus.score_text(&query, &text), focus.score_link(page, &text, &query)] {
                prop_assert!((0.0..=1.0001).contains(&relevance), "{relevance}");
            }
        }
    }
}
