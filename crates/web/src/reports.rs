//! How is the report of a collection shown? It is drawn from the last analysis when somebody asks, and kept until there is a
//! newer one.
//!
//! Nothing is analysed here: that takes long, and the collection may be another's.

use std::sync::{Arc, Mutex, PoisonError};

use analysis::describe_statistics;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use report::{Report, Side, words};
use store::list_snapshots;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::shown;

/// The report is one page with style and script inside; it may sort its tables and save its data, no more.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                             base-uri 'none'; form-action 'none'; frame-ancestors 'self'; \
                             sandbox allow-scripts allow-downloads allow-popups allow-top-navigation-by-user-activation";

/// The last report that was drawn.
#[derive(Default)]
pub(crate) struct Drawn(Mutex<Option<(u64, Arc<Report>)>>);

#[derive(Template)]
#[template(path = "report.html")]
struct View {
    frame: Frame,
    folder: String,
    found: Option<Found>,
}

struct Found {
    commit: String,
    when: String,
    figures: String,
    empty: usize,
    /// Whether there is a newer commit than the one that was analysed.
    is_old: bool,
}

/// The report of the last analysis; nothing if there was none.
fn report(desk: &Desk) -> Result<Option<(u64, Arc<Report>)>, Failure> {
    let mut side = match Side::newest(desk.folder(), &desk.name) {
        Err(report::Error::NotAnalysed { .. }) => return Ok(None),
        side => side.map_err(|error| broken(&error))?,
    };
    let generation = side.generation;
    // While one draws, others wait for it; after a panic the report is drawn again.
    let mut drawn = desk.reports.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, report)) = drawn.as_ref().filter(|(known, _)| *known == generation) {
        return Ok(Some((*known, Arc::clone(report))));
    }
    side.when = side.committed_ms.map(words::time).unwrap_or_default();
    let described = describe_statistics();
    let query = |statistic: &str| {
        described.iter().find(|known| known.name == statistic).map(|known| known.sql.clone())
    };
    let report =
        Arc::new(Report::new(&desk.name, vec![side], Vec::new(), query).map_err(|error| broken(&error))?);
    *drawn = Some((generation, Arc::clone(&report)));
    Ok(Some((generation, report)))
}

fn broken(error: &report::Error) -> Failure {
    Failure::Broken(error.to_string())
}

fn not_analysed(desk: &Desk) -> Failure {
    Failure::NotReady(format!(
        "the collection was not analysed yet: run `weir analyze {}`",
        desk.folder().display()
    ))
}

/// What there is, and the report below it.
pub(crate) async fn html(State(desk): State<Arc<Desk>>) -> Result<Html<String>, Failure> {
    desk.work(|desk| {
        let newest = list_snapshots(desk.folder())?.last().map(|entry| entry.generation);
        let found = report(desk)?.map(|(generation, report)| Found {
            commit: generation.to_string(),
            when: report.sides.iter().map(|side| side.when.clone()).collect(),
            figures: words::counted(report.entries.len() as u64, "figure"),
            empty: report.without_data(),
            is_old: newest.is_some_and(|newest| newest > generation),
        });
        let folder = shown::shown(&desk.folder().display().to_string(), shown::URL_CHARACTERS);
        page(&View { frame: Frame::new(desk, Part::Report, "Report"), folder, found })
    })
    .await
}

/// The report itself.
pub(crate) async fn whole(State(desk): State<Arc<Desk>>) -> Result<Response, Failure> {
    desk.work(|desk| {
        let (_, report) = report(desk)?.ok_or_else(|| not_analysed(desk))?;
        Ok(([(header::CONTENT_SECURITY_POLICY, REPORT_POLICY)], Html(report.page())).into_response())
    })
    .await
}

/// The data of one of its figures.
pub(crate) async fn data(
    State(desk): State<Arc<Desk>>,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    desk.work(move |desk| {
        let (_, report) = report(desk)?.ok_or_else(|| not_analysed(desk))?;
        let text =
            report.csv(&name).ok_or_else(|| Failure::NotThere("the report has no such data".to_owned()))?;
        let headers =
            [(header::CONTENT_TYPE, "text/csv; charset=utf-8"), (header::CONTENT_DISPOSITION, "attachment")];
        Ok((headers, text.to_owned()).into_response())
    })
    .await
}
