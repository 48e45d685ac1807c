//! How do the pieces of a query belong together?
//!
//! ```text
//! any     = all { "OR" all }
//! all     = not { [ "AND" ] not }
//! not     = ( "NOT" | "-" ) not | near
//! near    = primary { "NEAR/n" primary }          of words and phrases alone
//! primary = "(" any ")" | term
//! ```

use super::condition::{Condition, Words};
use super::lexer::{Lexer, Token};
use super::{
    QUERY_LIMIT_BYTES, QUERY_LIMIT_DEPTH, QUERY_LIMIT_LINKS, QUERY_LIMIT_STARS, QUERY_LIMIT_TERMS, QueryError,
};

type Result<T> = std::result::Result<T, QueryError>;

/// Reads a query.
pub(super) fn parse(query: &str) -> Result<Condition> {
    if query.len() > QUERY_LIMIT_BYTES {
        let end = (0..=QUERY_LIMIT_BYTES).rev().find(|at| query.is_char_boundary(*at)).unwrap_or(0);
        return Err(QueryError::at(query, end, format!("at most {QUERY_LIMIT_BYTES} bytes")));
    }
    let mut lexer = Lexer::new(query);
    let next = lexer.next()?;
    let mut parser = Parser { query, lexer, next, terms: 0, stars: 0, links: 0, depth: 0 };
    let condition = parser.any()?;
    match parser.next {
        (Token::End, _) => Ok(condition),
        // Everything else begins a condition, and would have been taken for one.
        (_, at) => Err(QueryError::at(query, at, "a parenthesis that opens before this one")),
    }
}

struct Parser<'q> {
    query: &'q str,
    lexer: Lexer<'q>,
    /// The piece to be read next, and where it begins.
    next: (Token, usize),
    terms: usize,
    stars: usize,
    links: usize,
    depth: usize,
}

impl Parser<'_> {
    fn take(&mut self) -> Result<(Token, usize)> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn wrong<T>(&self, at: usize, expected: impl Into<String>) -> Result<T> {
        Err(QueryError::at(self.query, at, expected))
    }

    fn any(&mut self) -> Result<Condition> {
        let mut any = vec![self.all()?];
        while self.next.0 == Token::Or {
            self.take()?;
            any.push(self.all()?);
        }
        Ok(one_or(any, Condition::Any))
    }

    fn all(&mut self) -> Result<Condition> {
        let mut all = vec![self.not()?];
        loop {
            match self.next.0 {
                Token::And => drop(self.take()?),
                Token::Or | Token::Close | Token::End => return Ok(one_or(all, Condition::All)),
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
        let not = self.deeper(Parser::not)?;
        Ok(Condition::Not(Box::new(not)))
    }

    fn near(&mut self) -> Result<Condition> {
        let first = self.primary()?;
        let Token::Near(_) = self.next.0 else { return Ok(first) };
        let at = self.next.1;
        let Some(first) = nearable(first) else {
            return self.wrong(at, "a word or a phrase before NEAR");
        };
        let (mut words, mut within) = (vec![first], Vec::new());
        while let Token::Near(distance) = self.next.0 {
            self.take()?;
            let at = self.next.1;
            let Some(next) = nearable(self.primary()?) else {
                return self.wrong(at, "a word or a phrase after NEAR");
            };
            words.push(next);
            within.push(distance);
        }
        Ok(Condition::Near { words, within })
    }

    fn primary(&mut self) -> Result<Condition> {
        match self.take()? {
            (Token::Term(condition), at) => {
                self.count(&condition, at)?;
                Ok(condition)
            }
            (Token::Open, opened) => {
                let inner = self.deeper(Parser::any)?;
                let (token, at) = self.take()?;
                if token == Token::Close {
                    return Ok(inner);
                }
                let column = self.query[..opened].chars().count() + 1;
                self.wrong(at, format!("a parenthesis that closes the one at character {column}"))
            }
            (_, at) => self.wrong(at, "a word, a \"phrase\", a condition or a parenthesis"),
        }
    }

    /// Each condition costs something, and some cost much.
    fn count(&mut self, condition: &Condition, at: usize) -> Result<()> {
        self.terms += 1;
        self.stars += usize::from(has_star(condition));
        self.links += usize::from(matches!(condition, Condition::Link(_)));
        let limits = [
            (self.terms, QUERY_LIMIT_TERMS, "words and conditions"),
            (self.stars, QUERY_LIMIT_STARS, "words with stars"),
            (self.links, QUERY_LIMIT_LINKS, "of links-to:, linked-from: and related:"),
        ];
        match limits.into_iter().find(|(count, limit, _)| count > limit) {
            Some((_, limit, what)) => self.wrong(at, format!("at most {limit} {what}")),
            None => Ok(()),
        }
    }

    fn deeper(&mut self, read: impl Fn(&mut Self) -> Result<Condition>) -> Result<Condition> {
        self.depth += 1;
        if self.depth > QUERY_LIMIT_DEPTH {
            return self.wrong(
                self.next.1,
                format!("at most {QUERY_LIMIT_DEPTH} parentheses and negations within each other"),
            );
        }
        let condition = read(self);
        self.depth -= 1;
        condition
    }
}

fn has_star(condition: &Condition) -> bool {
    matches!(condition, Condition::Text { words: Words::Prefix(_) | Words::Within(_), .. })
}

/// Words that can be near others.
fn nearable(condition: Condition) -> Option<Words> {
    match condition {
        Condition::Text { part: None, words: words @ (Words::Word(_) | Words::Phrase(_)) } => Some(words),
        _ => None,
    }
}

/// The only condition of a list, or all of them.
fn one_or(mut conditions: Vec<Condition>, list: impl Fn(Vec<Condition>) -> Condition) -> Condition {
    match (conditions.len(), conditions.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            conditions.extend(last);
            list(conditions)
        }
    }
}
