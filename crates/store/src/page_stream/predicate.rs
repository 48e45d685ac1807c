//! Which pages does somebody mean who writes `status = 200 and size > 10000`? A small language of conditions, and how it is read.
//!
//! ```text
//! any   = all { "or" all }
//! all   = not { "and" not }
//! not   = "not" not | "(" any ")" | test
//! test  = column ( order value | [ "not" ] "like" 'text' | [ "not" ] "in" "(" value { "," value } ")" | "is" [ "not" ] "null" )
//! order = "=" | "<>" | "!=" | "<" | "<=" | ">" | ">="
//! value = number | 'text'                                  a quote inside of a text is written twice
//! ```
//!
//! Words mean what they mean in SQL: `%` and `_` in `like` stand for any characters and for one, and a comparison with what is
//! not known is neither true nor false. Not for joins, sums or functions: those are asked of the tables.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::evaluator::document_parts;
use warc::parse_date;

/// No predicate is longer.
const MAX_PREDICATE_BYTES: usize = 4 << 10;
/// Parentheses and negations in each other.
const MAX_DEPTH: usize = 32;
/// Parts about documents, with others between them: each takes memory for all pages.
const MAX_DOCUMENT_CONDITIONS: usize = 4;

/// A condition on pages, read and checked.
#[derive(Debug, Clone)]
pub struct Predicate {
    text: String,
    pub(super) condition: Condition,
}

/// A predicate that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {column}: expected {expected}, found {found}")]
pub struct PredicateError {
    /// The character where it stops making sense, counted from 1.
    pub column: usize,
    /// What would make sense there.
    pub expected: String,
    /// What stands there instead.
    pub found: String,
}

/// How tests belong together.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Comparison(Comparison),
}

/// What is asked of one column.
#[derive(Debug, Clone)]
pub(super) struct Comparison {
    pub(super) column: FilterColumn,
    pub(super) operator: Operator,
}

#[derive(Debug, Clone)]
pub(super) enum Operator {
    Compare(CompareOp, Literal<'static>),
    OneOf(Vec<Literal<'static>>),
    Like(Vec<char>),
    IsNull,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompareOp {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// What a page has in a column: a number (of a time, Unix milliseconds) or a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal<'a> {
    Number(f64),
    Text(Cow<'a, str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LiteralType {
    Number,
    Text,
    Time,
}

/// Where the value of a column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnSource {
    /// The state of the page, and its site's name.
    State,
    /// The table of documents.
    Documents,
    /// The stored record, which must be read for it.
    Record,
}

macro_rules! columns {
    ($($FilterColumn:ident, $name:literal, $LiteralType:ident, $ColumnSource:ident;)*) => {
        /// What can be asked for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum FilterColumn {
            $($FilterColumn,)*
        }

        impl FilterColumn {
            const ALL: &[(&str, FilterColumn)] = &[$(($name, FilterColumn::$FilterColumn),)*];

            pub(super) fn name(self) -> &'static str {
                match self { $(FilterColumn::$FilterColumn => $name,)* }
            }

            pub(super) fn source(self) -> ColumnSource {
                match self { $(FilterColumn::$FilterColumn => ColumnSource::$ColumnSource,)* }
            }

            fn kind(self) -> LiteralType {
                match self { $(FilterColumn::$FilterColumn => LiteralType::$LiteralType,)* }
            }
        }
    };
}

columns! {
    Url, "url", Text, Record;
    Status, "status", Number, Record;
    MimeType, "mime_type", Text, Record;
    FetchTime, "fetch_time", Time, Record;
    PageId, "page_id", Number, State;
    Site, "site", Text, State;
    Host, "host", Text, State;
    Depth, "depth", Number, State;
    BodyBytes, "body_bytes", Number, State;
    Inlinks, "inlinks", Number, State;
    FetchCount, "fetch_count", Number, State;
    ChangeCount, "change_count", Number, State;
    FirstFetchTime, "first_fetch_time", Time, State;
    LastFetchTime, "last_fetch_time", Time, State;
    DuplicateOf, "duplicate_of", Number, State;
    Language, "language", Text, Documents;
    Title, "title", Text, Documents;
    Charset, "charset", Text, Documents;
    WordCount, "word_count", Number, Documents;
    TextLength, "text_length", Number, Documents;
    InternalLinks, "internal_links", Number, Documents;
    ExternalLinks, "external_links", Number, Documents;
    PublishedTime, "published_time", Time, Documents;
    ModifiedTime, "modified_time", Time, Documents;
}

impl Predicate {
    /// The names of all columns.
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
            return Err(wrong(text, end, format!("the end, for {MAX_PREDICATE_BYTES} bytes are the most")));
        }
        let mut parser = Parser { text, at: 0, next: (Token::End, 0), depth: 0 };
        parser.take()?;
        let condition = parser.any()?;
        parser.expect(parser.next.0 == Token::End, "and, or, or the end")?;
        if document_parts(&condition) > MAX_DOCUMENT_CONDITIONS {
            let most =
                format!("what is about documents side by side, in at most {MAX_DOCUMENT_CONDITIONS} places");
            return Err(wrong(text, 0, most));
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
    /// Behind the token that comes next.
    at: usize,
    next: (Token<'t>, usize),
    depth: usize,
}

/// Longer ones first.
const SYMBOLS: [&str; 10] = ["<>", "!=", "<=", ">=", "=", "<", ">", "(", ")", ","];

impl<'t> Parser<'t> {
    /// The next token; the one behind it takes its place.
    fn take(&mut self) -> Result<(Token<'t>, usize), PredicateError> {
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
                (Token::Number(number.ok_or_else(|| wrong(text, start, "a number"))?), length)
            }
            Some(_) => {
                let sign = SYMBOLS.into_iter().find(|sign| rest.starts_with(sign));
                let sign = sign.ok_or_else(|| wrong(text, start, "a column, a comparison or a value"))?;
                (Token::Symbol(sign), sign.len())
            }
        };
        self.at = start + length;
        Ok(std::mem::replace(&mut self.next, (token, start)))
    }

    /// A text between quotes, and how long it is with them.
    fn quoted(&self, start: usize) -> Result<(Token<'t>, usize), PredicateError> {
        let mut content = String::new();
        let mut rest = &self.text[start + 1..];
        loop {
            let end = rest.find('\'').ok_or_else(|| wrong(self.text, self.text.len(), "a quote"))?;
            content.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            let Some(behind) = rest.strip_prefix('\'') else {
                return Ok((Token::Text(content), self.text.len() - rest.len() - start));
            };
            content.push('\'');
            rest = behind;
        }
    }

    /// Takes a word, if it is the next.
    fn word(&mut self, word: &str) -> Result<bool, PredicateError> {
        let is_next = matches!(&self.next.0, Token::Word(next) if next.eq_ignore_ascii_case(word));
        if is_next {
            self.take()?;
        }
        Ok(is_next)
    }

    fn sign(&mut self, sign: &'static str) -> Result<bool, PredicateError> {
        let is_next = self.next.0 == Token::Symbol(sign);
        if is_next {
            self.take()?;
        }
        Ok(is_next)
    }

    fn expect(&self, found: bool, expected: &str) -> Result<(), PredicateError> {
        if found { Ok(()) } else { Err(wrong(self.text, self.next.1, expected)) }
    }

    fn any(&mut self) -> Result<Condition, PredicateError> {
        let mut list = vec![self.all()?];
        while self.word("or")? {
            list.push(self.all()?);
        }
        Ok(Condition::Any(list))
    }

    fn all(&mut self) -> Result<Condition, PredicateError> {
        let mut list = vec![self.not()?];
        while self.word("and")? {
            list.push(self.not()?);
        }
        Ok(Condition::All(list))
    }

    fn not(&mut self) -> Result<Condition, PredicateError> {
        let shallow = self.depth < MAX_DEPTH;
        self.expect(shallow, &format!("no more than {MAX_DEPTH} in each other"))?;
        self.depth += 1;
        let condition = if self.word("not")? {
            Condition::Not(Box::new(self.not()?))
        } else if self.sign("(")? {
            let inner = self.any()?;
            let closed = self.sign(")")?;
            self.expect(closed, "and, or, or a parenthesis that closes")?;
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn test(&mut self) -> Result<Condition, PredicateError> {
        let column = self.column()?;
        if self.word("is")? {
            let negated = self.word("not")?;
            let null = self.word("null")?;
            self.expect(null, if negated { "null" } else { "null or not null" })?;
            return Ok(negated_if(negated, column, Operator::IsNull));
        }
        let negated = self.word("not")?;
        if column.kind() == LiteralType::Text && self.word("like")? {
            return match self.take()? {
                (Token::Text(pattern), _) => {
                    Ok(negated_if(negated, column, Operator::Like(pattern.chars().collect())))
                }
                (_, at) => Err(wrong(self.text, at, "a text in single quotes")),
            };
        }
        if self.word("in")? {
            let opened = self.sign("(")?;
            self.expect(opened, "values in parentheses")?;
            let mut values = vec![self.value(column)?];
            while self.sign(",")? {
                values.push(self.value(column)?);
            }
            let closed = self.sign(")")?;
            self.expect(closed, "a comma, or a parenthesis that closes")?;
            return Ok(negated_if(negated, column, Operator::OneOf(values)));
        }
        self.expect(!negated, if column.kind() == LiteralType::Text { "like or in" } else { "in" })?;
        let order = self.order(column)?;
        let value = self.value(column)?;
        Ok(negated_if(false, column, Operator::Compare(order, value)))
    }

    fn column(&mut self) -> Result<FilterColumn, PredicateError> {
        let (token, at) = self.take()?;
        let Token::Word(name) = token else {
            return Err(wrong(self.text, at, "a column, not, or a parenthesis"));
        };
        let column = FilterColumn::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let known = || Predicate::columns().collect::<Vec<_>>().join(", ");
        let expected = || format!("a column, of which there are {}", known());
        column.map(|(_, column)| *column).ok_or_else(|| wrong(self.text, at, expected()))
    }

    fn order(&mut self, column: FilterColumn) -> Result<CompareOp, PredicateError> {
        let (token, at) = self.take()?;
        Ok(match token {
            Token::Symbol("=") => CompareOp::Equal,
            Token::Symbol("<>" | "!=") => CompareOp::Unequal,
            Token::Symbol("<") => CompareOp::Less,
            Token::Symbol("<=") => CompareOp::AtMost,
            Token::Symbol(">") => CompareOp::More,
            Token::Symbol(">=") => CompareOp::AtLeast,
            _ if column.kind() == LiteralType::Text => {
                return Err(wrong(self.text, at, "=, <>, <, <=, >, >=, like, in or is"));
            }
            _ => return Err(wrong(self.text, at, "=, <>, <, <=, >, >=, in or is")),
        })
    }

    /// A value as the column has them.
    fn value(&mut self, column: FilterColumn) -> Result<Literal<'static>, PredicateError> {
        let (token, at) = self.take()?;
        let expected = match (column.kind(), token) {
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
        Err(wrong(self.text, at, expected))
    }
}

fn negated_if(negated: bool, column: FilterColumn, question: Operator) -> Condition {
    let test = Condition::Comparison(Comparison { column, operator: question });
    if negated { Condition::Not(Box::new(test)) } else { test }
}

fn word_bytes(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| belongs(*byte)).count()
}

/// What was found is what stands there, up to the next space.
fn wrong(text: &str, at: usize, expected: impl Into<String>) -> PredicateError {
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
    fn what_makes_no_sense_is_pointed_at() {
        for (text, expected) in [
            ("", "at character 1: expected a column, not, or a parenthesis, found the end"),
            ("status", "at character 7: expected =, <>, <, <=, >, >=, in or is, found the end"),
            ("status == 200", "at character 9: expected a number, found `=`"),
            ("status = 'ok'", "at character 10: expected a number, found `'ok'`"),
            ("status = 2x", "at character 10: expected a number, found `2x`"),
            ("size like '1%'", "at character 6: expected =, <>, <, <=, >, >=, in or is, found `like`"),
            ("title not = 'a'", "at character 11: expected like or in, found `=`"),
            ("title = \"a\"", "at character 9: expected a column, a comparison or a value, found `\"a\"`"),
            ("title = 'it", "at character 12: expected a quote, found the end"),
            ("time > 'soon'", "at character 8: expected a date such as '2026-11-15'"),
            (
                "(status = 200",
                "at character 14: expected and, or, or a parenthesis that closes, found the end",
            ),
            ("status = 200)", "at character 13: expected and, or, or the end, found `)`"),
            ("status in ()", "at character 12: expected a number, found `)`"),
            ("status is 200", "at character 11: expected null or not null, found `200`"),
            ("colour = 'red'", "at character 1: expected a column, of which there are url, status, mime"),
            ("title = 'ö' und", "at character 13: expected and, or, or the end, found `und`"),
        ] {
            assert!(error(text).starts_with(expected), "{text}: {}", error(text));
        }
        assert!(error(&"(".repeat(100)).contains("no more than 32 in each other"));
        assert!(error(&format!("title = '{}'", "x".repeat(5_000))).contains("4096 bytes are the most"));
        let apart = |times| vec!["(words = 1 or size = 1)"; times].join(" and ");
        assert!(apart(4).parse::<Predicate>().is_ok());
        assert!(error(&apart(5)).contains("in at most 4 places"));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_pointed_at(text in "((status|title|time|words|and|or|not|like|in|is|null|[<>=!(),'ö%-]|[0-9.]{1,3}) ?){0,12}") {
            match text.parse::<Predicate>() {
                Ok(predicate) => prop_assert_eq!(predicate.to_string(), text),
                Err(wrong) => prop_assert!(wrong.column <= text.chars().count() + 1),
            }
        }
    }
}
