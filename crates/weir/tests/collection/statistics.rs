//! Statistics equal the results of the SQL of docs/statistics.md in DuckDB.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::run_text;
use crate::venv::{run, venv};

#[test]
fn statistics_equal_the_results_of_duckdb() {
    let Some(bin) = venv() else { return };
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    for arguments in [&["demo", "DIR/c", "--pages", "1500", "--sites", "80"][..], &["analyze", "DIR/c"]] {
        let (code, _, err) = run_text(dir, arguments);
        assert_eq!(code, 0, "{err}");
    }
    let (_, statistics) = store::read_statistics(&dir.join("c")).unwrap().unwrap();
    let described = analysis::describe_statistics();
    let result = |(statistic, known): (&store::Statistic, &analysis::Description)| {
        assert_eq!(statistic.name, known.name);
        let object = |row: &Vec<store::StatisticValue>| {
            let cells = row.iter().map(|cell| serde_json::to_value(cell).unwrap());
            Value::Object(statistic.columns.iter().cloned().zip(cells).collect::<Map<_, _>>())
        };
        let rows: Vec<Value> = statistic.rows.iter().map(object).collect();
        json!({"title": known.name, "query": known.sql, "rows": rows})
    };
    let results: Vec<Value> = statistics.iter().zip(&described).map(result).collect();
    // A single crawl of a synthetic Web has rows for all but a few statistics.
    let some = statistics.iter().filter(|statistic| !statistic.rows.is_empty()).count();
    assert!(some + 5 >= described.len(), "{some} of {} have rows", described.len());
    let file = dir.join("results.json");
    std::fs::write(&file, json!({"collection": dir.join("c"), "results": results}).to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/compare_with_duckdb.py");
    let output = run(Command::new(bin.join("python")).arg(script).arg(file));
    assert_eq!(output, format!("{} results are the same\n", described.len()));
}
