//! Lexer of queries.
//!
//! Tokens are parentheses, operators, words with wildcards, phrases, and conditions `name:value`. An unknown name is an error, so that a
//! mistyped condition is not searched as a word.

use model::LinkRelation;

use super::condition::{Comparison, Condition, LinkCondition, NumericField, QueryField, WordPattern};
use super::{MAX_NEAR_DISTANCE, Period, QueryError};

/// Token of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Open,
    /// Group of words and phrases in a field: `title:(`.
    FieldOpen(QueryField),
    Close,
    And,
    Or,
    Not,
    Near(u16),
    /// Word, phrase or condition.
    Term(Condition),
    End,
}

/// Upper bound of numbers: integers below it are exact in `f64`.
const MAX_NUMBER: f64 = 1e15;

const EXPECTED_FIELDS: &str = "one of title: url: anchor: site: domain: lang: type: date: depth: status: inlinks: outlinks: \
                      pagerank: size: links-to: linked-from: related:, or quotes around it";

/// Splits a query into tokens.
pub(super) struct Lexer<'q> {
    query: &'q str,
    /// Byte offset of the next token.
    offset: usize,
}

type Result<T> = std::result::Result<T, QueryError>;

impl<'q> Lexer<'q> {
    pub(super) fn new(query: &'q str) -> Lexer<'q> {
        Lexer { query, offset: 0 }
    }

    /// Returns the next token and its byte offset.
    pub(super) fn next(&mut self) -> Result<(Token, usize)> {
        self.offset += self.rest().len() - self.rest().trim_start().len();
        let start = self.offset;
        let Some(first) = self.rest().chars().next() else { return Ok((Token::End, start)) };
        let token = match first {
            '(' => self.skip_byte(Token::Open),
            ')' => self.skip_byte(Token::Close),
            '-' if self.is_negation() => self.skip_byte(Token::Not),
            '"' => Token::Term(Condition::Text { field: None, pattern: WordPattern::Phrase(self.phrase()?) }),
            _ => self.word_or_field(start)?,
        };
        Ok((token, start))
    }

    fn rest(&self) -> &'q str {
        &self.query[self.offset..]
    }

    fn skip_byte(&mut self, token: Token) -> Token {
        self.offset += 1;
        token
    }

    fn error<T>(&self, at: usize, expected: impl Into<String>) -> Result<T> {
        Err(QueryError::at(self.query, at, expected))
    }

    /// Whether a hyphen is a negation; a single hyphen is a word.
    fn is_negation(&self) -> bool {
        self.rest()[1..].chars().next().is_some_and(|next| !next.is_whitespace() && next != ')')
    }

    /// Reads a quoted phrase.
    fn phrase(&mut self) -> Result<String> {
        let start = self.offset;
        let Some(length) = self.rest()[1..].find('"') else {
            return self
                .error(self.query.len(), format!("a closing quote that ends {}", excerpt(self.rest())));
        };
        let words = &self.rest()[1..=length];
        if !words.chars().any(char::is_alphanumeric) {
            return self.error(start, "words between the quotes");
        }
        self.offset += length + 2;
        Ok(words.to_owned())
    }

    /// Reads up to white space, a parenthesis or a quote.
    fn read_run(&mut self) -> &'q str {
        let ends = |letter: char| letter.is_whitespace() || matches!(letter, '(' | ')' | '"');
        let run = self.rest();
        let run = &run[..run.find(ends).unwrap_or(run.len())];
        self.offset += run.len();
        run
    }

    fn word_or_field(&mut self, start: usize) -> Result<Token> {
        let name = self.rest().split(|letter: char| !letter.is_ascii_alphabetic() && letter != '-').next();
        let name = name.unwrap_or_default();
        let after = &self.rest()[name.len()..];
        if !name.is_empty() && after.starts_with(':') {
            let lower = name.to_ascii_lowercase();
            self.offset += name.len() + 1;
            if let Some(field) = text_field(&lower).filter(|_| self.rest().starts_with('(')) {
                return Ok(self.skip_byte(Token::FieldOpen(field)));
            }
            if let Some(condition) = self.field(&lower)? {
                return Ok(Token::Term(condition));
            }
            // `note: ...` and `(note:)` are text; `nite:x` is a mistake.
            let ends = |next: char| next.is_whitespace() || next == ')';
            if self.rest().chars().next().is_some_and(|next| !ends(next)) {
                return self.error(start, EXPECTED_FIELDS);
            }
            self.offset = start;
        }
        match self.read_run() {
            "AND" => Ok(Token::And),
            "OR" => Ok(Token::Or),
            "NOT" => Ok(Token::Not),
            run if run == "NEAR" || run.starts_with("NEAR/") => self.near(run, start),
            run => {
                let pattern = self.wildcard_word(run, start)?;
                Ok(Token::Term(Condition::Text { field: None, pattern }))
            }
        }
    }

    fn near(&self, run: &str, start: usize) -> Result<Token> {
        let distance = run.strip_prefix("NEAR/").and_then(|number| number.parse().ok());
        match distance.filter(|distance| (1..=MAX_NEAR_DISTANCE).contains(distance)) {
            Some(distance) => Ok(Token::Near(distance)),
            None => self.error(start, format!("NEAR/n with a number of words from 1 to {MAX_NEAR_DISTANCE}")),
        }
    }

    /// Parses a word, with or without wildcards.
    fn wildcard_word(&self, run: &str, start: usize) -> Result<WordPattern> {
        if !run.contains('*') {
            return Ok(WordPattern::Word(run.to_owned()));
        }
        let mut parts = run.split(|c: char| c != '*' && !c.is_alphanumeric());
        if parts.any(|part| part.contains('*') && !part.chars().any(char::is_alphanumeric)) {
            return self.error(start, "letters next to `*`");
        }
        Ok(WordPattern::Wildcard(run.to_owned()))
    }

    /// Parses the condition of a field name; `None` if the name is unknown.
    fn field(&mut self, name: &str) -> Result<Option<Condition>> {
        if let Some(field) = text_field(name) {
            let pattern = self.field_pattern(name)?;
            return Ok(Some(Condition::Text { field: Some(field), pattern }));
        }
        let numeric = match name {
            "depth" => Some(NumericField::Depth),
            "status" => Some(NumericField::Status),
            "inlinks" => Some(NumericField::Inlinks),
            "outlinks" => Some(NumericField::Outlinks),
            "pagerank" => Some(NumericField::PageRank),
            "size" => Some(NumericField::Size),
            _ => None,
        };
        if let Some(field) = numeric {
            return self.number(field).map(Some);
        }
        Ok(Some(match name {
            "site" => Condition::Site(self.name("a host such as site:www.example.org")?),
            "domain" => Condition::Domain(self.name("a domain such as domain:example.org")?),
            "lang" => Condition::Language(self.language()?),
            "type" => Condition::MimeType(self.name("a MIME type such as type:html or type:text/plain")?),
            "date" => self.date()?,
            "links-to" => self.link(LinkRelation::LinksTo)?,
            "linked-from" => self.link(LinkRelation::LinkedFrom)?,
            "related" => self.link(LinkRelation::Related)?,
            _ => return Ok(None),
        }))
    }

    fn field_pattern(&mut self, name: &str) -> Result<WordPattern> {
        let start = self.offset;
        if self.rest().starts_with('"') {
            return self.phrase().map(WordPattern::Phrase);
        }
        let run = self.read_run();
        let pattern = self.wildcard_word(run, start)?;
        if run.chars().any(char::is_alphanumeric) {
            return Ok(pattern);
        }
        self.error(start, format!("a word or a phrase right after {name}:"))
    }

    fn comparison(&mut self) -> Comparison {
        const SIGNS: [(&str, Comparison); 5] = [
            (">=", Comparison::GreaterOrEqual),
            ("<=", Comparison::LessOrEqual),
            (">", Comparison::Greater),
            ("<", Comparison::Less),
            ("=", Comparison::Equal),
        ];
        let found = SIGNS.into_iter().find(|(sign, _)| self.rest().starts_with(sign));
        let (sign, comparison) = found.unwrap_or(("", Comparison::Equal));
        self.offset += sign.len();
        comparison
    }

    fn number(&mut self, field: NumericField) -> Result<Condition> {
        let comparison = self.comparison();
        let start = self.offset;
        let run = self.read_run();
        let name = field.as_str();
        let value = match field {
            NumericField::PageRank => run.parse().ok(),
            NumericField::Size => parse_size(run),
            _ => parse_integer(run),
        };
        match value.filter(|value: &f64| (0.0..MAX_NUMBER).contains(value)) {
            // Adding 0.0 turns -0 into 0.
            Some(value) => Ok(Condition::Number { field, comparison, value: value + 0.0 }),
            None => self.error(
                start,
                match field {
                    NumericField::PageRank => "a number such as pagerank:>0.001".to_owned(),
                    NumericField::Size => "a number of bytes such as size:>100k or size:<2M".to_owned(),
                    _ => format!("an integer such as {name}:3, {name}:>=3 or {name}:<3"),
                },
            ),
        }
    }

    fn date(&mut self) -> Result<Condition> {
        let comparison = self.comparison();
        let start = self.offset;
        match Period::parse(self.read_run()) {
            Some(period) => Ok(Condition::Date { comparison, period }),
            None => self.error(start, "a date such as date:2024, date:>=2024-01 or date:<2024-01-31"),
        }
    }

    /// Reads a language code. A language name is an error: it would match nothing.
    fn language(&mut self) -> Result<String> {
        const EXPECTED: &str = "a language code such as lang:en";
        let start = self.offset;
        let code = self.name(EXPECTED)?;
        let is_code = code.split('-').next().is_some_and(|code| matches!(code.len(), 2 | 3));
        if is_code { Ok(code) } else { self.error(start, EXPECTED) }
    }

    /// Reads a host name or MIME type.
    fn name(&mut self, expected: &str) -> Result<String> {
        let start = self.offset;
        let run = self.read_run();
        if is_name(run) { Ok(run.to_lowercase()) } else { self.error(start, expected) }
    }

    /// Reads a URL, up to white space or an unbalanced closing parenthesis.
    fn link(&mut self, relation: LinkRelation) -> Result<Condition> {
        let start = self.offset;
        let url = if self.rest().starts_with('"') {
            self.phrase()?
        } else {
            let mut open = 0_u32;
            let ends = |letter: char| match letter {
                '(' => {
                    open += 1;
                    false
                }
                ')' if open > 0 => {
                    open -= 1;
                    false
                }
                letter => letter.is_whitespace() || matches!(letter, ')' | '"'),
            };
            let rest = self.rest();
            let url = &rest[..rest.find(ends).unwrap_or(rest.len())];
            self.offset += url.len();
            url.to_owned()
        };
        if !url.chars().any(char::is_alphanumeric) {
            return self.error(start, format!("a URL right after {}:", relation.as_str()));
        }
        Ok(Condition::Link(LinkCondition { relation, url: url.trim().to_owned() }))
    }
}

/// Text field of a name.
fn text_field(name: &str) -> Option<QueryField> {
    [QueryField::Title, QueryField::Url, QueryField::Anchor].into_iter().find(|field| field.as_str() == name)
}

/// Whether a text has only characters of host names and MIME types.
pub(crate) fn is_name(text: &str) -> bool {
    let is_symbol = |letter: char| matches!(letter, '.' | '-' | '_' | ':' | '/' | '+' | '[' | ']' | '%');
    text.chars().any(char::is_alphanumeric)
        && text.chars().all(|letter| letter.is_alphanumeric() || is_symbol(letter))
}

/// Parses an integer of digits only.
fn parse_integer(text: &str) -> Option<f64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<f64>().ok()).flatten()
}

/// Parses a number of bytes with an optional unit `k`, `M` or `G` (powers of 1000).
fn parse_size(text: &str) -> Option<f64> {
    let text = text.strip_suffix(['b', 'B']).unwrap_or(text);
    let (number, unit) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 1e3),
        'm' | 'M' => (&text[..text.len() - 1], 1e6),
        'g' | 'G' => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value = is_number.then(|| number.parse::<f64>().ok()).flatten()?;
    Some((value * unit).round())
}

/// Beginning of a text, for a message.
fn excerpt(text: &str) -> String {
    const MAX_EXCERPT_CHARACTERS: usize = 20;
    let start: String = text.chars().take(MAX_EXCERPT_CHARACTERS).collect();
    if start.len() < text.len() { format!("`{start}…`") } else { format!("`{start}`") }
}
