//! Execution of queries and output of their results as text table, JSON or CSV.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use model::csv_field;
use sql::{Engine, Query, QueryResult, Table};

use super::engine_session::with_engine;
use super::text_table::TextTable;
use crate::exit::INTERRUPTED;
use crate::human::plural;
use crate::output::Printer;
use crate::signals::ShutdownSignal;
use crate::system;

pub(crate) fn run(
    dir: &Path,
    memory_bytes: u64,
    tables: Vec<Table>,
    text: &str,
    csv: bool,
    printer: &mut Printer,
) -> anyhow::Result<ExitCode> {
    let queries = Query::parse_all(text)?;
    let finished = with_engine(dir, memory_bytes, tables, async |engine, signal| {
        let mut session = QuerySession { engine, format: RowFormat::choose(csv, printer), signal };
        session.run_all(queries, printer).await
    })?;
    let code = if finished.is_some() { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) };
    Ok(code)
}

/// Output format of rows.
#[derive(Clone, Copy)]
enum RowFormat {
    Json,
    Csv,
    /// Text table, truncated to the width of the terminal if there is one.
    Table(Option<usize>),
}

impl RowFormat {
    fn choose(csv: bool, printer: &Printer) -> RowFormat {
        match (printer.json(), csv) {
            (true, _) => RowFormat::Json,
            (_, true) => RowFormat::Csv,
            _ if io::stdout().is_terminal() => RowFormat::Table(system::terminal_columns(io::stdout())),
            _ => RowFormat::Table(None),
        }
    }
}

struct QuerySession {
    engine: Engine,
    format: RowFormat,
    signal: ShutdownSignal,
}

impl QuerySession {
    /// Runs all queries. Returns `None` if a signal arrives.
    async fn run_all(&mut self, queries: Vec<Query>, printer: &mut Printer) -> anyhow::Result<Option<()>> {
        for (index, query) in queries.into_iter().enumerate() {
            if index > 0 && !matches!(self.format, RowFormat::Json) {
                printer.line("")?;
            }
            let start = Instant::now();
            let Some(result) = self.signal.or(self.engine.run(&query)).await else { return Ok(None) };
            let Some(rows) = self.print_rows(result?, printer).await? else { return Ok(None) };
            printer.finish()?;
            if matches!(self.format, RowFormat::Table(_)) {
                let seconds = start.elapsed().as_secs_f64();
                writeln!(io::stderr(), "{}, {seconds:.2} s", plural(rows, "row"))?;
            }
        }
        Ok(Some(()))
    }

    /// Prints the rows of a result. Returns their number, or `None` if a signal arrives.
    async fn print_rows(
        &mut self,
        mut result: QueryResult,
        printer: &mut Printer,
    ) -> anyhow::Result<Option<u64>> {
        let mut table = match self.format {
            RowFormat::Table(columns) => Some(TextTable::new(result.columns(), columns)),
            RowFormat::Csv => {
                let names: Vec<String> =
                    result.columns().iter().map(|column| csv_field(&column.name).into_owned()).collect();
                printer.text(&format!("{}\n", names.join(",")))?;
                None
            }
            RowFormat::Json => None,
        };
        let mut count = 0;
        loop {
            let Some(rows) = self.signal.or(result.next()).await else { return Ok(None) };
            let Some(rows) = rows? else { break };
            count += rows.count() as u64;
            match (&mut table, self.format) {
                (Some(table), _) => table.add(rows.cells()?, printer)?,
                (None, RowFormat::Csv) => printer.text(&csv_lines(&rows.cells()?))?,
                (None, _) => printer.json_text(&rows.json()?)?,
            }
        }
        if let Some(table) = &mut table {
            table.finish(printer)?;
        }
        Ok(Some(count))
    }
}

/// Rows as comma-separated values; null is empty.
fn csv_lines(rows: &[Vec<Option<String>>]) -> String {
    let line = |row: &Vec<Option<String>>| {
        let fields: Vec<Cow<'_, str>> =
            row.iter().map(|cell| csv_field(cell.as_deref().unwrap_or_default())).collect();
        // An empty line would be no row.
        let is_blank = fields.len() == 1 && fields[0].is_empty();
        if is_blank { "\"\"\n".to_owned() } else { fields.join(",") + "\n" }
    };
    rows.iter().map(line).collect()
}
