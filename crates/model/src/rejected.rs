//! Why is this not the URL of a page that Weir could fetch?

/// The reason, as one sentence without a full stop; the caller knows the text and puts it beside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Longer than [`UrlRules::max_length_bytes`](crate::UrlRules::max_length_bytes) allows.
    #[error("the URL has {length_bytes} bytes, the limit is {limit_bytes}")]
    TooLong {
        /// Length in canonical form, or as written where that alone is too much to read.
        length_bytes: usize,
        /// What the rules allow.
        limit_bytes: usize,
    },
    /// No scheme, and nothing to resolve it against: `example.com/a` lacks its `https://`.
    #[error("it has no scheme (is `https://` missing?)")]
    Relative,
    /// `mailto:`, `javascript:`, `data:` and all others that name no document on a server.
    #[error("the scheme `{0}` is not fetched, only http, https, ftp and gopher are")]
    Scheme(String),
    /// `http://` and nothing behind it.
    #[error("it names no host")]
    NoHost,
    /// A host that no DNS server could know: an empty or overlong label, or characters such as `*` and `,`.
    #[error("its host cannot be a name in DNS")]
    Host,
    /// A port that is no number from 1 to 65535.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// The URL standard refuses it.
    #[error("it is not a URL: {0}")]
    Syntax(url::ParseError),
}

impl From<url::ParseError> for Rejected {
    fn from(error: url::ParseError) -> Rejected {
        match error {
            url::ParseError::RelativeUrlWithoutBase | url::ParseError::RelativeUrlWithCannotBeABaseBase => {
                Rejected::Relative
            }
            url::ParseError::EmptyHost => Rejected::NoHost,
            url::ParseError::InvalidPort => Rejected::Port,
            other => Rejected::Syntax(other),
        }
    }
}
