//! Snapshots of the collection: list, create, delete.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{Html, Redirect};
use report::human;
use serde::Serialize;
use store::{SnapshotInfo, delete_snapshot, list_snapshots, name_snapshot};

use crate::auth::auth_context::AuthContext;
use crate::pages::layout::{Layout, NavItem, page};
use crate::sanitize::display_text;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::params::Params;

/// JSON of `/api/v1/snapshots`. The field names are part of the API.
#[derive(Serialize)]
pub(crate) struct Snapshots {
    /// Newest first.
    snapshots: Vec<SnapshotJson>,
}

#[derive(Serialize)]
struct SnapshotJson {
    generation: u64,
    committed_ms: i64,
    name: Option<String>,
}

#[derive(Template)]
#[template(path = "snapshots.html")]
struct View {
    layout: Layout,
    csrf_token: Option<String>,
    rows: Vec<Row>,
}

struct Row {
    generation: String,
    when: String,
    name: Option<String>,
    raw_name: String,
}

fn list(state: &AppState) -> Result<Snapshots, ApiError> {
    let entry =
        |SnapshotInfo { generation, committed_ms, name }| SnapshotJson { generation, committed_ms, name };
    Ok(Snapshots { snapshots: list_snapshots(state.dir())?.into_iter().rev().map(entry).collect() })
}

pub(crate) async fn api(State(state): State<Arc<AppState>>) -> Result<Json<Snapshots>, ApiError> {
    state.run_blocking(|state| list(state).map(Json)).await
}

pub(crate) async fn html(
    State(state): State<Arc<AppState>>,
    auth: AuthContext,
) -> Result<Html<String>, ApiError> {
    let row = |entry: SnapshotJson| Row {
        generation: entry.generation.to_string(),
        when: if entry.committed_ms == 0 { "empty".to_owned() } else { human::timestamp(entry.committed_ms) },
        raw_name: entry.name.clone().unwrap_or_default(),
        name: entry.name.map(|name| display_text::sanitize_line(&name, display_text::TITLE_CHARACTERS)),
    };
    state
        .run_blocking(move |state| {
            let rows = list(state)?.snapshots.into_iter().map(row).collect();
            page(&View {
                layout: Layout::new(state, NavItem::Snapshots, "Snapshots"),
                csrf_token: auth.csrf_token,
                rows,
            })
        })
        .await
}

/// Creates a snapshot of a commit.
pub(crate) async fn create(State(state): State<Arc<AppState>>, form: Bytes) -> Result<Redirect, ApiError> {
    let params = Params::parse(&form);
    state
        .run_blocking(move |state| {
            let generation = params.number("generation", 0..=u64::MAX)?;
            name_snapshot(state.dir(), params.get("name")?, generation).map_err(request_error)
        })
        .await?;
    Ok(Redirect::to("/snapshots"))
}

/// Deletes a snapshot.
pub(crate) async fn delete(State(state): State<Arc<AppState>>, form: Bytes) -> Result<Redirect, ApiError> {
    let params = Params::parse(&form);
    state
        .run_blocking(move |state| delete_snapshot(state.dir(), params.get("name")?).map_err(request_error))
        .await?;
    Ok(Redirect::to("/snapshots"))
}

fn request_error(error: store::Error) -> ApiError {
    match error {
        // The path of the collection is not for remote clients.
        store::Error::SnapshotNotFound { name, .. } => ApiError::NotFound(format!("no snapshot `{name}`")),
        store::Error::InvalidSnapshotName { .. } => ApiError::BadRequest(error.to_string()),
        error => error.into(),
    }
}
