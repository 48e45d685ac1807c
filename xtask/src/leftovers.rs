//! Leftovers that must not be committed: placeholders, debugging code, disabled tests without a reason, paths of one
//! machine, conflict markers, trailing white space.

use crate::finding::Finding;
use crate::tree::Tree;

/// The one file that must name what it looks for.
const THIS_FILE: &str = "xtask/src/leftovers.rs";

/// A word that must not occur in finished code, and its remedy.
const WORDS: &[(&str, &str)] = &[
    ("todo!", "write the code"),
    ("unimplemented!", "write the code"),
    ("dbg!", "remove it"),
    ("TODO", "do it, or document what is missing and why"),
    ("FIXME", "fix it"),
    ("XXX", "document what is meant"),
    ("#[ignore]", "give the reason: `#[ignore = \"...\"]`"),
];

const MACHINE_PATHS: &[&str] = &["/work/", "/root/", "/home/"];

const CONFLICT_MARKERS: &[&str] = &["<<<<<<<", "=======", ">>>>>>>"];

/// Extensions of files written by hand; seeds, fixtures and snapshots are data and are not checked.
const WRITTEN: &[&str] = &["rs", "md", "toml", "sh", "py", "yml", "yaml", "css", "js"];
const DATA_FOLDERS: &[&str] = &["artifacts", "corpus", "data", "snapshots"];

/// Finds leftovers in every file written by hand.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let written = tree.texts().filter(|(path, _)| is_written(path));
    written.flat_map(|(path, text)| check_file(path, text)).collect()
}

fn is_written(path: &str) -> bool {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let data = folders.split('/').any(|folder| DATA_FOLDERS.contains(&folder));
    let extension = file.rsplit_once('.').map(|(_, extension)| extension);
    // Scripts such as `test` have no extension.
    !data && extension.is_none_or(|extension| WRITTEN.contains(&extension))
}

fn check_file(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut find =
            |what: String, remedy: &str| findings.push(Finding::new(path, index + 1, what, remedy));
        if path != THIS_FILE {
            for (word, remedy) in
                WORDS.iter().filter(|(word, _)| path.ends_with(".rs") && has_word(line, word))
            {
                find(format!("`{word}` is left over"), remedy);
            }
            for folder in MACHINE_PATHS.iter().filter(|folder| has_machine_path(line, folder)) {
                find(format!("`{folder}` is a path of one machine"), "use a path relative to the repository");
            }
        }
        if CONFLICT_MARKERS.iter().any(|marker| line == *marker || line.starts_with(&format!("{marker} "))) {
            find("a merge conflict is left over".to_owned(), "resolve it");
        }
        if line.ends_with([' ', '\t', '\r']) {
            find("trailing white space".to_owned(), "remove it");
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        let line = text.lines().count();
        findings.push(Finding::new(path, line, "the last line has no newline", "add a newline"));
    }
    findings
}

/// Reports whether `word` occurs in `line` and is not part of a longer word.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        let longer = before.is_some_and(joins) || (word.ends_with(joins) && after.is_some_and(joins));
        !longer
    })
}

/// Reports whether an absolute path in `line` starts with `folder`; inside a URL or a relative path it does not count.
fn has_machine_path(line: &str, folder: &str) -> bool {
    let begins_path =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | '=' | ':' | '<' | '[');
    line.match_indices(folder).any(|(start, _)| line[..start].chars().next_back().is_none_or(begins_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> Vec<Finding> {
        check(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn each_leftover_word_is_found_in_code() {
        for (word, _) in WORDS {
            assert_eq!(check_text("a/src/b.rs", &format!("    {word}\n")).len(), 1, "{word}");
        }
    }

    #[test]
    fn parts_of_longer_words_are_accepted() {
        for fine in ["mastodbg!", "XXXL", "#[ignore = \"needs 24 GiB\"]", "todo el mundo", "my_todo!()"] {
            assert_eq!(check_text("a/src/b.rs", &format!("{fine}\n")), [], "{fine}");
        }
    }

    #[test]
    fn a_path_of_a_machine_is_found_in_any_written_file() {
        for line in ["see /work/x", "\"/home/ann/x\"", "(/root/.cargo)"] {
            assert_eq!(check_text("docs/a.md", &format!("{line}\n")).len(), 1, "{line}");
        }
    }

    #[test]
    fn a_path_within_a_url_is_no_path_of_a_machine() {
        assert_eq!(check_text("docs/a.md", "https://example.com/home/ and ../work/x\n"), []);
    }

    #[test]
    fn conflicts_are_found_and_underlines_are_not() {
        assert_eq!(check_text("a.md", "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n").len(), 3);
        assert_eq!(check_text("a.md", "Title\n========\n"), []);
    }

    #[test]
    fn stray_white_space_and_an_open_last_line_are_found() {
        assert_eq!(check_text("test", "a \nb\t\n").len(), 2);
        assert_eq!(check_text("a.toml", "a = 1").len(), 1);
        assert_eq!(check_text("a.toml", "a = 1\n"), []);
        assert_eq!(check_text("a.toml", ""), []);
    }

    #[test]
    fn data_files_are_not_checked() {
        assert_eq!(check_text("fuzz/corpus/html/seed", "a \nFIXME"), []);
        assert_eq!(check_text("a/tests/data/page.html", "a "), []);
    }
}
