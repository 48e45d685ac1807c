//! Access control: checks of each request, and the permissions of its client.

pub(crate) mod auth_context;
pub(crate) mod middleware;
