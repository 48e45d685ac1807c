//! Are statistics what the SQL of docs/statistics.md finds in the tables? DuckDB is asked.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::told;
use crate::venv::{run, venv};

#[test]
fn statistics_are_what_duckdb_finds_in_the_tables() {
    let Some(bin) = venv() else { return };
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for arguments in [&["demo", "DIR/c", "--pages", "1500", "--sites", "80"][..], &["analyze", "DIR/c"]] {
        let (code, _, err) = told(dir, arguments);
        assert_eq!(code, 0, "{err}");
    }
    let (_, statistics) = store::read_statistics(&dir.join("c")).unwrap().unwrap();
    let described = analysis::describe_statistics();
    let answer = |(statistic, known): (&store::Statistic, &analysis::Description)| {
        assert_eq!(statistic.name, known.name);
        let object = |row: &Vec<store::Value>| {
            let cells = row.iter().map(|cell| serde_json::to_value(cell).unwrap());
            Value::Object(statistic.columns.iter().cloned().zip(cells).collect::<Map<_, _>>())
        };
        let rows: Vec<Value> = statistic.rows.iter().map(object).collect();
        json!({"question": known.name, "query": known.sql, "rows": rows})
    };
    let answers: Vec<Value> = statistics.iter().zip(&described).map(answer).collect();
    // What a crawl of a synthetic Web that goes once over its pages must have.
    let some = statistics.iter().filter(|statistic| !statistic.rows.is_empty()).count();
    assert!(some + 5 >= described.len(), "{some} of {} have rows", described.len());
    let file = dir.join("answers.json");
    std::fs::write(&file, json!({"folder": dir.join("c"), "answers": answers}).to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/ask_duckdb.py");
    let said = run(Command::new(bin.join("python")).arg(script).arg(file));
    assert_eq!(said, format!("{} answers are the same\n", described.len()));
}
