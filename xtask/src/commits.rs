//! Commit subjects: `area: imperative summary`, short enough for one line of a log.

use std::path::Path;
use std::process::Command;

use crate::finding::Finding;

const MAX_SUBJECT_CHARS: usize = 72;
/// Earlier commits follow an older rule.
const SINCE: &str = "2026-11-18";

/// Finds long subjects in the history of the repository at `root`. A copy without history has nothing to check.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let log = Command::new("git")
        .args(["log", "--no-merges", "--format=%h %s", &format!("--since={SINCE}T00:00:00")])
        .current_dir(root)
        .output();
    let Ok(log) = log else { return Vec::new() };
    if !root.join(".git").exists() || !log.status.success() {
        return Vec::new();
    }
    String::from_utf8_lossy(&log.stdout).lines().filter_map(subject_fault).collect()
}

fn subject_fault(line: &str) -> Option<Finding> {
    let (commit, subject) = line.split_once(' ')?;
    let chars = subject.chars().count();
    (chars > MAX_SUBJECT_CHARS).then(|| {
        let what = format!("the commit subject has {chars} characters, {MAX_SUBJECT_CHARS} are the limit");
        Finding::new(commit, 1, what, "shorten it and put the rest into the body")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_may_have_72_characters() {
        assert_eq!(subject_fault(&format!("28bb23a {}", "s".repeat(72))), None);
        assert!(subject_fault(&format!("28bb23a {}", "s".repeat(73))).is_some());
    }
}
