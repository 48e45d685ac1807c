//! Who looks at a page? Somebody who has shown the token, and may change something, or somebody who may only look.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::desk::Desk;
use crate::guard::is_known;

/// Who looks.
pub(crate) struct Visitor {
    /// What forms carry to show that they are ours; nothing for who may not send any.
    pub(crate) secret: Option<String>,
}

impl FromRequestParts<Arc<Desk>> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Visitor, Infallible> {
        let is_known = is_known(desk, &parts.headers);
        Ok(Visitor { secret: is_known.then(|| desk.secrets.form.as_str().to_owned()) })
    }
}
