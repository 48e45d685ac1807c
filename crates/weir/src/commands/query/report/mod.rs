//! `weir report`: report of a collection with figures and tables.

mod custom_figure_files;
#[cfg(feature = "sql")]
mod custom_figures;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::describe_statistics;
use report::{CustomFigure, Report, ReportInput};
use serde::Serialize;

use crate::commands::query::analyze::analyze;
use crate::exit::UsageError;
use crate::human::{plural, timestamp};
use crate::output::{Printer, TextStyle};
use crate::output_dir;
use crate::settings::SetArgs;

const EXAMPLES: &str = "\
Examples:
  weir report web                          web-report/report.html, with its data and figures
  weir report web --out study --pdf        the same in study, and a PDF
  weir report web --compare other          two collections side by side
  weir report web --compare spring         a snapshot of the same collection

Runs `weir analyze` first if the analysis is out of date. An earlier report in the output directory
is replaced. A snapshot can be compared if it was
analysed before the next commit. Custom figures are SQL files in DIR/figures (docs/report.md);
they need a build with `--features sql`.";

/// Write a report with figures and tables.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Output directory (default: DIR-report).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Also write PDF.
    #[arg(long)]
    pdf: bool,

    /// Second collection, or snapshot of this one, shown side by side.
    #[arg(long, value_name = "DIR|SNAPSHOT")]
    compare: Option<String>,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct ReportOutput {
    html: PathBuf,
    pdf: Option<PathBuf>,
    figures: usize,
    empty_figures: usize,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if args.pdf && !report::HAS_PDF {
        let message = "this build has no PDF support; build with `--features pdf` or run typst on report.typ";
        return Err(UsageError(message.to_owned()).into());
    }
    let out = args.out.clone().unwrap_or_else(|| default_output_dir(&args.dir));
    output_dir::check(&out, report::HTML_FILE, report::GENERATOR)?;
    // Before the analysis, which may take hours: an invalid custom figure is reported at once.
    #[cfg(feature = "sql")]
    let custom = custom_figures::read(&args.dir)?;
    #[cfg(not(feature = "sql"))]
    custom_figure_files::warn_of_skipped(&args.dir, printer)?;
    let inputs = inputs(args)?;
    #[cfg(feature = "sql")]
    let (inputs, custom) = match custom_figures::run(custom, &table_dirs(args), &args.set, inputs)? {
        Some(results) => results,
        None => return Ok(ExitCode::from(crate::exit::INTERRUPTED)),
    };
    #[cfg(not(feature = "sql"))]
    let custom = Vec::new();
    let report = build_report(inputs, custom)?;
    let html = report.write(&out)?;
    let pdf = if args.pdf { Some(report.write_pdf(&out)?) } else { None };
    let (figures, empty_figures) = (report.entries.len(), report.empty_figures());
    print(&ReportOutput { html, pdf, figures, empty_figures }, printer)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the report of a collection without custom figures. Returns the path of the HTML page.
pub(crate) fn write_report(collection: &Path, out: &Path) -> anyhow::Result<PathBuf> {
    Ok(build_report(vec![current_input(collection, &SetArgs::default())?], Vec::new())?.write(out)?)
}

/// The collection, and the one it is compared with.
fn inputs(args: &Args) -> anyhow::Result<Vec<ReportInput>> {
    let mut inputs = vec![current_input(&args.dir, &args.set)?];
    if let Some(compared) = &args.compare {
        let dir = Path::new(compared);
        inputs.push(if dir.is_dir() {
            current_input(dir, &args.set)?
        } else {
            ReportInput::snapshot(&args.dir, compared)?
        });
    }
    Ok(inputs)
}

/// Directories with the tables of each input. A snapshot has none: only the last commit has the tables of an analysis.
#[cfg(feature = "sql")]
fn table_dirs(args: &Args) -> Vec<Option<PathBuf>> {
    let compared = args.compare.iter().map(PathBuf::from);
    let compared = compared.map(|dir| dir.is_dir().then_some(dir));
    std::iter::once(Some(args.dir.clone())).chain(compared).collect()
}

fn build_report(mut inputs: Vec<ReportInput>, custom: Vec<CustomFigure>) -> anyhow::Result<Report> {
    for input in &mut inputs {
        input.committed = input.committed_ms.map(timestamp).unwrap_or_default();
    }
    disambiguate_names(&mut inputs);
    let title = inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(" and ");
    let described = describe_statistics();
    let query = |statistic: &str| {
        described.iter().find(|known| known.name == statistic).map(|known| known.sql.clone())
    };
    Ok(Report::new(&title, inputs, custom, query)?)
}

/// Statistics of a collection, analysed if they are out of date.
fn current_input(dir: &Path, set: &SetArgs) -> anyhow::Result<ReportInput> {
    analyze(dir, set, &mut |_| Ok(()))?;
    let name =
        dir.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    Ok(ReportInput::newest(dir, &name.unwrap_or_else(|| dir.display().to_string()))?)
}

/// Default output directory: `web-report` for `web`.
fn default_output_dir(dir: &Path) -> PathBuf {
    let path = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // `.` and `..` have no file name; their parent is that of the canonical path.
    let parent = match dir.file_name() {
        Some(_) => dir.parent().map(Path::to_owned),
        None => path.parent().map(Path::to_owned),
    };
    parent.unwrap_or_default().join(format!("{name}-report"))
}

/// Adds the generation to equal names.
fn disambiguate_names(inputs: &mut [ReportInput]) {
    if let [first, second] = inputs
        && first.name == second.name
    {
        for input in [first, second] {
            input.name = format!("{} ({})", input.name, input.generation);
        }
    }
}

fn print(output: &ReportOutput, printer: &mut Printer) -> anyhow::Result<()> {
    if printer.json() {
        return printer.object(output);
    }
    printer.line(&output.html.display().to_string())?;
    if let Some(pdf) = &output.pdf {
        printer.line(&pdf.display().to_string())?;
    }
    let figures = plural(output.figures as u64, "figure");
    let empty = match output.empty_figures {
        0 => String::new(),
        empty => format!(", {empty} without data"),
    };
    printer.line(&printer.style(TextStyle::Dim, &format!("{figures}{empty}")))
}
