//! What of a page is shown? Its title, and the piece of its text that has most of the words asked for, with these marked.

use std::ops::Range;

use parse::{DocumentReader, StoredAnswer};
use store::{PageRecord, Snapshot, Verify};

use super::marks::Marks;
use crate::error::Result;
use crate::tokenizer::for_each_term;

/// Characters of a snippet, about.
const SNIPPET_CHARACTERS: usize = 240;
/// Characters of a title.
const TITLE_CHARACTERS: usize = 200;
/// Bytes of a text that are looked through.
const MOST_TEXT_BYTES: usize = 1 << 20;
/// Matches in a text that are looked at.
const MOST_MATCHES: usize = 2_000;

/// A short text, in pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// One after the other they are the text.
    pub pieces: Vec<Piece>,
    /// Whether the text goes on before it.
    pub starts_within: bool,
    /// Whether the text goes on behind it.
    pub ends_within: bool,
}

/// A piece of a short text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its words; white space is one space.
    pub text: String,
    /// Whether it is a word that was asked for.
    pub is_match: bool,
}

impl Snippet {
    /// The text without marks, and with an ellipsis where more of it is left out.
    pub fn text(&self) -> String {
        let mut text = if self.starts_within { "… ".to_owned() } else { String::new() };
        self.pieces.iter().for_each(|piece| text.push_str(&piece.text));
        if self.ends_within {
            text.push_str(" …");
        }
        text
    }

    /// Where matches are in that text, in characters.
    pub fn matches(&self) -> Vec<[usize; 2]> {
        let mut end = if self.starts_within { 2 } else { 0 };
        let mut matches = Vec::new();
        for piece in &self.pieces {
            let start = end;
            end += piece.text.chars().count();
            if piece.is_match {
                matches.push([start, end]);
            }
        }
        matches
    }

    /// Cuts a range out of a text, with the matches that lie in it.
    fn cut(text: &str, range: Range<usize>, matches: &[Match]) -> Snippet {
        let mut snippet = Snippet {
            starts_within: !text[..range.start].trim().is_empty(),
            ends_within: !text[range.end..].trim().is_empty(),
            ..Snippet::default()
        };
        let mut at = range.start;
        for found in
            matches.iter().filter(|found| found.range.start >= range.start && found.range.end <= range.end)
        {
            // Pairs of characters overlap.
            let start = found.range.start.max(at);
            snippet.push(&text[at..start], false);
            snippet.push(&text[start..found.range.end.max(start)], true);
            at = found.range.end.max(start);
        }
        snippet.push(&text[at..range.end], false);
        snippet
    }

    fn push(&mut self, text: &str, is_match: bool) {
        let mut plain = String::with_capacity(text.len());
        let ends_in_space = self.pieces.last().is_none_or(|last| last.text.ends_with(' '));
        let mut after_space = ends_in_space;
        for letter in text.chars() {
            if letter.is_whitespace() || letter.is_control() {
                if !after_space {
                    plain.push(' ');
                }
                after_space = true;
            } else {
                plain.push(letter);
                after_space = false;
            }
        }
        match self.pieces.last_mut() {
            _ if plain.is_empty() => {}
            Some(last) if last.is_match == is_match => last.text.push_str(&plain),
            _ => self.pieces.push(Piece { text: plain, is_match }),
        }
    }
}

/// A word of a text that was asked for.
#[derive(Debug, Clone)]
struct Match {
    range: Range<usize>,
    /// Which word of the query it is.
    word: usize,
}

/// What is shown of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct PageView {
    pub(super) title: Snippet,
    pub(super) snippet: Snippet,
}

impl PageView {
    /// Reads the page that is stored.
    pub(super) fn read(
        snapshot: &Snapshot,
        record: &PageRecord,
        url: &str,
        language: Option<&str>,
        marks: &Marks,
    ) -> Result<PageView> {
        let Some(location) = record.stored else { return Ok(PageView::default()) };
        let stored = snapshot.bodies.read(&location, Verify::Checksum)?;
        let answer = StoredAnswer {
            url,
            status: stored.status(),
            content_type: stored.header("Content-Type"),
            content_encoding: stored.header("Content-Encoding"),
            body: &stored.body(),
        };
        let mut reader = DocumentReader::default();
        let Some(document) = reader.read(&answer) else { return Ok(PageView::default()) };
        let title = whole(&document.title, TITLE_CHARACTERS, language, marks);
        let text = &document.text[..boundary(&document.text, MOST_TEXT_BYTES)];
        let matches = matches(text, language, marks);
        let snippet = if matches.is_empty() {
            let main = document.main_text();
            whole(if main.is_empty() { text } else { &main }, SNIPPET_CHARACTERS, language, marks)
        } else {
            Snippet::cut(text, best_window(text, &matches), &matches)
        };
        Ok(PageView { title, snippet })
    }
}

/// The start of a text.
fn whole(text: &str, characters: usize, language: Option<&str>, marks: &Marks) -> Snippet {
    let text = text.trim();
    let end = after(text, 0, characters);
    let start = &text[..end];
    Snippet { ends_within: end < text.len(), ..Snippet::cut(start, 0..end, &matches(start, language, marks)) }
}

fn matches(text: &str, language: Option<&str>, marks: &Marks) -> Vec<Match> {
    let mut matches = Vec::new();
    for_each_term(language, text, |term, _, range| {
        if let Some(word) = marks.word_of(term).filter(|_| matches.len() < MOST_MATCHES) {
            matches.push(Match { range, word });
        }
    });
    matches
}

/// The piece of a text with most different words asked for, and of these with most of any; the first of several.
fn best_window(text: &str, matches: &[Match]) -> Range<usize> {
    let mut best = (0, 0, 0);
    let mut end = 0;
    for (first, from) in matches.iter().enumerate() {
        let reach = from.range.start + SNIPPET_CHARACTERS * 3 / 4;
        end = end.max(first);
        while end < matches.len() && matches[end].range.end <= reach {
            end += 1;
        }
        let within = &matches[first..end.max(first + 1)];
        let mut words: Vec<usize> = within.iter().map(|found| found.word).collect();
        words.sort_unstable();
        words.dedup();
        if (words.len(), within.len()) > (best.0, best.1) {
            best = (words.len(), within.len(), first);
        }
    }
    let first = matches.get(best.2).map_or(0, |found| found.range.start);
    let start = window_start(text, first);
    start..after(text, start, SNIPPET_CHARACTERS)
}

/// Some characters before a place: where the last sentence begins, or a word.
fn window_start(text: &str, at: usize) -> usize {
    const LEAD_CHARACTERS: usize = 80;
    let earliest = text[..at].char_indices().rev().nth(LEAD_CHARACTERS - 1).map_or(0, |(place, _)| place);
    if earliest == 0 {
        return 0;
    }
    let lead = &text[earliest..at];
    let sentence = lead.rfind(['.', '!', '?', '\n', '。']).map(|place| {
        let end = lead[place..].chars().next().map_or(0, char::len_utf8);
        earliest + place + end
    });
    let word = || lead.find(char::is_whitespace).map(|place| earliest + place);
    sentence.or_else(word).unwrap_or(earliest)
}

/// So many characters behind a place, at the end of a word if one ends soon before.
fn after(text: &str, start: usize, characters: usize) -> usize {
    let Some((end, _)) = text[start..].char_indices().nth(characters) else { return text.len() };
    let window = &text[start..start + end];
    match window.rfind(char::is_whitespace) {
        Some(space) if space * 2 > window.len() => start + space,
        _ => start + end,
    }
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
