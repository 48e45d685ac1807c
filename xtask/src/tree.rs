//! Contents of the repository: all its files, read once; the checks work on strings and need no disk.
//!
//! Build output is skipped: every directory with a `CACHEDIR.TAG` (cargo writes one), and hidden directories other than
//! `.ci`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The files of the repository by path, relative to its root, with `/` between the parts.
pub(crate) struct Tree {
    files: BTreeMap<String, Contents>,
}

enum Contents {
    Text(String),
    /// Not UTF-8: images, seeds of the fuzzers. Only its existence matters.
    Binary,
}

impl Tree {
    /// Reads everything under `root`.
    pub(crate) fn read(root: &Path) -> io::Result<Tree> {
        let mut tree = Tree { files: BTreeMap::new() };
        tree.read_dir_into(root, "")?;
        Ok(tree)
    }

    /// The text of one file, if it exists and is UTF-8.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        match self.files.get(path)? {
            Contents::Text(text) => Some(text),
            Contents::Binary => None,
        }
    }

    /// Every text file as (path, text), in the order of paths.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, contents)| match contents {
            Contents::Text(text) => Some((path.as_str(), text.as_str())),
            Contents::Binary => None,
        })
    }

    /// Every path, text or not.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Reports whether `path` is a file or a directory with files in it; the root is the empty path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let dir = format!("{path}/");
        path.is_empty() || self.files.contains_key(path) || self.paths().any(|file| file.starts_with(&dir))
    }

    /// Every package: its directory (empty for the root) and the text of its `Cargo.toml`.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter_map(|(path, text)| {
            let folder = path.strip_suffix("Cargo.toml")?;
            (folder.is_empty() || folder.ends_with('/')).then(|| (folder.trim_end_matches('/'), text))
        })
    }

    fn read_dir_into(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci";
                if !hidden && !entry.path().join("CACHEDIR.TAG").exists() {
                    self.read_dir_into(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file() {
                let contents =
                    String::from_utf8(fs::read(entry.path())?).map_or(Contents::Binary, Contents::Text);
                self.files.insert(path, contents);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl Tree {
    /// A tree for a test.
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let text = |text: &str| Contents::Text(text.to_owned());
        Tree { files: files.iter().map(|&(path, contents)| (path.to_owned(), text(contents))).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_their_directories_exist_and_nothing_else_does() {
        let tree = Tree::of(&[("docs/a.md", ""), ("README.md", "")]);
        for there in ["", "docs", "docs/a.md", "README.md"] {
            assert!(tree.has(there), "{there}");
        }
        for absent in ["doc", "docs/a", "docs/b.md", "READ"] {
            assert!(!tree.has(absent), "{absent}");
        }
    }

    #[test]
    fn manifests_are_found_by_their_exact_name() {
        let tree = Tree::of(&[
            ("Cargo.toml", "r"),
            ("crates/model/Cargo.toml", "m"),
            ("crates/x/NotCargo.toml", ""),
        ]);
        assert_eq!(tree.manifests().collect::<Vec<_>>(), [("", "r"), ("crates/model", "m")]);
    }
}
