//! SQL queries over a collection: its Parquet tables at one commit, and those of the last analysis.
//!
//! The list of tables and the equivalent DuckDB command are always available. The query engine (DataFusion) is behind
//! the feature `engine`, because it takes longer to compile than everything else.
//!
//! This crate never changes anything: it runs only queries, and reads only files that were opened before.

mod duckdb;
#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "engine")]
mod engine_error;
mod error;
#[cfg(feature = "engine")]
mod open_file_store;
#[cfg(feature = "engine")]
mod query;
#[cfg(feature = "engine")]
mod query_result;
mod table;

pub use duckdb::duckdb_command;
#[cfg(feature = "engine")]
pub use engine::{Engine, EngineSettings};
pub use error::{Error, Position, Result};
#[cfg(feature = "engine")]
pub use query::Query;
#[cfg(feature = "engine")]
pub use query_result::{QueryResult, ResultColumn, RowBatch};
pub use table::{ANALYSIS_TABLES, Column, Table, empty_tables, open_tables};
