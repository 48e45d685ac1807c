//! Which pages are about a text? Those with any of its words, and sooner those where words follow each other as they do in it.
//!
//! Words that only hold a question together are left out. A word that stands in the text twice counts twice. Two words in
//! a row are asked for as one with a hyphen, which is a phrase to an index that knows where words stand.

use super::condition::{Condition, Words};
use super::{QUERY_LIMIT_BYTES, QUERY_LIMIT_TERMS};

/// English words that are in any question: pronouns, auxiliaries, prepositions, what asks and what polite people add.
const HOLDING_TOGETHER: &str = "a an the i me my mine we us our ours you your yours he him his she her hers it its they them \
    their theirs this that these those here there who whom whose what which when where why how am is are was were be been \
    being have has had having do does did doing done can could will would shall should may might must ought and or but if \
    because as until while of at by for with about against between into through during before after above below to from up \
    down in out on off over under again further then once all any both each few more most other others some such no nor \
    not only own same so than too very just also however etc s t m d ll ve re please";

/// The condition that a page is about a text; `None` if it has no word.
pub(super) fn about(text: &str) -> Option<Condition> {
    let end = (0..=text.len().min(QUERY_LIMIT_BYTES)).rev().find(|at| text.is_char_boundary(*at))?;
    let cut = text[..end].split(|letter: char| !letter.is_alphanumeric());
    let all: Vec<String> = cut.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let says_something = |word: &String| !HOLDING_TOGETHER.split_whitespace().any(|known| known == word);
    let has_some = all.iter().any(says_something);
    let is_wanted = |word: &String| !has_some || says_something(word);
    let mut wanted = Vec::new();
    let mut last: Option<&String> = None;
    for word in &all {
        let this = is_wanted(word).then_some(word);
        if let (Some(last), Some(this)) = (last, this) {
            wanted.push(format!("{last}-{this}"));
        }
        wanted.extend(this.cloned());
        last = this;
    }
    wanted.truncate(QUERY_LIMIT_TERMS);
    let condition = |word: String| Condition::Text { part: None, words: Words::Word(word) };
    match wanted.len() {
        0 | 1 => wanted.pop().map(condition),
        _ => Some(Condition::Any(wanted.into_iter().map(condition).collect())),
    }
}
