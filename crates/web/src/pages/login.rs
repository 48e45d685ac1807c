//! Login: exchanges the token for a session cookie, by the URL printed at start or by a form.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use tokio::time::sleep;

use crate::auth::middleware::set_cookie;
use crate::pages::layout::{Layout, nav_path, page};
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::params::Params;

/// Delay of the response to a wrong token, against guessing.
const WRONG_TOKEN_DELAY: Duration = Duration::from_millis(500);

#[derive(Template)]
#[template(path = "login.html")]
struct View {
    layout: Layout,
    was_wrong: bool,
    token_is_generated: bool,
    /// Path of the page to show after the login.
    to: &'static str,
}

/// The login form. With the token in the URL it logs in at once.
pub(crate) async fn html(State(state): State<Arc<AppState>>, params: Params) -> Result<Response, ApiError> {
    if params.all("token").next().is_none() {
        return Ok(page(&view(&state, &params, false))?.into_response());
    }
    log_in(&state, &params).await
}

/// Handles the submitted form.
pub(crate) async fn submit(State(state): State<Arc<AppState>>, form: Bytes) -> Result<Response, ApiError> {
    log_in(&state, &Params::parse(&form)).await
}

fn view(state: &AppState, params: &Params, was_wrong: bool) -> View {
    View {
        layout: Layout::anonymous("Log in"),
        was_wrong,
        token_is_generated: state.secrets.token_is_generated,
        to: target(state, params),
    }
}

/// Path to redirect to. Only paths of the navigation bar are accepted, which prevents an open redirect.
fn target(state: &AppState, params: &Params) -> &'static str {
    let default = if state.crawl.is_some() { "/dashboard" } else { "/" };
    params.all("to").next().and_then(nav_path).unwrap_or(default)
}

async fn log_in(state: &AppState, params: &Params) -> Result<Response, ApiError> {
    if !params.all("token").any(|sent| state.secrets.token.is(sent)) {
        sleep(WRONG_TOKEN_DELAY).await;
        return Ok((StatusCode::FORBIDDEN, page(&view(state, params, true))?).into_response());
    }
    let mut response = Redirect::to(target(state, params)).into_response();
    set_cookie(state, response.headers_mut());
    Ok(response)
}
