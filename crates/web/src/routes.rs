//! What can be asked for? All addresses of the server, in one table.

use axum::Router;
use axum::routing::get;

use crate::live::Live;
use crate::web_settings::WebSettings;

/// What answers requests.
pub(crate) fn router(_settings: WebSettings, live: Option<Live>) -> Router {
    let health =
        move || async move { live.map(|live| live.helm().progress().pages).unwrap_or_default().to_string() };
    Router::new().route("/health", get(health))
}
