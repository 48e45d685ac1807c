//! Do the queries of docs/sql.md run, and does DuckDB answer the same?

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{objects, told};
use crate::venv::{run, venv};

/// The crawl of the test visits every page once.
const MAY_BE_EMPTY: &[&str] = &["Which pages change most?"];
const QUERIES: usize = 15;

/// The queries of the document, each with the question before it.
fn queries() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("\n**").skip(1).filter_map(|block| {
        let (question, rest) = block.split_once("**")?;
        let (_, query) = rest.split_once("```sql\n")?;
        Some((question.to_owned(), query.split("```").next()?.to_owned()))
    });
    blocks.collect()
}

#[test]
fn sql_documented_is_answered_as_duckdb_answers_it() {
    let Some(bin) = venv() else { return };
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let (code, _, err) = told(dir, &["demo", "DIR/c", "--pages", "1000", "--sites", "60"]);
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = told(dir, &["analyze", "DIR/c"]);
    assert_eq!(code, 0, "{err}");

    let queries = queries();
    assert_eq!(queries.len(), QUERIES);
    let mut answers = Vec::new();
    for (question, query) in &queries {
        let rows = objects(dir, &["sql", "DIR/c", query]);
        assert!(!rows.is_empty() || MAY_BE_EMPTY.contains(&question.as_str()), "no answer to: {question}");
        answers.push(json!({"question": question, "query": query, "rows": rows}));
    }
    let answers = json!({"folder": dir.join("c"), "answers": answers}).to_string();
    let file = dir.join("answers.json");
    std::fs::write(&file, answers).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/ask_duckdb.py");
    let said = run(Command::new(bin.join("python")).arg(script).arg(file));
    assert_eq!(said, format!("{QUERIES} answers are the same\n"));
}
