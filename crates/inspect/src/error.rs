//! Errors of inspections.

/// Failure of an inspection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The collection cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A computation of the crawl failed.
    #[error(transparent)]
    Crawl(#[from] crawl::Error),
    /// The argument is not a valid URL.
    #[error("invalid URL `{input}`: {error}; example: {example}{known}")]
    InvalidUrl {
        /// The argument.
        input: String,
        /// Cause.
        error: model::UrlError,
        /// Example of a valid URL.
        example: String,
        /// Known sites of the same host, after a semicolon.
        known: String,
    },
}
