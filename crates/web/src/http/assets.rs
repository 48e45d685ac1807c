//! Static files of the pages, embedded in the binary.

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::state::api_error::ApiError;

/// Name, MIME type, content.
const FILES: [(&str, &str, &str); 3] = [
    ("style.css", "text/css; charset=utf-8", include_str!("../../assets/style.css")),
    ("script.js", "text/javascript; charset=utf-8", include_str!("../../assets/script.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
];

/// Returns a file by name; never reads from disk.
pub(crate) async fn file(Path(name): Path<String>) -> Result<Response, ApiError> {
    let found = FILES.iter().find(|(own, ..)| *own == name);
    let (_, mime_type, content) = found.ok_or_else(|| ApiError::NotFound("no such file".to_owned()))?;
    let headers = [(header::CONTENT_TYPE, *mime_type), (header::CACHE_CONTROL, "private, max-age=300")];
    Ok((headers, *content).into_response())
}
