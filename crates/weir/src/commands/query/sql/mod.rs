//! `weir sql`: SQL queries on the tables of a collection.
//!
//! The engine is compiled in only with the feature `sql`. Without it the command prints the equivalent DuckDB command;
//! `--schema` works in any build.

#[cfg(feature = "sql")]
pub(crate) mod engine_session;
#[cfg(feature = "sql")]
mod query_session;
#[cfg(feature = "sql")]
mod text_table;

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use sql::Table;

use crate::exit::UsageError;
use crate::human::plural;
use crate::input;
use crate::output::{Printer, TextStyle, printable};
use crate::settings::SetArgs;

const EXAMPLES: &str = "\
Examples:
  weir sql web --schema                      tables and columns
  weir sql web 'select language, count(*) from documents group by 1 order by 2 desc'
  weir sql web --csv < query.sql > result.csv
  weir sql web 'describe fetches; select max(fetch_time) from fetches'

Reads the last commit and the last analysis; safe to run during a crawl. Tables such as `pages`
and `ranks` need `weir analyze`. Queries that exceed memory.analysis spill to the temporary
directory of the system. docs/sql.md has example queries.";

/// Maximum size of the query text.
const MAX_QUERY_BYTES: u64 = 1 << 20;

/// Query the tables of a collection with SQL.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Queries, separated by semicolons; `-` is standard input (default).
    query: Option<String>,

    /// Read the query from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    file: Option<String>,

    /// Write CSV with a header line.
    #[arg(long)]
    csv: bool,

    /// List tables and columns.
    #[arg(long, conflicts_with_all = ["query", "file", "csv"])]
    schema: bool,

    #[command(flatten)]
    set: SetArgs,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if args.csv && printer.json() {
        return Err(UsageError("--csv and --json cannot be used together".to_owned()).into());
    }
    let tables = sql::open_tables(&args.dir)?;
    if args.schema {
        return print_schema(&tables, printer);
    }
    let text = read_query(args)?;
    run_queries(args, tables, &text, printer)
}

/// Reads the query text from the argument, a file or standard input.
fn read_query(args: &Args) -> anyhow::Result<String> {
    let file = match (&args.file, args.query.as_deref()) {
        (Some(file), _) => file.as_str(),
        (None, Some("-") | None) => "-",
        (None, Some(query)) => return Ok(query.to_owned()),
    };
    let bytes = input::read_file(file, MAX_QUERY_BYTES + 1)?;
    if bytes.len() as u64 > MAX_QUERY_BYTES {
        return Err(UsageError(format!("the query exceeds {MAX_QUERY_BYTES} bytes")).into());
    }
    Ok(String::from_utf8(bytes).map_err(|_| UsageError("the query is not UTF-8".to_owned()))?)
}

#[cfg(feature = "sql")]
fn run_queries(
    args: &Args,
    tables: Vec<Table>,
    text: &str,
    printer: &mut Printer,
) -> anyhow::Result<ExitCode> {
    let memory_bytes = args.set.load(&args.dir)?.memory.analysis.0;
    query_session::run(&args.dir, memory_bytes, tables, text, args.csv, printer)
}

#[cfg(not(feature = "sql"))]
#[expect(clippy::needless_pass_by_value, reason = "same signature as with the engine")]
fn run_queries(args: &Args, tables: Vec<Table>, text: &str, _: &mut Printer) -> anyhow::Result<ExitCode> {
    let command = sql::duckdb_command(&args.dir, &tables, text);
    let exists = |name: &str| tables.iter().any(|table| table.name == name);
    let analysis = if sql::ANALYSIS_TABLES.iter().all(|name| exists(name)) {
        String::new()
    } else {
        format!("; some tables need `weir analyze {}`", args.dir.display())
    };
    let message = format!(
        "this build has no SQL support; build with `--features sql` or use DuckDB{analysis}:\n{command}"
    );
    Err(UsageError(message).into())
}

/// JSON output: one column.
#[derive(Serialize)]
struct ColumnOutput<'a> {
    table: &'a str,
    rows: u64,
    column: &'a str,
    r#type: &'a str,
    nullable: bool,
    description: &'a str,
}

fn print_schema(tables: &[Table], printer: &mut Printer) -> anyhow::Result<ExitCode> {
    for (index, table) in tables.iter().enumerate() {
        if printer.json() {
            print_columns_json(table, printer)?;
            continue;
        }
        if index > 0 {
            printer.line("")?;
        }
        print_columns_text(table, printer)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_columns_json(table: &Table, printer: &mut Printer) -> anyhow::Result<()> {
    table.columns().iter().try_for_each(|column| {
        printer.object(&ColumnOutput {
            table: &table.name,
            rows: table.rows,
            column: &column.name,
            r#type: &column.kind,
            nullable: column.is_nullable,
            description: &column.meaning,
        })
    })
}

fn print_columns_text(table: &Table, printer: &mut Printer) -> anyhow::Result<()> {
    let rows = printer.style(TextStyle::Dim, &plural(table.rows, "row"));
    printer.line(&format!("{}  {rows}", printable(&table.name)))?;
    let columns = table.columns();
    let width = |text: fn(&sql::Column) -> &str| {
        columns.iter().map(|column| text(column).chars().count()).max().unwrap_or_default()
    };
    let (names, kinds) = (width(|column| &column.name), width(|column| &column.kind));
    for column in &columns {
        let meaning = printer.style(TextStyle::Dim, &printable(&column.meaning));
        let line = format!("  {:names$}  {:kinds$}  {meaning}", printable(&column.name), column.kind);
        printer.line(line.trim_end())?;
    }
    Ok(())
}
