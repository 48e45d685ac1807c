//! Errors of this crate: invalid settings.

/// Invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Name that is not a strategy.
    #[error("unknown strategy `{name}` (known: {known})")]
    UnknownStrategy {
        /// Name as configured.
        name: String,
        /// All names, separated by commas.
        known: String,
    },
    /// Name that is not an objective.
    #[error("unknown objective `{name}` (known: {known})")]
    UnknownObjective {
        /// Name as configured.
        name: String,
        /// All names, separated by commas.
        known: String,
    },
    /// Pattern that would reject every page.
    #[error("cannot use the pattern `{pattern}`: it matches every page")]
    PatternMatchesEverything {
        /// Pattern as configured.
        pattern: String,
    },
    /// Rule for hosts that no host can match.
    #[error(
        "cannot use `{entry}` as a host: expected `www.example.org`, `.example.org` for a domain with its subdomains, or a URL or SURT prefix; names beyond ASCII in their `xn--` form"
    )]
    InvalidHost {
        /// Rule as configured.
        entry: String,
    },
    /// Rule that is neither a host nor a path pattern.
    #[error(
        "cannot use the rule `{rule}`: use `*{rule}` for URLs that contain it, or `http://{rule}` for the host"
    )]
    AmbiguousRule {
        /// Rule as configured.
        rule: String,
    },
    /// Invalid or too large regular expression.
    #[error("cannot use the regular expression: {cause}")]
    InvalidRegex {
        /// Description of the error.
        cause: String,
    },
}
