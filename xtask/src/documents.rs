//! Consistency of the documents: every relative link and `#anchor` in a `.md` file has a target, every file under `docs/` is
//! linked from another document, and every source path that ARCHITECTURE.md names exists.
//!
//! Links to other hosts are not followed: a test that needs the network fails for unrelated reasons.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::tree::Tree;

/// Finds dead links, unlinked documents and source paths that do not exist.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut linked = BTreeSet::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for link in links(text) {
            let Some(target) = resolve(path, &link.target) else { continue };
            findings.extend(dead_link(path, &link, &target, tree));
            if target.path != path {
                linked.insert(target.path);
            }
        }
    }
    let unlinked = tree.paths().filter(|path| path.starts_with("docs/") && !linked.contains(*path));
    findings.extend(unlinked.map(|path| {
        Finding::new(
            path,
            1,
            "no document links to this file",
            "link it from README.md or ARCHITECTURE.md, or delete it",
        )
    }));
    findings.extend(missing_sources(tree));
    findings
}

/// The document that names source files by their path, relative to `crates/`.
const CODE_MAP: &str = "ARCHITECTURE.md";

fn missing_sources(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(CODE_MAP).unwrap_or_default();
    let spans = lines_outside_fences(text)
        .flat_map(|(line, text)| text.split('`').skip(1).step_by(2).map(move |code| (line, code)));
    let named = spans.filter(|(_, code)| code.contains("/src/") && !code.contains(' '));
    named
        .filter(|(_, path)| !tree.has(&format!("crates/{}", path.trim_end_matches('/'))) && !tree.has(path))
        .map(|(line, path)| {
            Finding::new(
                CODE_MAP,
                line,
                format!("`{path}` does not exist"),
                "name the file where the code is now",
            )
        })
        .collect()
}

struct Link {
    target: String,
    line: usize,
}

/// A path in this repository, with an optional heading.
struct Target {
    path: String,
    anchor: Option<String>,
}

fn dead_link(from: &str, link: &Link, target: &Target, tree: &Tree) -> Option<Finding> {
    if !tree.has(&target.path) {
        let what = format!("link target `{}` does not exist", target.path);
        return Some(Finding::new(from, link.line, what, "correct or remove it"));
    }
    let anchor = target.anchor.as_deref()?;
    let headings = anchors(tree.text(&target.path).filter(|_| target.path.ends_with(".md"))?);
    (!headings.contains(anchor)).then(|| {
        let what = format!("`{}` has no heading `#{anchor}`", target.path);
        Finding::new(from, link.line, what, "correct the anchor or the heading")
    })
}

/// The target of a link, unless it is on another host.
fn resolve(from: &str, link: &str) -> Option<Target> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (relative, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let mut parts: Vec<&str> = from.split('/').collect();
    if !relative.is_empty() {
        parts.pop();
    }
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            // A link that leaves the repository keeps its dots, so it is not found.
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(Target { path: parts.join("/"), anchor: anchor.map(str::to_owned) })
}

/// Inline links and images `[..](target)` and definitions `[name]: target`.
fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (line, prose) in prose_lines(text) {
        let definition =
            prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
        let inline =
            prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        let targets = definition.into_iter().chain(inline);
        // The title of a link follows a space.
        let bare = targets.filter_map(|target| target.split_whitespace().next());
        found.extend(bare.map(|target| Link { target: target.trim_matches(['<', '>']).to_owned(), line }));
    }
    found
}

/// The anchors of a document's headings, as common renderers generate them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    // Code spans contain no links, but their words are part of a heading.
    for (_, line) in lines_outside_fences(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug = slug(heading.trim());
        let earlier = seen.entry(slug.clone()).or_default();
        anchors.insert(if *earlier == 0 { slug } else { format!("{slug}-{earlier}") });
        *earlier += 1;
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Lines with their numbers, without fenced code and without code spans.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, String)> {
    // Every second part between backticks is code.
    lines_outside_fences(text).map(|(number, line)| (number, line.split('`').step_by(2).collect()))
}

fn lines_outside_fences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
    }

    #[test]
    fn links_with_a_target_are_accepted() {
        let readme = "[a](docs/a.md) ![p](docs/p.svg \"title\") [d](docs) [w](https://example.com/x) [s](#on-it)\n\
                      # On it\n[r]: <docs/a.md#two-words>\n";
        let files = [
            ("README.md", readme),
            ("docs/a.md", "## Two `words`!\n[up](../README.md)\n"),
            ("docs/p.svg", ""),
        ];
        assert_eq!(complaints(&files), [""; 0]);
    }

    #[test]
    fn a_link_to_nowhere_is_found() {
        assert_eq!(complaints(&[("README.md", "\n[a](b.md)\n")]), ["README.md:2"]);
        assert_eq!(complaints(&[("README.md", "[a](../README.md)\n")]), ["README.md:1"]);
        assert_eq!(complaints(&[("README.md", "text\n\n[a]: b.md\n")]), ["README.md:3"]);
    }

    #[test]
    fn an_anchor_without_a_heading_is_found() {
        assert_eq!(complaints(&[("README.md", "# One\n[a](#two)\n")]), ["README.md:2"]);
        assert_eq!(complaints(&[("README.md", "# One\n# One\n[a](#one-1)\n")]), [""; 0]);
        assert_eq!(complaints(&[("README.md", "```\n# One\n```\n[a](#one)\n")]), ["README.md:4"]);
    }

    #[test]
    fn code_holds_no_links() {
        assert_eq!(complaints(&[("README.md", "`[a](b.md)`\n```\n[a](b.md)\n```\n")]), [""; 0]);
    }

    #[test]
    fn a_document_that_only_links_to_itself_is_found() {
        assert_eq!(
            complaints(&[("README.md", ""), ("docs/a.md", "# A\n[a](#a) [b](a.md)\n")]),
            ["docs/a.md:1"]
        );
        assert_eq!(complaints(&[("README.md", "[a](docs/a.md)"), ("docs/a.md", "")]), [""; 0]);
    }
}
