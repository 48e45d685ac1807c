//! What does a commit of the index say about itself? Which commit of the collection it follows, and which files belong to it.
//!
//! It is one line that tantivy keeps with its commit, so that index and files change at the same moment.

use std::path::PathBuf;

use crate::left_out::LeftOutCounts;
use crate::text_folder::TextFolder;

/// What is known of the newest commit; the default is that of an index without one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Note {
    /// The number of this commit of the index.
    pub(crate) commit: u64,
    /// The commit of the collection that was indexed as a whole; 0 as long as none was.
    pub(crate) generation: u64,
    /// The commit of the collection whose anchor texts are indexed; 0 for none.
    pub(crate) anchors: u64,
    /// The commit of the index that last wrote the words; 0 for none.
    pub(crate) words: u64,
    /// When the first page asks not to be found any more, in Unix seconds; 0 if none does.
    pub(crate) until_s: u64,
    /// For each part of the pages, the commit that last wrote it; 0 for none.
    pub(crate) parts: Vec<u64>,
    /// How many pages were left out.
    pub(crate) left_out: LeftOutCounts,
}

impl Note {
    /// As one line.
    pub(crate) fn to_line(&self) -> String {
        let Note { commit, generation, anchors, words, until_s, parts, left_out } = self;
        let parts: Vec<String> = parts.iter().map(u64::to_string).collect();
        let left_out = left_out.to_numbers().map(|number| number.to_string()).join(",");
        format!("{commit} {generation} {anchors} {words} {until_s} {left_out} {}", parts.join(","))
    }

    /// What [`Note::to_line`] wrote; `None` if it did not.
    pub(crate) fn parse(line: &str) -> Option<Note> {
        let mut words = line.split(' ');
        let mut number = || words.next()?.parse().ok();
        let (commit, generation, anchors) = (number()?, number()?, number()?);
        let (words_commit, until_s) = (number()?, number()?);
        let left_out: Vec<u64> = numbers(words.next()?)?;
        let parts = numbers(words.next()?)?;
        let left_out = LeftOutCounts::from_numbers(left_out.try_into().ok()?);
        Some(Note { commit, generation, anchors, words: words_commit, until_s, parts, left_out })
    }

    /// The files that the commit needs beside tantivy's.
    pub(crate) fn files(&self, folder: &TextFolder) -> Vec<PathBuf> {
        let parts = self.parts.iter().enumerate().filter(|(_, commit)| **commit != 0);
        let mut files: Vec<PathBuf> = parts.map(|(part, commit)| folder.pages(part, *commit)).collect();
        if self.words != 0 {
            files.push(folder.words(self.words));
        }
        files
    }
}

fn numbers(list: &str) -> Option<Vec<u64>> {
    list.split(',').filter(|number| !number.is_empty()).map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_back() {
        let left_out = LeftOutCounts { noindex: 1, not_text: 2, duplicate: 3, no_content: 4, damaged: 5 };
        for parts in [vec![], vec![7, 0, 9]] {
            let note = Note { commit: 9, generation: 12, anchors: 11, words: 8, until_s: 7, parts, left_out };
            assert_eq!(Note::parse(&note.to_line()), Some(note));
        }
        for line in ["", "1 2", "1 2 3 4 5 5,6,7,8,9", "1 2 3 4 5 5,6,7,8 1", "a b c d e f g"] {
            assert_eq!(Note::parse(line), None, "{line}");
        }
    }
}
