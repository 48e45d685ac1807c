//! How does somebody see it all? A server with a search page, a dashboard and an interface for programs.
//!
//! This crate never holds logic that others need: it shows what the crates below have found.
