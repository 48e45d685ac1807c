//! Permissions of the client of a request.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::auth::middleware::is_authenticated;
use crate::state::app_state::AppState;

/// Permissions of a client: read-only, or authenticated and allowed to make changes.
pub(crate) struct AuthContext {
    /// CSRF token for forms; `None` for read-only access.
    pub(crate) csrf_token: Option<String>,
}

impl FromRequestParts<Arc<AppState>> for AuthContext {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<AuthContext, Infallible> {
        let is_authenticated = is_authenticated(state, &parts.headers);
        Ok(AuthContext { csrf_token: is_authenticated.then(|| state.secrets.csrf_token.as_str().to_owned()) })
    }
}
