//! Report of the last analysis: a page with its summary, the report itself in a frame, and the data of its figures.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use report::{Report, human};
use store::list_snapshots;

use crate::pages::layout::{Layout, NavItem, page};
use crate::sanitize::display_text;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;

/// Policy of the report, a page with inline style and script: it may sort its tables and download its data.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                             base-uri 'none'; form-action 'none'; frame-ancestors 'self'; \
                             sandbox allow-scripts allow-downloads allow-popups allow-top-navigation-by-user-activation";

#[derive(Template)]
#[template(path = "report.html")]
struct View {
    layout: Layout,
    dir: String,
    report: Option<ReportSummary>,
}

struct ReportSummary {
    commit: String,
    when: String,
    figures: String,
    empty: usize,
    /// Whether there is a newer commit than the one that was analysed.
    is_outdated: bool,
}

/// The report of the last analysis with its commit; `None` without an analysis.
fn report(state: &AppState) -> Result<Option<(u64, Arc<Report>)>, ApiError> {
    state.report.get(state.dir(), &state.name)
}

fn not_analysed(state: &AppState) -> ApiError {
    ApiError::NotReady(format!("no analysis yet; run `weir analyze {}`", state.dir().display()))
}

/// The page with the summary of the report.
pub(crate) async fn html(State(state): State<Arc<AppState>>) -> Result<Html<String>, ApiError> {
    state
        .run_blocking(|state| {
            let newest = list_snapshots(state.dir())?.last().map(|entry| entry.generation);
            let report = report(state)?.map(|(generation, report)| ReportSummary {
                commit: generation.to_string(),
                when: report.inputs.iter().map(|input| input.committed.clone()).collect(),
                figures: human::plural(report.entries.len() as u64, "figure"),
                empty: report.empty_figures(),
                is_outdated: newest.is_some_and(|newest| newest > generation),
            });
            let dir =
                display_text::sanitize_line(&state.dir().display().to_string(), display_text::URL_CHARACTERS);
            page(&View { layout: Layout::new(state, NavItem::Report, "Report"), dir, report })
        })
        .await
}

/// The report itself, shown in a frame or as a full page.
pub(crate) async fn full_page(State(state): State<Arc<AppState>>) -> Result<Response, ApiError> {
    state
        .run_blocking(|state| {
            let (_, report) = report(state)?.ok_or_else(|| not_analysed(state))?;
            Ok(([(header::CONTENT_SECURITY_POLICY, REPORT_POLICY)], Html(report::render_html(&report)))
                .into_response())
        })
        .await
}

/// The data of a figure as CSV.
pub(crate) async fn data(
    State(state): State<Arc<AppState>>,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    state
        .run_blocking(move |state| {
            let (_, report) = report(state)?.ok_or_else(|| not_analysed(state))?;
            let text = report
                .csv(&name)
                .ok_or_else(|| ApiError::NotFound("the report has no data with this name".to_owned()))?;
            let headers = [
                (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
                (header::CONTENT_DISPOSITION, "attachment"),
            ];
            Ok((headers, text.to_owned()).into_response())
        })
        .await
}
