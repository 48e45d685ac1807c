//! What does somebody ask for? The fields behind the `?` of an address, or those of a form.

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use url::form_urlencoded;

use crate::failure::Failure;

/// More fields than this are read over.
const MOST_FIELDS: usize = 50;
/// The longest URL or query.
const MOST_BYTES: usize = 4_096;

/// The fields of a question, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked(Vec<(String, String)>);

impl Asked {
    pub(crate) fn of(text: &[u8]) -> Asked {
        Asked(form_urlencoded::parse(text).into_owned().take(MOST_FIELDS).collect())
    }

    fn of_uri(uri: &Uri) -> Asked {
        Asked::of(uri.query().unwrap_or_default().as_bytes())
    }

    /// A text; empty if it was not given.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Failure> {
        let text = self.all(name).next().unwrap_or_default();
        if text.len() > MOST_BYTES {
            return Err(Failure::WrongQuestion(format!("`{name}` is longer than {MOST_BYTES} bytes")));
        }
        Ok(text)
    }

    /// The texts of all fields of a name; empty ones do not count.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(own, _)| own == name);
        named.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// A number within a range; nothing if it was not given.
    pub(crate) fn number<N>(&self, name: &str, range: RangeInclusive<N>) -> Result<Option<N>, Failure>
    where
        N: FromStr + PartialOrd + std::fmt::Display,
    {
        let text = self.text(name)?;
        if text.is_empty() {
            return Ok(None);
        }
        match text.parse() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(Failure::WrongQuestion(format!(
                "`{name}` is a number from {} to {}",
                range.start(),
                range.end()
            ))),
        }
    }

    /// One of some words; the first if none was given.
    pub(crate) fn one_of<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, Failure> {
        let text = self.text(name)?;
        let found = words.iter().find(|(word, _)| *word == text || text.is_empty());
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            Failure::WrongQuestion(format!("`{name}` is one of {}", words.join(", ")))
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Asked, Infallible> {
        Ok(Asked::of_uri(&parts.uri))
    }
}

/// An address with fields; those that are empty are left out.
pub(crate) fn address(path: &str, fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
    match query.finish() {
        empty if empty.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_with_their_limits() {
        let asked = Asked::of(b"q=a+%26b&f=x&f=&f=y&from=10&sort=date");
        assert_eq!(asked.text("q").unwrap(), "a &b");
        assert_eq!(asked.all("f").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(asked.number("from", 0..=99).unwrap(), Some(10));
        assert_eq!(asked.number::<u32>("count", 0..=99).unwrap(), None);
        assert!(asked.number("from", 0..=9).is_err() && asked.number("q", 0..=9).is_err());
        assert_eq!(asked.one_of("sort", &[("rank", 1), ("date", 2)]).unwrap(), 2);
        assert_eq!(asked.one_of("order", &[("rank", 1), ("date", 2)]).unwrap(), 1);
        assert!(asked.one_of("sort", &[("rank", 1)]).is_err());
        assert!(Asked::of("q=x".repeat(9_000).as_bytes()).text("q").is_err());
        assert_eq!(Asked::of("a=1&".repeat(1_000).as_bytes()).0.len(), MOST_FIELDS);
    }

    #[test]
    fn addresses_read_back_as_they_were_made() {
        let made = address("/page", &[("url", "http://a/?b=c&d"), ("at", "")]);
        assert_eq!(made, "/page?url=http%3A%2F%2Fa%2F%3Fb%3Dc%26d");
        assert_eq!(address("/", &[]), "/");
    }
}
