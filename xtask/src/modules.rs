//! Unused source files: a `.rs` file that no `mod` item includes is not compiled.
//!
//! Modules are found by lines: `mod name;` on a line of its own, with `#[path]` and `include!`. A `mod name;` inside an
//! inline module is not supported; there are none.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::manifest::{self, Package};
use crate::tree::Tree;

/// Finds source files that are not part of any crate.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let packages = manifest::packages(tree);
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<String> = packages.iter().flat_map(|package| roots(package, tree)).collect();
    while let Some(path) = waiting.pop() {
        let Some(text) = tree.text(&path) else { continue };
        if reached.insert(path.clone()) {
            waiting.extend(files_named_in(&path, text, tree));
        }
    }
    let dead = tree.paths().filter(|path| path.ends_with(".rs") && !reached.contains(*path));
    dead.map(|path| {
        Finding::new(path, 1, "no `mod` includes this file", "declare it in its parent or delete it")
    })
    .collect()
}

/// The root files of cargo's targets.
fn roots(package: &Package, tree: &Tree) -> Vec<String> {
    let prefix = if package.folder.is_empty() { String::new() } else { format!("{}/", package.folder) };
    let is_root = |path: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
            ["src", "bin", file] | ["tests" | "benches" | "examples", file] => file.ends_with(".rs"),
            ["src", "bin", _, "main.rs"] | ["tests" | "benches" | "examples", _, "main.rs"] => true,
            _ => package.targets.iter().any(|target| target == path),
        }
    };
    tree.paths().filter(|path| path.strip_prefix(&prefix).is_some_and(is_root)).map(str::to_owned).collect()
}

/// The files that `mod` and `include!` in one file include.
fn files_named_in(path: &str, text: &str, tree: &Tree) -> Vec<String> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let mut files = Vec::new();
    let mut explicit = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[path") {
            explicit = quoted(line);
        } else if let Some(name) = module_name(line) {
            files.push(match explicit.take() {
                Some(given) => format!("{folder}/{given}"),
                None => module_file(folder, file, name, tree),
            });
        } else if let Some((_, rest)) = line.split_once("include!(") {
            files.extend(quoted(rest).map(|given| format!("{folder}/{given}")));
        }
    }
    files
}

/// `name` of a line `mod name;`, whatever its visibility.
fn module_name(line: &str) -> Option<&str> {
    let (before, name) = line.strip_suffix(';')?.rsplit_once(' ')?;
    let visibility = before.strip_suffix("mod")?.trim_end();
    let plain = visibility.is_empty() || visibility == "pub" || visibility.starts_with("pub(");
    plain.then_some(name)
}

/// The file of the module `name` declared in `folder/file`: beside it for `mod.rs` and roots, else one level below.
fn module_file(folder: &str, file: &str, name: &str, tree: &Tree) -> String {
    let stem = file.trim_end_matches(".rs");
    let of_folder = matches!(stem, "lib" | "main" | "mod") || is_target_root(folder);
    let home = if of_folder { folder.to_owned() } else { format!("{folder}/{stem}") };
    let flat = format!("{home}/{name}.rs");
    if tree.has(&flat) { flat } else { format!("{home}/{name}/mod.rs") }
}

/// Reports whether the files of a directory are crates of their own.
fn is_target_root(folder: &str) -> bool {
    ["tests", "benches", "examples", "src/bin", "fuzz_targets"].iter().any(|root| folder.ends_with(root))
}

fn quoted(line: &str) -> Option<&str> {
    line.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) =
        ("a/Cargo.toml", "[package]\nname = \"a\"\n[[bin]]\nname = \"z\"\npath = \"z/z.rs\"\n");

    fn dead_files(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(&str, &str)> = std::iter::once(MANIFEST).chain(files.iter().copied()).collect();
        check(&Tree::of(&files)).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn files_that_modules_lead_to_are_alive() {
        let alive = [
            ("a/src/lib.rs", "mod b;\npub mod c;\npub(crate) mod d;\n#[path = \"odd.rs\"]\nmod e;\n"),
            ("a/src/b.rs", "mod under;\n"),
            ("a/src/b/under.rs", ""),
            ("a/src/c/mod.rs", "mod beside;\n"),
            ("a/src/c/beside.rs", "const T: &[u8] = include!(\"table.rs\");\n"),
            ("a/src/c/table.rs", ""),
            ("a/src/d.rs", ""),
            ("a/src/odd.rs", ""),
        ];
        assert_eq!(dead_files(&alive), [""; 0]);
    }

    #[test]
    fn a_file_without_a_module_is_dead() {
        let files = [("a/src/lib.rs", "// mod b;\nlet mod_c;\n"), ("a/src/b.rs", ""), ("a/src/c.rs", "")];
        assert_eq!(dead_files(&files), ["a/src/b.rs", "a/src/c.rs"]);
    }

    #[test]
    fn modules_of_a_dead_file_are_dead_too() {
        let files = [("a/src/lib.rs", ""), ("a/src/b.rs", "mod c;\n"), ("a/src/b/c.rs", "")];
        assert_eq!(dead_files(&files), ["a/src/b.rs", "a/src/b/c.rs"]);
    }

    #[test]
    fn cargo_finds_its_roots_by_itself() {
        let roots = [
            ("a/build.rs", ""),
            ("a/src/main.rs", ""),
            ("a/src/bin/x.rs", ""),
            ("a/tests/t.rs", "mod server;\n"),
            ("a/tests/server/mod.rs", ""),
            ("a/z/z.rs", ""),
        ];
        assert_eq!(dead_files(&roots), [""; 0]);
        assert_eq!(dead_files(&[("a/tests/server/mod.rs", "")]), ["a/tests/server/mod.rs"]);
    }
}
