//! What do figures of the user's own show? The answers to their queries, which become statistics beside those of the
//! analysis. A file that is wrong is told before anything is analysed: its query is planned with tables that have no rows.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use report::{OwnFigure, Side};
use sql::{Answer, Engine, EngineSettings, Query, Table, open_tables, tables_without_rows};
use store::{Statistic, Value};

use super::own_files;
use crate::commands::sql::asking::{Stop, end_at_signals, with_engine};
use crate::failure::WrongUse;

/// The longest file.
const FILE_LIMIT_BYTES: u64 = 64 << 10;
/// The most rows of an answer, and the most text in them: all of it is in memory, and much of it in the page.
const MOST_ROWS: usize = 10_000;
const MOST_TEXT_BYTES: usize = 4 << 20;
/// What planning takes.
const PLAN_MEMORY_BYTES: u64 = 64 << 20;

/// A figure that can be asked for.
pub(super) struct Own {
    path: PathBuf,
    figure: OwnFigure,
    query: Query,
}

/// The figures of a collection, all of which can be drawn.
pub(super) fn read(collection: &Path) -> anyhow::Result<Vec<Own>> {
    let files = own_files::find(collection)?;
    let own = files.into_iter().map(Own::read).collect::<anyhow::Result<Vec<Own>>>()?;
    if own.is_empty() {
        return Ok(own);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start a runtime")?;
    runtime.block_on(async {
        // Nothing is put aside while a query is planned.
        let spill_folder = std::env::temp_dir();
        let settings = EngineSettings { memory_bytes: PLAN_MEMORY_BYTES, cores: 1, spill_folder };
        let engine = Engine::open(collection, tables_without_rows(), settings).await?;
        for own in &own {
            let answer = engine.ask(&own.query).await.with_context(|| own.wrong())?;
            own.check(&answer)?;
        }
        Ok(own)
    })
}

/// Adds the answers to each side that has its folder's tables; nothing if it was stopped.
pub(super) fn answer(
    own: Vec<Own>,
    folders: &[Option<PathBuf>],
    mut sides: Vec<Side>,
) -> anyhow::Result<Option<(Vec<Side>, Vec<OwnFigure>)>> {
    if own.is_empty() {
        return Ok(Some((sides, Vec::new())));
    }
    let mut not_asked = Vec::new();
    for (folder, side) in folders.iter().zip(&mut sides) {
        match folder {
            None => not_asked.push(format!("{} is a snapshot and cannot be asked.", side.name)),
            Some(folder) => {
                let tables = all_tables(folder)?;
                let asked = with_engine(folder, tables, async |engine, stop| ask(&own, &engine, stop).await)?;
                let Some(statistics) = asked else { return Ok(None) };
                side.statistics.extend(statistics);
            }
        }
    }
    end_at_signals()?;
    let with_caption = |mut own: Own| {
        own.figure.figure.caption.extend(not_asked.iter().cloned());
        own.figure
    };
    let own = own.into_iter().map(with_caption).collect();
    Ok(Some((sides, own)))
}

/// The tables there are, and those that have no rows because there was nothing to analyse.
fn all_tables(folder: &Path) -> sql::Result<Vec<Table>> {
    let mut tables = open_tables(folder)?;
    for table in tables_without_rows() {
        if !tables.iter().any(|known| known.name == table.name) {
            tables.push(table);
        }
    }
    Ok(tables)
}

async fn ask(own: &[Own], engine: &Engine, mut stop: Stop) -> anyhow::Result<Option<Vec<Statistic>>> {
    let mut statistics = Vec::new();
    for own in own {
        let Some(statistic) = stop.or(own.statistic(engine)).await else { return Ok(None) };
        statistics.push(statistic?);
    }
    Ok(Some(statistics))
}

impl Own {
    fn read(path: PathBuf) -> anyhow::Result<Own> {
        let wrong = |reason: String| WrongUse(format!("{}: {reason}", path.display()));
        // Whoever opens a pipe may wait forever.
        if !path.is_file() {
            return Err(wrong("this is no file".to_owned()).into());
        }
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(FILE_LIMIT_BYTES + 1).read_to_end(&mut bytes));
        read.with_context(|| format!("cannot read {}", path.display()))?;
        if bytes.len() as u64 > FILE_LIMIT_BYTES {
            return Err(wrong(format!("it is longer than {FILE_LIMIT_BYTES} bytes")).into());
        }
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not in UTF-8".to_owned()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let figure = OwnFigure::parse(&name, &text).map_err(|error| wrong(error.to_string()))?;
        // With the comments, so that errors name the line of the file.
        let mut queries = Query::read_all(&text).with_context(|| path.display().to_string())?;
        match (queries.pop(), queries.len()) {
            (Some(query), 0) => Ok(Own { path, figure, query }),
            (_, others) => Err(wrong(format!("it has {} queries; a figure has one", others + 1)).into()),
        }
    }

    /// What comes before the reason when the query cannot be answered.
    fn wrong(&self) -> String {
        self.path.display().to_string()
    }

    fn check(&self, answer: &Answer) -> Result<(), WrongUse> {
        let columns: Vec<&str> = answer.columns().iter().map(|column| column.name.as_str()).collect();
        self.figure
            .check_columns(&columns)
            .map_err(|error| WrongUse(format!("{}: {error}", self.path.display())))
    }

    async fn statistic(&self, engine: &Engine) -> anyhow::Result<Statistic> {
        let mut answer = engine.ask(&self.query).await.with_context(|| self.wrong())?;
        self.check(&answer)?;
        let columns = answer.columns().to_vec();
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let mut text_bytes = 0;
        while let Some(some) = answer.next().await.with_context(|| self.wrong())? {
            self.limit(rows.len() + some.count() > MOST_ROWS, "10,000 rows")?;
            for cells in some.cells().with_context(|| self.wrong())? {
                text_bytes += cells.iter().flatten().map(String::len).sum::<usize>();
                self.limit(text_bytes > MOST_TEXT_BYTES, "4 MiB")?;
                let values =
                    cells.into_iter().zip(&columns).map(|(cell, column)| value(cell, column.is_number));
                rows.push(values.collect());
            }
        }
        let columns = columns.into_iter().map(|column| column.name).collect();
        Ok(Statistic { name: self.figure.figure.statistic.clone(), columns, rows, ..Statistic::default() })
    }

    fn limit(&self, is_beyond: bool, limit: &str) -> Result<(), WrongUse> {
        if !is_beyond {
            return Ok(());
        }
        let path = self.path.display();
        Err(WrongUse(format!(
            "{path}: its query gives more than {limit}; a `limit` at its end takes the first"
        )))
    }
}

/// What a cell says; a number that is none or beyond all bounds is nothing.
fn value(cell: Option<String>, is_number: bool) -> Value {
    let Some(text) = cell else { return Value::Null };
    if !is_number {
        return Value::Text(text);
    }
    let number = || text.parse().ok().filter(|number: &f64| number.is_finite());
    text.parse().map(Value::Integer).ok().or_else(|| number().map(Value::Number)).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_sql_become_values() {
        let of = |text: &str, is_number| value(Some(text.to_owned()), is_number);
        assert_eq!(of("-7", true), Value::Integer(-7));
        assert_eq!(of("2.0", true), Value::Number(2.0));
        assert_eq!(of("18446744073709551615", true), Value::Number(18_446_744_073_709_551_615.0));
        assert_eq!(of("12", false), Value::Text("12".to_owned()));
        for nothing in [of("NaN", true), of("inf", true), value(None, true), value(None, false)] {
            assert_eq!(nothing, Value::Null);
        }
    }
}
