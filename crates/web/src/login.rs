//! How does a person show the token? Once, in a form; the browser keeps a cookie for it.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Redirect, Response};
use tokio::time::sleep;

use crate::asked::Asked;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::guard::set_cookie;

/// Who guesses is slow.
const WRONG_TIME: Duration = Duration::from_millis(500);

#[derive(Template)]
#[template(path = "login.html")]
struct View {
    frame: Frame,
    was_wrong: bool,
}

pub(crate) async fn html(State(desk): State<Arc<Desk>>) -> Result<Html<String>, Failure> {
    page(&view(&desk, false))
}

fn view(desk: &Desk, was_wrong: bool) -> View {
    // Who has not said who they are learns nothing, not even the name of the collection.
    let frame = Frame::nameless(desk, Part::Other, "Token");
    View { frame, was_wrong }
}

pub(crate) async fn show(State(desk): State<Arc<Desk>>, form: Bytes) -> Result<Response, Failure> {
    let asked = Asked::of(&form);
    let is_right =
        desk.secrets.token.as_ref().is_none_or(|token| asked.all("token").any(|sent| token.is(sent)));
    if !is_right {
        sleep(WRONG_TIME).await;
        return Ok((axum::http::StatusCode::FORBIDDEN, page(&view(&desk, true))?).into_response());
    }
    let mut response = Redirect::to("/").into_response();
    set_cookie(&desk, response.headers_mut());
    Ok(response)
}
