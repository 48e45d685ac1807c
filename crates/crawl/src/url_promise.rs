//! How promising is a URL, before anybody has seen its page? By words in it and the ends of host names that the settings
//! praise or blame.
//!
//! With p kinds of praise and b of blame that fit, the promise is 1/2 + (p − b) / 2(p + b + 1): one half where nothing fits,
//! 3/4 for one praise, 1/4 for one blame, never quite 1 or 0. A word fits if it stands between two characters that are
//! neither letters nor digits, in lower or upper case; what begins with a dot fits hosts that end so.

use std::collections::HashMap;

use store::PageRecord;

use crate::focus::{for_each_word, in_16_bits};

/// A word or an end of hosts, and what it says about a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlWord {
    /// In lower case; an end of hosts begins with a dot.
    pub text: String,
    /// Whether it praises, or else blames.
    pub praises: bool,
}

/// Judges URLs by words.
#[derive(Debug, Clone, Default)]
pub(crate) struct UrlPromise {
    /// Words, and whether each praises.
    words: HashMap<String, bool>,
    suffixes: Vec<UrlWord>,
}

impl UrlPromise {
    pub(crate) fn new(words: &[UrlWord]) -> UrlPromise {
        let (suffixes, words): (Vec<UrlWord>, Vec<UrlWord>) =
            words.iter().cloned().partition(|word| word.text.starts_with('.'));
        UrlPromise { words: words.into_iter().map(|word| (word.text, word.praises)).collect(), suffixes }
    }

    /// The promise of a canonical URL, as states keep it.
    pub(crate) fn of(&self, url: &str) -> u16 {
        if self.words.is_empty() && self.suffixes.is_empty() {
            return PageRecord::NEUTRAL_LOCATION;
        }
        let mut fitting: Vec<(&str, bool)> = Vec::new();
        for_each_word(url, |word| {
            fitting.extend(self.words.get_key_value(word).map(|(word, praises)| (word.as_str(), *praises)));
        });
        let authority = url.split_once("//").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(""));
        let host = authority.split(':').next().unwrap_or(authority);
        let ends_so = |suffix: &&UrlWord| host.ends_with(&suffix.text) || host == &suffix.text[1..];
        fitting.extend(self.suffixes.iter().filter(ends_so).map(|word| (word.text.as_str(), word.praises)));
        fitting.sort_unstable();
        fitting.dedup();
        let praise = fitting.iter().filter(|(_, praises)| *praises).count() as f32;
        let blame = fitting.len() as f32 - praise;
        in_16_bits(0.5 + (praise - blame) / (2.0 * (praise + blame + 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn praise_and_blame_are_weighed() {
        let word = |text: &str, praises| UrlWord { text: text.to_owned(), praises };
        let promise = UrlPromise::new(&[
            word("research", true),
            word("papers", true),
            word("calendar", false),
            word(".ac.uk", true),
        ]);
        let of = |url: &str| (f32::from(promise.of(url)) / 655.35).round() as u32;
        assert_eq!(of("http://a.test/"), 50);
        assert_eq!(of("http://a.test/Research/2"), 75);
        assert_eq!(of("http://a.test/researchers"), 50);
        assert_eq!(of("http://a.test/research/papers"), 83);
        assert_eq!(of("http://a.test/papers?calendar=papers"), 50);
        assert_eq!(of("http://a.test/calendar"), 25);
        assert_eq!(of("https://www.x.ac.uk:8080/"), 75);
        assert_eq!(of("https://ac.uk/"), 75);
        assert_eq!(of("https://notac.uk/"), 50);
        assert_eq!(UrlPromise::default().of("http://a.test/"), PageRecord::NEUTRAL_LOCATION);
    }
}
