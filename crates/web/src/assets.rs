//! Which files do pages need besides themselves? Few, and all of them from here.

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::failure::Failure;

/// Name, media type, content.
const FILES: [(&str, &str, &str); 3] = [
    ("style.css", "text/css; charset=utf-8", include_str!("../assets/style.css")),
    ("script.js", "text/javascript; charset=utf-8", include_str!("../assets/script.js")),
    ("icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

/// A file by its name: nothing is looked for on the disk.
pub(crate) async fn file(Path(name): Path<String>) -> Result<Response, Failure> {
    let found = FILES.iter().find(|(own, ..)| *own == name);
    let (_, media_type, content) =
        found.ok_or_else(|| Failure::NotThere("there is no such file".to_owned()))?;
    let headers = [(header::CONTENT_TYPE, *media_type), (header::CACHE_CONTROL, "private, max-age=300")];
    Ok((headers, *content).into_response())
}
