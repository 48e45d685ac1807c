//! Plain language: words that have a term of the field instead, and the form of doc comments.
//!
//! The word list covers comments, documents and every string of the sources, tests included. Doc comments open with a
//! noun phrase or a third-person verb, as in the standard library, and not with a question.

use crate::finding::Finding;
use crate::tree::Tree;

/// The one file that must contain the words it looks for.
const THIS_FILE: &str = "xtask/src/language.rs";

/// A word or phrase to avoid, in lower case, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("nobody", "name the component, or use the passive voice"),
    ("somebody", "name the component or the user"),
    ("anybody", "name the component or the user"),
    ("everybody", "name the components or the users"),
    ("whoever", "name the component or the user"),
    ("so many", "write `maximum` or `number of`"),
    ("so long", "write `timeout`, `interval` or `duration`"),
    ("is told", "write `receives` or `is notified`"),
    ("are told", "write `receive` or `are notified`"),
];

/// Words that may not open a doc comment: they make it a question or a relative clause.
const OPENERS: &[&str] = &[
    "What", "Who", "Whom", "Whose", "Which", "Where", "When", "Why", "How", "Does", "Do", "Is", "Are", "Can",
    "May",
];

const PROSE: &[&str] = &["rs", "md", "html", "toml", "js", "py"];
/// Directories with recorded or generated data.
const DATA_DIRS: &[&str] = &["artifacts", "corpus", "data", "snapshots", "vocabulary"];

/// Finds words outside the vocabulary, and doc comments in the form of a question.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let prose = tree.texts().filter(|(path, _)| *path != THIS_FILE && is_prose(path));
    prose.flat_map(|(path, text)| words(path, text).chain(openings(path, text)).collect::<Vec<_>>()).collect()
}

fn is_prose(path: &str) -> bool {
    let (dirs, file) = path.rsplit_once('/').unwrap_or(("", path));
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    PROSE.contains(&extension) && !dirs.split('/').any(|dir| DATA_DIRS.contains(&dir))
}

fn words(path: &str, text: &str) -> impl Iterator<Item = Finding> {
    text.lines().enumerate().flat_map(move |(index, line)| {
        let lower = line.to_lowercase();
        let hits = WORDS.iter().filter(move |(word, _)| has_phrase(&lower, word));
        hits.map(move |(word, remedy)| {
            Finding::new(path, index + 1, format!("`{word}` is outside the vocabulary"), *remedy)
        })
    })
}

/// Reports whether `phrase` occurs in `line` between word boundaries.
fn has_phrase(line: &str, phrase: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(phrase).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + phrase.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn openings(path: &str, text: &str) -> impl Iterator<Item = Finding> {
    let is_source = path.ends_with(".rs");
    let lines: Vec<&str> = if is_source { text.lines().collect() } else { Vec::new() };
    let first_lines = (0..lines.len()).filter_map({
        let lines = lines.clone();
        move |index| {
            let doc = doc_text(lines[index])?;
            let opens = index == 0 || doc_text(lines[index - 1]).is_none();
            opens.then_some((index, doc))
        }
    });
    let faults: Vec<Finding> =
        first_lines.filter_map(|(index, doc)| opening_fault(path, index + 1, doc)).collect();
    faults.into_iter()
}

/// The text of a `///` or `//!` line.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    (!text.starts_with('/')).then_some(text.trim())
}

fn opening_fault(path: &str, line: usize, doc: &str) -> Option<Finding> {
    let remedy = "open with a noun phrase or a third-person verb";
    let first = doc.split_whitespace().next().unwrap_or_default();
    if OPENERS.contains(&first) {
        return Some(Finding::new(path, line, format!("the doc comment opens with `{first}`"), remedy));
    }
    doc.ends_with('?').then(|| Finding::new(path, line, "the doc comment opens with a question", remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> Vec<Finding> {
        check(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn each_word_of_the_list_is_found_in_sources_and_documents() {
        for (word, _) in WORDS {
            assert_eq!(check_text("a/src/b.rs", &format!("// for {word} here\n")).len(), 1, "{word}");
            assert_eq!(check_text("docs/a.md", &format!("{}\n", word.to_uppercase())).len(), 1, "{word}");
        }
    }

    #[test]
    fn parts_of_longer_words_and_recorded_data_are_accepted() {
        assert_eq!(check_text("a/src/b.rs", "let nobody_s_user = 1;\n"), []);
        assert_eq!(check_text("a/tests/data/page.html", "nobody\n"), []);
    }

    #[test]
    fn a_doc_comment_may_not_open_with_a_question() {
        for doc in ["//! Which page is meant? The rules.", "/// What a page is.", "/// Ready?"] {
            assert_eq!(check_text("a/src/b.rs", &format!("{doc}\n")).len(), 1, "{doc}");
        }
    }

    #[test]
    fn later_lines_of_a_doc_comment_are_free() {
        assert_eq!(
            check_text("a/src/b.rs", "/// Reads a page.\n///\n/// When it is absent, returns none.\n"),
            []
        );
        assert_eq!(check_text("a/src/b.rs", "//// What a ruler is.\n"), []);
    }
}
