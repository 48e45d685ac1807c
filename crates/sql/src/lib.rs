//! What can be asked of a collection in SQL? Its Parquet tables, as they were at one commit, and
//! those that the last analysis left.
//!
//! Which tables there are, and how DuckDB is asked about them, is always known here; the engine that answers itself
//! (DataFusion) is behind the feature `engine`, because it takes longer to compile than all the rest.
//!
//! This crate never changes anything: only queries are answered, and only about files that were open before.

#[cfg(feature = "engine")]
mod answer;
mod duckdb;
#[cfg(feature = "engine")]
mod engine;
mod error;
#[cfg(feature = "engine")]
mod open_files;
#[cfg(feature = "engine")]
mod query;
mod table;
#[cfg(feature = "engine")]
mod wrong_query;

#[cfg(feature = "engine")]
pub use answer::{Answer, AnswerColumn, Rows};
pub use duckdb::duckdb_command;
#[cfg(feature = "engine")]
pub use engine::{Engine, EngineSettings};
pub use error::{Error, Place, Result};
#[cfg(feature = "engine")]
pub use query::Query;
pub use table::{ANALYSIS_TABLES, Column, Table, open_tables, tables_without_rows};
