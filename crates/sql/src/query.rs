//! Which questions are asked? The statements of a text, all of them queries.

use std::collections::VecDeque;

use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use datafusion::sql::sqlparser::dialect::DuckDbDialect;

use crate::error::{Error, Result};
use crate::wrong_query;

/// One question, well formed; whether its tables and columns exist is found when it is asked.
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) statement: Statement,
}

/// How deeply expressions may be nested.
const DEEPEST: usize = 50;
/// How much of a statement is told that is refused.
const BEGINNING_CHARS: usize = 40;

impl Query {
    /// The queries of a text, which semicolons part. Something that is no query is refused, and so are all with it.
    pub fn read_all(text: &str) -> Result<Vec<Query>> {
        let statements = parse(text).map_err(|error| wrong_query::of(&error))?;
        if statements.is_empty() {
            return Err(Error::NoQuery);
        }
        statements.into_iter().map(Query::checked).collect()
    }

    fn checked(statement: Statement) -> Result<Query> {
        if is_query(&statement) {
            return Ok(Query { statement });
        }
        let text = statement.to_string();
        let beginning = text.char_indices().nth(BEGINNING_CHARS).map_or(text.len(), |(end, _)| end);
        let more = if beginning < text.len() { "…" } else { "" };
        Err(Error::NotAQuery { statement: format!("{}{more}", &text[..beginning]) })
    }
}

/// What runs here should run in DuckDB, so it is read as DuckDB would.
fn parse(text: &str) -> datafusion::error::Result<VecDeque<Statement>> {
    DFParserBuilder::new(text)
        .with_dialect(&DuckDbDialect {})
        .with_recursion_limit(DEEPEST)
        .build()?
        .parse_statements()
}

/// Whether a statement only asks. A query that hides a change (`select .. into`) is found by its plan.
fn is_query(statement: &Statement) -> bool {
    match statement {
        Statement::Explain(explained) => is_query(&explained.statement),
        Statement::Statement(statement) => matches!(
            **statement,
            SqlStatement::Query(_)
                | SqlStatement::ExplainTable { .. }
                | SqlStatement::ShowTables { .. }
                | SqlStatement::ShowColumns { .. }
                | SqlStatement::ShowFunctions { .. }
                | SqlStatement::ShowVariable { .. }
        ),
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => false,
    }
}
