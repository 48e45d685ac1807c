//! Payload of a commit of the index: the commit of the collection it follows, and the files that belong to it.
//!
//! Tantivy stores this line in its own commit, so that index and files change atomically.

use std::path::PathBuf;

use crate::index::exclusion::ExclusionCounts;
use crate::index::index_dir::IndexDir;

/// Payload of a commit; the default is that of an index without a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CommitPayload {
    /// Number of this commit of the index.
    pub(crate) commit: u64,
    /// The commit of the collection that is completely indexed; 0 for none.
    pub(crate) generation: u64,
    /// The commit of the collection whose anchor texts are indexed; 0 for none.
    pub(crate) anchors_generation: u64,
    /// The commit of the index that last wrote the vocabulary; 0 for none.
    pub(crate) words_commit: u64,
    /// Earliest `unavailable_after` of the indexed pages, in Unix seconds; 0 for none.
    pub(crate) next_expiry_s: u64,
    /// For each range of pages the commit that last wrote its states; 0 for none.
    pub(crate) range_commits: Vec<u64>,
    /// Numbers of excluded pages.
    pub(crate) excluded: ExclusionCounts,
}

impl CommitPayload {
    /// Formats the payload as one line.
    pub(crate) fn to_line(&self) -> String {
        let CommitPayload {
            commit,
            generation,
            anchors_generation,
            words_commit,
            next_expiry_s,
            range_commits,
            excluded,
        } = self;
        let range_commits: Vec<String> = range_commits.iter().map(u64::to_string).collect();
        let excluded = excluded.to_numbers().map(|number| number.to_string()).join(",");
        format!(
            "{commit} {generation} {anchors_generation} {words_commit} {next_expiry_s} {excluded} {}",
            range_commits.join(",")
        )
    }

    /// Parses a line of [`CommitPayload::to_line`].
    pub(crate) fn parse(line: &str) -> Option<CommitPayload> {
        let mut fields = line.split(' ');
        let mut number = || fields.next()?.parse().ok();
        let (commit, generation, anchors_generation) = (number()?, number()?, number()?);
        let (words_commit, next_expiry_s) = (number()?, number()?);
        let excluded: Vec<u64> = numbers(fields.next()?)?;
        let range_commits = numbers(fields.next()?)?;
        let excluded = ExclusionCounts::from_numbers(excluded.try_into().ok()?);
        Some(CommitPayload {
            commit,
            generation,
            anchors_generation,
            words_commit,
            next_expiry_s,
            range_commits,
            excluded,
        })
    }

    /// Files that the commit references, besides those of tantivy.
    pub(crate) fn files(&self, dir: &IndexDir) -> Vec<PathBuf> {
        let range_commits = self.range_commits.iter().enumerate().filter(|(_, commit)| **commit != 0);
        let mut files: Vec<PathBuf> =
            range_commits.map(|(range, commit)| dir.pages_path(range, *commit)).collect();
        if self.words_commit != 0 {
            files.push(dir.words_path(self.words_commit));
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
    fn a_payload_is_read_back() {
        let excluded = ExclusionCounts { noindex: 1, not_text: 2, duplicate: 3, no_content: 4, damaged: 5 };
        for range_commits in [vec![], vec![7, 0, 9]] {
            let payload = CommitPayload {
                commit: 9,
                generation: 12,
                anchors_generation: 11,
                words_commit: 8,
                next_expiry_s: 7,
                range_commits,
                excluded,
            };
            assert_eq!(CommitPayload::parse(&payload.to_line()), Some(payload));
        }
        for line in ["", "1 2", "1 2 3 4 5 5,6,7,8,9", "1 2 3 4 5 5,6,7,8 1", "a b c d e f g"] {
            assert_eq!(CommitPayload::parse(line), None, "{line}");
        }
    }
}
