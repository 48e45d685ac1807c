//! Term vectors of texts, and the cosine of the angle between two of them.
//!
//! A term weighs 1 + ln(tf), with tf the number of its occurrences. If document frequencies are known, the weight is
//! multiplied by idf = ln(texts / texts with the term): a term that occurs everywhere says nothing.

use std::collections::HashMap;

use parse::for_each_word_hash;

/// Maximum number of different terms of a text.
const MAX_TERMS: usize = 1 << 16;

/// Terms of a text, sorted by their hashes, with weights of Euclidean length 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TermVector {
    terms: Vec<(u32, f32)>,
}

/// Number of texts in which each term occurs.
#[derive(Debug, Default)]
pub(crate) struct DocumentFrequencies {
    texts: u32,
    with_term: HashMap<u32, u32>,
}

impl TermVector {
    /// Computes the vector of a text.
    pub(crate) fn from_text(text: &str) -> TermVector {
        let mut words = Vec::new();
        // 32 bits suffice: collisions among some hundred words are rare and change little.
        for_each_word_hash(text, |word| words.push((word ^ word >> 32) as u32));
        words.sort_unstable();
        let runs = words.chunk_by(|one, other| one == other).take(MAX_TERMS);
        let mut vector =
            TermVector { terms: runs.map(|run| (run[0], 1.0 + (run.len() as f32).ln())).collect() };
        vector.normalise();
        vector
    }

    /// Multiplies the weights by the idf of the terms.
    pub(crate) fn apply_idf(&mut self, counts: &DocumentFrequencies) {
        for (term, weight) in &mut self.terms {
            let with_term = counts.with_term.get(term).copied().unwrap_or(0);
            // Add-one smoothing: a term that occurs in no text is the rarest, and still counts.
            *weight *= (f64::from(counts.texts + 1) / f64::from(with_term + 1)).ln().max(0.01) as f32;
        }
        self.normalise();
    }

    /// Cosine: 1 for the same terms in the same proportions, 0 for no common terms.
    pub(crate) fn cosine(&self, other: &TermVector) -> f32 {
        let (mut one, mut two) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let mut sum = 0.0;
        while let (Some((term, weight)), Some((other_term, other_weight))) = (one.peek(), two.peek()) {
            if term == other_term {
                sum += weight * other_weight;
            }
            if term <= other_term {
                one.next();
            }
            if term >= other_term {
                two.next();
            }
        }
        sum.min(1.0)
    }

    fn normalise(&mut self) {
        let length = self.terms.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        if length > 0.0 {
            self.terms.iter_mut().for_each(|(_, weight)| *weight /= length);
        }
    }
}

impl DocumentFrequencies {
    /// Counts the terms of one more text.
    pub(crate) fn add(&mut self, vector: &TermVector) {
        self.texts += 1;
        vector.terms.iter().for_each(|(term, _)| *self.with_term.entry(*term).or_default() += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_depends_on_the_words_only() {
        let text = TermVector::from_text("The weir raises the water.");
        assert!((text.cosine(&text) - 1.0).abs() < 1e-6);
        assert!((text.cosine(&TermVector::from_text("the WATER raises the weir")) - 1.0).abs() < 1e-6);
        assert_eq!(text.cosine(&TermVector::from_text("nothing of it")), 0.0);
        // One common word of two.
        let half = TermVector::from_text("one two").cosine(&TermVector::from_text("two three"));
        assert!((half - 0.5).abs() < 1e-6, "{half}");
        assert_eq!(TermVector::from_text(" - "), TermVector::default());
        assert_eq!(TermVector::default().cosine(&text), 0.0);
    }

    #[test]
    fn terms_of_every_text_have_little_weight() {
        let texts = ["the weir", "the mill", "the lock", "the gate"].map(TermVector::from_text);
        let mut counts = DocumentFrequencies::default();
        texts.iter().for_each(|text| counts.add(text));
        let [mut one, mut other] = ["the weir", "the mill"].map(TermVector::from_text);
        assert!(one.cosine(&other) > 0.49);
        one.apply_idf(&counts);
        other.apply_idf(&counts);
        assert!(one.cosine(&other) < 0.01);
    }
}
