//! Classification of request paths.

/// Whether a path is an endpoint for programs, whose errors are JSON.
pub(crate) fn is_api_path(path: &str) -> bool {
    path.starts_with("/api/") || ["/metrics", "/health", "/stream"].contains(&path)
}
