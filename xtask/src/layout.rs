//! Directory sizes: a directory has few enough source files that its listing shows the parts of the thing.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::tree::Tree;

const MAX_FILES: usize = 25;

/// Finds directories with too many source files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (dir, _) in tree.paths().filter(|path| path.ends_with(".rs")).filter_map(|path| path.rsplit_once('/'))
    {
        *counts.entry(dir).or_default() += 1;
    }
    let crowded = counts.into_iter().filter(|(_, files)| *files > MAX_FILES);
    crowded
        .map(|(dir, files)| {
            let what = format!("{files} source files in one directory, {MAX_FILES} are the limit");
            Finding::new(dir, 1, what, "group them into directories by what belongs together")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_of(files: usize) -> Tree {
        let paths: Vec<String> = (0..files).map(|n| format!("crates/a/src/f{n}.rs")).collect();
        let mut all: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        all.push(("crates/a/src/deeper/g.rs", ""));
        all.push(("crates/a/src/style.css", ""));
        Tree::of(&all)
    }

    #[test]
    fn a_full_directory_is_accepted_and_one_file_more_is_found() {
        assert_eq!(check(&tree_of(MAX_FILES)), []);
        assert_eq!(check(&tree_of(MAX_FILES + 1)).len(), 1);
    }
}
