//! Errors of a simulation.

/// Error of a simulation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings of the synthetic Web are invalid.
    #[error(transparent)]
    Settings(#[from] simweb::SettingsError),
    /// The collection could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The Web model has no pages.
    #[error("nothing to crawl: {reason}")]
    EmptyWeb {
        /// Cause.
        reason: &'static str,
    },
    /// Unknown strategy.
    #[error("unknown strategy `{name}`; strategies: {}", .known.join(", "))]
    UnknownStrategy {
        /// The name as given.
        name: String,
        /// Existing strategies.
        known: Vec<&'static str>,
    },
    /// The strategy needs data that a simulation does not have.
    #[error("strategy `{name}` needs {needs}, which a simulation does not have")]
    Unsupported {
        /// Name of the strategy.
        name: &'static str,
        /// Missing data.
        needs: &'static str,
    },
}
