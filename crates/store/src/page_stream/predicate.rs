//! Predicate on pages, such as `status = 200 and body_bytes > 10000`: grammar and parser.
//!
//! ```text
//! any   = all { "or" all }
//! all   = not { "and" not }
//! not   = "not" not | "(" any ")" | test
//! test  = column ( order value | [ "not" ] "like" 'text' | [ "not" ] "in" "(" value { "," value } ")" | "is" [ "not" ] "null" )
//! order = "=" | "<>" | "!=" | "<" | "<=" | ">" | ">="
//! value = number | 'text'                                  a quote within a text is doubled
//! ```
//!
//! The semantics are those of SQL: `%` and `_` in `like` match any characters and one character, and a comparison with null is
//! neither true nor false. Joins, aggregates and functions are not supported; the tables have them.

use std::fmt;
use std::str::FromStr;

use warc::parse_date;

use super::condition::{
    CompareOp, Comparison, Condition, FilterColumn, Literal, LiteralType, Operator, document_condition_count,
};

/// Maximum length of a predicate.
const MAX_PREDICATE_BYTES: usize = 4 << 10;
/// Maximum nesting of parentheses and negations.
const MAX_DEPTH: usize = 32;
/// Maximum number of separate conditions on documents; each takes two bits of memory per page.
const MAX_DOCUMENT_CONDITIONS: usize = 4;

/// Parsed and validated predicate on pages.
#[derive(Debug, Clone)]
pub struct Predicate {
    text: String,
    pub(super) condition: Condition,
}

/// Syntax or type error of a predicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {column}: expected {expected}, found {found}")]
pub struct PredicateError {
    /// Position of the error in characters, from 1.
    pub column: usize,
    /// Expected syntax.
    pub expected: String,
    /// Text found at the position.
    pub found: String,
}

impl Predicate {
    /// Names of all columns.
    pub fn columns() -> impl Iterator<Item = &'static str> {
        FilterColumn::ALL.iter().map(|(name, _)| *name)
    }
}

impl PartialEq for Predicate {
    fn eq(&self, other: &Predicate) -> bool {
        self.text == other.text
    }
}

impl Eq for Predicate {}

impl fmt::Display for Predicate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl FromStr for Predicate {
    type Err = PredicateError;

    fn from_str(text: &str) -> Result<Predicate, PredicateError> {
        if text.len() > MAX_PREDICATE_BYTES {
            let end = (0..=MAX_PREDICATE_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            return Err(error_at(
                text,
                end,
                format!("the end: the maximum length is {MAX_PREDICATE_BYTES} bytes"),
            ));
        }
        let mut parser = Parser { text, at: 0, next: (Token::End, 0), depth: 0 };
        parser.advance()?;
        let condition = parser.any()?;
        parser.expect(parser.next.0 == Token::End, "and, or, or the end")?;
        if document_condition_count(&condition) > MAX_DOCUMENT_CONDITIONS {
            let expected = format!(
                "at most {MAX_DOCUMENT_CONDITIONS} separate groups of conditions on document columns"
            );
            return Err(error_at(text, 0, expected));
        }
        Ok(Predicate { text: text.to_owned(), condition })
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'t> {
    Word(&'t str),
    Number(f64),
    Text(String),
    Symbol(&'static str),
    End,
}

struct Parser<'t> {
    text: &'t str,
    /// End of the next token.
    at: usize,
    next: (Token<'t>, usize),
    depth: usize,
}

/// Symbols, longer ones first.
const SYMBOLS: [&str; 10] = ["<>", "!=", "<=", ">=", "=", "<", ">", "(", ")", ","];

impl<'t> Parser<'t> {
    /// Returns the next token and its position, and reads the one after it.
    fn advance(&mut self) -> Result<(Token<'t>, usize), PredicateError> {
        let text = self.text;
        let rest = text[self.at..].trim_start();
        let start = text.len() - rest.len();
        let (token, length) = match rest.chars().next() {
            None => (Token::End, 0),
            Some('\'') => self.quoted(start)?,
            Some(first) if first.is_ascii_alphabetic() => {
                let length = word_bytes(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
                (Token::Word(&rest[..length]), length)
            }
            Some(first) if first.is_ascii_digit() || first == '-' => {
                let length = 1 + word_bytes(&rest[1..], |byte| byte.is_ascii_alphanumeric() || byte == b'.');
                let number = rest[..length].parse().ok().filter(|number: &f64| number.is_finite());
                (Token::Number(number.ok_or_else(|| error_at(text, start, "a number"))?), length)
            }
            Some(_) => {
                let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
                let symbol =
                    symbol.ok_or_else(|| error_at(text, start, "a column, a comparison or a value"))?;
                (Token::Symbol(symbol), symbol.len())
            }
        };
        self.at = start + length;
        Ok(std::mem::replace(&mut self.next, (token, start)))
    }

    /// Reads a quoted text; returns its length with the quotes too.
    fn quoted(&self, start: usize) -> Result<(Token<'t>, usize), PredicateError> {
        let mut content = String::new();
        let mut rest = &self.text[start + 1..];
        loop {
            let end = rest.find('\'').ok_or_else(|| error_at(self.text, self.text.len(), "a quote"))?;
            content.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            let Some(after) = rest.strip_prefix('\'') else {
                return Ok((Token::Text(content), self.text.len() - rest.len() - start));
            };
            content.push('\'');
            rest = after;
        }
    }

    /// Consumes a keyword, if it is next.
    fn keyword(&mut self, word: &str) -> Result<bool, PredicateError> {
        let is_next = matches!(&self.next.0, Token::Word(next) if next.eq_ignore_ascii_case(word));
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    /// Consumes a symbol, if it is next.
    fn symbol(&mut self, symbol: &'static str) -> Result<bool, PredicateError> {
        let is_next = self.next.0 == Token::Symbol(symbol);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn expect(&self, found: bool, expected: &str) -> Result<(), PredicateError> {
        if found { Ok(()) } else { Err(error_at(self.text, self.next.1, expected)) }
    }

    fn any(&mut self) -> Result<Condition, PredicateError> {
        let mut list = vec![self.all()?];
        while self.keyword("or")? {
            list.push(self.all()?);
        }
        Ok(Condition::Any(list))
    }

    fn all(&mut self) -> Result<Condition, PredicateError> {
        let mut list = vec![self.not()?];
        while self.keyword("and")? {
            list.push(self.not()?);
        }
        Ok(Condition::All(list))
    }

    fn not(&mut self) -> Result<Condition, PredicateError> {
        let shallow = self.depth < MAX_DEPTH;
        self.expect(shallow, &format!("at most {MAX_DEPTH} levels of nesting"))?;
        self.depth += 1;
        let condition = if self.keyword("not")? {
            Condition::Not(Box::new(self.not()?))
        } else if self.symbol("(")? {
            let inner = self.any()?;
            let closed = self.symbol(")")?;
            self.expect(closed, "and, or, or a closing parenthesis")?;
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn comparison(&mut self) -> Result<Condition, PredicateError> {
        let column = self.column()?;
        if self.keyword("is")? {
            let negated = self.keyword("not")?;
            let null = self.keyword("null")?;
            self.expect(null, if negated { "null" } else { "null or not null" })?;
            return Ok(negated_if(negated, column, Operator::IsNull));
        }
        let negated = self.keyword("not")?;
        if column.literal_type() == LiteralType::Text && self.keyword("like")? {
            return match self.advance()? {
                (Token::Text(pattern), _) => {
                    Ok(negated_if(negated, column, Operator::Like(pattern.chars().collect())))
                }
                (_, at) => Err(error_at(self.text, at, "a text in single quotes")),
            };
        }
        if self.keyword("in")? {
            let opened = self.symbol("(")?;
            self.expect(opened, "values in parentheses")?;
            let mut values = vec![self.value(column)?];
            while self.symbol(",")? {
                values.push(self.value(column)?);
            }
            let closed = self.symbol(")")?;
            self.expect(closed, "a comma or a closing parenthesis")?;
            return Ok(negated_if(negated, column, Operator::OneOf(values)));
        }
        self.expect(!negated, if column.literal_type() == LiteralType::Text { "like or in" } else { "in" })?;
        let operator = self.compare_op(column)?;
        let value = self.value(column)?;
        Ok(negated_if(false, column, Operator::Compare(operator, value)))
    }

    fn column(&mut self) -> Result<FilterColumn, PredicateError> {
        let (token, at) = self.advance()?;
        let Token::Word(name) = token else {
            return Err(error_at(self.text, at, "a column, not, or a parenthesis"));
        };
        let column = FilterColumn::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let known = || Predicate::columns().collect::<Vec<_>>().join(", ");
        let expected = || format!("a column: {}", known());
        column.map(|(_, column)| *column).ok_or_else(|| error_at(self.text, at, expected()))
    }

    fn compare_op(&mut self, column: FilterColumn) -> Result<CompareOp, PredicateError> {
        let (token, at) = self.advance()?;
        Ok(match token {
            Token::Symbol("=") => CompareOp::Equal,
            Token::Symbol("<>" | "!=") => CompareOp::NotEqual,
            Token::Symbol("<") => CompareOp::Less,
            Token::Symbol("<=") => CompareOp::LessOrEqual,
            Token::Symbol(">") => CompareOp::Greater,
            Token::Symbol(">=") => CompareOp::GreaterOrEqual,
            _ if column.literal_type() == LiteralType::Text => {
                return Err(error_at(self.text, at, "=, <>, <, <=, >, >=, like, in or is"));
            }
            _ => return Err(error_at(self.text, at, "=, <>, <, <=, >, >=, in or is")),
        })
    }

    /// Reads a value of the type of the column.
    fn value(&mut self, column: FilterColumn) -> Result<Literal<'static>, PredicateError> {
        let (token, at) = self.advance()?;
        let expected = match (column.literal_type(), token) {
            (LiteralType::Number, Token::Number(number)) => return Ok(Literal::Number(number)),
            (LiteralType::Text, Token::Text(text)) => return Ok(Literal::Text(text.into())),
            (LiteralType::Time, Token::Text(text)) => match parse_date(&text) {
                Some(time_ms) => return Ok(Literal::Number(time_ms as f64)),
                None => "a date such as '2026-11-15' or '2026-11-15T08:30:00Z'",
            },
            (LiteralType::Number, _) => "a number",
            (LiteralType::Text, _) => "a text in single quotes",
            (LiteralType::Time, _) => "a date in single quotes",
        };
        Err(error_at(self.text, at, expected))
    }
}

fn negated_if(negated: bool, column: FilterColumn, operator: Operator) -> Condition {
    let comparison = Condition::Comparison(Comparison { column, operator });
    if negated { Condition::Not(Box::new(comparison)) } else { comparison }
}

fn word_bytes(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| belongs(*byte)).count()
}

/// Error at a position; the text found there extends to the next space.
fn error_at(text: &str, at: usize, expected: impl Into<String>) -> PredicateError {
    let word: String = text[at..].chars().take_while(|letter| !letter.is_whitespace()).take(40).collect();
    let found = if word.is_empty() { "the end".to_owned() } else { format!("`{word}`") };
    PredicateError { column: text[..at].chars().count() + 1, expected: expected.into(), found }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> String {
        text.parse::<Predicate>().unwrap_err().to_string()
    }

    #[test]
    fn an_error_has_its_position() {
        for (text, expected) in [
            ("", "at character 1: expected a column, not, or a parenthesis, found the end"),
            ("status", "at character 7: expected =, <>, <, <=, >, >=, in or is, found the end"),
            ("status == 200", "at character 9: expected a number, found `=`"),
            ("status = 'ok'", "at character 10: expected a number, found `'ok'`"),
            ("status = 2x", "at character 10: expected a number, found `2x`"),
            ("body_bytes like '1%'", "at character 12: expected =, <>, <, <=, >, >=, in or is, found `like`"),
            ("title not = 'a'", "at character 11: expected like or in, found `=`"),
            ("title = \"a\"", "at character 9: expected a column, a comparison or a value, found `\"a\"`"),
            ("title = 'it", "at character 12: expected a quote, found the end"),
            ("fetch_time > 'soon'", "at character 14: expected a date such as '2026-11-15'"),
            ("(status = 200", "at character 14: expected and, or, or a closing parenthesis, found the end"),
            ("status = 200)", "at character 13: expected and, or, or the end, found `)`"),
            ("status in ()", "at character 12: expected a number, found `)`"),
            ("status is 200", "at character 11: expected null or not null, found `200`"),
            ("colour = 'red'", "at character 1: expected a column: url, status, mime_type"),
            ("title = 'ö' und", "at character 13: expected and, or, or the end, found `und`"),
        ] {
            assert!(error(text).starts_with(expected), "{text}: {}", error(text));
        }
        assert!(error(&"(".repeat(100)).contains("at most 32 levels of nesting"));
        assert!(
            error(&format!("title = '{}'", "x".repeat(5_000))).contains("the maximum length is 4096 bytes")
        );
        let apart = |times| vec!["(word_count = 1 or body_bytes = 1)"; times].join(" and ");
        assert!(apart(4).parse::<Predicate>().is_ok());
        assert!(error(&apart(5)).contains("at most 4 separate groups"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected_with_a_position(text in "((status|title|fetch_time|word_count|and|or|not|like|in|is|null|[<>=!(),'ö%-]|[0-9.]{1,3}) ?){0,12}") {
            match text.parse::<Predicate>() {
                Ok(predicate) => prop_assert_eq!(predicate.to_string(), text),
                Err(error) => prop_assert!(error.column <= text.chars().count() + 1),
            }
        }
    }
}
