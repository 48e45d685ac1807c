//! Spelling suggestions: replaces rare words of a query by similar frequent ones.

use crate::error::Result;
use crate::index::vocabulary::Vocabulary;
use crate::query::{Condition, WordPattern};
use crate::text::query_terms::split_query;

/// Minimum number of pages with a suggested word, relative to the number of pages with the given word.
const MIN_PAGES_RATIO: u64 = 20;

/// Number of pages with a word.
type PagesWith<'p> = dyn Fn(&str) -> Result<u64> + 'p;

/// Returns the corrected condition; `None` if no word is changed. `pages_with` counts the pages of the index: the frequencies of the
/// vocabulary are approximate, and a frequent word must not be replaced.
pub(super) fn corrected(
    condition: &Condition,
    vocabulary: &Vocabulary,
    pages_with: &PagesWith<'_>,
) -> Result<Option<Condition>> {
    let mut corrected = condition.clone();
    Ok(correct(&mut corrected, vocabulary, pages_with)?.then_some(corrected))
}

/// Corrects a condition in place; returns whether a word was changed.
fn correct(condition: &mut Condition, vocabulary: &Vocabulary, pages_with: &PagesWith<'_>) -> Result<bool> {
    let mut changed = false;
    match condition {
        Condition::All(all) | Condition::Any(all) => {
            for condition in all {
                changed |= correct(condition, vocabulary, pages_with)?;
            }
        }
        Condition::Text { pattern, .. } => changed = correct_words(pattern, vocabulary, pages_with)?,
        Condition::Near { operands, .. } => {
            for operand in operands {
                changed |= correct_words(operand, vocabulary, pages_with)?;
            }
        }
        // An excluded word may well be rare.
        _ => {}
    }
    Ok(changed)
}

fn correct_words(
    pattern: &mut WordPattern,
    vocabulary: &Vocabulary,
    pages_with: &PagesWith<'_>,
) -> Result<bool> {
    let (WordPattern::Word(text) | WordPattern::Phrase(text)) = pattern else { return Ok(false) };
    let mut new = String::with_capacity(text.len());
    let (mut at, mut changed) = (0, false);
    for word in split_query(text) {
        // Bigrams overlap and cannot be misspelled.
        let Some(nearest) = vocabulary.nearest(&word.text).filter(|_| word.range.start >= at) else {
            continue;
        };
        if pages_with(nearest)? <= pages_with(&word.text)?.saturating_mul(MIN_PAGES_RATIO) {
            continue;
        }
        new.push_str(&text[at..word.range.start]);
        new.push_str(nearest);
        (at, changed) = (word.range.end, true);
    }
    new.push_str(&text[at..]);
    *text = new;
    Ok(changed)
}
