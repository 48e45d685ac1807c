//! How do answers come to the screen? As a table for people, as JSON or as CSV, until all are told or Ctrl-C.

use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use sql::{Answer, Engine, EngineSettings, Query, Table};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::grid::Grid;
use crate::printer::{Printer, printable};
use crate::process;
use crate::settings::Settings;
use crate::steering::INTERRUPTED;
use crate::words::counted;

/// How long a thread may go on that is at work when all is told, or when it is stopped.
const LONGEST_END: Duration = Duration::from_secs(5);

pub(super) fn run(
    folder: &Path,
    tables: Vec<Table>,
    text: &str,
    csv: bool,
    printer: &mut Printer,
) -> anyhow::Result<ExitCode> {
    let queries = Query::read_all(text)?;
    let memory_bytes = Settings::load(folder)?.memory.analysis.0;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let spill = tempfile::Builder::new().prefix("weir-sql-").tempdir();
    let spill = spill.context("cannot make a folder for what does not fit into memory")?;
    let runtime = Runtime::new().context("cannot start a runtime")?;
    let session = runtime.block_on(async {
        let mut stop = Stop::listen().context("cannot listen to signals")?;
        let settings = EngineSettings { memory_bytes, cores, spill_folder: spill.path().to_owned() };
        let Some(engine) = stop.or(Engine::open(folder, tables, settings)).await else { return Ok(None) };
        let mut session = Session { engine: engine?, form: Form::of(csv, printer), stop };
        session.tell(queries, printer).await
    });
    // Who still writes must not do so in a folder that is gone.
    runtime.shutdown_timeout(LONGEST_END);
    spill.close().context("cannot remove what did not fit into memory")?;
    let code = if session?.is_some() { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) };
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

/// Ends the work when the user or the system wants it, so that files on the disk do not stay behind.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn listen() -> io::Result<Stop> {
        Ok(Stop { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// What comes of the work; nothing if it was stopped.
    async fn or<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => None,
            _ = self.terminate.recv() => None,
            done = work => Some(done),
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
