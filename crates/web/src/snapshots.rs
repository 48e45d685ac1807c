//! Which commits can still be read? A list; one can be kept under a name, or let go.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{Html, Redirect};
use report::words;
use serde::Serialize;
use store::{SnapshotEntry, keep_snapshot, list_snapshots, unpin_snapshot};

use crate::asked::Asked;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::shown;
use crate::visitor::Visitor;

/// Scripts rely on the names.
#[derive(Serialize)]
pub(crate) struct Snapshots {
    /// Newest first.
    snapshots: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    generation: u64,
    committed_ms: i64,
    name: Option<String>,
}

#[derive(Template)]
#[template(path = "snapshots.html")]
struct View {
    frame: Frame,
    secret: Option<String>,
    rows: Vec<Row>,
}

struct Row {
    generation: String,
    when: String,
    name: Option<String>,
    raw_name: String,
}

fn list(desk: &Desk) -> Result<Snapshots, Failure> {
    let entry = |SnapshotEntry { generation, committed_ms, name }| Entry { generation, committed_ms, name };
    Ok(Snapshots { snapshots: list_snapshots(desk.folder())?.into_iter().rev().map(entry).collect() })
}

pub(crate) async fn api(State(desk): State<Arc<Desk>>) -> Result<Json<Snapshots>, Failure> {
    desk.work(|desk| list(desk).map(Json)).await
}

pub(crate) async fn html(State(desk): State<Arc<Desk>>, visitor: Visitor) -> Result<Html<String>, Failure> {
    let row = |entry: Entry| Row {
        generation: entry.generation.to_string(),
        when: if entry.committed_ms == 0 { "empty".to_owned() } else { words::time(entry.committed_ms) },
        raw_name: entry.name.clone().unwrap_or_default(),
        name: entry.name.map(|name| shown::shown(&name, shown::TITLE_CHARACTERS)),
    };
    desk.work(move |desk| {
        let rows = list(desk)?.snapshots.into_iter().map(row).collect();
        page(&View { frame: Frame::new(desk, Part::Snapshots, "Snapshots"), secret: visitor.secret, rows })
    })
    .await
}

/// Keeps a commit under a name.
pub(crate) async fn keep(State(desk): State<Arc<Desk>>, form: Bytes) -> Result<Redirect, Failure> {
    let asked = Asked::of(&form);
    desk.work(move |desk| {
        let generation = asked.number("generation", 0..=u64::MAX)?;
        keep_snapshot(desk.folder(), asked.text("name")?, generation).map_err(refused)
    })
    .await?;
    Ok(Redirect::to("/snapshots"))
}

/// Lets a kept commit go.
pub(crate) async fn let_go(State(desk): State<Arc<Desk>>, form: Bytes) -> Result<Redirect, Failure> {
    let asked = Asked::of(&form);
    desk.work(move |desk| unpin_snapshot(desk.folder(), asked.text("name")?).map_err(refused)).await?;
    Ok(Redirect::to("/snapshots"))
}

fn refused(error: store::Error) -> Failure {
    match error {
        store::Error::NoSnapshot { .. } => Failure::NotThere(error.to_string()),
        store::Error::SnapshotName { .. } => Failure::WrongQuestion(error.to_string()),
        error => error.into(),
    }
}
