//! Title and snippet of a hit, with highlighted matches. The snippet is the passage of the main text with most query words.

use std::ops::Range;

use parse::html::Options;
use parse::{DocumentReader, RobotsDirectives, StoredResponse};
use store::{PageRecord, Snapshot, VerifyLevel};

use super::highlight::HighlightTerms;
use crate::error::Result;
use crate::text::tokenizer::for_each_term;

/// Approximate length of a snippet.
const SNIPPET_CHARACTERS: usize = 240;
/// Maximum length of a title.
const TITLE_CHARACTERS: usize = 200;
/// Maximum number of bytes of a text that are searched for matches.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Maximum number of matches considered.
const MAX_MATCHES: usize = 2_000;

/// Passage of a text, split into fragments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// Fragments in order.
    pub fragments: Vec<Fragment>,
    /// Whether text before the passage was cut off.
    pub is_truncated_before: bool,
    /// Whether text after the passage was cut off.
    pub is_truncated_after: bool,
}

/// Fragment of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Text with collapsed white space.
    pub text: String,
    /// Whether it matches a word of the query.
    pub is_match: bool,
}

impl Snippet {
    /// The plain text, with an ellipsis where text was cut off.
    pub fn text(&self) -> String {
        let mut text = if self.is_truncated_before { "… ".to_owned() } else { String::new() };
        self.fragments.iter().for_each(|fragment| text.push_str(&fragment.text));
        if self.is_truncated_after {
            text.push_str(" …");
        }
        text
    }

    /// Character ranges of the matches in [`Snippet::text`].
    pub fn matches(&self) -> Vec<[usize; 2]> {
        let mut end = if self.is_truncated_before { 2 } else { 0 };
        let mut matches = Vec::new();
        for fragment in &self.fragments {
            let start = end;
            end += fragment.text.chars().count();
            if fragment.is_match {
                matches.push([start, end]);
            }
        }
        matches
    }

    /// Creates the snippet of a byte range of a text.
    fn from_range(text: &str, range: Range<usize>, matches: &[Match]) -> Snippet {
        let mut snippet = Snippet {
            is_truncated_before: !text[..range.start].trim().is_empty(),
            is_truncated_after: !text[range.end..].trim().is_empty(),
            ..Snippet::default()
        };
        let mut at = range.start;
        for found in
            matches.iter().filter(|found| found.range.start >= range.start && found.range.end <= range.end)
        {
            // Bigrams overlap.
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
        let ends_in_space = self.fragments.last().is_none_or(|last| last.text.ends_with(' '));
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
        match self.fragments.last_mut() {
            _ if plain.is_empty() => {}
            Some(last) if last.is_match == is_match => last.text.push_str(&plain),
            _ => self.fragments.push(Fragment { text: plain, is_match }),
        }
    }
}

/// Occurrence of a query word in a text.
#[derive(Debug, Clone)]
struct Match {
    range: Range<usize>,
    /// Number of the word in the query.
    word: usize,
}

/// Title and snippet of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct PageExcerpt {
    pub(super) title: Snippet,
    /// Empty if the page forbids snippets.
    pub(super) snippet: Snippet,
    pub(super) robots: RobotsDirectives,
}

impl PageExcerpt {
    /// Reads the stored page; `agent` is the crawler whose robots directives apply.
    pub(super) fn read(
        snapshot: &Snapshot,
        record: &PageRecord,
        url: &str,
        language: Option<&str>,
        highlight: &HighlightTerms,
        agent: &str,
    ) -> Result<PageExcerpt> {
        let Some(location) = record.record_location else { return Ok(PageExcerpt::default()) };
        let stored = snapshot.page_store.read(&location, VerifyLevel::Checksum)?;
        let answer = StoredResponse {
            url,
            status: stored.status(),
            content_type: stored.header("Content-Type"),
            content_encoding: stored.header("Content-Encoding"),
            body: &stored.body(),
        };
        let mut reader = DocumentReader::new(Options { agent: agent.to_owned(), ..Options::default() });
        let robots = RobotsDirectives::from_head(stored.head(), agent);
        let Some(document) = reader.read(&answer) else {
            return Ok(PageExcerpt { robots, ..PageExcerpt::default() });
        };
        let robots = robots.merge(document.robots_directives);
        let title = leading_excerpt(&document.title, TITLE_CHARACTERS, language, highlight);
        if robots.nosnippet() {
            return Ok(PageExcerpt { title, robots, ..PageExcerpt::default() });
        }
        // Menus and footers are quoted only if the main text does not match.
        let main = document.main_text();
        let texts = [&*main, &*document.text].map(|text| &text[..floor_char_boundary(text, MAX_TEXT_BYTES)]);
        let matching = texts.iter().find_map(|text| {
            let matches = find_matches(text, language, highlight);
            (!matches.is_empty()).then(|| Snippet::from_range(text, best_window(text, &matches), &matches))
        });
        let snippet = matching.unwrap_or_else(|| {
            let [main, all] = texts;
            let start = if main.is_empty() { all } else { main };
            leading_excerpt(start, SNIPPET_CHARACTERS, language, highlight)
        });
        Ok(PageExcerpt { title, snippet, robots })
    }
}

/// Beginning of a text.
fn leading_excerpt(
    text: &str,
    characters: usize,
    language: Option<&str>,
    highlight: &HighlightTerms,
) -> Snippet {
    let text = text.trim();
    let end = window_end(text, 0, characters);
    let start = &text[..end];
    Snippet {
        is_truncated_after: end < text.len(),
        ..Snippet::from_range(start, 0..end, &find_matches(start, language, highlight))
    }
}

fn find_matches(text: &str, language: Option<&str>, highlight: &HighlightTerms) -> Vec<Match> {
    let mut matches = Vec::new();
    for_each_term(language, text, |term, _, range| {
        if let Some(word) = highlight.word_of(term).filter(|_| matches.len() < MAX_MATCHES) {
            matches.push(Match { range, word });
        }
    });
    matches
}

/// Finds the window with most distinct query words, then with most matches, then the first.
fn best_window(text: &str, matches: &[Match]) -> Range<usize> {
    let mut best = (0, 0, 0);
    let mut end = 0;
    for (first, from) in matches.iter().enumerate() {
        // The last quarter is left for the text before the first match, see `window_start`.
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
    start..window_end(text, start, SNIPPET_CHARACTERS)
}

/// Start of a window: the last start of a sentence, or of a word, within some characters before a match.
fn window_start(text: &str, at: usize) -> usize {
    const LEAD_CHARACTERS: usize = 80;
    let earliest = text[..at].char_indices().rev().nth(LEAD_CHARACTERS - 1).map_or(0, |(at, _)| at);
    if earliest == 0 {
        return 0;
    }
    let lead = &text[earliest..at];
    let sentence = lead.rfind(['.', '!', '?', '\n', '。']).map(|at| {
        let end = lead[at..].chars().next().map_or(0, char::len_utf8);
        earliest + at + end
    });
    let word = || lead.find(char::is_whitespace).map(|at| earliest + at);
    sentence.or_else(word).unwrap_or(earliest)
}

/// End of a window of some characters, moved back to the end of a word if there is one in its second half.
fn window_end(text: &str, start: usize, characters: usize) -> usize {
    let Some((end, _)) = text[start..].char_indices().nth(characters) else { return text.len() };
    let window = &text[start..start + end];
    match window.rfind(char::is_whitespace) {
        Some(space) if space * 2 > window.len() => start + space,
        _ => start + end,
    }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
