//! Where does one piece of a query end and the next begin?
//!
//! Pieces are parentheses, operators, words with their stars, phrases, and conditions of the form `name:value`. A name
//! that nobody knows is an error here, since a condition with a typing mistake must not be taken for a word.

use model::Neighbours;

use super::condition::{Compare, Condition, LinkCondition, Measure, Part, Words};
use super::{NEAR_LIMIT, Period, QueryError};

/// A piece of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Open,
    Close,
    And,
    Or,
    Not,
    Near(u16),
    /// A word, a phrase or a condition.
    Term(Condition),
    End,
}

/// Numbers in queries are smaller, so that each has one value.
const MOST_NUMBER: f64 = 1e15;

const FIELDS: &str = "one of title: url: anchor: site: domain: lang: type: date: depth: status: inlinks: outlinks: \
                      pagerank: size: links-to: linked-from: related:, or quotes around it";

/// Cuts a query into pieces.
pub(super) struct Lexer<'q> {
    query: &'q str,
    /// The byte that comes next.
    at: usize,
}

type Result<T> = std::result::Result<T, QueryError>;

impl<'q> Lexer<'q> {
    pub(super) fn new(query: &'q str) -> Lexer<'q> {
        Lexer { query, at: 0 }
    }

    /// The next piece, and the byte where it begins.
    pub(super) fn next(&mut self) -> Result<(Token, usize)> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        let start = self.at;
        let Some(first) = self.rest().chars().next() else { return Ok((Token::End, start)) };
        let token = match first {
            '(' => self.skip(Token::Open),
            ')' => self.skip(Token::Close),
            '-' if self.negates() => self.skip(Token::Not),
            '"' => Token::Term(Condition::Text { part: None, words: Words::Phrase(self.phrase()?) }),
            _ => self.run_or_field(start)?,
        };
        Ok((token, start))
    }

    fn rest(&self) -> &'q str {
        &self.query[self.at..]
    }

    fn skip(&mut self, token: Token) -> Token {
        self.at += 1;
        token
    }

    fn wrong<T>(&self, at: usize, expected: impl Into<String>) -> Result<T> {
        Err(QueryError::at(self.query, at, expected))
    }

    /// A hyphen that stands alone negates nothing.
    fn negates(&self) -> bool {
        self.rest()[1..].chars().next().is_some_and(|next| !next.is_whitespace() && next != ')')
    }

    /// What stands between quotes.
    fn phrase(&mut self) -> Result<String> {
        let start = self.at;
        let Some(length) = self.rest()[1..].find('"') else {
            return self.wrong(self.query.len(), format!("a quote that ends {}", shown(self.rest())));
        };
        let words = &self.rest()[1..=length];
        if !words.chars().any(char::is_alphanumeric) {
            return self.wrong(start, "words between the quotes");
        }
        self.at += length + 2;
        Ok(words.to_owned())
    }

    /// Everything up to a space, a parenthesis or a quote.
    fn run(&mut self) -> &'q str {
        let ends = |letter: char| letter.is_whitespace() || matches!(letter, '(' | ')' | '"');
        let run = self.rest();
        let run = &run[..run.find(ends).unwrap_or(run.len())];
        self.at += run.len();
        run
    }

    fn run_or_field(&mut self, start: usize) -> Result<Token> {
        let name = self.rest().split(|letter: char| !letter.is_ascii_alphabetic() && letter != '-').next();
        let name = name.unwrap_or_default();
        let after = &self.rest()[name.len()..];
        if !name.is_empty() && after.starts_with(':') {
            let lower = name.to_ascii_lowercase();
            self.at += name.len() + 1;
            if let Some(condition) = self.field(&lower)? {
                return Ok(Token::Term(condition));
            }
            // `note: ...` and `(note:)` are text; `nite:x` is a mistake.
            let ends = |next: char| next.is_whitespace() || next == ')';
            if self.rest().chars().next().is_some_and(|next| !ends(next)) {
                return self.wrong(start, FIELDS);
            }
            self.at = start;
        }
        match self.run() {
            "AND" => Ok(Token::And),
            "OR" => Ok(Token::Or),
            "NOT" => Ok(Token::Not),
            run if run == "NEAR" || run.starts_with("NEAR/") => self.near(run, start),
            run => {
                let words = self.starred(run, start)?;
                Ok(Token::Term(Condition::Text { part: None, words }))
            }
        }
    }

    fn near(&self, run: &str, start: usize) -> Result<Token> {
        let within = run.strip_prefix("NEAR/").and_then(|number| number.parse().ok());
        match within.filter(|within| (1..=NEAR_LIMIT).contains(within)) {
            Some(within) => Ok(Token::Near(within)),
            None => self.wrong(start, format!("NEAR/n with a number of words from 1 to {NEAR_LIMIT}")),
        }
    }

    /// A word with the stars that it has.
    fn starred(&self, run: &str, start: usize) -> Result<Words> {
        let inner = run.strip_prefix('*').unwrap_or(run);
        let inner = inner.strip_suffix('*').unwrap_or(inner);
        let stars = (run.starts_with('*'), run.len() > inner.len() + usize::from(run.starts_with('*')));
        if inner.contains('*') || stars == (true, false) {
            return self.wrong(start, "a star at the end of a word, or one at each end");
        }
        let is_empty = !inner.chars().any(char::is_alphanumeric);
        match stars {
            (_, false) => Ok(Words::Word(inner.to_owned())),
            (_, true) if is_empty => self.wrong(start, "letters beside the star"),
            (false, true) => Ok(Words::Prefix(inner.to_owned())),
            (true, true) => Ok(Words::Within(inner.to_owned())),
        }
    }

    /// The condition that a name and what follows it make; nothing if there is no such name.
    fn field(&mut self, name: &str) -> Result<Option<Condition>> {
        let text = |part| Some(part);
        let part = match name {
            "title" => text(Part::Title),
            "url" => text(Part::Url),
            "anchor" => text(Part::Anchor),
            _ => None,
        };
        if let Some(part) = part {
            let words = self.field_words(name)?;
            return Ok(Some(Condition::Text { part: Some(part), words }));
        }
        let measure = match name {
            "depth" => Some(Measure::Depth),
            "status" => Some(Measure::Status),
            "inlinks" => Some(Measure::InLinks),
            "outlinks" => Some(Measure::OutLinks),
            "pagerank" => Some(Measure::PageRank),
            "size" => Some(Measure::Size),
            _ => None,
        };
        if let Some(measure) = measure {
            return self.number(measure).map(Some);
        }
        Ok(Some(match name {
            "site" => Condition::Site(self.name("a host such as site:www.example.org")?),
            "domain" => Condition::Domain(self.name("a domain such as domain:example.org")?),
            "lang" => Condition::Language(self.language()?),
            "type" => Condition::Type(self.name("a type such as type:html or type:text/plain")?),
            "date" => self.date()?,
            "links-to" => self.link(Neighbours::LinksTo)?,
            "linked-from" => self.link(Neighbours::LinkedFrom)?,
            "related" => self.link(Neighbours::Related)?,
            _ => return Ok(None),
        }))
    }

    fn field_words(&mut self, name: &str) -> Result<Words> {
        let start = self.at;
        if self.rest().starts_with('"') {
            return self.phrase().map(Words::Phrase);
        }
        let run = self.run();
        let words = self.starred(run, start)?;
        if run.chars().any(char::is_alphanumeric) {
            return Ok(words);
        }
        self.wrong(start, format!("a word or a phrase right after {name}:"))
    }

    fn compare(&mut self) -> Compare {
        const SIGNS: [(&str, Compare); 5] = [
            (">=", Compare::AtLeast),
            ("<=", Compare::AtMost),
            (">", Compare::More),
            ("<", Compare::Less),
            ("=", Compare::Equal),
        ];
        let found = SIGNS.into_iter().find(|(sign, _)| self.rest().starts_with(sign));
        let (sign, compare) = found.unwrap_or(("", Compare::Equal));
        self.at += sign.len();
        compare
    }

    fn number(&mut self, measure: Measure) -> Result<Condition> {
        let compare = self.compare();
        let start = self.at;
        let run = self.run();
        let name = measure.as_str();
        let value = match measure {
            Measure::PageRank => run.parse().ok(),
            Measure::Size => size(run),
            _ => whole(run),
        };
        match value.filter(|value: &f64| (0.0..MOST_NUMBER).contains(value)) {
            // There is one zero.
            Some(value) => Ok(Condition::Number { measure, compare, value: value + 0.0 }),
            None => self.wrong(
                start,
                match measure {
                    Measure::PageRank => "a number such as pagerank:>0.001".to_owned(),
                    Measure::Size => "a number of bytes such as size:>100k or size:<2M".to_owned(),
                    _ => format!("a whole number such as {name}:3, {name}:>=3 or {name}:<3"),
                },
            ),
        }
    }

    fn date(&mut self) -> Result<Condition> {
        let compare = self.compare();
        let start = self.at;
        match Period::parse(self.run()) {
            Some(period) => Ok(Condition::Date { compare, period }),
            None => self.wrong(start, "a date such as date:2024, date:>=2024-01 or date:<2024-01-31"),
        }
    }

    /// Nobody would find anything by the name of a language.
    fn language(&mut self) -> Result<String> {
        const EXPECTED: &str = "the code of a language, such as lang:en";
        let start = self.at;
        let code = self.name(EXPECTED)?;
        let is_code = code.split('-').next().is_some_and(|code| matches!(code.len(), 2 | 3));
        if is_code { Ok(code) } else { self.wrong(start, EXPECTED) }
    }

    /// A value of letters, digits and the signs that hosts and types have.
    fn name(&mut self, expected: &str) -> Result<String> {
        let start = self.at;
        let run = self.run();
        if is_name(run) { Ok(run.to_lowercase()) } else { self.wrong(start, expected) }
    }

    /// A URL goes on to the next space, or the parenthesis that closes none of its own.
    fn link(&mut self, kind: Neighbours) -> Result<Condition> {
        let start = self.at;
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
            self.at += url.len();
            url.to_owned()
        };
        if !url.chars().any(char::is_alphanumeric) {
            return self.wrong(start, format!("a URL right after {}:", kind.as_str()));
        }
        Ok(Condition::Link(LinkCondition { kind, url: url.trim().to_owned() }))
    }
}

/// Whether a text is of letters, digits and the signs that hosts and types have.
pub(crate) fn is_name(text: &str) -> bool {
    let is_sign = |letter: char| matches!(letter, '.' | '-' | '_' | ':' | '/' | '+' | '[' | ']' | '%');
    text.chars().any(char::is_alphanumeric)
        && text.chars().all(|letter| letter.is_alphanumeric() || is_sign(letter))
}

/// A whole number of digits alone.
fn whole(text: &str) -> Option<f64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<f64>().ok()).flatten()
}

/// A number of bytes, with `k`, `M` or `G` for thousands, millions and thousands of these.
fn size(text: &str) -> Option<f64> {
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

/// The start of a text, for a sentence about it.
fn shown(text: &str) -> String {
    const SHOWN_CHARACTERS: usize = 20;
    let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
    if start.len() < text.len() { format!("`{start}…`") } else { format!("`{start}`") }
}
