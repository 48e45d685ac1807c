//! `weir report`: a collection described in figures and tables, for people who were not there.

#[cfg(feature = "sql")]
mod own_figures;
mod own_files;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::describe_statistics;
use report::{OwnFigure, Report, Side};
use serde::Serialize;

use super::analyze::analyze;
use crate::failure::WrongUse;
use crate::printer::{Meaning, Printer};
use crate::words::{counted, time};

const EXAMPLES: &str = "\
Examples:
  weir report web                          web-report/report.html, with data and figures beside it
  weir report web --out study --pdf        the same in study, and a PDF
  weir report web --against other          two collections side by side
  weir report web --against spring         the snapshot that `weir snapshots web --keep spring` has kept

What is out of date is analysed first, as `weir analyze` does. A snapshot can be compared if it was
analysed before the crawl went on. Figures of your own are files of SQL in DIR/figures
(docs/report.md), in a weir that was built with `--features sql`.";

/// Describe a collection in figures and tables.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// The folder of the report; DIR-report, if nothing is said.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Also write the report and every figure as a PDF.
    #[arg(long)]
    pdf: bool,

    /// Another collection, or a snapshot of this one, to be shown beside it.
    #[arg(long, value_name = "DIR|SNAPSHOT")]
    against: Option<String>,
}

/// What was written.
#[derive(Serialize)]
struct Answer {
    page: PathBuf,
    pdf: Option<PathBuf>,
    figures: usize,
    without_data: usize,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if args.pdf && !report::CAN_PRINT {
        let sentence = "this weir was built without PDF; build it with `cargo build --release --features pdf`, or let \
                        the typst program make one of the report.typ that `weir report` writes";
        return Err(WrongUse(sentence.to_owned()).into());
    }
    let out = args.out.clone().unwrap_or_else(|| beside(&args.dir));
    if out.exists() && !out.is_dir() {
        return Err(WrongUse(format!("--out: {} is a file; give a folder", out.display())).into());
    }
    #[cfg(feature = "sql")]
    let own = own_figures::read(&args.dir)?;
    #[cfg(not(feature = "sql"))]
    own_files::tell_left_out(&args.dir, printer)?;
    let sides = sides(args)?;
    #[cfg(feature = "sql")]
    let (sides, own) = match own_figures::answer(own, &folders(args), sides)? {
        Some(answered) => answered,
        None => return Ok(ExitCode::from(crate::steering::INTERRUPTED)),
    };
    #[cfg(not(feature = "sql"))]
    let own = Vec::new();
    let report = drawn(sides, own)?;
    let page = report.write(&out)?;
    let pdf = if args.pdf { Some(report.print(&out)?) } else { None };
    let (figures, without_data) = (report.entries.len(), report.without_data());
    tell(&Answer { page, pdf, figures, without_data }, printer)?;
    Ok(ExitCode::SUCCESS)
}

/// Describes a collection as it is now in a folder; the page to begin with.
pub(crate) fn describe(collection: &Path, out: &Path) -> anyhow::Result<PathBuf> {
    Ok(drawn(vec![side(collection)?], Vec::new())?.write(out)?)
}

/// The collection, and what it is shown beside.
fn sides(args: &Args) -> anyhow::Result<Vec<Side>> {
    let mut sides = vec![side(&args.dir)?];
    if let Some(against) = &args.against {
        let folder = Path::new(against);
        let other = if folder.is_dir() { side(folder)? } else { Side::snapshot(&args.dir, against)? };
        sides.push(other);
    }
    Ok(sides)
}

/// Where the tables of each side are; a snapshot has none, for only the newest commit has those of an analysis.
#[cfg(feature = "sql")]
fn folders(args: &Args) -> Vec<Option<PathBuf>> {
    let against = args.against.iter().map(PathBuf::from);
    let against = against.map(|folder| folder.is_dir().then_some(folder));
    std::iter::once(Some(args.dir.clone())).chain(against).collect()
}

fn drawn(mut sides: Vec<Side>, own: Vec<OwnFigure>) -> anyhow::Result<Report> {
    for side in &mut sides {
        side.when = side.committed_ms.map(time).unwrap_or_default();
    }
    tell_apart(&mut sides);
    let title = sides.iter().map(|side| side.name.as_str()).collect::<Vec<_>>().join(" against ");
    let described = describe_statistics();
    let query = |statistic: &str| {
        described.iter().find(|known| known.name == statistic).map(|known| known.sql.clone())
    };
    Ok(Report::new(&title, sides, own, query)?)
}

/// The statistics of a collection, brought up to date.
fn side(folder: &Path) -> anyhow::Result<Side> {
    analyze(folder, &mut |_| Ok(()))?;
    let name =
        folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    Ok(Side::newest(folder, &name.unwrap_or_else(|| folder.display().to_string()))?)
}

/// `web-report` for `web`.
fn beside(folder: &Path) -> PathBuf {
    let path = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Of `.` and `..` only the whole path has a parent.
    let parent = match folder.file_name() {
        Some(_) => folder.parent().map(Path::to_owned),
        None => path.parent().map(Path::to_owned),
    };
    parent.unwrap_or_default().join(format!("{name}-report"))
}

/// Two collections of one name are told apart by their commits.
fn tell_apart(sides: &mut [Side]) {
    if let [one, other] = sides
        && one.name == other.name
    {
        for side in [one, other] {
            side.name = format!("{} ({})", side.name, side.generation);
        }
    }
}

fn tell(answer: &Answer, printer: &mut Printer) -> anyhow::Result<()> {
    if printer.json() {
        return printer.object(answer);
    }
    printer.line(&answer.page.display().to_string())?;
    if let Some(pdf) = &answer.pdf {
        printer.line(&pdf.display().to_string())?;
    }
    let figures = counted(answer.figures as u64, "figure");
    let empty = match answer.without_data {
        0 => String::new(),
        some => format!(", {some} of them without data"),
    };
    printer.line(&printer.paint(Meaning::Aside, &format!("{figures}{empty}")))
}
