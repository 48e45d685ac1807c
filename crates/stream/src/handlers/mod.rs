//! Handlers: user code that processes each page of a stream, with retries and checkpoints.

pub(crate) mod handler;
pub(crate) mod run;
