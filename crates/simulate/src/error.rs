//! What can go wrong before an experiment begins.

/// Why there is no experiment.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The made-up Web cannot be.
    #[error(transparent)]
    Settings(#[from] simweb::SettingsError),
    /// The collection cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Nothing can be compared on an empty Web.
    #[error("there is nothing to crawl: {what}")]
    Empty {
        /// What is missing.
        what: &'static str,
    },
    /// A strategy that does not exist.
    #[error("there is no strategy `{name}`; there are {}", .known.join(", "))]
    UnknownStrategy {
        /// As it was given.
        name: String,
        /// Those that exist.
        known: Vec<&'static str>,
    },
    /// A strategy that has nothing to go by here.
    #[error("the strategy `{name}` needs {needs}, which a simulation does not have")]
    NotHere {
        /// Its name.
        name: &'static str,
        /// What it needs.
        needs: &'static str,
    },
}
