//! A Web.
