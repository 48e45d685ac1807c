//! Subcommands, one module each: arguments, call of the library, output.

pub(crate) mod collection;
pub(crate) mod crawl;
pub(crate) mod inspect;
pub(crate) mod lab;
pub(crate) mod query;
