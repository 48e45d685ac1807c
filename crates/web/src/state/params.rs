//! Request parameters: the query string of a URL, or the fields of a form.

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use url::form_urlencoded;

use crate::state::api_error::ApiError;

/// Maximum number of parameters; further ones are ignored.
const MAX_PARAMS: usize = 50;
/// Maximum length of a value: a URL or a query.
const MAX_VALUE_BYTES: usize = 4_096;

/// Parameters of a request, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn parse(text: &[u8]) -> Params {
        Params(form_urlencoded::parse(text).into_owned().take(MAX_PARAMS).collect())
    }

    fn from_uri(uri: &Uri) -> Params {
        Params::parse(uri.query().unwrap_or_default().as_bytes())
    }

    /// Returns the first non-empty value of a parameter; empty if there is none.
    pub(crate) fn get(&self, name: &str) -> Result<&str, ApiError> {
        let text = self.all(name).next().unwrap_or_default();
        if text.len() > MAX_VALUE_BYTES {
            return Err(ApiError::BadRequest(format!("`{name}` is longer than {MAX_VALUE_BYTES} bytes")));
        }
        Ok(text)
    }

    /// Returns all non-empty values of a repeatable parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(own, _)| own == name);
        named.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns a number within a range; `None` if the parameter is missing.
    pub(crate) fn number<N>(&self, name: &str, range: RangeInclusive<N>) -> Result<Option<N>, ApiError>
    where
        N: FromStr + PartialOrd + std::fmt::Display,
    {
        let text = self.get(name)?;
        if text.is_empty() {
            return Ok(None);
        }
        match text.parse() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(ApiError::BadRequest(format!(
                "`{name}` must be a number from {} to {}",
                range.start(),
                range.end()
            ))),
        }
    }

    /// Returns the value of an enumerated parameter; the first choice if it is missing.
    pub(crate) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, ApiError> {
        let text = self.get(name)?;
        let found = choices.iter().find(|(choice, _)| *choice == text || text.is_empty());
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            ApiError::BadRequest(format!("`{name}` must be one of {}", names.join(", ")))
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Params {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Params, Infallible> {
        Ok(Params::from_uri(&parts.uri))
    }
}

/// Builds a URL of a path and parameters; empty parameters are omitted.
pub(crate) fn url_with_query(path: &str, params: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(params.iter().filter(|(_, value)| !value.is_empty()));
    match query.finish() {
        empty if empty.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_parsed_within_their_limits() {
        let params = Params::parse(b"q=a+%26b&filter=x&filter=&filter=y&offset=10&sort=date");
        assert_eq!(params.get("q").unwrap(), "a &b");
        assert_eq!(params.all("filter").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(params.number("offset", 0..=99).unwrap(), Some(10));
        assert_eq!(params.number::<u32>("limit", 0..=99).unwrap(), None);
        assert!(params.number("offset", 0..=9).is_err() && params.number("q", 0..=9).is_err());
        assert_eq!(params.choice("sort", &[("rank", 1), ("date", 2)]).unwrap(), 2);
        assert_eq!(params.choice("order", &[("rank", 1), ("date", 2)]).unwrap(), 1);
        assert!(params.choice("sort", &[("rank", 1)]).is_err());
        assert!(Params::parse("q=x".repeat(9_000).as_bytes()).get("q").is_err());
        assert_eq!(Params::parse("a=1&".repeat(1_000).as_bytes()).0.len(), MAX_PARAMS);
    }

    #[test]
    fn urls_are_built_with_escaped_parameters() {
        let url = url_with_query("/page", &[("url", "http://a/?b=c&d"), ("at", "")]);
        assert_eq!(url, "/page?url=http%3A%2F%2Fa%2F%3Fb%3Dc%26d");
        assert_eq!(url_with_query("/", &[]), "/");
    }
}
