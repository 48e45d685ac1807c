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
    /// Entry of a host list that no host can match.
    #[error(
        "cannot use `{entry}` as a host: expected `www.example.org`, or `.example.org` for a domain with its subdomains; names beyond ASCII in their `xn--` form"
    )]
    InvalidHost {
        /// Entry as configured.
        entry: String,
    },
}
