//! What did somebody mean who wrote a word that hardly any page has? The query with the nearest word that pages write.

use crate::forms::query_words;
use crate::query::{Condition, Words};
use crate::vocabulary::Vocabulary;

/// The condition with its words as pages spell them; `None` if nothing is to be changed.
pub(super) fn corrected(condition: &Condition, vocabulary: &Vocabulary) -> Option<Condition> {
    let mut corrected = condition.clone();
    correct(&mut corrected, vocabulary).then_some(corrected)
}

/// Whether something was changed.
fn correct(condition: &mut Condition, vocabulary: &Vocabulary) -> bool {
    let each = |all: &mut [Condition]| {
        all.iter_mut().fold(false, |changed, condition| correct(condition, vocabulary) | changed)
    };
    match condition {
        Condition::All(all) | Condition::Any(all) => each(all),
        Condition::Text { words, .. } => correct_words(words, vocabulary),
        Condition::Near { words, .. } => {
            words.iter_mut().fold(false, |changed, words| correct_words(words, vocabulary) | changed)
        }
        // What somebody does not want may well be nowhere.
        _ => false,
    }
}

fn correct_words(words: &mut Words, vocabulary: &Vocabulary) -> bool {
    let (Words::Word(text) | Words::Phrase(text)) = words else { return false };
    let mut new = String::with_capacity(text.len());
    let (mut at, mut changed) = (0, false);
    for word in query_words(text) {
        // Pairs of characters overlap; they are no words that could be misspelled.
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
