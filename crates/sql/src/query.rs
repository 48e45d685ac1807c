//! Which questions are asked? The statements of a text, all of them queries.

use std::collections::VecDeque;

use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{Error, Result};
use crate::wrong_query;

/// One question, well formed; whether its tables and columns exist is found when it is asked.
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) statement: Statement,
}

/// How deeply expressions may be nested in parentheses and the like.
const DEEPEST: usize = 50;
/// How many operators a text may have: `1 + 1 + 1` is a tree as deep as it is long, and whoever walks it needs a stack.
const MOST_OPERATORS: usize = 500;
/// How much of a statement is told that is refused.
const BEGINNING_CHARS: usize = 40;

impl Query {
    /// The queries of a text, which semicolons part. Something that is no query is refused, and so are all with it.
    pub fn read_all(text: &str) -> Result<Vec<Query>> {
        check_operators(text)?;
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
        Err(Query { statement }.refused())
    }

    /// The error that says that this is no query.
    pub(crate) fn refused(&self) -> Error {
        let text = self.statement.to_string();
        let beginning = text.char_indices().nth(BEGINNING_CHARS).map_or(text.len(), |(end, _)| end);
        let more = if beginning < text.len() { "…" } else { "" };
        Error::NotAQuery { statement: format!("{}{more}", &text[..beginning]) }
    }
}

/// Refuses what is too deep before a tree is made of it. What cannot be cut into tokens is the parser's to tell.
fn check_operators(text: &str) -> Result<()> {
    let tokens = Tokenizer::new(&DuckDbDialect {}, text).tokenize().unwrap_or_default();
    let mut clause = Clause::Other;
    let operators = tokens.iter().filter(|token| {
        clause = clause.after(token);
        is_operator(token) || (clause == Clause::From && **token == Token::Comma)
    });
    if operators.count() <= MOST_OPERATORS {
        return Ok(());
    }
    let reason =
        format!("it has more than {MOST_OPERATORS} operators; a list, as in `x in (1, 2)`, may be longer");
    Err(Error::Wrong { place: None, reason })
}

/// Where a token stands: a comma joins two tables to one in `from a, b`, and nothing elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    From,
    Other,
}

impl Clause {
    /// The clause after another token.
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

/// Whether a token joins two parts to one, or begins a part of its own; too many count rather than too few.
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
