//! The broker on NATS with JetStream.
//!
//! `subjects` names the streams and subjects, `setup` creates them, `connection` retries operations, `subject_log` writes with
//! optimistic concurrency control, and `broker` implements [`harvest::Broker`] on top of them.

pub(crate) mod broker;
pub(crate) mod connection;
pub(crate) mod control_cache;
pub(crate) mod lease;
pub(crate) mod lease_context;
pub(crate) mod log_subscriber;
pub(crate) mod report_cache;
pub(crate) mod setup;
pub(crate) mod subject_log;
pub(crate) mod subjects;
