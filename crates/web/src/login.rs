//! How does a person show the token? By the address that was told on the terminal, or in a form; the browser keeps a cookie for it.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use tokio::time::sleep;

use crate::asked::Asked;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page, part_at};
use crate::guard::set_cookie;

/// Who guesses is slow.
const WRONG_TIME: Duration = Duration::from_millis(500);

#[derive(Template)]
#[template(path = "login.html")]
struct View {
    frame: Frame,
    was_wrong: bool,
    is_made_up: bool,
    /// Where to go from here.
    to: &'static str,
}

/// The form; or past it, with the token in the address.
pub(crate) async fn html(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Response, Failure> {
    if asked.all("token").next().is_none() {
        return Ok(page(&view(&desk, &asked, false))?.into_response());
    }
    let_in(&desk, &asked).await
}

/// The form, sent.
pub(crate) async fn show(State(desk): State<Arc<Desk>>, form: Bytes) -> Result<Response, Failure> {
    let_in(&desk, &Asked::of(&form)).await
}

fn view(desk: &Desk, asked: &Asked, was_wrong: bool) -> View {
    // Who has not said who they are learns nothing, not even the name of the collection.
    let frame = Frame::nameless(desk, Part::Other, "Token");
    View { frame, was_wrong, is_made_up: desk.secrets.is_made_up, to: to(desk, asked) }
}

/// To the part that was asked for, never elsewhere; else to what is most likely wanted.
fn to(desk: &Desk, asked: &Asked) -> &'static str {
    let usual = if desk.helm.is_some() { "/dashboard" } else { "/" };
    asked.all("to").next().and_then(part_at).unwrap_or(usual)
}

async fn let_in(desk: &Desk, asked: &Asked) -> Result<Response, Failure> {
    if !asked.all("token").any(|sent| desk.secrets.token.is(sent)) {
        sleep(WRONG_TIME).await;
        return Ok((StatusCode::FORBIDDEN, page(&view(desk, asked, true))?).into_response());
    }
    let mut response = Redirect::to(to(desk, asked)).into_response();
    set_cookie(desk, response.headers_mut());
    Ok(response)
}
