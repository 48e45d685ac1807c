//! Parsing of queries: the statements of a text, all of them queries.

use std::collections::VecDeque;

use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::engine_error;
use crate::error::{Error, Result};

/// A parsed query; its tables and columns are checked when it runs.
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) statement: Statement,
}

/// Maximum nesting depth of expressions.
const MAX_NESTING: usize = 50;
/// Maximum number of operators: `1 + 1 + 1` is a tree as deep as it is long, and recursion over it needs stack.
const MAX_OPERATORS: usize = 500;
/// Maximum length of the excerpt of a rejected statement.
const MAX_EXCERPT_CHARS: usize = 40;

impl Query {
    /// Parses the queries of a text, separated by semicolons. A statement that is not a query is an error for all.
    pub fn parse_all(text: &str) -> Result<Vec<Query>> {
        check_operators(text)?;
        let statements = parse(text).map_err(|error| engine_error::planning_error(&error))?;
        if statements.is_empty() {
            return Err(Error::NoQuery);
        }
        statements.into_iter().map(Query::checked).collect()
    }

    fn checked(statement: Statement) -> Result<Query> {
        if is_query(&statement) {
            return Ok(Query { statement });
        }
        Err(Query { statement }.not_a_query())
    }

    /// The error for a statement that is not a query.
    pub(crate) fn not_a_query(&self) -> Error {
        let text = self.statement.to_string();
        let end_of_excerpt = text.char_indices().nth(MAX_EXCERPT_CHARS).map_or(text.len(), |(end, _)| end);
        let more = if end_of_excerpt < text.len() { "…" } else { "" };
        Error::NotAQuery { statement: format!("{}{more}", &text[..end_of_excerpt]) }
    }
}

/// Rejects expressions that are too deep before they are parsed. Errors of the tokenizer are left to the parser.
fn check_operators(text: &str) -> Result<()> {
    let tokens = Tokenizer::new(&DuckDbDialect {}, text).tokenize().unwrap_or_default();
    let mut clause = Clause::Other;
    let operators = tokens.iter().filter(|token| {
        clause = clause.after(token);
        is_operator(token) || (clause == Clause::From && **token == Token::Comma)
    });
    if operators.count() <= MAX_OPERATORS {
        return Ok(());
    }
    let reason = format!("more than {MAX_OPERATORS} operators; use a list, as in `x in (1, 2)`");
    Err(Error::InvalidQuery { position: None, reason })
}

/// Clause of a token: a comma joins two tables in `from a, b`, and nothing elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    From,
    Other,
}

impl Clause {
    /// The clause after a token.
    fn after(self, token: &Token) -> Clause {
        let Token::Word(word) = token else { return self };
        match word.keyword {
            Keyword::FROM => Clause::From,
            Keyword::SELECT | Keyword::WHERE | Keyword::GROUP | Keyword::HAVING | Keyword::ORDER => {
                Clause::Other
            }
            _ => self,
        }
    }
}

/// Reports whether a token joins or starts an expression; overcounting is safe.
fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::XOR
                | Keyword::DIV
                | Keyword::IS
                | Keyword::NOTNULL
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::RLIKE
                | Keyword::REGEXP
                | Keyword::SIMILAR
                | Keyword::OVERLAPS
                | Keyword::BETWEEN
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::MINUS
                | Keyword::SELECT
                | Keyword::JOIN
                | Keyword::COLLATE
                | Keyword::AT
        ),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::Whitespace(_)
        | Token::Comma
        | Token::Period
        | Token::LParen
        | Token::RParen
        | Token::SemiColon
        | Token::EOF => false,
        _ => true,
    }
}

/// Parses in the dialect of DuckDB, because queries should run there, too.
fn parse(text: &str) -> datafusion::error::Result<VecDeque<Statement>> {
    DFParserBuilder::new(text)
        .with_dialect(&DuckDbDialect {})
        .with_recursion_limit(MAX_NESTING)
        .build()?
        .parse_statements()
}

/// Reports whether a statement is a query. A query with side effects (`select .. into`) is detected by its plan.
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
