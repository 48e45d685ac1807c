//! Recursive-descent parser of queries.
//!
//! ```text
//! any     = all { "OR" all }
//! all     = not { [ "AND" ] not }
//! not     = ( "NOT" | "-" ) not | near
//! near    = primary { "NEAR/n" primary }          operands: words and phrases
//! primary = [ field ":" ] "(" any ")" | term
//! ```

use super::condition::{Condition, WordPattern};
use super::lexer::{Lexer, Token};
use super::{
    MAX_QUERY_BYTES, MAX_QUERY_DEPTH, MAX_QUERY_LINK_CONDITIONS, MAX_QUERY_TERMS, MAX_QUERY_WILDCARDS,
    QueryError,
};

type Result<T> = std::result::Result<T, QueryError>;

/// Parsed text of a query.
pub(super) struct Parsed {
    pub(super) condition: Condition,
    /// Whether it has the operator AND.
    pub(super) has_and: bool,
}

/// Parses a query.
pub(super) fn parse(query: &str) -> Result<Parsed> {
    if query.len() > MAX_QUERY_BYTES {
        let end = (0..=MAX_QUERY_BYTES).rev().find(|at| query.is_char_boundary(*at)).unwrap_or(0);
        return Err(QueryError::at(query, end, format!("at most {MAX_QUERY_BYTES} bytes")));
    }
    let mut lexer = Lexer::new(query);
    let next = lexer.next()?;
    let mut parser =
        Parser { query, lexer, next, terms: 0, wildcards: 0, links: 0, depth: 0, has_and: false };
    let condition = parser.any()?;
    match parser.next {
        (Token::End, _) => Ok(Parsed { condition, has_and: parser.has_and }),
        // Only a closing parenthesis can be left: every other token continues a condition.
        (_, at) => Err(QueryError::at(query, at, "an opening parenthesis before this one")),
    }
}

struct Parser<'q> {
    query: &'q str,
    lexer: Lexer<'q>,
    /// Lookahead token and its byte offset.
    next: (Token, usize),
    terms: usize,
    wildcards: usize,
    links: usize,
    depth: usize,
    has_and: bool,
}

impl Parser<'_> {
    fn take(&mut self) -> Result<(Token, usize)> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn error<T>(&self, at: usize, expected: impl Into<String>) -> Result<T> {
        Err(QueryError::at(self.query, at, expected))
    }

    fn any(&mut self) -> Result<Condition> {
        let mut any = vec![self.all()?];
        while self.next.0 == Token::Or {
            self.take()?;
            any.push(self.all()?);
        }
        Ok(single_or(any, Condition::Any))
    }

    fn all(&mut self) -> Result<Condition> {
        let mut all = vec![self.not()?];
        loop {
            match self.next.0 {
                Token::And => {
                    self.has_and = true;
                    self.take()?;
                }
                Token::Or | Token::Close | Token::End => return Ok(single_or(all, Condition::All)),
                _ => {}
            }
            all.push(self.not()?);
        }
    }

    fn not(&mut self) -> Result<Condition> {
        if self.next.0 != Token::Not {
            return self.near();
        }
        self.take()?;
        let not = self.nested(Parser::not)?;
        Ok(Condition::Not(Box::new(not)))
    }

    fn near(&mut self) -> Result<Condition> {
        let first = self.primary()?;
        let Token::Near(_) = self.next.0 else { return Ok(first) };
        let at = self.next.1;
        let Some(first) = near_operand(first) else {
            return self.error(at, "a word or a phrase before NEAR");
        };
        let (mut operands, mut max_distances) = (vec![first], Vec::new());
        while let Token::Near(distance) = self.next.0 {
            self.take()?;
            let at = self.next.1;
            let Some(next) = near_operand(self.primary()?) else {
                return self.error(at, "a word or a phrase after NEAR");
            };
            operands.push(next);
            max_distances.push(distance);
        }
        Ok(Condition::Near { operands, max_distances })
    }

    fn primary(&mut self) -> Result<Condition> {
        match self.take()? {
            (Token::Term(condition), at) => {
                self.count(&condition, at)?;
                Ok(condition)
            }
            (Token::Open, opened) => self.group(opened),
            (Token::FieldOpen(field), opened) => {
                let mut inner = self.group(opened)?;
                if inner.set_field(field) {
                    return Ok(inner);
                }
                self.error(opened, format!("only words and phrases in {}:( )", field.as_str()))
            }
            (_, at) => self.error(at, "a word, a \"phrase\", a condition or a parenthesis"),
        }
    }

    /// Parses the rest of a group up to its closing parenthesis.
    fn group(&mut self, opened: usize) -> Result<Condition> {
        let inner = self.nested(Parser::any)?;
        let (token, at) = self.take()?;
        if token == Token::Close {
            return Ok(inner);
        }
        let column = self.query[..opened].chars().count() + 1;
        self.error(at, format!("a closing parenthesis for the one at character {column}"))
    }

    /// Counts a condition against the limits of a query.
    fn count(&mut self, condition: &Condition, at: usize) -> Result<()> {
        self.terms += 1;
        self.wildcards += usize::from(has_wildcard(condition));
        self.links += usize::from(matches!(condition, Condition::Link(_)));
        let limits = [
            (self.terms, MAX_QUERY_TERMS, "terms"),
            (self.wildcards, MAX_QUERY_WILDCARDS, "wildcards"),
            (self.links, MAX_QUERY_LINK_CONDITIONS, "link conditions"),
        ];
        match limits.into_iter().find(|(count, limit, _)| count > limit) {
            Some((_, limit, kind)) => self.error(at, format!("at most {limit} {kind}")),
            None => Ok(()),
        }
    }

    fn nested(&mut self, read: impl Fn(&mut Self) -> Result<Condition>) -> Result<Condition> {
        self.depth += 1;
        if self.depth > MAX_QUERY_DEPTH {
            return self
                .error(self.next.1, format!("at most {MAX_QUERY_DEPTH} nested parentheses and negations"));
        }
        let condition = read(self);
        self.depth -= 1;
        condition
    }
}

fn has_wildcard(condition: &Condition) -> bool {
    matches!(condition, Condition::Text { pattern: WordPattern::Wildcard(_), .. })
}

/// Returns the pattern of an operand of NEAR: a word or a phrase.
fn near_operand(condition: Condition) -> Option<WordPattern> {
    match condition {
        Condition::Text {
            field: None,
            pattern: pattern @ (WordPattern::Word(_) | WordPattern::Phrase(_)),
        } => Some(pattern),
        _ => None,
    }
}

/// Returns the only condition of a list, or the list.
fn single_or(mut conditions: Vec<Condition>, list: impl Fn(Vec<Condition>) -> Condition) -> Condition {
    match (conditions.len(), conditions.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            conditions.extend(last);
            list(conditions)
        }
    }
}
