//! Dependencies between the crates: what each crate may use, and what it must never do.
//!
//! Edges point down: pure crates, then I/O, then flows, then the applications. Flows do not import each other; the
//! results of one reach the next as files beside the snapshot. `cluster` implements the transport of `harvest`.

use crate::finding::Finding;
use crate::manifest::{self, Dependency, Package};
use crate::tree::Tree;

/// One crate, the crates of this repository it may depend on, and what it must never do.
struct Row {
    name: &'static str,
    may_use: &'static [&'static str],
    must_never: &'static str,
}

const fn row(name: &'static str, may_use: &'static [&'static str], must_never: &'static str) -> Row {
    Row { name, may_use, must_never }
}

const ANY: &[&str] = &[
    "model", "parse", "frontier", "fetch", "warc", "store", "harvest", "crawl", "inspect", "analysis",
    "report", "search", "stream", "web", "simweb", "plot", "simulate", "sql", "cluster",
];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // pure
    row("model", &[], "do I/O or read a clock"),
    row("parse", &["model"], "fail or panic on input"),
    row("frontier", &["model"], "touch a socket, the disk or a clock"),
    // I/O
    row("fetch", &["model"], "schedule, retry or store"),
    row("warc", &["model"], "know a collection"),
    row("store", &["model", "warc"], "know HTML, or HTTP beyond stored heads"),
    // flows
    row("harvest", &["model", "parse", "frontier", "fetch", "warc"], "open a collection"),
    row("crawl", &["model", "parse", "frontier", "store", "warc", "harvest"], "open a socket"),
    row("inspect", &["model", "parse", "frontier", "store", "harvest", "crawl"], "write to a collection"),
    row("cluster", &["harvest"], "know what a message says or what a page is"),
    row("analysis", &["model", "parse", "store", "warc"], "see a live collection"),
    row("report", &["model", "parse", "store", "warc", "plot"], "compute a statistic"),
    row("search", &["model", "parse", "store", "warc"], "see a live collection"),
    row("stream", &["model", "parse", "store", "warc"], "buffer beyond one block"),
    row("sql", &["store"], "change anything"),
    // applications
    row("web", &["model", "parse", "frontier", "fetch", "store", "harvest", "crawl", "inspect", "analysis", "report", "search", "stream"],
        "hold logic that others need"),
    row("weir", ANY, "hold reusable logic"),
    // beside them
    row("plot", &[], "compute a statistic"),
    row("simulate", &["model", "frontier", "store", "simweb"], "touch the network"),
    row("simweb", &[], "be needed by the product, except by its demonstration and its simulator"),
    row("testkit", &["model", "search", "store", "warc"], "be part of the product"),
    row("bench", ANY, "be part of the product"),
    row("fuzz", ANY, "be part of the product"),
    row("spider-peer", &[], "use anything of ours"),
    row("xtask", &[], "change the tree"),
];

/// Crates that the tests of any crate may use.
const TESTS_MAY_USE: &[&str] = &["simweb", "testkit"];
/// Edges of tests only: crawls in tests configure the HTTP client, and one compares the freshness of a crawl with the simulator.
const TEST_EDGES: &[(&str, &str)] = &[("crawl", "fetch"), ("crawl", "simulate")];

/// Finds dependencies that the table does not allow, and crates that it does not list.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let packages = manifest::packages(tree);
    let ours: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    packages.iter().flat_map(|package| check_package(package, &ours)).collect()
}

fn check_package(package: &Package, ours: &[&str]) -> Vec<Finding> {
    let path = package.manifest_path();
    let Some(row) = ROWS.iter().find(|row| row.name == package.name) else {
        let what = format!("`{}` has no row in the table of crates", package.name);
        return vec![Finding::new(
            &path,
            1,
            what,
            "add one to xtask/src/edges.rs that says what it must never do",
        )];
    };
    let ours = |dependency: &&Dependency| ours.contains(&dependency.name.as_str());
    let allowed = |dependency: &&Dependency| row.may_use.contains(&dependency.name.as_str());
    let product = package.dependencies.iter().filter(|dependency| ours(dependency) && !allowed(dependency));
    let tests = package.dev_dependencies.iter().filter(|dependency| {
        ours(dependency)
            && !allowed(dependency)
            && !TESTS_MAY_USE.contains(&dependency.name.as_str())
            && !TEST_EDGES.contains(&(row.name, dependency.name.as_str()))
            && dependency.name != row.name
    });
    product.chain(tests).map(|dependency| forbidden_edge(&path, row, dependency)).collect()
}

fn forbidden_edge(path: &str, row: &Row, dependency: &Dependency) -> Finding {
    let Row { name, may_use, must_never } = row;
    let what = format!("`{name}` depends on `{}`, but it must never {must_never}", dependency.name);
    let remedy = match may_use {
        [] => "it may use no other crate of ours".to_owned(),
        may_use => format!("it may use only {}", may_use.join(", ")),
    };
    Finding::new(path, dependency.line, what, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with an empty crate for every row, and one more manifest.
    fn tree_with(name: &str, sections: &str) -> Tree {
        let manifest = |name: &str| format!("[package]\nname = \"{name}\"\n");
        let mut files: Vec<(String, String)> =
            ROWS.iter().map(|row| (format!("crates/{}/Cargo.toml", row.name), manifest(row.name))).collect();
        files.retain(|(path, _)| *path != format!("crates/{name}/Cargo.toml"));
        files.push((format!("crates/{name}/Cargo.toml"), manifest(name) + sections));
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        Tree::of(&files)
    }

    #[test]
    fn edges_that_point_down_are_accepted() {
        let sections = "[dependencies]\nmodel.workspace = true\nserde.workspace = true\n";
        assert_eq!(check(&tree_with("parse", sections)), []);
    }

    #[test]
    fn an_edge_that_points_up_is_found_with_its_line() {
        let findings = check(&tree_with("model", "[dependencies]\nserde = \"1\"\nparse.workspace = true\n"));
        assert_eq!((findings.len(), findings[0].line), (1, 5));
        assert!(findings[0].what.contains("must never do I/O"), "{}", findings[0]);
    }

    #[test]
    fn flows_do_not_import_each_other() {
        assert_eq!(check(&tree_with("search", "[dependencies]\nanalysis.workspace = true\n")).len(), 1);
    }

    #[test]
    fn only_tests_and_applications_may_use_the_synthetic_web() {
        assert_eq!(check(&tree_with("crawl", "[dev-dependencies]\nsimweb.workspace = true\n")), []);
        assert_eq!(check(&tree_with("weir", "[dependencies]\nsimweb.workspace = true\n")), []);
        assert_eq!(check(&tree_with("crawl", "[dependencies]\nsimweb.workspace = true\n")).len(), 1);
        assert_eq!(check(&tree_with("web", "[dependencies]\nsimweb.workspace = true\n")).len(), 1);
    }

    #[test]
    fn only_tests_of_the_crawl_may_use_the_simulator() {
        assert_eq!(check(&tree_with("crawl", "[dev-dependencies]\nsimulate.workspace = true\n")), []);
        assert_eq!(check(&tree_with("crawl", "[dependencies]\nsimulate.workspace = true\n")).len(), 1);
        assert_eq!(check(&tree_with("search", "[dev-dependencies]\nsimulate.workspace = true\n")).len(), 1);
    }

    #[test]
    fn tests_may_not_turn_an_edge_around() {
        assert_eq!(check(&tree_with("model", "[dev-dependencies]\nstore.workspace = true\n")).len(), 1);
    }

    #[test]
    fn an_unknown_crate_must_say_what_it_never_does() {
        let findings = check(&tree_with("common", ""));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].remedy.contains("must never"), "{}", findings[0]);
    }
}
