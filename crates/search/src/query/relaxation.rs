//! Queries of words without operators: adjacent words, and the query for any of them.

use super::condition::{Condition, WordPattern};

/// Adjacent words of a conjunction.
pub(super) fn adjacent_words(condition: &Condition) -> Vec<[String; 2]> {
    let Condition::All(all) = condition else { return Vec::new() };
    let word = |condition: &Condition| match condition {
        Condition::Text { field: None, pattern: WordPattern::Word(word) } => Some(word.clone()),
        _ => None,
    };
    let pair = |neighbours: &[Condition]| match neighbours {
        [first, second] => Some([word(first)?, word(second)?]),
        _ => None,
    };
    all.windows(2).filter_map(pair).collect()
}

/// The condition with any of its words and phrases instead of all of them; `None` if it has fewer than two.
pub(super) fn any_of_words(condition: &Condition) -> Option<Condition> {
    let Condition::All(all) = condition else { return None };
    let is_text = |condition: &&Condition| matches!(condition, Condition::Text { .. });
    let words: Vec<Condition> = all.iter().filter(is_text).cloned().collect();
    if words.len() < 2 {
        return None;
    }
    let mut others: Vec<Condition> = all.iter().filter(|condition| !is_text(condition)).cloned().collect();
    if others.is_empty() {
        return Some(Condition::Any(words));
    }
    others.insert(0, Condition::Any(words));
    Some(Condition::All(others))
}
