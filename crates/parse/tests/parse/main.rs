//! Parsers against conformance data, properties and hostile input.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test helpers may panic")]

mod charset;
mod content_encoding;
mod hostile;
mod html;
mod language;
mod page;
mod robots;
mod sitemaps;
mod tokenizer;
