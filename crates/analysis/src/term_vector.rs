//! How much have two texts in common, by their words? The cosine of the angle between their term vectors.
//!
//! A term weighs 1 + ln(how often it occurs), so that the tenth time tells less than the first. Where it is known in how many of
//! some texts each term occurs, it weighs ln(texts / those with it) times as much: what occurs everywhere says nothing.

use std::collections::HashMap;

use parse::for_each_word;

/// A text of more different words is judged by so many of them.
const MOST_TERMS: usize = 1 << 16;

/// The terms of a text, in the order of their hashes, with weights whose squares sum up to 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TermVector {
    terms: Vec<(u32, f32)>,
}

/// In how many texts each term occurs.
#[derive(Debug, Default)]
pub(crate) struct TermCounts {
    texts: u32,
    with_term: HashMap<u32, u32>,
}

impl TermVector {
    /// That of a text.
    pub(crate) fn of(text: &str) -> TermVector {
        let mut words = Vec::new();
        // Half of the hash will do: that two of some hundred words have the same is rare, and changes little.
        for_each_word(text, |word| words.push((word ^ word >> 32) as u32));
        words.sort_unstable();
        let runs = words.chunk_by(|one, other| one == other).take(MOST_TERMS);
        let mut vector =
            TermVector { terms: runs.map(|run| (run[0], 1.0 + (run.len() as f32).ln())).collect() };
        vector.normalise();
        vector
    }

    /// Weighs the terms by how rare they are among some texts.
    pub(crate) fn weigh(&mut self, counts: &TermCounts) {
        for (term, weight) in &mut self.terms {
            let with_term = counts.with_term.get(term).copied().unwrap_or(0);
            // As if there were one more text, with this term: what none has is rarest, but counts.
            *weight *= (f64::from(counts.texts + 1) / f64::from(with_term + 1)).ln().max(0.01) as f32;
        }
        self.normalise();
    }

    /// The cosine: 1 for the same words in the same shares, 0 for none in common.
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

impl TermCounts {
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
    fn the_cosine_is_that_of_the_words() {
        let text = TermVector::of("The weir raises the water.");
        assert!((text.cosine(&text) - 1.0).abs() < 1e-6);
        assert!((text.cosine(&TermVector::of("the WATER raises the weir")) - 1.0).abs() < 1e-6);
        assert_eq!(text.cosine(&TermVector::of("nothing of it")), 0.0);
        // One word of two on either side, each once.
        let half = TermVector::of("one two").cosine(&TermVector::of("two three"));
        assert!((half - 0.5).abs() < 1e-6, "{half}");
        assert_eq!(TermVector::of(" - "), TermVector::default());
        assert_eq!(TermVector::default().cosine(&text), 0.0);
    }

    #[test]
    fn what_every_text_has_says_little() {
        let texts = ["the weir", "the mill", "the lock", "the gate"].map(TermVector::of);
        let mut counts = TermCounts::default();
        texts.iter().for_each(|text| counts.add(text));
        let [mut one, mut other] = ["the weir", "the mill"].map(TermVector::of);
        assert!(one.cosine(&other) > 0.49);
        one.weigh(&counts);
        other.weigh(&counts);
        assert!(one.cosine(&other) < 0.01);
    }
}
