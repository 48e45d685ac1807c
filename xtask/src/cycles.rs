//! Module cycles: siblings in a directory that use each other in a circle.
//!
//! The children of one module (files, or directories with all they contain) are the nodes; a path such as
//! `crate::a::b`, `super::c` or `self::d` outside of tests is an edge between the two siblings it connects. Uses between a
//! module and its own children are not edges: a `mod.rs` may hold what its children share.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::manifest;
use crate::tree::Tree;

/// A module by the names on its path from the crate's root.
type Module = Vec<String>;

/// Finds groups of sibling modules that depend on each other in a circle.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    manifest::packages(tree).iter().flat_map(|package| check_crate(&package.folder, tree)).collect()
}

fn check_crate(dir: &str, tree: &Tree) -> Vec<Finding> {
    let src = format!("{dir}/src/");
    let files: BTreeMap<Module, &str> =
        tree.texts().filter_map(|(path, text)| Some((module_of(path.strip_prefix(&src)?)?, text))).collect();
    let modules: BTreeSet<&Module> = files.keys().collect();
    // By parent: which child uses which.
    let mut siblings: BTreeMap<Module, BTreeSet<(String, String)>> = BTreeMap::new();
    for (module, text) in &files {
        for target in used_paths(module, text) {
            let Some(target) = longest_module(&target, &modules) else { continue };
            let shared = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) {
                siblings.entry(module[..shared].to_vec()).or_default().insert((from.clone(), to.clone()));
            }
        }
    }
    siblings.iter().flat_map(|(parent, edges)| cycles_below(&src, parent, edges)).collect()
}

fn cycles_below(src: &str, parent: &[String], edges: &BTreeSet<(String, String)>) -> Vec<Finding> {
    let mut path = format!("{src}{}", parent.join("/"));
    path.truncate(path.trim_end_matches('/').len());
    let knots = knots(edges).into_iter();
    knots
        .map(|knot| {
            let inside = |name: &String| knot.contains(name);
            let uses: Vec<String> = edges
                .iter()
                .filter(|(from, to)| inside(from) && inside(to))
                .map(|(from, to)| format!("{from} -> {to}"))
                .collect();
            let what = format!("modules use each other in a circle: {}", uses.join(", "));
            Finding::new(&path, 1, what, "move what both sides need to a module below both")
        })
        .collect()
}

/// The module of a source file, named relative to `src`.
fn module_of(path: &str) -> Option<Module> {
    let stem = path.strip_suffix(".rs")?;
    let mut names: Module = stem.split('/').map(str::to_owned).collect();
    if names.len() == 1 && ["lib", "main"].contains(&stem) || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    (names.first().is_none_or(|name| name != "bin")).then_some(names)
}

/// The absolute paths that the code of a module names, up to its unit tests.
fn used_paths(module: &[String], text: &str) -> Vec<Module> {
    let code = text.split("\n#[cfg(test)]\n").next().unwrap_or(text);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut paths = Vec::new();
    for line in lines {
        for (start, root) in ["crate::", "super::", "self::"]
            .iter()
            .flat_map(|root| line.match_indices(root).map(move |(start, _)| (start, *root)))
        {
            let joins = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            if line[..start].chars().next_back().is_some_and(joins) {
                continue;
            }
            let path: String = line[start..].chars().take_while(|c| joins(*c)).collect();
            let names: Vec<&str> = path.split("::").filter(|name| !name.is_empty()).collect();
            paths.push(absolute(module, root, &names));
        }
    }
    paths
}

fn absolute(module: &[String], root: &str, names: &[&str]) -> Module {
    let ups = names.iter().take_while(|name| **name == "super").count();
    let base: &[String] = match root {
        "crate::" => &[],
        "self::" => module,
        _ => &module[..module.len().saturating_sub(ups)],
    };
    let rest = names.iter().skip(ups.max(1)).map(|name| (*name).to_owned());
    base.iter().cloned().chain(rest).collect()
}

/// The longest beginning of a path that is a module; the rest of it names an item.
fn longest_module(path: &[String], modules: &BTreeSet<&Module>) -> Option<Module> {
    (1..=path.len()).rev().map(|length| path[..length].to_vec()).find(|prefix| modules.contains(prefix))
}

/// The groups of nodes that reach each other, each of at least two.
fn knots(edges: &BTreeSet<(String, String)>) -> Vec<BTreeSet<String>> {
    let nodes: BTreeSet<&String> = edges.iter().flat_map(|(from, to)| [from, to]).collect();
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        nodes.iter().map(|node| (*node, reachable(node, edges))).collect();
    let mut knots: Vec<BTreeSet<String>> = Vec::new();
    for node in nodes {
        let knot: BTreeSet<String> = reached[node]
            .iter()
            .filter(|other| reached[**other].contains(node))
            .map(|other| (*other).clone())
            .collect();
        if knot.len() > 1 && !knots.contains(&knot) {
            knots.push(knot);
        }
    }
    knots
}

fn reachable<'e>(start: &'e String, edges: &'e BTreeSet<(String, String)>) -> BTreeSet<&'e String> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![start];
    while let Some(node) = waiting.pop() {
        for (_, to) in edges.iter().filter(|(from, to)| from == node && from != to) {
            if reached.insert(to) {
                waiting.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let manifest = [("a/Cargo.toml", "[package]\nname = \"a\"\n")];
        let files: Vec<(&str, &str)> = manifest.iter().chain(files).copied().collect();
        check(&Tree::of(&files))
            .into_iter()
            .map(|finding| format!("{}: {}", finding.path, finding.what))
            .collect()
    }

    #[test]
    fn siblings_that_use_each_other_are_found_with_their_edges() {
        let found = findings(&[
            ("a/src/lib.rs", "mod b;\nmod c;\n"),
            ("a/src/b.rs", "use crate::c::C;\n"),
            ("a/src/c.rs", "fn f() { super::b::g() }\n"),
        ]);
        assert_eq!(found, ["a/src: modules use each other in a circle: b -> c, c -> b"]);
    }

    #[test]
    fn a_circle_through_directories_is_found_between_the_directories() {
        let found = findings(&[
            ("a/src/b/mod.rs", "pub(crate) mod x;\n"),
            ("a/src/b/x.rs", "use crate::c::y::Y;\n"),
            ("a/src/c/y.rs", "use crate::d::D;\n"),
            ("a/src/d.rs", "use crate::b::x::X;\n"),
        ]);
        assert_eq!(found, ["a/src: modules use each other in a circle: b -> c, c -> d, d -> b"]);
    }

    #[test]
    fn downward_uses_children_tests_and_comments_are_no_circle() {
        let found = findings(&[
            ("a/src/b/mod.rs", "use self::x::X;\nuse crate::c::C;\n"),
            ("a/src/b/x.rs", "use super::B;\nuse super::y::Y;\n"),
            ("a/src/b/y.rs", "// see crate::b::x\n"),
            ("a/src/c.rs", "struct C;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n"),
        ]);
        assert_eq!(found, [""; 0]);
    }
}
