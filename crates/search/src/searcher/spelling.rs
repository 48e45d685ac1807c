//! Spelling suggestions: replaces rare words of a query by similar frequent ones.

use crate::index::vocabulary::Vocabulary;
use crate::query::{Condition, WordPattern};
use crate::text::query_terms::split_query;

/// Returns the corrected condition; `None` if no word is changed.
pub(super) fn corrected(condition: &Condition, vocabulary: &Vocabulary) -> Option<Condition> {
    let mut corrected = condition.clone();
    correct(&mut corrected, vocabulary).then_some(corrected)
}

/// Corrects a condition in place; returns whether a word was changed.
fn correct(condition: &mut Condition, vocabulary: &Vocabulary) -> bool {
    let correct_all = |all: &mut [Condition]| {
        all.iter_mut().fold(false, |changed, condition| correct(condition, vocabulary) | changed)
    };
    match condition {
        Condition::All(all) | Condition::Any(all) => correct_all(all),
        Condition::Text { pattern, .. } => correct_words(pattern, vocabulary),
        Condition::Near { operands, .. } => {
            operands.iter_mut().fold(false, |changed, operand| correct_words(operand, vocabulary) | changed)
        }
        // An excluded word may well be rare.
        _ => false,
    }
}

fn correct_words(pattern: &mut WordPattern, vocabulary: &Vocabulary) -> bool {
    let (WordPattern::Word(text) | WordPattern::Phrase(text)) = pattern else { return false };
    let mut new = String::with_capacity(text.len());
    let (mut at, mut changed) = (0, false);
    for word in split_query(text) {
        // Bigrams overlap and cannot be misspelled.
        let Some(nearest) = vocabulary.nearest(&word.text).filter(|_| word.range.start >= at) else {
            continue;
        };
        new.push_str(&text[at..word.range.start]);
        new.push_str(nearest);
        (at, changed) = (word.range.end, true);
    }
    new.push_str(&text[at..]);
    *text = new;
    changed
}
