//! Custom figures: their queries are run, and the results become statistics next to those of the analysis.
//!
//! Invalid files are reported before the analysis: their queries are planned with empty tables.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use report::{CustomFigure, ReportInput};
use sql::{Engine, EngineSettings, Query, QueryResult, Table, empty_tables, open_tables};
use store::{Statistic, StatisticValue};

use super::custom_figure_files;
use crate::commands::query::sql::engine_session::with_engine;
use crate::exit::UsageError;
use crate::settings::SetArgs;
use crate::signals::{ShutdownSignal, exit_on_signal};

/// Maximum size of a file.
const MAX_FILE_BYTES: u64 = 64 << 10;
/// Maximum number of rows of a result, which is held in memory and partly written into the page.
const MAX_ROWS: usize = 10_000;
/// Maximum size of the text in a result.
const MAX_TEXT_BYTES: usize = 4 << 20;
/// Memory limit of planning.
const PLAN_MEMORY_BYTES: u64 = 64 << 20;

/// Figure with its query.
pub(crate) struct CustomQuery {
    path: PathBuf,
    figure: CustomFigure,
    query: Query,
}

/// Reads and checks the custom figures of a collection.
pub(crate) fn read(collection: &Path) -> anyhow::Result<Vec<CustomQuery>> {
    let files = custom_figure_files::find(collection)?;
    let custom = files.into_iter().map(CustomQuery::read).collect::<anyhow::Result<Vec<CustomQuery>>>()?;
    if custom.is_empty() {
        return Ok(custom);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start a runtime")?;
    runtime.block_on(async {
        // Planning never spills to disk.
        let spill_dir = std::env::temp_dir();
        let settings = EngineSettings { memory_bytes: PLAN_MEMORY_BYTES, threads: 1, spill_dir };
        let engine = Engine::open(collection, empty_tables(), settings).await?;
        for custom in &custom {
            let result = engine.run(&custom.query).await.with_context(|| custom.error_context())?;
            custom.check(&result)?;
        }
        Ok(custom)
    })
}

/// Runs the queries and adds the results to each input that has tables. Returns `None` if a signal arrives.
pub(crate) fn run(
    custom: Vec<CustomQuery>,
    table_dirs: &[Option<PathBuf>],
    set: &SetArgs,
    mut inputs: Vec<ReportInput>,
) -> anyhow::Result<Option<(Vec<ReportInput>, Vec<CustomFigure>)>> {
    if custom.is_empty() {
        return Ok(Some((inputs, Vec::new())));
    }
    let mut notes = Vec::new();
    for (dir, input) in table_dirs.iter().zip(&mut inputs) {
        match dir {
            None => notes.push(format!("{} is a snapshot, which cannot be queried.", input.name)),
            Some(dir) => {
                let tables = all_tables(dir)?;
                let memory_bytes = set.load(dir)?.memory.analysis.0;
                let run = async |engine, stop| run_all(&custom, &engine, stop).await;
                let statistics = with_engine(dir, memory_bytes, tables, run)?;
                let Some(statistics) = statistics else { return Ok(None) };
                input.statistics.extend(statistics);
            }
        }
    }
    exit_on_signal()?;
    let with_caption = |mut custom: CustomQuery| {
        custom.figure.figure.caption.extend(notes.iter().cloned());
        custom.figure
    };
    let figures = custom.into_iter().map(with_caption).collect();
    Ok(Some((inputs, figures)))
}

/// Existing tables, and empty ones for those that the analysis did not write because there was nothing to analyse.
fn all_tables(dir: &Path) -> sql::Result<Vec<Table>> {
    let mut tables = open_tables(dir)?;
    for table in empty_tables() {
        if !tables.iter().any(|known| known.name == table.name) {
            tables.push(table);
        }
    }
    Ok(tables)
}

async fn run_all(
    custom: &[CustomQuery],
    engine: &Engine,
    mut signal: ShutdownSignal,
) -> anyhow::Result<Option<Vec<Statistic>>> {
    let mut statistics = Vec::new();
    for custom in custom {
        let Some(statistic) = signal.or(custom.statistic(engine)).await else { return Ok(None) };
        statistics.push(statistic?);
    }
    Ok(Some(statistics))
}

impl CustomQuery {
    fn read(path: PathBuf) -> anyhow::Result<CustomQuery> {
        let invalid = |reason: String| UsageError(format!("{}: {reason}", path.display()));
        // Opening a named pipe could block forever.
        if !path.is_file() {
            return Err(invalid("not a regular file".to_owned()).into());
        }
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        read.with_context(|| format!("cannot read {}", path.display()))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(invalid(format!("larger than {MAX_FILE_BYTES} bytes")).into());
        }
        let text = String::from_utf8(bytes).map_err(|_| invalid("not UTF-8".to_owned()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let figure = CustomFigure::parse(&name, &text).map_err(|error| invalid(error.to_string()))?;
        // The text includes the comments, so that errors have the line numbers of the file.
        let mut queries = Query::parse_all(&text).with_context(|| path.display().to_string())?;
        match (queries.pop(), queries.len()) {
            (Some(query), 0) => Ok(CustomQuery { path, figure, query }),
            (_, others) => Err(invalid(format!("{} queries; a figure needs exactly one", others + 1)).into()),
        }
    }

    /// Context of an error of the query.
    fn error_context(&self) -> String {
        self.path.display().to_string()
    }

    fn check(&self, result: &QueryResult) -> Result<(), UsageError> {
        let columns: Vec<&str> = result.columns().iter().map(|column| column.name.as_str()).collect();
        self.figure
            .check_columns(&columns)
            .map_err(|error| UsageError(format!("{}: {error}", self.path.display())))
    }

    async fn statistic(&self, engine: &Engine) -> anyhow::Result<Statistic> {
        let mut result = engine.run(&self.query).await.with_context(|| self.error_context())?;
        self.check(&result)?;
        let columns = result.columns().to_vec();
        let mut rows: Vec<Vec<StatisticValue>> = Vec::new();
        let mut text_bytes = 0;
        while let Some(batch) = result.next().await.with_context(|| self.error_context())? {
            self.check_limit(rows.len() + batch.count() > MAX_ROWS, "10,000 rows")?;
            for cells in batch.cells().with_context(|| self.error_context())? {
                text_bytes += cells.iter().flatten().map(String::len).sum::<usize>();
                self.check_limit(text_bytes > MAX_TEXT_BYTES, "4 MiB")?;
                let values =
                    cells.into_iter().zip(&columns).map(|(cell, column)| value(cell, column.is_number));
                rows.push(values.collect());
            }
        }
        let columns = columns.into_iter().map(|column| column.name).collect();
        Ok(Statistic { name: self.figure.figure.statistic.clone(), columns, rows, ..Statistic::default() })
    }

    fn check_limit(&self, is_exceeded: bool, limit: &str) -> Result<(), UsageError> {
        if !is_exceeded {
            return Ok(());
        }
        let path = self.path.display();
        Err(UsageError(format!("{path}: the result of the query exceeds {limit}; add a `limit` clause")))
    }
}

/// Converts a cell; a number that is not finite becomes null.
fn value(cell: Option<String>, is_number: bool) -> StatisticValue {
    let Some(text) = cell else { return StatisticValue::Null };
    if !is_number {
        return StatisticValue::Text(text);
    }
    let number = || text.parse().ok().filter(|number: &f64| number.is_finite());
    text.parse()
        .map(StatisticValue::Integer)
        .ok()
        .or_else(|| number().map(StatisticValue::Number))
        .unwrap_or(StatisticValue::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_sql_become_values() {
        let of = |text: &str, is_number| value(Some(text.to_owned()), is_number);
        assert_eq!(of("-7", true), StatisticValue::Integer(-7));
        assert_eq!(of("2.0", true), StatisticValue::Number(2.0));
        assert_eq!(of("18446744073709551615", true), StatisticValue::Number(18_446_744_073_709_551_615.0));
        assert_eq!(of("12", false), StatisticValue::Text("12".to_owned()));
        for nothing in [of("NaN", true), of("inf", true), value(None, true), value(None, false)] {
            assert_eq!(nothing, StatisticValue::Null);
        }
    }
}
