//! Descriptions of statistics, for the documentation and for the report.

/// Description of a statistic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Name.
    pub name: &'static str,
    /// Columns.
    pub columns: Vec<String>,
    /// Meaning.
    pub meaning: String,
    /// Query that returns the same rows.
    pub sql: String,
}
