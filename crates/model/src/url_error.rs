//! Reasons why a text is not the URL of a page that Weir can fetch.

/// Error of [`UrlRules::canonical`](crate::UrlRules::canonical) and [`UrlRules::join`](crate::UrlRules::join).
///
/// The message does not contain the URL: the caller has it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Longer than [`UrlRules::max_length_bytes`](crate::UrlRules::max_length_bytes) allows.
    #[error("URL is {length_bytes} bytes long, maximum {max_bytes} (scope.max_url_length)")]
    TooLong {
        /// Length in canonical form, or as written where even that is too long to be parsed.
        length_bytes: usize,
        /// The maximum of the rules.
        max_bytes: usize,
    },
    /// A relative reference without a base: `example.com/a` lacks its `https://`.
    #[error("URL has no scheme (missing `https://`?)")]
    Relative,
    /// A scheme that is not fetched: `mailto:`, `javascript:`, `data:`.
    #[error("unsupported scheme `{0}` (http, https, ftp, gopher)")]
    Scheme(String),
    /// An empty host: `http://`.
    #[error("URL has no host")]
    NoHost,
    /// A host that is not a valid DNS name: an empty or overlong label, or characters such as `*` and `,`.
    #[error("invalid host name")]
    Host,
    /// A port that is not a number from 1 to 65535.
    #[error("invalid port (1 to 65535)")]
    Port,
    /// Any other error of the URL standard's parser.
    #[error("invalid URL: {0}")]
    Syntax(url::ParseError),
}

impl From<url::ParseError> for UrlError {
    fn from(error: url::ParseError) -> UrlError {
        match error {
            url::ParseError::RelativeUrlWithoutBase | url::ParseError::RelativeUrlWithCannotBeABaseBase => {
                UrlError::Relative
            }
            url::ParseError::EmptyHost => UrlError::NoHost,
            url::ParseError::InvalidPort => UrlError::Port,
            other => UrlError::Syntax(other),
        }
    }
}
