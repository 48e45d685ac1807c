//! Description of the HTTP API (OpenAPI) and the two endpoints without a page: status and health.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use inspect::CollectionStatus;

use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;

/// The description of all endpoints; a test of the router compares it with the routes.
pub(crate) const OPENAPI: &str = include_str!("../../assets/openapi.json");

pub(crate) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

pub(crate) async fn status(State(state): State<Arc<AppState>>) -> Result<Json<CollectionStatus>, ApiError> {
    state
        .run_blocking(|state| Ok(Json(CollectionStatus::clone(&*state.status.refresh(&state.snapshots)?))))
        .await
}

/// Reports whether the collection can be read. Needs no token, and therefore reveals nothing else.
pub(crate) async fn health(State(state): State<Arc<AppState>>) -> Response {
    match state.run_quick(|state| state.snapshot().map(drop)).await {
        Ok(()) => Json(serde_json::json!({ "healthy": true })).into_response(),
        Err(error) => (error.status(), Json(serde_json::json!({ "healthy": false }))).into_response(),
    }
}
