//! How do answers come to the screen? As a table for people, as JSON or as CSV, until all are told or Ctrl-C.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use sql::{Answer, Engine, Query, Table};

use super::asking::{Stop, with_engine};
use super::grid::Grid;
use crate::printer::{Printer, printable};
use crate::process;
use crate::steering::INTERRUPTED;
use crate::words::counted;

pub(super) fn run(
    folder: &Path,
    tables: Vec<Table>,
    text: &str,
    csv: bool,
    printer: &mut Printer,
) -> anyhow::Result<ExitCode> {
    let queries = Query::read_all(text)?;
    let told = with_engine(folder, tables, async |engine, stop| {
        let mut session = Session { engine, form: Form::of(csv, printer), stop };
        session.tell(queries, printer).await
    })?;
    let code = if told.is_some() { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) };
    Ok(code)
}

/// How rows are written.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Csv,
    /// Cut to so many columns of the terminal, if there is one.
    Table(Option<usize>),
}

impl Form {
    fn of(csv: bool, printer: &Printer) -> Form {
        match (printer.json(), csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ if io::stdout().is_terminal() => Form::Table(process::terminal_columns(io::stdout())),
            _ => Form::Table(None),
        }
    }
}

struct Session {
    engine: Engine,
    form: Form,
    stop: Stop,
}

impl Session {
    /// Answers all queries; nothing if it was stopped.
    async fn tell(&mut self, queries: Vec<Query>, printer: &mut Printer) -> anyhow::Result<Option<()>> {
        for (number, query) in queries.into_iter().enumerate() {
            if number > 0 && !matches!(self.form, Form::Json) {
                printer.line("")?;
            }
            let begun = Instant::now();
            let Some(answer) = self.stop.or(self.engine.ask(&query)).await else { return Ok(None) };
            let Some(rows) = self.tell_one(answer?, printer).await? else { return Ok(None) };
            printer.finish()?;
            if matches!(self.form, Form::Table(_)) {
                let seconds = begun.elapsed().as_secs_f64();
                writeln!(io::stderr(), "{}, {seconds:.2} s", counted(rows, "row"))?;
            }
        }
        Ok(Some(()))
    }

    /// Tells how many rows the answer had.
    async fn tell_one(&mut self, mut answer: Answer, printer: &mut Printer) -> anyhow::Result<Option<u64>> {
        let mut grid = match self.form {
            Form::Table(columns) => Some(Grid::new(answer.columns(), columns)),
            Form::Csv => {
                let names = answer.columns().iter().map(|column| csv_value(&column.name));
                printer.line(&names.collect::<Vec<_>>().join(","))?;
                None
            }
            Form::Json => None,
        };
        let mut count = 0;
        loop {
            let Some(rows) = self.stop.or(answer.next()).await else { return Ok(None) };
            let Some(rows) = rows? else { break };
            count += rows.count() as u64;
            match (&mut grid, self.form) {
                (Some(grid), _) => grid.add(rows.cells()?, printer)?,
                (None, Form::Csv) => printer.text(&rows.csv()?)?,
                (None, _) => printer.text(&rows.json()?)?,
            }
        }
        if let Some(grid) = &mut grid {
            grid.finish(printer)?;
        }
        Ok(Some(count))
    }
}

/// A name as CSV has it: in quotes where it has something that would end it.
fn csv_value(name: &str) -> String {
    let name = printable(name);
    if name.contains(['"', ',', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.into_owned()
    }
}
