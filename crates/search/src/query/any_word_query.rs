//! Queries of plain text: pages with any of its words.
//!
//! Stop words are dropped. A repeated word counts as often as it is repeated.

use super::condition::{Condition, WordPattern};
use super::{MAX_QUERY_BYTES, MAX_QUERY_TERMS};

/// English stop words: pronouns, auxiliaries, prepositions, question words.
const STOP_WORDS: &str = "a an the i me my mine we us our ours you your yours he him his she her hers it its they them \
    their theirs this that these those here there who whom whose what which when where why how am is are was were be been \
    being have has had having do does did doing done can could will would shall should may might must ought and or but if \
    because as until while of at by for with about against between into through during before after above below to from up \
    down in out on off over under again further then once all any both each few more most other others some such no nor \
    not only own same so than too very just also however etc s t m d ll ve re please";

/// Builds the condition and the pairs of adjacent words; `None` if the text has no word.
pub(super) fn any_word(text: &str) -> Option<(Condition, Vec<[String; 2]>)> {
    let end = (0..=text.len().min(MAX_QUERY_BYTES)).rev().find(|at| text.is_char_boundary(*at))?;
    let parts = text[..end].split(|letter: char| !letter.is_alphanumeric());
    let all: Vec<String> = parts.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let is_content_word = |word: &String| !STOP_WORDS.split_whitespace().any(|known| known == word);
    let has_content_word = all.iter().any(is_content_word);
    let is_kept = |word: &&String| !has_content_word || is_content_word(word);
    let mut pairs: Vec<[String; 2]> = Vec::new();
    for neighbours in all.windows(2) {
        if let [first, second] = neighbours
            && is_kept(&first)
            && is_kept(&second)
        {
            pairs.push([first.clone(), second.clone()]);
        }
    }
    let condition = |word: String| Condition::Text { field: None, pattern: WordPattern::Word(word) };
    let mut words: Vec<Condition> =
        all.iter().filter(is_kept).take(MAX_QUERY_TERMS).cloned().map(condition).collect();
    let condition = match words.len() {
        0 | 1 => words.pop()?,
        _ => Condition::Any(words),
    };
    Some((condition, pairs))
}
