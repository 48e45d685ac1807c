//! `weir sql`: questions to the tables of a collection.
//!
//! What answers them is compiled in with the feature `sql` alone; without it the command says how to get that, and how to
//! ask DuckDB. What is in the tables is told either way.

#[cfg(feature = "sql")]
pub(crate) mod asking;
#[cfg(feature = "sql")]
mod grid;
#[cfg(feature = "sql")]
mod session;

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use sql::Table;

use crate::failure::WrongUse;
use crate::input;
use crate::printer::{Meaning, Printer, printable};
use crate::words::counted;

const EXAMPLES: &str = "\
Examples:
  weir sql web --schema                      the tables and what their columns mean
  weir sql web 'select language, count(*) from documents group by 1 order by 2 desc'
  weir sql web --csv < query.sql > answer.csv
  weir sql web 'describe fetches; select max(fetch_time) from fetches'

It looks at the last commit and at the last analysis, and may be run while a crawl goes on. Tables
such as `pages` and `ranks` are there after `weir analyze`. It only reads; what takes more memory
than the setting memory.analysis goes to the system's temporary folder. docs/sql.md has fifteen
queries to begin with.";

/// The longest text of queries.
const QUERY_LIMIT_BYTES: u64 = 1 << 20;

/// Ask the tables of a collection in SQL.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// One query or several, with semicolons between them; without it, or with `-`, from standard input.
    query: Option<String>,

    /// Read the queries from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    file: Option<String>,

    /// Write values with commas between them, after a line of names.
    #[arg(long)]
    csv: bool,

    /// List the tables with their columns instead.
    #[arg(long, conflicts_with_all = ["query", "file", "csv"])]
    schema: bool,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if args.csv && printer.json() {
        return Err(WrongUse("--csv and --json are two forms of the same; choose one".to_owned()).into());
    }
    let tables = sql::open_tables(&args.dir)?;
    if args.schema {
        return list(&tables, printer);
    }
    let text = read_query(args)?;
    answer(args, tables, &text, printer)
}

/// The text of the queries, from wherever it comes.
fn read_query(args: &Args) -> anyhow::Result<String> {
    let file = match (&args.file, args.query.as_deref()) {
        (Some(file), _) => file.as_str(),
        (None, Some("-") | None) => "-",
        (None, Some(query)) => return Ok(query.to_owned()),
    };
    let bytes = input::read_file(file, QUERY_LIMIT_BYTES + 1)?;
    if bytes.len() as u64 > QUERY_LIMIT_BYTES {
        return Err(WrongUse(format!("the query is longer than {QUERY_LIMIT_BYTES} bytes")).into());
    }
    Ok(String::from_utf8(bytes).map_err(|_| WrongUse("the query is not in UTF-8".to_owned()))?)
}

#[cfg(feature = "sql")]
fn answer(args: &Args, tables: Vec<Table>, text: &str, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    session::run(&args.dir, tables, text, args.csv, printer)
}

#[cfg(not(feature = "sql"))]
#[expect(clippy::needless_pass_by_value, reason = "the engine takes the files it reads")]
fn answer(args: &Args, tables: Vec<Table>, text: &str, _: &mut Printer) -> anyhow::Result<ExitCode> {
    let command = sql::duckdb_command(&args.dir, &tables, text);
    let is_there = |name: &str| tables.iter().any(|table| table.name == name);
    let analysis = if sql::ANALYSIS_TABLES.iter().all(|name| is_there(name)) {
        String::new()
    } else {
        format!("; some tables are made by `weir analyze {}`", args.dir.display())
    };
    let sentence = format!(
        "this weir was built without SQL: build it with `cargo build --release --features sql`, or ask DuckDB{analysis}:\n\
         {command}"
    );
    Err(WrongUse(sentence).into())
}

/// A column, as JSON; scripts rely on the names.
#[derive(Serialize)]
struct ColumnOfTable<'a> {
    table: &'a str,
    rows: u64,
    column: &'a str,
    r#type: &'a str,
    nullable: bool,
    description: &'a str,
}

fn list(tables: &[Table], printer: &mut Printer) -> anyhow::Result<ExitCode> {
    for (number, table) in tables.iter().enumerate() {
        if printer.json() {
            list_json(table, printer)?;
            continue;
        }
        if number > 0 {
            printer.line("")?;
        }
        list_text(table, printer)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list_json(table: &Table, printer: &mut Printer) -> anyhow::Result<()> {
    table.columns().iter().try_for_each(|column| {
        printer.object(&ColumnOfTable {
            table: &table.name,
            rows: table.rows,
            column: &column.name,
            r#type: &column.kind,
            nullable: column.is_nullable,
            description: &column.meaning,
        })
    })
}

fn list_text(table: &Table, printer: &mut Printer) -> anyhow::Result<()> {
    let rows = printer.paint(Meaning::Aside, &counted(table.rows, "row"));
    printer.line(&format!("{}  {rows}", printable(&table.name)))?;
    let columns = table.columns();
    let width = |text: fn(&sql::Column) -> &str| {
        columns.iter().map(|column| text(column).chars().count()).max().unwrap_or_default()
    };
    let (names, kinds) = (width(|column| &column.name), width(|column| &column.kind));
    for column in &columns {
        let meaning = printer.paint(Meaning::Aside, &printable(&column.meaning));
        let line = format!("  {:names$}  {:kinds$}  {meaning}", printable(&column.name), column.kind);
        printer.line(line.trim_end())?;
    }
    Ok(())
}
