//! Page quality and revisit policy.

use std::collections::BTreeMap;

use frontier::{Objective, QualityTerm, UrlPattern, Weights};

use crate::settings::section::section;
use crate::settings::value::{Value, choices, quoted};

section! {
    /// Page quality and revisit policy: which pages are fetched next. The priority of a page grows with its quality
    /// and with the probability that the stored copy is out of date.
    "quality", QualitySection {
        /// Weights of the quality terms, normalised, such as { depth = 0.5, inlinks = 0.5 }; empty = set by
        /// crawl.strategy. Terms: depth, static, inlinks, site-inlinks, site-queue (queued pages of the site), cash
        /// (OPIC), url-keywords (see url_keywords), relevance (see focus.query), random; and after `weir analyze`
        /// pagerank, hub, authority, link-rank, site-rank.
        weights: TermWeights = TermWeights::default(), wire "manager/score", reload yes;
        /// Revisit objective: "freshness" (fraction of fresh copies over time), "profit" (WIRE: value after the next
        /// batch), "age" (mean staleness), "every-change" (no page starves, however often it changes; for news and
        /// archives).
        objective: Objective = Objective::default(), reload yes;
        /// Exponent of the quality: a larger value favours pages of high quality.
        quality_exponent: f32 = 1.0, within 0.0..=10.0, reload yes;
        /// Exponent of the freshness; only for objective "profit".
        freshness_exponent: f32 = 1.0, within 0.0..=10.0, reload yes;
        /// Exponent of the representation, which is 1 if a copy is stored and 0 otherwise; 0 = not counted. Only for
        /// objective "profit".
        representation_exponent: f32 = 1.0, within 0.0..=10.0, reload yes;
        /// Share of each batch reserved for pages never fetched, 0 to 1; the rest goes to the pages of highest
        /// priority, fetched or not.
        discovery_share: f32 = 0.0, within 0.0..=1.0, reload yes;
        /// Keywords that raise (+) or lower (-) the priority of a URL, such as "+research" and "-calendar"; "+.edu"
        /// matches a host suffix. Applied when a URL is discovered.
        url_keywords: Vec<UrlPattern> = Vec::new(), reload yes;
    }
}

choices!(
    Objective,
    "choice",
    Objective::WireProfit = "profit",
    Objective::Freshness = "freshness",
    Objective::Age = "age",
    Objective::EveryChange = "every-change"
);

/// Weights of quality terms, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TermWeights(BTreeMap<&'static str, f32>);

impl TermWeights {
    /// All weights; `None` if none is set.
    pub(crate) fn weights(&self) -> Option<Weights> {
        let of_term = |term: QualityTerm| self.0.get(term.as_str()).map(|weight| (term, *weight));
        (!self.0.is_empty()).then(|| QualityTerm::ALL.into_iter().filter_map(of_term).collect())
    }
}

impl Value for TermWeights {
    const KIND: &'static str = "table of numbers";

    fn read(written: &toml::Value) -> Result<TermWeights, String> {
        let table = written.as_table().ok_or_else(|| {
            format!("invalid table {}; example: {{ depth = 0.5, inlinks = 0.5 }}", quoted(written))
        })?;
        let entry = |(name, weight): (&String, &toml::Value)| {
            let term = QualityTerm::ALL.into_iter().find(|term| term.as_str() == name).ok_or_else(|| {
                let all: Vec<&str> = QualityTerm::ALL.iter().map(|term| term.as_str()).collect();
                format!("unknown quality term `{name}`; known: {}", all.join(", "))
            })?;
            let weight = f32::read(weight)?;
            if !(0.0..=Weights::MAX).contains(&weight) {
                return Err(format!(
                    "weight {} of {name} out of range (0 to {})",
                    weight.write(),
                    Weights::MAX
                ));
            }
            Ok((term.as_str(), weight))
        };
        let weights: BTreeMap<&'static str, f32> = table.iter().map(entry).collect::<Result<_, _>>()?;
        if !weights.is_empty() && weights.values().all(|weight| *weight == 0.0) {
            return Err("all weights are 0; use a positive weight, or {} for the weights of crawl.strategy"
                .to_owned());
        }
        Ok(TermWeights(weights))
    }

    fn write(&self) -> String {
        let entries: Vec<String> =
            self.0.iter().map(|(term, weight)| format!("{term} = {}", weight.write())).collect();
        if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
    }
}

impl Value for UrlPattern {
    const KIND: &'static str = "keyword with + or -";

    fn read(written: &toml::Value) -> Result<UrlPattern, String> {
        let invalid =
            || format!("invalid keyword {}; examples: \"+research\", \"-.example.org\"", quoted(written));
        let text = written.as_str().ok_or_else(invalid)?.trim();
        let (praises, word) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(word), _) => (true, word),
            (_, Some(word)) => (false, word),
            _ => return Err(invalid()),
        };
        let is_name = |char: char| char.is_alphanumeric() || matches!(char, '.' | '-');
        let is_valid = match word.strip_prefix('.') {
            Some(host) => !host.is_empty() && host.chars().all(is_name),
            None => !word.is_empty() && word.chars().all(char::is_alphanumeric),
        };
        if is_valid {
            Ok(UrlPattern { text: word.to_lowercase(), positive: praises })
        } else {
            Err(invalid())
        }
    }

    fn write(&self) -> String {
        format!("{}{}", if self.positive { '+' } else { '-' }, self.text).write()
    }
}
