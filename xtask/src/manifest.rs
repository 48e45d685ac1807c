//! Facts from `Cargo.toml` files that the checks need, and one rule: every crate of the workspace inherits its lints.

use toml::{Table, Value};

use crate::finding::Finding;
use crate::tree::Tree;

/// A package of this repository as its manifest describes it.
pub(crate) struct Package {
    pub(crate) name: String,
    /// Relative to the root of the repository.
    pub(crate) folder: String,
    /// Dependencies of the product: `[dependencies]` and `[build-dependencies]`, for any target.
    pub(crate) dependencies: Vec<Dependency>,
    /// Dependencies of its tests only.
    pub(crate) dev_dependencies: Vec<Dependency>,
    /// Source files named by `path` under `[[bin]]` and the like.
    pub(crate) targets: Vec<String>,
    inherits_lints: bool,
    own_workspace: bool,
}

/// A dependency and the line where the manifest names it.
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) line: usize,
}

impl Package {
    pub(crate) fn manifest_path(&self) -> String {
        if self.folder.is_empty() { "Cargo.toml".to_owned() } else { format!("{}/Cargo.toml", self.folder) }
    }
}

/// Every package of the tree with a valid manifest; `check` reports the others.
pub(crate) fn packages(tree: &Tree) -> Vec<Package> {
    tree.manifests().filter_map(|(folder, text)| package(folder, text).ok().flatten()).collect()
}

/// Finds invalid manifests, and crates that do not inherit the lints.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let unreadable = tree.manifests().filter_map(|(folder, text)| {
        let error = package(folder, text).err()?;
        let path = if folder.is_empty() { "Cargo.toml".to_owned() } else { format!("{folder}/Cargo.toml") };
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        Some(Finding::new(&path, line, error.message(), "make it valid TOML"))
    });
    let without_lints = packages(tree).into_iter().filter_map(|package| {
        // A workspace of its own (the fuzz targets) cannot inherit.
        let fine = package.inherits_lints || package.own_workspace;
        let what = format!("`{}` does not inherit the lints of the workspace", package.name);
        (!fine)
            .then(|| Finding::new(&package.manifest_path(), 1, what, "add `[lints]` with `workspace = true`"))
    });
    unreadable.chain(without_lints).collect()
}

/// The package of one manifest; none if it describes a workspace only.
fn package(folder: &str, text: &str) -> Result<Option<Package>, toml::de::Error> {
    let manifest: Table = text.parse()?;
    let Some(name) = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str)
    else {
        return Ok(None);
    };
    let targets =
        ["bin", "test", "bench", "example"].iter().filter_map(|kind| manifest.get(*kind)?.as_array());
    let targets = targets.flatten().chain(manifest.get("lib"));
    Ok(Some(Package {
        name: name.to_owned(),
        folder: folder.to_owned(),
        dependencies: dependencies(&manifest, &["dependencies", "build-dependencies"], text),
        dev_dependencies: dependencies(&manifest, &["dev-dependencies"], text),
        targets: targets.filter_map(|target| Some(target.get("path")?.as_str()?.to_owned())).collect(),
        inherits_lints: manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace"))
            .and_then(Value::as_bool)
            == Some(true),
        own_workspace: manifest.contains_key("workspace"),
    }))
}

/// The dependencies in the named sections, including those of one target only.
fn dependencies(manifest: &Table, sections: &[&str], text: &str) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let for_targets = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(for_targets) {
        for section in sections.iter().filter_map(|section| table.get(*section)?.as_table()) {
            for (key, value) in section {
                let renamed = value.get("package").and_then(Value::as_str);
                let name = renamed.unwrap_or(key).to_owned();
                found.push(Dependency { name, line: line_of_key(text, key) });
            }
        }
    }
    found
}

/// The first line that begins with `key`, be it `key = ..`, `key.workspace = ..` or `[dependencies.key]`.
fn line_of_key(text: &str, key: &str) -> usize {
    let names_key = |line: &str| {
        let line = line.trim_start();
        let rest =
            line.strip_prefix(key).or_else(|| line.split_once(&format!(".{key}")).map(|(_, rest)| rest));
        rest.is_some_and(|rest| rest.starts_with([' ', '=', '.', ']']))
    };
    text.lines().position(names_key).map_or(1, |index| index + 1)
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn names(dependencies: &[Dependency]) -> Vec<(&str, usize)> {
        dependencies.iter().map(|dependency| (dependency.name.as_str(), dependency.line)).collect()
    }

    #[test]
    fn every_way_to_name_a_dependency_is_seen() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\nc = { path = \"../d\", package = \"d\" }\n\
                    [build-dependencies]\ne = \"1\"\n[target.'cfg(unix)'.dependencies]\nf = \"1\"\n[dev-dependencies.g]\nversion = \"1\"\n";
        let package = package("crates/a", text).unwrap().unwrap();
        assert_eq!(names(&package.dependencies), [("b", 4), ("d", 5), ("e", 7), ("f", 9)]);
        assert_eq!(names(&package.dev_dependencies), [("g", 10)]);
    }

    #[test]
    fn paths_of_targets_are_seen() {
        let text = "[package]\nname = \"a\"\n[lib]\npath = \"l.rs\"\n[[bin]]\nname = \"x\"\npath = \"x.rs\"\n[[bin]]\nname = \"y\"\n";
        assert_eq!(package("a", text).unwrap().unwrap().targets, ["x.rs", "l.rs"]);
    }

    #[test]
    fn a_crate_without_the_lints_of_the_workspace_is_found() {
        let tree = Tree::of(&[("a/Cargo.toml", "[package]\nname = \"a\"\n[lints.clippy]\nall = \"warn\"\n")]);
        assert_eq!(check(&tree).len(), 1);
    }

    #[test]
    fn crates_that_inherit_and_workspaces_are_fine() {
        let tree = Tree::of(&[
            ("Cargo.toml", "[workspace]\n"),
            ("a/Cargo.toml", &format!("[package]\nname = \"a\"\n{LINTS}")),
            ("fuzz/Cargo.toml", "[package]\nname = \"fuzz\"\n[workspace]\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_manifest_that_is_not_toml_is_found_with_its_line() {
        let findings = check(&Tree::of(&[("a/Cargo.toml", "[package]\nname = \n")]));
        assert_eq!((findings.len(), findings[0].line), (1, 2));
    }
}
