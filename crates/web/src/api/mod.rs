//! Endpoints for programs that belong to no page: OpenAPI description, status, health, Prometheus metrics.

pub(crate) mod metrics;
pub(crate) mod openapi;
