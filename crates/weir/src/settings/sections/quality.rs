//! Which pages are worth a visit?

use std::collections::BTreeMap;

use crawl::UrlWord;
use frontier::{Aim, Term, Weights};

use crate::settings::section::section;
use crate::settings::value::{Value, quoted, words};

section! {
    /// Which pages are worth a visit: those whose quality is high, and whose copy is likely to be out of date.
    "quality", QualitySection {
        /// How much each term of the quality counts, such as { depth = 0.5, in-links = 0.5 }; only proportions matter. Empty, it
        /// is what `crawl.strategy` says. The terms: depth, static, in-links, site-in-links, site-pending (pages of the site that
        /// wait), cash (OPIC), location (see `url_words`), relevance (see `focus.query`), random; and pagerank, hub, authority,
        /// link-rank, site-rank, which `weir analyze` computes.
        weights: TermWeights = TermWeights::default(), wire "manager/score", applies at_once;
        /// What visits are to gain: "freshness" (most copies that are up to date, over time), "profit" (WIRE's: most value after
        /// the next batch), "age" (copies that are out of date for the shortest time), "every-change" (no page is forgotten,
        /// however often it changes; for news and archives).
        aim: Aim = Aim::default(), applies at_once;
        /// How much quality counts: the larger, the more.
        quality_exponent: f32 = 1.0, within 0.0..=10.0, applies at_once;
        /// How much it counts that a copy is up to date; for the aim "profit" alone.
        freshness_exponent: f32 = 1.0, within 0.0..=10.0, applies at_once;
        /// How much it counts to have a page at all: only whether it is 0, for the aim "profit" alone.
        representation_exponent: f32 = 1.0, within 0.0..=10.0, applies at_once;
        /// The share of each batch that is for pages never visited, if there are so many; the rest goes to the pages that gain
        /// most, seen or not.
        discovery_share: f32 = 0.0, within 0.0..=1.0, applies at_once;
        /// Words that make a URL more or less promising, such as "+research" and "-calendar"; "+.edu" is about the end of its host.
        /// They count for pages that become known from then on.
        url_words: Vec<UrlWord> = Vec::new(), applies at_once;
    }
}

words!(
    Aim,
    "word",
    Aim::Profit = "profit",
    Aim::Freshness = "freshness",
    Aim::Age = "age",
    Aim::EveryChange = "every-change"
);

/// Weights of some terms, by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TermWeights(BTreeMap<&'static str, f32>);

impl TermWeights {
    /// All of them; nothing if none is set.
    pub(crate) fn weights(&self) -> Option<Weights> {
        let of_term = |term: Term| self.0.get(term.as_str()).map(|weight| (term, *weight));
        (!self.0.is_empty()).then(|| Term::ALL.into_iter().filter_map(of_term).collect())
    }
}

impl Value for TermWeights {
    const KIND: &'static str = "numbers by term";

    fn read(written: &toml::Value) -> Result<TermWeights, String> {
        let table = written.as_table().ok_or_else(|| {
            format!("{} is no table; write one such as {{ depth = 0.5, in-links = 0.5 }}", quoted(written))
        })?;
        let entry = |(name, weight): (&String, &toml::Value)| {
            let term = Term::ALL.into_iter().find(|term| term.as_str() == name).ok_or_else(|| {
                let all: Vec<&str> = Term::ALL.iter().map(|term| term.as_str()).collect();
                format!("`{name}` is no term of the quality; there are {}", all.join(", "))
            })?;
            let weight = f32::read(weight)?;
            if !(0.0..=Weights::MOST).contains(&weight) {
                return Err(format!("{} is no weight of {name}; write a number from 0 on", weight.write()));
            }
            Ok((term.as_str(), weight))
        };
        let weights: BTreeMap<&'static str, f32> = table.iter().map(entry).collect::<Result<_, _>>()?;
        if !weights.is_empty() && weights.values().all(|weight| *weight == 0.0) {
            return Err(
                "all weights are 0; give some term more, or write {} for those of the strategy".to_owned()
            );
        }
        Ok(TermWeights(weights))
    }

    fn write(&self) -> String {
        let entries: Vec<String> =
            self.0.iter().map(|(term, weight)| format!("{term} = {}", weight.write())).collect();
        if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
    }
}

impl Value for UrlWord {
    const KIND: &'static str = "words with + or -";

    fn read(written: &toml::Value) -> Result<UrlWord, String> {
        let wrong = || {
            format!(
                "{} praises and blames nothing; write + or - and a word, such as \"+research\", or the end of a host, such \
                 as \"-.example.org\"",
                quoted(written)
            )
        };
        let text = written.as_str().ok_or_else(wrong)?.trim();
        let (praises, word) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(word), _) => (true, word),
            (_, Some(word)) => (false, word),
            _ => return Err(wrong()),
        };
        let is_name = |char: char| char.is_alphanumeric() || matches!(char, '.' | '-');
        let fits = match word.strip_prefix('.') {
            Some(host) => !host.is_empty() && host.chars().all(is_name),
            None => !word.is_empty() && word.chars().all(char::is_alphanumeric),
        };
        if fits { Ok(UrlWord { text: word.to_lowercase(), praises }) } else { Err(wrong()) }
    }

    fn write(&self) -> String {
        format!("{}{}", if self.praises { '+' } else { '-' }, self.text).write()
    }
}
