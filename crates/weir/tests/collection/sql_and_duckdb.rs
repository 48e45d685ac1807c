//! The queries of docs/sql.md give the same results in `weir sql` and in DuckDB.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{objects, run_text};
use crate::venv::{run, venv};

/// Queries without rows, since the crawl of the test fetches every page once.
const MAY_BE_EMPTY: &[&str] = &["Pages that change most"];
const QUERIES: usize = 15;

/// Queries of the document, each with its heading.
fn queries() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("\n**").skip(1).filter_map(|block| {
        let (title, rest) = block.split_once("**")?;
        let (_, query) = rest.split_once("```sql\n")?;
        Some((title.to_owned(), query.split("```").next()?.to_owned()))
    });
    blocks.collect()
}

#[test]
fn sql_queries_of_the_document_give_the_results_of_duckdb() {
    let Some(bin) = venv() else { return };
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let (code, _, err) = run_text(dir, &["demo", "DIR/c", "--pages", "1000", "--sites", "60"]);
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = run_text(dir, &["analyze", "DIR/c"]);
    assert_eq!(code, 0, "{err}");

    let queries = queries();
    assert_eq!(queries.len(), QUERIES);
    let mut results = Vec::new();
    for (title, query) in &queries {
        let rows = objects(dir, &["sql", "DIR/c", query]);
        assert!(!rows.is_empty() || MAY_BE_EMPTY.contains(&title.as_str()), "no rows of: {title}");
        results.push(json!({"title": title, "query": query, "rows": rows}));
    }
    let results = json!({"collection": dir.join("c"), "results": results}).to_string();
    let file = dir.join("results.json");
    std::fs::write(&file, results).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/compare_with_duckdb.py");
    let output = run(Command::new(bin.join("python")).arg(script).arg(file));
    assert_eq!(output, format!("{QUERIES} results are the same\n"));
}
